package store_test

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"larder/fault"
	"larder/store"
	"larder/store/index"
)

// simTx is a transaction: a state that nobody else sees yet.
type simTx struct {
	simReads
	x   *simIndex
	t   *simTables
	err error
}

var _ store.ViewTx = (*simTx)(nil)

// fail keeps the first failure, after which nothing may be committed.
func (tx *simTx) fail(op string, code fault.Code, what uint64) error {
	err := simFault(op, code, what)
	if tx.err == nil {
		tx.err = err
	}
	return err
}

func (tx *simTx) PutBucket(b index.Bucket) error {
	if tx.err != nil {
		return tx.err
	}
	for _, other := range tx.t.buckets {
		if other.Name == b.Name && other.ID != b.ID {
			return tx.fail("PutBucket", fault.BucketExists, b.ID)
		}
	}
	tx.t.buckets[b.ID] = b
	return tx.err
}

func (tx *simTx) DeleteBucket(id uint64) error {
	if tx.err != nil {
		return tx.err
	}
	for k := range tx.t.rows {
		if k.bucket == id {
			return tx.fail("DeleteBucket", fault.BucketNotEmpty, id)
		}
	}
	for _, u := range tx.t.uploads {
		if u.Bucket == id {
			return tx.fail("DeleteBucket", fault.BucketNotEmpty, id)
		}
	}
	delete(tx.t.buckets, id)
	return tx.err
}

func (tx *simTx) AddBucket(id uint64, objects, bytes, uploads int64) error {
	if tx.err != nil {
		return tx.err
	}
	b, ok := tx.t.buckets[id]
	if !ok {
		return tx.fail("AddBucket", fault.NoSuchBucket, id)
	}
	b.Objects += objects
	b.Bytes += bytes
	b.Uploads += uploads
	if b.Objects < 0 || b.Bytes < 0 || b.Uploads < 0 {
		return tx.fail("AddBucket", fault.Corrupt, id)
	}
	tx.t.buckets[id] = b
	return tx.err
}

func (tx *simTx) PutRow(r index.Row) error {
	if tx.err != nil {
		return tx.err
	}
	tx.t.rows[simKey{r.Bucket, r.Key}] = r
	return tx.err
}

func (tx *simTx) DeleteRow(bucket uint64, key string) error {
	if tx.err != nil {
		return tx.err
	}
	delete(tx.t.rows, simKey{bucket, key})
	return tx.err
}

func (tx *simTx) PutBody(b index.Body) error {
	if tx.err != nil {
		return tx.err
	}
	tx.t.bodies[b.Sequence] = b
	return tx.err
}

func (tx *simTx) AddRef(sequence uint64, delta int64, ends bool) (int64, index.Body, error) {
	b, ok := tx.t.bodies[sequence]
	if !ok || b.Refs+delta < 0 || ends && !b.Current {
		return 0, index.Body{}, tx.fail("AddRef", fault.Corrupt, sequence)
	}
	b.Refs += delta
	b.Current = b.Current && !ends
	return b.Refs, b, tx.PutBody(b)
}

func (tx *simTx) DeleteBody(sequence uint64) error {
	if tx.err != nil {
		return tx.err
	}
	delete(tx.t.bodies, sequence)
	return tx.err
}

func (tx *simTx) DropWitness(sequence uint64) error {
	if tx.err != nil {
		return tx.err
	}
	if b, ok := tx.t.bodies[sequence]; !ok || b.Refs != 0 || !b.Current {
		return tx.fail("DropWitness", fault.Corrupt, sequence)
	}
	return tx.DeleteBody(sequence)
}

func (tx *simTx) PutUpload(u index.Upload) error {
	if tx.err != nil {
		return tx.err
	}
	tx.t.uploads[u.ID] = u
	return tx.err
}

func (tx *simTx) DeleteUpload(id string) error {
	if tx.err != nil {
		return tx.err
	}
	delete(tx.t.uploads, id)
	return tx.DeleteParts(id)
}

func (tx *simTx) PutPart(p index.Part) error {
	if tx.err != nil {
		return tx.err
	}
	tx.t.parts[simPart{p.Upload, p.Number}] = p
	return tx.err
}

func (tx *simTx) DeleteParts(upload string) error {
	if tx.err != nil {
		return tx.err
	}
	maps.DeleteFunc(tx.t.parts, func(k simPart, _ index.Part) bool { return k.upload == upload })
	return tx.err
}

func (tx *simTx) AddSegment(number uint64) error {
	if tx.err != nil {
		return tx.err
	}
	tx.t.segments[number] = true
	return tx.err
}

func (tx *simTx) DropSegment(number uint64) error {
	if tx.err != nil {
		return tx.err
	}
	delete(tx.t.segments, number)
	return tx.err
}

func (tx *simTx) MoveBody(sequence, segment uint64, offset, length, bodyOffset int64) (bool, error) {
	b, ok := tx.t.bodies[sequence]
	if !ok || b.Bare() {
		return false, tx.err
	}
	b.Segment, b.Offset, b.Length, b.BodyOffset = segment, offset, length, bodyOffset
	tx.t.bodies[sequence] = b
	return true, tx.err
}

func (tx *simTx) Unreferenced(limit int) ([]uint64, error) {
	var out []uint64
	for _, b := range tx.t.bodies {
		if b.Refs == 0 && !b.Current {
			out = append(out, b.Sequence)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), limit)], tx.err
}

func (tx *simTx) SetApplied(p index.Position) { tx.t.applied = p }

func (tx *simTx) Commit() error {
	if tx.err != nil {
		return tx.err
	}
	tx.err = simFault("Commit", fault.Internal, 0)
	return tx.x.commit(tx.t)
}

func (tx *simTx) Rollback() { tx.err = simFault("Rollback", fault.Internal, 0) }

// Verify compares the counters of the buckets with what they count.
func (v *simView) Verify(context.Context) error {
	t := v.x.now()
	counted := map[uint64]index.Bucket{}
	for _, r := range t.rows {
		b := counted[r.Bucket]
		b.Objects, b.Bytes = b.Objects+1, b.Bytes+r.Size
		counted[r.Bucket] = b
	}
	for _, u := range t.uploads {
		b := counted[u.Bucket]
		b.Uploads++
		counted[u.Bucket] = b
	}
	for id, n := range counted {
		b, ok := t.buckets[id]
		if !ok {
			return simFault("Verify", fault.Corrupt, id)
		}
		if cmp.Or(b.Objects-n.Objects, b.Bytes-n.Bytes, b.Uploads-n.Uploads) != 0 {
			return simFault("Verify", fault.Corrupt, id)
		}
	}
	for id, b := range t.buckets {
		if _, any := counted[id]; !any && cmp.Or(b.Objects, b.Bytes, b.Uploads) != 0 {
			return simFault("Verify", fault.Corrupt, id)
		}
	}
	return nil
}
