package index

import "larder/fault"

// with lends a read connection to f. f must not wait for anybody.
func with[T any](x *Index, op string, f func(*conn) (T, error)) (T, error) {
	var zero T
	if x.isClosed() {
		return zero, fault.New(op, fault.Unavailable, "", errClosed)
	}
	select {
	case c := <-x.readers:
		defer func() { x.readers <- c }()
		v, err := f(c)
		return v, x.note(err)
	case <-x.closed:
		return zero, fault.New(op, fault.Unavailable, "", errClosed)
	}
}

// find is with for reads of one thing that may not be there.
func find[T any](x *Index, op string, f func(*conn) (T, bool, error)) (v T, found bool, err error) {
	v, err = with(x, op, func(c *conn) (T, error) {
		var v T
		var err error
		v, found, err = f(c)
		return v, err
	})
	return v, found && err == nil, err
}

// Row returns the current version of a key, and whether there is one.
func (x *Index) Row(bucket uint64, key string) (Row, bool, error) {
	return find(x, "index.Row", func(c *conn) (Row, bool, error) { return c.row(bucket, key) })
}

// Body returns where a body lies, and whether it is known.
func (x *Index) Body(sequence uint64) (Body, bool, error) {
	return find(x, "index.Body", func(c *conn) (Body, bool, error) { return c.body(sequence) })
}

// HasBlob tells whether any body lies in the blob file with this id.
func (x *Index) HasBlob(id string) (bool, error) {
	return with(x, "index.HasBlob", func(c *conn) (bool, error) { return c.hasBlob(id) })
}

// Bucket returns a bucket with its counters, and whether it is there.
func (x *Index) Bucket(id uint64) (Bucket, bool, error) {
	return find(x, "index.Bucket", func(c *conn) (Bucket, bool, error) { return c.bucket(id) })
}

// Buckets returns all buckets in the byte order of their names.
func (x *Index) Buckets() ([]Bucket, error) {
	var out []Bucket
	for after := ""; ; after = out[len(out)-1].Name {
		before := len(out)
		more, err := with(x, "index.Buckets", func(c *conn) ([]Bucket, error) {
			return c.buckets(out, after)
		})
		if err != nil {
			return nil, err
		}
		if out = more; len(out)-before < maxRun {
			return out, nil
		}
	}
}

// Upload returns an upload in progress, and whether there is one.
func (x *Index) Upload(id string) (Upload, bool, error) {
	return find(x, "index.Upload", func(c *conn) (Upload, bool, error) { return c.upload(id) })
}

// Part returns one part of an upload, and whether it is there.
func (x *Index) Part(upload string, number int) (Part, bool, error) {
	return find(x, "index.Part", func(c *conn) (Part, bool, error) { return c.part(upload, number) })
}

// Parts returns up to max parts of an upload with numbers above after, in
// ascending order; never more than 10,001. It is fault.Corrupt when one of them
// was replaced by another.
func (x *Index) Parts(upload string, after, max int) ([]Part, error) {
	return with(x, "index.Parts", func(c *conn) ([]Part, error) { return c.parts(upload, after, max) })
}
