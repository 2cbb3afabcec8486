package index

import (
	"math"
	"strconv"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// inspectCache is the memory in KiB that an Inspector may use for pages: little,
// so that it reads the file and not what it remembers.
const inspectCache = "256"

// First is before every number of a bucket or body, as SQLite orders them.
const First = math.MinInt64

// Checked is a row as it stands in the database. Err says why it cannot be
// trusted: its checksum does not match, or it is not found where it must be.
type Checked[T any] struct {
	Row T
	Err error
}

// Inspector reads every row of every table, damaged ones too, each page in one
// short transaction of a connection of its own: it sees what the file holds,
// not what the index's readers keep in memory. It belongs to one goroutine.
type Inspector struct {
	x *Index
	c *conn
}

// Inspector opens one. Close it after a few pages.
func (x *Index) Inspector() (*Inspector, error) {
	const op = "index.Inspector"
	if x.isClosed() {
		return nil, fault.New(op, fault.Unavailable, "", errClosed)
	}
	c, err := connect(x.path, sqlite.OpenReadWrite, connPragmas(inspectCache, "query_only = ON")...)
	if err != nil {
		return nil, failure(op, x.path, err)
	}
	if err := c.prepare(readStatements); err != nil {
		c.close()
		return nil, failure(op, x.path, err)
	}
	return &Inspector{x: x, c: c}, nil
}

// Close closes the connection.
func (i *Inspector) Close() error { return failure("index.Inspector", i.x.path, i.c.close()) }

// MarkDamaged says that a row was found to be wrong in a way that its checksum
// does not tell: the next start builds the index anew.
func (x *Index) MarkDamaged() {
	if x.damaged.CompareAndSwap(false, true) && x.told != nil {
		x.told()
	}
}

// Objects returns up to max rows behind a key of a bucket, ordered by bucket and
// key.
func (i *Inspector) Objects(bucket int64, key string, max int) ([]Checked[Row], error) {
	return walkTable(i, `SELECT key, sequence, size, modified, etag, sum, meta, bucket
		FROM objects WHERE (bucket, key) > (?2, ?3) ORDER BY bucket, key LIMIT ?1`, max,
		func(s *sqlite.Stmt) { s.BindInt64(2, bucket); i.c.bindKey(s, 3, key) },
		func(s *sqlite.Stmt) (Row, error) {
			return i.c.decodeRow(s, 1, uint64(s.ColumnInt64(7)), i.c.keyAt(s, 0))
		}, nil)
}

// Bodies returns up to max bodies with sequences above after, in order.
func (i *Inspector) Bodies(after int64, max int) ([]Checked[Body], error) {
	return walkTable(i, `SELECT segment, offset, length, body_offset, body_length, refs, blob, sum, current, sequence
		FROM bodies WHERE sequence > ?2 ORDER BY sequence LIMIT ?1`, max,
		func(s *sqlite.Stmt) { s.BindInt64(2, after) },
		func(s *sqlite.Stmt) (Body, error) { return i.c.decodeBody(s, uint64(s.ColumnInt64(9))) },
		func(b *Body) (bool, error) {
			if b.Blob == "" {
				return true, nil
			}
			return i.exists(`SELECT 1 FROM bodies INDEXED BY bodies_blob WHERE blob = ?1 AND sequence = ?2`,
				func(s *sqlite.Stmt) { s.BindText(1, b.Blob); s.BindInt64(2, int64(b.Sequence)) })
		})
}

// Uploads returns up to max uploads behind an upload of a key of a bucket.
func (i *Inspector) Uploads(bucket int64, key, id string, max int) ([]Checked[Upload], error) {
	return walkTable(i, `SELECT bucket, key, id, created, sequence, sum, meta
		FROM uploads WHERE (bucket, key, id) > (?2, ?3, ?4) ORDER BY bucket, key, id LIMIT ?1`, max,
		func(s *sqlite.Stmt) { s.BindInt64(2, bucket); i.c.bindKey(s, 3, key); s.BindText(4, id) },
		i.c.decodeUpload,
		func(u *Upload) (bool, error) {
			return i.exists(`SELECT 1 FROM uploads INDEXED BY uploads_id WHERE id = ?1 AND bucket = ?2`,
				func(s *sqlite.Stmt) { s.BindText(1, u.ID); s.BindInt64(2, int64(u.Bucket)) })
		})
}

// Parts returns up to max parts behind a part of an upload, ordered by upload
// and number.
func (i *Inspector) Parts(upload string, number int64, max int) ([]Checked[Part], error) {
	return walkTable(i, `SELECT number, sequence, size, modified, etag, sum, meta, upload
		FROM parts WHERE (upload, number) > (?2, ?3) ORDER BY upload, number LIMIT ?1`, max,
		func(s *sqlite.Stmt) { s.BindText(2, upload); s.BindInt64(3, number) },
		func(s *sqlite.Stmt) (Part, error) { return i.c.decodePart(s, s.ColumnText(7)) }, nil)
}

// Buckets returns up to max buckets with ids above after, in order.
func (i *Inspector) Buckets(after int64, max int) ([]Checked[Bucket], error) {
	return walkTable(i, `SELECT id, name, created, objects, bytes, uploads, meta, sum
		FROM buckets WHERE id > ?2 ORDER BY id LIMIT ?1`, max,
		func(s *sqlite.Stmt) { s.BindInt64(2, after) },
		i.c.decodeBucket,
		func(b *Bucket) (bool, error) {
			return i.exists(`SELECT 1 FROM buckets WHERE name = ?1 AND id = ?2`,
				func(s *sqlite.Stmt) { s.BindText(1, b.Name); s.BindInt64(2, int64(b.ID)) })
		})
}

// exists runs a query that looks a row up in another way than the walk came by.
func (i *Inspector) exists(query string, bind func(*sqlite.Stmt)) (bool, error) {
	s, err := i.c.db.Prepare(query)
	if err != nil {
		return false, err
	}
	bind(s)
	_, found, err := first("index.Inspector", "", s, func(*sqlite.Stmt) (struct{}, error) { return struct{}{}, nil })
	return found, err
}

// walkTable reads one page of a table. An error is damage that hides what is
// behind it (fault.Corrupt), or a read that failed.
func walkTable[T any](i *Inspector, query string, max int, bind func(*sqlite.Stmt),
	decode func(*sqlite.Stmt) (T, error), known func(*T) (bool, error),
) (rows []Checked[T], err error) {
	const op = "index.Inspector"
	page := func() error {
		s, err := i.c.db.Prepare(query)
		if err != nil {
			return failure(op, "", err)
		}
		s.BindInt64(1, int64(min(max, maxRun)))
		bind(s)
		_, err = each(op, s, func(s *sqlite.Stmt) (Checked[T], error) {
			row, err := decode(s)
			return Checked[T]{row, err}, nil
		}, func(c Checked[T]) { rows = append(rows, c) })
		if err != nil || known == nil {
			return err
		}
		return lookUp(rows, known)
	}
	if err := i.inTransaction(page); err != nil {
		return rows, i.x.note(err)
	}
	return rows, nil
}

// lookUp finds each good row by its other index too.
func lookUp[T any](rows []Checked[T], known func(*T) (bool, error)) error {
	for n := range rows {
		if rows[n].Err != nil {
			continue
		}
		found, err := known(&rows[n].Row)
		if err != nil {
			return failure("index.Inspector", strconv.Itoa(n), err)
		}
		if !found {
			rows[n].Err = errMissing
		}
	}
	return nil
}

func (i *Inspector) inTransaction(f func() error) error {
	if err := i.c.script("BEGIN"); err != nil {
		return failure("index.Inspector", "", err)
	}
	err := f()
	if e := i.c.script("COMMIT"); err == nil {
		err = failure("index.Inspector", "", e)
	}
	return err
}

// Row is Index.Row past the caches of the index. A row that cannot be trusted
// is fault.Corrupt here and below.
func (i *Inspector) Row(bucket uint64, key string) (Row, bool, error) { return i.c.row(bucket, key) }

// Body is Index.Body.
func (i *Inspector) Body(sequence uint64) (Body, bool, error) { return i.c.body(sequence) }

// Bucket is Index.Bucket.
func (i *Inspector) Bucket(id uint64) (Bucket, bool, error) { return i.c.bucket(id) }

// Upload is Index.Upload.
func (i *Inspector) Upload(id string) (Upload, bool, error) { return i.c.upload(id) }

// Part is Index.Part.
func (i *Inspector) Part(upload string, number int) (Part, bool, error) {
	return i.c.part(upload, number)
}
