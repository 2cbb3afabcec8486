package store

import (
	"bytes"
	"context"
	"strconv"

	"larder/fault"
	"larder/store/journal"
)

// CompleteUpload turns the listed parts into an object: one record that lists
// their extents, no byte is read or moved. Durable on return. Parts that are
// not listed are dropped. Repeating a Complete that succeeded gives the same
// answer as long as its object stands.
func (s *Store) CompleteUpload(_ context.Context, req CompleteRequest) (Info, error) {
	if err := checkPartOrder(req.Parts); err != nil {
		return Info{}, err
	}
	var done *entry // what an earlier Complete of this upload made
	ch := &change{
		reads: []string{
			bucketName(req.Bucket), objectName(req.Bucket, req.Key), uploadName(req.UploadID), partsName(req.UploadID),
		},
		writes: []string{objectName(req.Bucket, req.Key), uploadName(req.UploadID), bucketContent(req.Bucket)},
	}
	ch.prepare = func() (*journal.Record, error) {
		rec, err := s.completeRecord(req)
		if fault.CodeOf(err) == fault.NoSuchUpload {
			if done = s.completed(req); done != nil {
				return nil, nil
			}
		}
		return rec, err
	}
	if err := s.committer.submit(ch); err != nil {
		return Info{}, err
	}
	if done != nil {
		return infoOf(req.Bucket, done.row, done.rec), nil
	}
	return infoOfRecord(req.Bucket, ch.rec), nil
}

func checkPartOrder(parts []CompletePart) error {
	const op = "store.CompleteUpload"
	if len(parts) == 0 || len(parts) > MaxParts {
		return fault.New(op, fault.InvalidArgument, "", nil).WithHint("A multipart upload has 1 to 10,000 parts.")
	}
	for i := 1; i < len(parts); i++ {
		if parts[i].Number <= parts[i-1].Number {
			return fault.New(op, fault.InvalidPartOrder, strconv.Itoa(parts[i].Number), nil).
				WithHint("List the parts in ascending order, each once.")
		}
	}
	return nil
}

// completed finds the object that an earlier Complete of the same upload made.
func (s *Store) completed(req CompleteRequest) *entry {
	_, e, err := s.find(req.Bucket, req.Key)
	if err != nil || e.rec.Upload != req.UploadID {
		return nil
	}
	return e
}

// completeRecord checks a Complete against the upload and makes its record. It
// runs on the committer's goroutine.
func (s *Store) completeRecord(req CompleteRequest) (*journal.Record, error) {
	u, start, err := s.upload(req.Bucket, req.Key, req.UploadID)
	if err != nil {
		return nil, err
	}
	e, err := s.lookup(u.Bucket, req.Key)
	if err != nil {
		return nil, err
	}
	if err := req.Cond.check(req.Bucket, req.Key, e); err != nil {
		return nil, err
	}
	parts, extents, err := s.listedParts(req)
	if err != nil {
		return nil, err
	}
	rec := &journal.Record{
		Kind: journal.Complete, Bucket: u.Bucket, BucketName: req.Bucket, Key: req.Key,
		Upload: req.UploadID, Owner: start.Owner, ETag: multipartETag(parts), Extents: extents, Time: s.stamp(),
		Prev: u.Sequence,
	}
	setMeta(rec, metaFrom(start))
	for _, p := range parts {
		rec.Size += p.Size
		rec.PartSizes = append(rec.PartSizes, p.Size)
	}
	if err := checkSize(req, rec.Size); err != nil {
		return nil, err
	}
	sum, err := objectChecksum(checksumOf(start.Checksum), parts)
	if err != nil {
		return nil, err
	}
	rec.Checksum = sum.record()
	return rec, checkObjectChecksum(req, sum)
}

// listedParts reads the upload's parts and picks those that req lists, in
// order, with their extents.
func (s *Store) listedParts(req CompleteRequest) (parts []Part, extents []journal.Extent, err error) {
	want := req.Parts
	for after := 0; len(want) > 0; {
		rows, err := s.index.Parts(req.UploadID, after, partsPage)
		if err != nil {
			return nil, nil, err
		}
		if len(rows) == 0 {
			return nil, nil, noSuchPart(want[0])
		}
		for _, row := range rows {
			after = row.Number
			if len(want) == 0 || row.Number < want[0].Number {
				continue
			}
			p, rec, err := partOf(row)
			if err != nil {
				return nil, nil, err
			}
			if err := checkListed(want[0], p, s.minPart, len(want) == 1); err != nil {
				return nil, nil, err
			}
			want = want[1:]
			parts = append(parts, p)
			extents = append(extents, extentsOf(rec.Extents, row.Sequence, row.Size)...)
		}
		if err := checkExtents(extents); err != nil {
			return nil, nil, err
		}
	}
	return parts, extents, nil
}

func noSuchPart(p CompletePart) error {
	return fault.New("store.CompleteUpload", fault.InvalidPart, strconv.Itoa(p.Number), nil).
		WithHint("A listed part was not uploaded, or its ETag or checksum is another one.")
}

func checkListed(want CompletePart, p Part, least int64, last bool) error {
	if want.Number != p.Number || !sameETag(want.ETag, p.ETag) {
		return noSuchPart(want)
	}
	if want.Checksum != nil && !bytes.Equal(want.Checksum, p.Checksum.Value) {
		return noSuchPart(want)
	}
	if p.Size < least && !last {
		return fault.New("store.CompleteUpload", fault.EntityTooSmall, strconv.Itoa(p.Number), nil).
			WithHint("Every part but the last has at least 5 MiB.")
	}
	return nil
}

func checkSize(req CompleteRequest, size int64) error {
	if size > MaxObjectBytes {
		return fault.New("store.CompleteUpload", fault.EntityTooLarge, "", nil).WithHint("An object has at most 5 TiB.")
	}
	if req.Size >= 0 && req.Size != size {
		return fault.New("store.CompleteUpload", fault.InvalidArgument, "", nil).
			WithHint("The parts together have " + strconv.FormatInt(size, 10) + " bytes, not what x-amz-mp-object-size says.")
	}
	return nil
}

// objectChecksum forms an object's checksum from its parts'.
func objectChecksum(kind Checksum, parts []Part) (Checksum, error) {
	if kind.Type == FullObject {
		value, ok := joinChecksums(kind.Algorithm, parts)
		if !ok {
			return kind, fault.New("store.CompleteUpload", fault.InvalidPart, "", nil).
				WithHint("A part has no checksum of the upload's algorithm.")
		}
		kind.Value = value
		return kind, nil
	}
	h := kind.Algorithm.New()
	for _, p := range parts {
		h.Write(p.Checksum.Value)
	}
	kind.Value = h.Sum(nil)
	return kind, nil
}

func checkObjectChecksum(req CompleteRequest, sum Checksum) error {
	if req.ChecksumType != 0 && req.ChecksumType != sum.Type {
		return fault.New("store.CompleteUpload", fault.InvalidArgument, "", nil).
			WithHint("The checksum type is not the one that the upload was started with.")
	}
	if req.Checksum != nil && !bytes.Equal(req.Checksum, sum.Value) {
		return fault.New("store.CompleteUpload", fault.BadDigest, "", nil).
			WithHint("The object's checksum is not the one that was sent.")
	}
	return nil
}
