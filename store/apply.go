package store

import (
	"maps"
	"slices"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// applier brings records into an index transaction and collects what follows
// from them for memory: counters, cached rows, blobs that nothing names any
// more. The committer and the replay use it alike, so that recovery does what
// normal running does.
//
// Only a replay meets segments that compaction has thinned out. There a record
// may name a body, an upload or a bucket that is not there: it is dead then, and
// a later record that ends it, or the lack of the earlier one, leaves nothing of
// it. A body may lose its last reference and find another one, since the one
// between may be gone: bodies without any are dropped when the replay is over.
type applier struct {
	tx        viewTx
	replaying bool
	segment   uint64 // the index relies on it already
	last      index.Position
	buckets   []bucketDelta
	rows      []rowUpdate
	arrived   []string    // blobs that now have a row
	freed     []string    // blobs that lost their last reference
	bodies    []bodyDelta // bodies that came and went
}

func newApplier(tx viewTx) *applier { return &applier{tx: tx} }

func (a *applier) rollback() {
	if a.tx != nil {
		a.tx.Rollback()
		a.tx = nil
	}
}

// record applies one record. It refuses nothing: conditions were checked
// before the record was written.
func (a *applier) record(r *journal.Record, loc journal.Location) error {
	if loc.Segment != a.segment {
		if err := a.tx.AddSegment(loc.Segment); err != nil {
			return err
		}
		a.segment = loc.Segment
	}
	switch r.Kind {
	case journal.BucketCreate:
		return a.bucketCreate(r)
	case journal.BucketDelete:
		a.buckets = append(a.buckets, bucketDelta{id: r.Bucket, removed: true})
		return a.tx.DeleteBucket(r.Bucket)
	case journal.BucketSet:
		return a.bucketSet(r)
	case journal.Put:
		return a.put(r, loc)
	case journal.Delete:
		return a.remove(r)
	case journal.UploadCreate:
		return a.uploadCreate(r)
	case journal.Part:
		return a.part(r, loc)
	case journal.Complete:
		return a.complete(r)
	case journal.Abort:
		return a.abort(r)
	case journal.Body:
		return a.bring(r, loc, 0)
	}
	return fault.New("store.apply", fault.NewerFormat, "", nil).
		WithHint("The journal holds a kind of record that this Larder does not know.")
}

func (a *applier) bucketCreate(r *journal.Record) error {
	b := index.Bucket{ID: r.Sequence, Name: r.BucketName, Created: r.Time}
	a.buckets = append(a.buckets, bucketDelta{id: b.ID, created: &b})
	return a.tx.PutBucket(b)
}

func (a *applier) count(bucket uint64, objects, bytes, uploads int64) error {
	if a.replaying {
		if _, found, err := a.tx.Bucket(bucket); err != nil || !found {
			return err
		}
	}
	a.buckets = append(a.buckets, bucketDelta{id: bucket, objects: objects, bytes: bytes, uploads: uploads})
	return a.tx.AddBucket(bucket, objects, bytes, uploads)
}

func (a *applier) put(r *journal.Record, loc journal.Location) error {
	if err := a.hold(r, loc); err != nil {
		return err
	}
	return a.replace(r)
}

// replace makes r the current version of its key. The body must have its
// references already: old and new may share them.
func (a *applier) replace(r *journal.Record) error {
	old, found, err := a.tx.Row(r.Bucket, r.Key)
	if err != nil {
		return err
	}
	objects, bytes := int64(1), r.Size
	version := *r
	version.Since = r.Sequence
	if found {
		objects, bytes = 0, r.Size-old.Size
		meta, err := a.release(old.Sequence, old.Size, old.Meta, true)
		if err != nil {
			return err
		}
		version.Since = sinceOf(meta)
	}
	row := rowOf(&version)
	if err := a.tx.PutRow(row); err != nil {
		return err
	}
	a.rows = append(a.rows, rowUpdate{bucket: r.Bucket, key: r.Key, row: &row})
	return a.count(r.Bucket, objects, bytes, 0)
}

func (a *applier) remove(r *journal.Record) error {
	old, found, err := a.tx.Row(r.Bucket, r.Key)
	if err != nil || !found {
		return err
	}
	if _, err := a.release(old.Sequence, old.Size, old.Meta, true); err != nil {
		return err
	}
	if err := a.tx.DeleteRow(r.Bucket, r.Key); err != nil {
		return err
	}
	a.rows = append(a.rows, rowUpdate{bucket: r.Bucket, key: r.Key})
	return a.count(r.Bucket, -1, -old.Size, 0)
}

// hold gives a record's body, new or shared, its reference. A record that brings
// none gets a witness, so that each has a row of bodies as long as it stands.
func (a *applier) hold(r *journal.Record, loc journal.Location) error {
	if bringsBody(r) {
		return a.bring(r, loc, 1)
	}
	if err := a.tx.PutBody(index.Witness(r.Sequence)); err != nil {
		return err
	}
	return a.settle(balance{}.add(r.Extents, 1))
}

// bring adds the body that a record brings, if it does.
func (a *applier) bring(r *journal.Record, loc journal.Location, refs int64) error {
	if !bringsBody(r) {
		return nil
	}
	if r.Blob != "" {
		a.arrived = append(a.arrived, r.Blob)
	}
	a.bodies = append(a.bodies, bodyDelta{r.Sequence, loc.Segment, loc.Length})
	return a.tx.PutBody(index.Body{
		Sequence: r.Sequence, Segment: loc.Segment, Offset: loc.Offset, Length: loc.Length,
		BodyOffset: loc.BodyOffset, BodyLength: r.Size, Blob: r.Blob, Refs: refs,
		Current: r.Kind == journal.Put,
	})
}

// release takes the references of a version or part back, with what says that it
// stands, and frees bodies that nothing names any more. It returns the decoded
// Meta. A row that did not stand is fault.Corrupt: an old page of the index says
// so, and must not cost what has its references now.
func (a *applier) release(sequence uint64, size int64, meta []byte, version bool) (*journal.Record, error) {
	r, err := decodeMeta(meta)
	if err != nil {
		return nil, err
	}
	if ownBody(r.Extents, size) {
		return r, a.refer(sequence, -1, version)
	}
	if err := a.tx.DropWitness(sequence); err != nil {
		return nil, err
	}
	return r, a.settle(balance{}.add(r.Extents, -1))
}

// balance is what a record does to the references of bodies, by their
// sequences: one for each extent that is gained or lost.
type balance map[uint64]int64

func (b balance) add(extents []journal.Extent, each int64) balance {
	for _, e := range extents {
		b[e.Body] += each
	}
	return b
}

// settle brings a balance into the index and frees bodies that nothing names
// any more. What a record gains and loses at once must be in one balance.
func (a *applier) settle(b balance) error {
	for _, sequence := range slices.Sorted(maps.Keys(b)) {
		if b[sequence] == 0 {
			continue
		}
		if err := a.refer(sequence, b[sequence], false); err != nil {
			return err
		}
	}
	return nil
}

// refer changes how often a body is named. With ends set the version of its own
// record stands no longer.
func (a *applier) refer(sequence uint64, delta int64, ends bool) error {
	body, found, err := a.tx.Body(sequence)
	if err != nil || !found && a.replaying {
		return err
	}
	if found && body.Refs+delta == 0 && body.Current == ends && !a.replaying {
		if body.Blob != "" {
			a.freed = append(a.freed, body.Blob)
		}
		a.bodies = append(a.bodies, bodyDelta{sequence, body.Segment, -body.Length})
		return a.tx.DeleteBody(sequence)
	}
	_, _, err = a.tx.AddRef(sequence, delta, ends)
	return err
}

func (a *applier) uploadCreate(r *journal.Record) error {
	err := a.tx.PutUpload(index.Upload{
		ID: r.Upload, Bucket: r.Bucket, Key: r.Key, Created: r.Time, Sequence: r.Sequence, Meta: metaOf(r),
	})
	if err != nil {
		return err
	}
	return a.count(r.Bucket, 0, 0, 1)
}

func (a *applier) part(r *journal.Record, loc journal.Location) error {
	if a.replaying {
		_, found, err := a.tx.Upload(r.Upload)
		if err == nil && !found {
			err = a.bring(r, loc, 0)
		}
		if err != nil || !found {
			return err
		}
	}
	if err := a.hold(r, loc); err != nil {
		return err
	}
	old, found, err := a.tx.Part(r.Upload, r.Part)
	if err != nil {
		return err
	}
	if found {
		if _, err := a.release(old.Sequence, old.Size, old.Meta, false); err != nil {
			return err
		}
	}
	return a.tx.PutPart(index.Part{
		Upload: r.Upload, Number: r.Part, Sequence: r.Sequence, Size: r.Size,
		Modified: r.Time, ETag: r.ETag, Meta: metaOf(r),
	})
}

// complete gives the object its references and takes those of all parts back.
// Most of that cancels out. Which parts were listed is not asked: extents do
// not tell, since parts that are copies may share them.
func (a *applier) complete(r *journal.Record) error {
	b := balance{}.add(r.Extents, 1)
	err := a.eachPart(r.Upload, func(p index.Part, shared []journal.Extent) error {
		b.add(extentsOf(shared, p.Sequence, p.Size), -1)
		if ownBody(shared, p.Size) {
			return nil
		}
		return a.tx.DropWitness(p.Sequence)
	})
	if err != nil {
		return err
	}
	if err := a.tx.PutBody(index.Witness(r.Sequence)); err != nil {
		return err
	}
	if err := a.settle(b); err != nil {
		return err
	}
	if err := a.endUpload(r); err != nil {
		return err
	}
	return a.replace(r)
}

func (a *applier) abort(r *journal.Record) error {
	err := a.eachPart(r.Upload, func(p index.Part, _ []journal.Extent) error {
		_, err := a.release(p.Sequence, p.Size, p.Meta, false)
		return err
	})
	if err != nil {
		return err
	}
	return a.endUpload(r)
}

func (a *applier) endUpload(r *journal.Record) error {
	if a.replaying {
		if _, found, err := a.tx.Upload(r.Upload); err != nil || !found {
			return err
		}
	}
	if err := a.tx.DeleteParts(r.Upload); err != nil {
		return err
	}
	if err := a.tx.DeleteUpload(r.Upload); err != nil {
		return err
	}
	return a.count(r.Bucket, 0, 0, -1)
}

// partsPage is how many parts are read at once: few, since each may be a copy
// with maxExtents.
const partsPage = 100

// eachPart visits an upload's parts in ascending order, with the extents that
// they share.
func (a *applier) eachPart(upload string, visit func(index.Part, []journal.Extent) error) error {
	for after := 0; ; {
		parts, err := a.tx.Parts(upload, after, partsPage)
		if err != nil || len(parts) == 0 {
			return err
		}
		for _, p := range parts {
			r, err := decodeMeta(p.Meta)
			if err != nil {
				return err
			}
			if err := visit(p, r.Extents); err != nil {
				return err
			}
			after = p.Number
		}
	}
}
