package store

import (
	"context"
	"io"

	"larder/fault"
	"larder/store/journal"
)

// Copy stores the source's current version under another name: one record, the
// body is shared. Durable on return. A copy onto itself needs new metadata or
// tags, as on S3.
func (s *Store) Copy(ctx context.Context, req CopyRequest) (Info, error) {
	if err := checkKey(req.Key); err != nil {
		return Info{}, err
	}
	if req.Meta != nil {
		if err := req.Meta.Check(); err != nil {
			return Info{}, err
		}
	}
	if err := checkTags(req.Tags); err != nil {
		return Info{}, err
	}
	if err := checkAlgorithm(req.Checksum); err != nil {
		return Info{}, err
	}
	sum, seq, err := s.copyChecksum(ctx, req)
	if err != nil {
		return Info{}, err
	}
	rec := &journal.Record{Kind: journal.Put, BucketName: req.Bucket, Key: req.Key, Owner: req.Owner, Time: s.stamp()}
	ch := s.putChange(rec, req.Cond)
	ch.reads = append(ch.reads, bucketName(req.SourceBucket), objectName(req.SourceBucket, req.SourceKey))
	prepare := ch.prepare
	ch.prepare = func() (*journal.Record, error) {
		if err := s.fillCopy(rec, req, sum, seq); err != nil {
			return nil, err
		}
		return prepare()
	}
	if err := s.committer.submit(ch); err != nil {
		return Info{}, err
	}
	return infoOfRecord(req.Bucket, rec), nil
}

// fillCopy makes rec a copy of the source as it stands now.
func (s *Store) fillCopy(rec *journal.Record, req CopyRequest, sum *Checksum, seq uint64) error {
	_, e, err := s.find(req.SourceBucket, req.SourceKey)
	if err != nil {
		return err
	}
	if err := checkSource(req.SourceCond, infoOf(req.SourceBucket, e.row, e.rec)); err != nil {
		return err
	}
	rec.Size, rec.ETag = e.row.Size, e.row.ETag
	rec.MD5, rec.SHA256, rec.Checksum = e.rec.MD5, e.rec.SHA256, e.rec.Checksum
	rec.Extents, rec.PartSizes = e.extents(), e.rec.PartSizes
	if req.Checksum != NoChecksum && e.row.Sequence != seq {
		return changedMeanwhile(req.SourceBucket, req.SourceKey)
	}
	if sum != nil {
		rec.Checksum = sum.record()
	}
	meta := metaFrom(e.rec)
	if req.Meta != nil {
		tags := meta.Tags
		meta = *req.Meta
		meta.Tags = tags
	}
	if req.ReplaceTags {
		meta.Tags = req.Tags
	}
	setMeta(rec, meta)
	return nil
}

// checkSource decides the x-amz-copy-source-if headers: a condition that would
// answer "not modified" to a read fails a copy.
func checkSource(cond ReadCondition, info Info) error {
	err := cond.Check(info.ETag, info.Modified)
	if fault.CodeOf(err) == fault.NotModified {
		return fault.New("store.Copy", fault.Precondition, info.Bucket+"/"+info.Key, err)
	}
	return err
}

func changedMeanwhile(bucket, key string) error {
	return fault.New("store.Copy", fault.Conflict, bucket+"/"+key, nil).
		WithHint("The source changed while it was read. Try again.")
}

// copyChecksum computes the checksum that a copy asks for and its source does
// not have, by reading the source once; nil when it has it. seq is the version
// of which that holds.
func (s *Store) copyChecksum(ctx context.Context, req CopyRequest) (sum *Checksum, seq uint64, err error) {
	if req.Checksum == NoChecksum {
		return nil, 0, nil
	}
	o, err := s.Get(ctx, req.SourceBucket, req.SourceKey)
	if err != nil {
		return nil, 0, err
	}
	defer o.Close()
	have := o.info.Checksum
	if have.Algorithm == req.Checksum && have.Type == FullObject {
		return nil, o.info.Sequence, nil
	}
	d := newDigester(wanted{asked: req.Checksum, skipMD5: true, skipSHA256: true})
	if _, err := o.CopyRange(ctx, digestWriter{d}, 0, o.info.Size); err != nil {
		return nil, 0, err
	}
	c := d.keep()
	return &c, o.info.Sequence, nil
}

