package index

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// counts are a bucket's counters as the rows give them.
type counts struct{ objects, bytes, uploads int64 }

// verifier walks everything and keeps what it has counted.
type verifier struct {
	*conn
	ctx    context.Context
	counts map[uint64]counts
	audit  *audit // nil: references are not added up
}

// Verify runs SQLite's own check of the file, then reads every row, checks its
// checksum, and compares the counters of the buckets with the rows. It returns
// fault.Corrupt with the first thing that does not fit. Memory grows with the
// number of buckets only, time with the number of rows: about 5 µs each. It
// keeps a read connection, and now and then keeps the log from being reset.
func (x *Index) Verify(ctx context.Context) error {
	const op = "index.Verify"
	_, err := with(x, op, func(c *conn) (struct{}, error) {
		v := &verifier{conn: c, ctx: ctx, counts: make(map[uint64]counts)}
		old := c.db.SetInterrupt(ctx.Done())
		defer c.db.SetInterrupt(old)
		return struct{}{}, failure(op, x.path, v.run())
	})
	return err
}

func (v *verifier) run() error {
	text, err := v.pragma("integrity_check(1)")
	if err != nil {
		return err
	}
	if text != "ok" {
		return corrupt("index.Verify", "", fmt.Errorf("%w: %s", errIntegrity, text))
	}
	if _, err := v.readState(); err != nil {
		return err
	}
	for _, table := range []func() error{v.allObjects, v.allBodies, v.allUploads, v.allParts, v.allBuckets, v.allSegments} {
		if err := table(); err != nil {
			return err
		}
	}
	return nil
}

// lowest is the smallest number of a bucket or body as SQLite orders them.
const lowest = math.MinInt64

// pages runs a query again and again, each time from behind the last row,
// until it returns no more rows. bind binds where to begin, which decode
// moves.
func (v *verifier) pages(query string, bind func(*sqlite.Stmt), decode func(*sqlite.Stmt) (struct{}, error)) error {
	s, _, err := v.db.PrepareTransient(query + " LIMIT " + strconv.Itoa(maxRun))
	if err != nil {
		return err
	}
	defer s.Finalize()
	for n := maxRun; n == maxRun; {
		bind(s)
		if n, err = each("index.Verify", s, decode, func(struct{}) {}); err != nil {
			return err
		}
		if err := v.ctx.Err(); err != nil {
			return fault.New("index.Verify", fault.Canceled, "", err)
		}
	}
	return nil
}

func (v *verifier) allObjects() error {
	bucket, key := int64(lowest), ""
	return v.pages(`SELECT key, sequence, size, modified, etag, sum, meta, bucket
		FROM objects WHERE (bucket, key) > (?1, ?2) ORDER BY bucket, key`,
		func(s *sqlite.Stmt) {
			s.BindInt64(1, bucket)
			v.bindKey(s, 2, key)
		},
		func(s *sqlite.Stmt) (none struct{}, err error) {
			bucket, key = s.ColumnInt64(7), v.keyAt(s, 0)
			r, err := v.decodeRow(s, 1, uint64(bucket), key)
			n := v.counts[r.Bucket]
			v.counts[r.Bucket] = counts{n.objects + 1, n.bytes + r.Size, n.uploads}
			if err == nil {
				err = v.refer(r.Meta, r.Sequence, r.Size, true)
			}
			return none, err
		})
}

func (v *verifier) allBodies() error {
	sequence := int64(lowest)
	return v.pages(`SELECT segment, offset, length, body_offset, body_length, refs, blob, sum, current, sequence
		FROM bodies WHERE sequence > ?1 ORDER BY sequence`,
		func(s *sqlite.Stmt) { s.BindInt64(1, sequence) },
		func(s *sqlite.Stmt) (none struct{}, err error) {
			sequence = s.ColumnInt64(9)
			b, err := v.decodeBody(s, uint64(sequence))
			v.counted(&b)
			return none, err
		})
}

func (v *verifier) allUploads() error {
	bucket, key, id := int64(lowest), "", ""
	return v.pages(`SELECT bucket, key, id, created, sequence, sum, meta
		FROM uploads WHERE (bucket, key, id) > (?1, ?2, ?3) ORDER BY bucket, key, id`,
		func(s *sqlite.Stmt) {
			s.BindInt64(1, bucket)
			v.bindKey(s, 2, key)
			s.BindText(3, id)
		},
		func(s *sqlite.Stmt) (none struct{}, err error) {
			u, err := v.decodeUpload(s)
			bucket, key, id = int64(u.Bucket), u.Key, u.ID
			n := v.counts[u.Bucket]
			v.counts[u.Bucket] = counts{n.objects, n.bytes, n.uploads + 1}
			return none, err
		})
}

func (v *verifier) allParts() error {
	upload, number := "", int64(lowest)
	return v.pages(`SELECT number, sequence, size, modified, etag, sum, meta, upload
		FROM parts WHERE (upload, number) > (?1, ?2) ORDER BY upload, number`,
		func(s *sqlite.Stmt) {
			s.BindText(1, upload)
			s.BindInt64(2, number)
		},
		func(s *sqlite.Stmt) (none struct{}, err error) {
			upload, number = s.ColumnText(7), s.ColumnInt64(0)
			p, err := v.decodePart(s, upload)
			if err == nil {
				err = v.refer(p.Meta, p.Sequence, p.Size, false)
			}
			return none, err
		})
}

func (v *verifier) allSegments() error {
	s, _, err := v.db.PrepareTransient(queries()[scanSegments])
	if err != nil {
		return err
	}
	defer s.Finalize()
	_, err = each("index.Verify", s, v.decodeSegment, func(uint64) {})
	return err
}

// allBuckets comes after the rows that it counts: it takes those out of
// counts, and what is left belongs to no bucket.
func (v *verifier) allBuckets() error {
	id := int64(lowest)
	err := v.pages(`SELECT id, name, created, objects, bytes, uploads, meta, sum
		FROM buckets WHERE id > ?1 ORDER BY id`,
		func(s *sqlite.Stmt) { s.BindInt64(1, id) },
		func(s *sqlite.Stmt) (none struct{}, err error) {
			b, err := v.decodeBucket(s)
			if err == nil && v.counts[b.ID] != (counts{b.Objects, b.Bytes, b.Uploads}) {
				err = fmt.Errorf("counters of bucket %s are %d, %d, %d, the rows say %v",
					b.Name, b.Objects, b.Bytes, b.Uploads, v.counts[b.ID])
			}
			delete(v.counts, b.ID)
			id = int64(b.ID)
			return none, err
		})
	if err == nil && len(v.counts) > 0 {
		err = corrupt("index.Verify", "", errNoBucket)
	}
	return err
}
