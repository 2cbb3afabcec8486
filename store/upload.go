package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// CreateUpload starts a multipart upload. It survives restarts until it is
// completed or aborted.
func (s *Store) CreateUpload(_ context.Context, req UploadRequest) (Upload, error) {
	if err := checkKey(req.Key); err != nil {
		return Upload{}, err
	}
	if err := req.Meta.Check(); err != nil {
		return Upload{}, err
	}
	sum, err := uploadChecksum(req)
	if err != nil {
		return Upload{}, err
	}
	rec := &journal.Record{
		Kind: journal.UploadCreate, BucketName: req.Bucket, Key: req.Key,
		Upload: newUploadID(), Owner: req.Owner, Checksum: sum.record(), Time: s.stamp(),
	}
	setMeta(rec, req.Meta)
	ch := &change{
		reads:  []string{bucketName(req.Bucket)},
		writes: []string{uploadName(rec.Upload), bucketContent(req.Bucket)},
		prepare: func() (*journal.Record, error) {
			b, err := s.bucket(req.Bucket)
			rec.Bucket = b.ID
			return rec, err
		},
	}
	if err := s.committer.submit(ch); err != nil {
		return Upload{}, err
	}
	return Upload{
		ID: rec.Upload, Bucket: req.Bucket, Key: req.Key, Started: time.Unix(0, rec.Time),
		Checksum: sum.Algorithm, ChecksumType: sum.Type, Owner: req.Owner,
	}, nil
}

// uploadChecksum settles which checksum an upload keeps: CRC64NVME of the
// whole object when the client asks for none, the algorithm's default type
// when it names no type.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
func uploadChecksum(req UploadRequest) (Checksum, error) {
	c := Checksum{Algorithm: req.Checksum, Type: req.ChecksumType}
	if err := checkAlgorithm(c.Algorithm); err != nil {
		return c, err
	}
	if c.Algorithm == NoChecksum {
		c.Algorithm = CRC64NVME
	}
	if c.Type == 0 {
		c.Type = Composite
		if c.Algorithm == CRC64NVME {
			c.Type = FullObject
		}
	}
	poly, _ := c.Algorithm.polynomial()
	if c.Type > FullObject || c.Type == FullObject && poly == 0 || c.Type == Composite && c.Algorithm == CRC64NVME {
		return c, fault.New("store.CreateUpload", fault.InvalidArgument, "", nil).
			WithHint("This checksum algorithm does not come in this checksum type.")
	}
	return c, nil
}

func newUploadID() string { return randomHex() }

// randomHex is 16 random bytes in hex.
func randomHex() string {
	var id [16]byte
	rand.Read(id[:]) // never fails, see crypto/rand
	return hex.EncodeToString(id[:])
}

// upload finds an upload in progress by its id, bucket and key, or fails with
// fault.NoSuchUpload.
func (s *Store) upload(bucket, key, id string) (index.Upload, *journal.Record, error) {
	b, err := s.bucket(bucket)
	if err != nil {
		return index.Upload{}, nil, err
	}
	u, found, err := s.index.Upload(id)
	if err != nil {
		return u, nil, err
	}
	if !found || u.Bucket != b.ID || u.Key != key {
		return u, nil, fault.New("store.Upload", fault.NoSuchUpload, id, nil)
	}
	rec, err := decodeMeta(u.Meta)
	return u, rec, err
}

// Upload describes an upload in progress.
func (s *Store) Upload(_ context.Context, bucket, key, id string) (Upload, error) {
	u, rec, err := s.upload(bucket, key, id)
	if err != nil {
		return Upload{}, err
	}
	return uploadOf(bucket, u, rec), nil
}

func uploadOf(bucket string, u index.Upload, rec *journal.Record) Upload {
	return Upload{
		ID: u.ID, Bucket: bucket, Key: u.Key, Started: time.Unix(0, u.Created),
		Checksum: Algorithm(rec.Checksum.Algorithm), ChecksumType: ChecksumType(rec.Checksum.Type), Owner: rec.Owner,
	}
}

// AbortUpload drops an upload and its parts; their space comes back.
func (s *Store) AbortUpload(_ context.Context, bucket, key, id string) error {
	return s.committer.submit(&change{
		reads:  []string{bucketName(bucket), uploadName(id), partsName(id)},
		writes: []string{uploadName(id), bucketContent(bucket)},
		prepare: func() (*journal.Record, error) {
			u, _, err := s.upload(bucket, key, id)
			if err != nil {
				return nil, err
			}
			return &journal.Record{
				Kind: journal.Abort, Bucket: u.Bucket, BucketName: bucket, Key: key, Upload: id, Time: s.stamp(),
				Prev: u.Sequence,
			}, nil
		},
	})
}

// ListUploads gives a page of a bucket's uploads in progress.
func (s *Store) ListUploads(_ context.Context, req UploadsRequest) (UploadsPage, error) {
	b, err := s.bucket(req.Bucket)
	if err != nil {
		return UploadsPage{}, err
	}
	page, err := s.index.Uploads(index.UploadQuery{
		Bucket: b.ID, Prefix: req.Prefix, Delimiter: req.Delimiter,
		KeyMarker: req.KeyMarker, UploadMarker: req.UploadMarker, Max: min(req.Max, MaxPage),
	})
	if err != nil {
		return UploadsPage{}, err
	}
	out := UploadsPage{
		Prefixes: page.Prefixes, Truncated: page.Truncated,
		NextKey: page.NextKey, NextUpload: page.NextUpload,
	}
	for _, u := range page.Uploads {
		rec, err := decodeMeta(u.Meta)
		if err != nil {
			return UploadsPage{}, err
		}
		out.Uploads = append(out.Uploads, uploadOf(req.Bucket, u, rec))
	}
	return out, nil
}