// digestWriter feeds a digester. It has no ReadFrom, so that CopyRange hands
// it bytes.
type digestWriter struct{ d *digester }

var _ io.Writer = digestWriter{}

func (w digestWriter) Write(p []byte) (int, error) { return len(p), w.d.write(p, nil) }

// CopyPart makes a part out of a stored object's bytes. The part shares the
// source's body; the bytes are read once for the part's digests.
func (s *Store) CopyPart(ctx context.Context, req CopyPartRequest) (Part, error) {
	u, err := s.checkPart(ctx, req.Bucket, req.Key, req.UploadID, req.Number)
	if err != nil {
		return Part{}, err
	}
	o, err := s.Get(ctx, req.SourceBucket, req.SourceKey)
	if err != nil {
		return Part{}, err
	}
	defer o.Close()
	if req.Length < 0 {
		req.Length = o.info.Size - req.Offset
	}
	if err := checkPartSource(req, o.info); err != nil {
		return Part{}, err
	}
	extents := slice(o.pieces, req.Offset, req.Length)
	if err := checkExtents(extents); err != nil {
		return Part{}, err
	}
	d := newDigester(wanted{asked: u.Checksum})
	if _, err := o.CopyRange(ctx, digestWriter{d}, req.Offset, req.Length); err != nil {
		return Part{}, err
	}
	rec := s.partRecord(req.Bucket, req.Key, req.UploadID, req.Number, d.digests())
	rec.Checksum = d.keep().record()
	rec.Extents = extents
	ch := s.partChange(rec)
	s.fromSource(ch, req, o.info.Sequence)
	if err := s.committer.submit(ch); err != nil {
		return Part{}, err
	}
	return partOfRecord(rec), nil
}

// fromSource makes a change depend on its source being the version that was
// read: only then are the shared bodies still held.
func (s *Store) fromSource(ch *change, req CopyPartRequest, seq uint64) {
	ch.reads = append(ch.reads, bucketName(req.SourceBucket), objectName(req.SourceBucket, req.SourceKey))
	prepare := ch.prepare
	ch.prepare = func() (*journal.Record, error) {
		_, e, err := s.find(req.SourceBucket, req.SourceKey)
		if err != nil {
			return nil, err
		}
		if e.row.Sequence != seq {
			return nil, changedMeanwhile(req.SourceBucket, req.SourceKey)
		}
		return prepare()
	}
}

func checkPartSource(req CopyPartRequest, info Info) error {
	if err := checkSource(req.SourceCond, info); err != nil {
		return err
	}
	if req.Offset < 0 || req.Offset > info.Size || req.Length < 0 || req.Length > info.Size-req.Offset ||
		(req.Length == 0 && info.Size > 0) {
		return fault.New("store.CopyPart", fault.InvalidRange, req.SourceBucket+"/"+req.SourceKey, nil).
			WithHint("The range is not within the source object.")
	}
	if req.Length > MaxPutBytes {
		return tooLarge()
	}
	return nil
}

// checkExtents keeps records, and what must be in memory to work on them, small.
func checkExtents(extents []journal.Extent) error {
	if len(extents) <= maxExtents {
		return nil
	}
	return fault.New("store.Extents", fault.EntityTooLarge, "", nil).
		WithHint("The object would be made of too many pieces of other objects. Upload its bytes instead.")
}

// maxExtents is how many pieces an object or a part may be made of: twice as
// many as parts can be uploaded, for what is copied in ranges.
const maxExtents = 2 * MaxParts

// slice gives the extents of n bytes from offset off of an object. n is within
// the object.
func slice(pieces []piece, off, n int64) []journal.Extent {
	var out []journal.Extent
	start := int64(0)
	for _, p := range pieces {
		end := start + p.extent.Length
		from, to := max(off, start), min(off+n, end)
		if from < to {
			out = append(out, journal.Extent{
				Body: p.extent.Body, Offset: p.extent.Offset + from - start, Length: to - from,
			})
		}
		start = end
	}
	return out
}
