package index

import (
	"strconv"

	"zombiezen.com/go/sqlite"
)

// maxRun is the largest number of rows that one run of a statement returns,
// and maxParts the largest number of parts that an upload has.
const (
	maxRun   = 1000
	maxParts = 10_000
)

// first runs a bound statement for at most one row and ends its read
// transaction before it returns.
func first[T any](op, resource string, s *sqlite.Stmt, decode func(*sqlite.Stmt) (T, error)) (T, bool, error) {
	var zero T
	found, err := s.Step()
	if err != nil {
		return zero, false, failure(op, resource, err)
	}
	defer s.Reset()
	if !found {
		return zero, false, nil
	}
	v, err := decode(s)
	if err != nil {
		return zero, false, corrupt(op, resource, err)
	}
	return v, true, nil
}

// each runs a bound statement and hands over its rows one by one.
func each[T any](op string, s *sqlite.Stmt, decode func(*sqlite.Stmt) (T, error), f func(T)) (n int, err error) {
	defer s.Reset()
	for {
		found, err := s.Step()
		if err != nil {
			return n, failure(op, "", err)
		}
		if !found {
			return n, nil
		}
		v, err := decode(s)
		if err != nil {
			return n, corrupt(op, "", err)
		}
		f(v)
		n++
	}
}

// page runs f in one read transaction, so that its statements share the locks
// and see one state; within the write transaction it just runs f. f must not
// wait for anybody.
func (c *conn) page(op string, f func() error) error {
	if !c.db.AutocommitEnabled() {
		return f()
	}
	if err := c.run(beginRead); err != nil {
		return failure(op, "", err)
	}
	err := f()
	if e := c.run(endRead); err == nil {
		err = failure(op, "", e)
	}
	return err
}

// check compares a stored checksum with the row's own.
func check(stored, computed int64) error {
	if stored != computed {
		return errSum
	}
	return nil
}

// decodeRow reads the columns from sequence on, which begin at column col.
func (c *conn) decodeRow(s *sqlite.Stmt, col int, bucket uint64, key string) (Row, error) {
	r := Row{
		Bucket: bucket, Key: key,
		Sequence: uint64(s.ColumnInt64(col)), Size: s.ColumnInt64(col + 1), Modified: s.ColumnInt64(col + 2),
		ETag: s.ColumnText(col + 3), Meta: bytesAt(s, col+5),
	}
	return r, check(s.ColumnInt64(col+4), c.sums.row(&r))
}

func (c *conn) decodeBody(s *sqlite.Stmt, sequence uint64) (Body, error) {
	return c.decodeBodyAt(s, 0, sequence)
}

// decodeBodyAt reads the columns from segment on, which begin at column col.
func (c *conn) decodeBodyAt(s *sqlite.Stmt, col int, sequence uint64) (Body, error) {
	b := Body{
		Sequence: sequence, Segment: uint64(s.ColumnInt64(col)), Offset: s.ColumnInt64(col + 1), Length: s.ColumnInt64(col + 2),
		BodyOffset: s.ColumnInt64(col + 3), BodyLength: s.ColumnInt64(col + 4), Refs: s.ColumnInt64(col + 5),
		Blob: s.ColumnText(col + 6), Current: s.ColumnInt64(col+8) != 0,
	}
	return b, check(s.ColumnInt64(col+7), c.sums.body(&b))
}

func (c *conn) decodeBucket(s *sqlite.Stmt) (Bucket, error) {
	b := Bucket{
		ID: uint64(s.ColumnInt64(0)), Name: s.ColumnText(1), Created: s.ColumnInt64(2), Objects: s.ColumnInt64(3),
		Bytes: s.ColumnInt64(4), Uploads: s.ColumnInt64(5), Meta: bytesAt(s, 6),
	}
	return b, check(s.ColumnInt64(7), c.sums.bucket(&b))
}

