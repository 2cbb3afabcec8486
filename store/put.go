package store

import (
	"context"

	"larder/store/journal"
)

// Put stores an object and returns what was stored. On return without an error
// the bytes and their name are on stable storage. On an error nothing is
// stored and what stood under the key is untouched.
//
// The body is read once, to its end. Errors: fault.NoSuchBucket,
// fault.Precondition, fault.IncompleteBody, what Verify answered,
// fault.NoSpace, fault.ReadOnly, and those of the key and the metadata.
func (s *Store) Put(ctx context.Context, req PutRequest) (Info, error) {
	if err := s.checkPut(ctx, req); err != nil {
		return Info{}, err
	}
	r, err := s.receive(req.Body, req.Size, wanted{
		asked: req.Checksum, skipMD5: req.SkipMD5, skipSHA256: req.SkipSHA256,
	})
	if err != nil {
		return Info{}, err
	}
	rec := &journal.Record{
		Kind: journal.Put, BucketName: req.Bucket, Key: req.Key, Owner: req.Owner,
		ETag: etagOf(r.digests.MD5), Time: s.stamp(),
	}
	setMeta(rec, req.Meta)
	if err := s.verify(r, req.Verify); err != nil {
		return Info{}, err
	}
	if err := s.attach(rec, r); err != nil {
		return Info{}, err
	}
	if err := s.commitBody(s.putChange(rec, req.Cond), rec.Blob); err != nil {
		return Info{}, err
	}
	return infoOfRecord(req.Bucket, rec), nil
}

// checkPut refuses early what the committer would refuse anyway, before a body
// is read.
func (s *Store) checkPut(ctx context.Context, req PutRequest) error {
	if err := checkKey(req.Key); err != nil {
		return err
	}
	if err := req.Meta.Check(); err != nil {
		return err
	}
	if err := checkAlgorithm(req.Checksum); err != nil {
		return err
	}
	return s.CheckCondition(ctx, req.Bucket, req.Key, req.Cond)
}

// verify lets the front end compare digests. A body that it refuses is gone on
// return.
func (s *Store) verify(r *received, check func(Digests) error) error {
	if check == nil {
		return nil
	}
	err := check(r.digests)
	if err != nil {
		r.drop()
	}
	return err
}

// putChange makes rec the current version of its key, if cond holds when the
// committer comes to it.
func (s *Store) putChange(rec *journal.Record, cond Condition) *change {
	bucket, key := rec.BucketName, rec.Key
	ch := &change{
		reads:  []string{bucketName(bucket)},
		writes: []string{objectName(bucket, key), bucketContent(bucket)},
		bytes:  len(rec.Body),
	}
	if !cond.empty() {
		ch.reads = append(ch.reads, objectName(bucket, key))
	}
	ch.prepare = func() (*journal.Record, error) {
		b, err := s.bucket(bucket)
		if err != nil {
			return nil, err
		}
		rec.Bucket = b.ID
		if cond.empty() {
			return rec, nil
		}
		e, err := s.lookup(b.ID, key)
		if err != nil {
			return nil, err
		}
		return rec, cond.check(bucket, key, e)
	}
	return ch
}

// Delete removes an object; it stays removed once this has returned. Removing
// what is not there succeeds, unless IfMatch is set: then it is
// fault.NoSuchKey.
func (s *Store) Delete(_ context.Context, req DeleteRequest) error {
	return s.committer.submit(s.deleteChange(req))
}

// DeleteMany removes several objects, which share their syncs, and answers an
// error or nil for each in order.
func (s *Store) DeleteMany(_ context.Context, reqs []DeleteRequest) []error {
	errs := make([]error, len(reqs))
	changes := make([]*change, len(reqs))
	for i, req := range reqs {
		changes[i] = s.deleteChange(req)
		errs[i] = s.committer.accept(changes[i])
	}
	for i, ch := range changes {
		if errs[i] == nil {
			<-ch.done
			errs[i] = ch.err
		}
	}
	return errs
}

func (s *Store) deleteChange(req DeleteRequest) *change {
	name := objectName(req.Bucket, req.Key)
	return &change{
		reads:  []string{bucketName(req.Bucket), name},
		writes: []string{name, bucketContent(req.Bucket)},
		prepare: func() (*journal.Record, error) {
			b, err := s.bucket(req.Bucket)
			if err != nil {
				return nil, err
			}
			e, err := s.lookup(b.ID, req.Key)
			if err != nil {
				return nil, err
			}
			if err := (Condition{IfMatch: req.IfMatch}).check(req.Bucket, req.Key, e); err != nil || e == nil {
				return nil, err
			}
			rec := &journal.Record{
				Kind: journal.Delete, Bucket: b.ID, BucketName: req.Bucket, Key: req.Key, Time: s.stamp(),
				Prev: e.row.Sequence,
			}
			if since := sinceOf(e.rec); since != rec.Prev {
				rec.Since = since
			}
			return rec, nil
		},
	}
}
