package store

import (
	"context"
	"strconv"
	"time"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// PutPart stores a part; it is durable on return. A part that had the number
// before is replaced.
func (s *Store) PutPart(ctx context.Context, req PartRequest) (Part, error) {
	u, err := s.checkPart(ctx, req.Bucket, req.Key, req.UploadID, req.Number)
	if err != nil {
		return Part{}, err
	}
	if err := checkAlgorithm(req.Checksum); err != nil {
		return Part{}, err
	}
	asked := req.Checksum
	if asked == NoChecksum {
		asked = u.Checksum
	}
	r, err := s.receive(req.Body, req.Size, wanted{
		asked: asked, keep: u.Checksum, skipMD5: req.SkipMD5, skipSHA256: req.SkipSHA256,
	})
	if err != nil {
		return Part{}, err
	}
	if err := s.verify(r, req.Verify); err != nil {
		return Part{}, err
	}
	rec := s.partRecord(req.Bucket, req.Key, req.UploadID, req.Number, r.digests)
	if err := s.attach(rec, r); err != nil {
		return Part{}, err
	}
	if err := s.commitBody(s.partChange(rec), rec.Blob); err != nil {
		return Part{}, err
	}
	return partOfRecord(rec), nil
}

// checkPart refuses a part before its body is read.
func (s *Store) checkPart(ctx context.Context, bucket, key, id string, number int) (Upload, error) {
	if number < 1 || number > MaxParts {
		return Upload{}, fault.New("store.PutPart", fault.InvalidArgument, strconv.Itoa(number), nil).
			WithHint("A part number is between 1 and 10,000.")
	}
	if err := s.writable(); err != nil {
		return Upload{}, err
	}
	return s.Upload(ctx, bucket, key, id)
}

func (s *Store) partRecord(bucket, key, id string, number int, d Digests) *journal.Record {
	return &journal.Record{
		Kind: journal.Part, BucketName: bucket, Key: key, Upload: id, Part: number,
		Size: d.Size, MD5: d.MD5, SHA256: d.SHA256, ETag: etagOf(d.MD5), Time: s.stamp(),
	}
}

func (s *Store) partChange(rec *journal.Record) *change {
	return &change{
		reads:  []string{bucketName(rec.BucketName), uploadName(rec.Upload)},
		writes: []string{partsName(rec.Upload)},
		bytes:  len(rec.Body),
		prepare: func() (*journal.Record, error) {
			u, _, err := s.upload(rec.BucketName, rec.Key, rec.Upload)
			rec.Bucket = u.Bucket
			return rec, err
		},
	}
}

func partOfRecord(r *journal.Record) Part {
	return Part{
		Number: r.Part, Size: r.Size, Modified: time.Unix(0, r.Time),
		ETag: r.ETag, Checksum: checksumOf(r.Checksum),
	}
}

// ListParts gives a page of an upload's parts with numbers above after.
func (s *Store) ListParts(_ context.Context, bucket, key, id string, after, limit int) (PartsPage, error) {
	u, rec, err := s.upload(bucket, key, id)
	if err != nil {
		return PartsPage{}, err
	}
	page := PartsPage{Upload: uploadOf(bucket, u, rec)}
	limit = min(limit, MaxPage)
	if limit <= 0 {
		return page, nil
	}
	rows, err := s.index.Parts(id, after, limit+1)
	if err != nil {
		return PartsPage{}, err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Truncated, page.Next = true, rows[limit-1].Number
	}
	for _, row := range rows {
		p, _, err := partOf(row)
		if err != nil {
			return PartsPage{}, err
		}
		page.Parts = append(page.Parts, p)
	}
	return page, nil
}

func partOf(row index.Part) (Part, *journal.Record, error) {
	rec, err := decodeMeta(row.Meta)
	if err != nil {
		return Part{}, nil, err
	}
	return Part{
		Number: row.Number, Size: row.Size, Modified: time.Unix(0, row.Modified),
		ETag: row.ETag, Checksum: checksumOf(rec.Checksum),
	}, rec, nil
}