func (c *conn) decodeUpload(s *sqlite.Stmt) (Upload, error) {
	u := Upload{
		Bucket: uint64(s.ColumnInt64(0)), Key: c.keyAt(s, 1), ID: s.ColumnText(2), Created: s.ColumnInt64(3),
		Sequence: uint64(s.ColumnInt64(4)), Meta: bytesAt(s, 6),
	}
	return u, check(s.ColumnInt64(5), c.sums.upload(&u))
}

func (c *conn) decodePart(s *sqlite.Stmt, upload string) (Part, error) {
	p := Part{
		Upload: upload, Number: s.ColumnInt(0), Sequence: uint64(s.ColumnInt64(1)), Size: s.ColumnInt64(2),
		Modified: s.ColumnInt64(3), ETag: s.ColumnText(4), Meta: bytesAt(s, 6),
	}
	return p, check(s.ColumnInt64(5), c.sums.part(&p))
}

func (c *conn) row(bucket uint64, key string) (Row, bool, error) {
	s := c.use(selectRow)
	s.BindInt64(1, int64(bucket))
	c.bindKey(s, 2, key)
	return first("index.Row", key, s, func(s *sqlite.Stmt) (Row, error) {
		return c.decodeRow(s, 0, bucket, key)
	})
}

func (c *conn) body(sequence uint64) (Body, bool, error) {
	s := c.use(selectBody)
	s.BindInt64(1, int64(sequence))
	return first("index.Body", strconv.FormatUint(sequence, 10), s, func(s *sqlite.Stmt) (Body, error) {
		return c.decodeBody(s, sequence)
	})
}

func (c *conn) hasBlob(id string) (bool, error) {
	s := c.use(selectBlob)
	s.BindText(1, id)
	_, found, err := first("index.HasBlob", id, s, func(*sqlite.Stmt) (struct{}, error) {
		return struct{}{}, nil
	})
	return found, err
}

func (c *conn) bucket(id uint64) (Bucket, bool, error) {
	s := c.use(selectBucket)
	s.BindInt64(1, int64(id))
	return first("index.Bucket", strconv.FormatUint(id, 10), s, c.decodeBucket)
}

// buckets appends up to maxRun buckets whose names come after the given one.
func (c *conn) buckets(out []Bucket, after string) ([]Bucket, error) {
	s := c.use(scanBuckets)
	s.BindText(1, after)
	s.BindInt64(2, maxRun)
	_, err := each("index.Buckets", s, c.decodeBucket, func(b Bucket) { out = append(out, b) })
	return out, err
}

func (c *conn) upload(id string) (Upload, bool, error) {
	s := c.use(selectUpload)
	s.BindText(1, id)
	return first("index.Upload", id, s, c.decodeUpload)
}

func (c *conn) part(upload string, number int) (Part, bool, error) {
	s := c.use(selectPart)
	s.BindText(1, upload)
	s.BindInt64(2, int64(number))
	return first("index.Part", upload, s, func(s *sqlite.Stmt) (Part, error) {
		return c.decodePart(s, upload)
	})
}

// parts appends up to max parts with numbers above after, by runs of maxRun. A
// part stands only with the body that its record brought, or with its witness:
// those go when it is replaced, and lie on other pages.
func (c *conn) parts(upload string, after, max int) ([]Part, error) {
	var out []Part
	max = min(max, maxParts+1) // one more than there can be, for those who look whether there is more
	for len(out) < max {
		want := min(max-len(out), maxRun)
		n, err := c.scanParts(&out, upload, after, want)
		if err != nil || n < want {
			return out, err
		}
		after = out[len(out)-1].Number
	}
	return out, nil
}

func (c *conn) scanParts(out *[]Part, upload string, after, limit int) (int, error) {
	s := c.use(scanParts)
	s.BindText(1, upload)
	s.BindInt64(2, int64(after))
	s.BindInt64(3, int64(limit))
	decode := func(s *sqlite.Stmt) (Part, error) {
		p, err := c.decodePart(s, upload)
		if err == nil && s.ColumnInt64(7) == 0 {
			err = errWitness
		}
		return p, err
	}
	return each("index.Parts", s, decode, func(p Part) { *out = append(*out, p) })
}
