package index

import (
	"strconv"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// PutBucket adds a bucket or replaces it with its counters. It fails with
// fault.BucketExists when another bucket has the name.
func (t *Tx) PutBucket(b Bucket) error {
	delete(t.buckets, b.ID)
	return t.writeBucket("index.PutBucket", &b)
}

func (t *Tx) writeBucket(op string, b *Bucket) error {
	s, err := t.start(op, putBucket)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(b.ID))
	s.BindText(2, b.Name)
	s.BindInt64(3, b.Created)
	s.BindInt64(4, b.Objects)
	s.BindInt64(5, b.Bytes)
	s.BindInt64(6, b.Uploads)
	s.BindBytes(7, b.Meta)
	s.BindInt64(8, t.c.sums.bucket(b))
	err = exec(s)
	if sqlite.ErrCode(err) == sqlite.ResultConstraintUnique {
		err = fault.New(op, fault.BucketExists, b.Name, err)
	}
	return t.fail(op, b.Name, err)
}

// writeBuckets writes the buckets whose counters have changed.
func (t *Tx) writeBuckets() error {
	for _, b := range t.buckets {
		if err := t.writeBucket("index.Commit", b); err != nil {
			return err
		}
	}
	return nil
}

// AddBucket changes the counters of a bucket. The changes of a transaction are
// added up in memory and written once, at Commit. It fails with
// fault.NoSuchBucket, and with fault.Corrupt when a counter would fall below 0.
func (t *Tx) AddBucket(id uint64, objects, bytes, uploads int64) error {
	const op = "index.AddBucket"
	name := strconv.FormatUint(id, 10)
	if t.err != nil {
		return t.err
	}
	b, found, err := t.Bucket(id)
	switch {
	case err != nil:
		return t.fail(op, name, err)
	case !found:
		return t.fail(op, name, fault.New(op, fault.NoSuchBucket, name, nil))
	}
	b.Objects += objects
	b.Bytes += bytes
	b.Uploads += uploads
	if b.Objects < 0 || b.Bytes < 0 || b.Uploads < 0 {
		return t.fail(op, name, corrupt(op, name, errNegative))
	}
	t.buckets[id] = &b
	return nil
}

// DeleteBucket removes a bucket, if it is there. It fails with
// fault.BucketNotEmpty while an object or an upload names it: delete those
// first, in the same transaction if need be.
func (t *Tx) DeleteBucket(id uint64) error {
	const op = "index.DeleteBucket"
	s, err := t.start(op, deleteBucket)
	if err != nil {
		return err
	}
	name := strconv.FormatUint(id, 10)
	empty, err := t.c.empty(id)
	if err == nil && !empty {
		err = fault.New(op, fault.BucketNotEmpty, name, errNotEmpty)
	}
	if err != nil {
		return t.fail(op, name, err)
	}
	delete(t.buckets, id)
	s.BindInt64(1, int64(id))
	return t.fail(op, name, exec(s))
}

// empty tells whether no object and no upload names the bucket.
func (c *conn) empty(bucket uint64) (bool, error) {
	rows, err := c.list(ListQuery{Bucket: bucket, Max: 1})
	if err != nil || len(rows.Rows) > 0 {
		return false, err
	}
	uploads, err := c.uploads(UploadQuery{Bucket: bucket, Max: 1})
	return err == nil && len(uploads.Uploads) == 0, err
}
