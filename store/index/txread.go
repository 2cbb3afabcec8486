package index

import "larder/fault"

// Row is Index.Row as the transaction sees it.
func (t *Tx) Row(bucket uint64, key string) (Row, bool, error) {
	return lookup(t, "index.Row", func(c *conn) (Row, bool, error) { return c.row(bucket, key) })
}

// Body is Index.Body as the transaction sees it.
func (t *Tx) Body(sequence uint64) (Body, bool, error) {
	return lookup(t, "index.Body", func(c *conn) (Body, bool, error) { return c.body(sequence) })
}

// Bucket is Index.Bucket as the transaction sees it.
func (t *Tx) Bucket(id uint64) (Bucket, bool, error) {
	if b := t.buckets[id]; b != nil {
		return *b, true, nil
	}
	return lookup(t, "index.Bucket", func(c *conn) (Bucket, bool, error) { return c.bucket(id) })
}

// Upload is Index.Upload as the transaction sees it.
func (t *Tx) Upload(id string) (Upload, bool, error) {
	return lookup(t, "index.Upload", func(c *conn) (Upload, bool, error) { return c.upload(id) })
}

// Part is Index.Part as the transaction sees it.
func (t *Tx) Part(upload string, number int) (Part, bool, error) {
	return lookup(t, "index.Part", func(c *conn) (Part, bool, error) { return c.part(upload, number) })
}

// Parts is Index.Parts as the transaction sees it.
func (t *Tx) Parts(upload string, after, max int) ([]Part, error) {
	parts, _, err := lookup(t, "index.Parts", func(c *conn) ([]Part, bool, error) {
		parts, err := c.parts(upload, after, max)
		return parts, true, err
	})
	return parts, err
}

func lookup[T any](t *Tx, op string, f func(*conn) (T, bool, error)) (T, bool, error) {
	if t.c == nil {
		var zero T
		return zero, false, fault.New(op, fault.Internal, "", errDone)
	}
	v, found, err := f(t.c)
	return v, found, t.x.note(err)
}
