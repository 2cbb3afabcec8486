package index

import (
	"strconv"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// Tx is the one write transaction. It belongs to the goroutine that began it.
// Its reads see its own writes; other readers see them after Commit.
//
// After a method has failed, nothing can be written any more: Commit rolls
// back and returns the failure.
type Tx struct {
	x *Index
	c *conn

	buckets map[uint64]*Bucket // read and changed by AddBucket, written by Commit
	applied *Position          // set by SetApplied, written by Commit
	err     error              // the first failure
}

// Begin starts the write transaction. It fails with fault.Conflict while
// another one or a checkpoint is running, fault.Unavailable after Close.
func (x *Index) Begin() (*Tx, error) {
	const op = "index.Begin"
	if !x.writing.TryLock() {
		return nil, fault.New(op, fault.Conflict, "", errBusy)
	}
	if x.isClosed() {
		x.writing.Unlock()
		return nil, fault.New(op, fault.Unavailable, "", errClosed)
	}
	if err := x.writer.run(beginWrite); err != nil {
		x.writing.Unlock()
		return nil, x.note(failure(op, "", err))
	}
	return &Tx{x: x, c: x.writer, buckets: make(map[uint64]*Bucket)}, nil
}

// fail keeps the first failure of the transaction.
func (t *Tx) fail(op, resource string, err error) error {
	err = t.x.note(failure(op, resource, err))
	if err != nil && t.err == nil {
		t.err = err
	}
	return err
}

// start returns a statement to be bound, or why nothing may be written.
func (t *Tx) start(op string, st statement) (*sqlite.Stmt, error) {
	if t.err != nil {
		return nil, t.err
	}
	if t.c == nil {
		return nil, fault.New(op, fault.Internal, "", errDone)
	}
	return t.c.use(st), nil
}

// PutRow makes r the current version of its key.
func (t *Tx) PutRow(r Row) error {
	const op = "index.PutRow"
	s, err := t.start(op, putRow)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(r.Bucket))
	t.c.bindKey(s, 2, r.Key)
	s.BindInt64(3, int64(r.Sequence))
	s.BindInt64(4, r.Size)
	s.BindInt64(5, r.Modified)
	s.BindText(6, r.ETag)
	s.BindInt64(7, t.c.sums.row(&r))
	s.BindBytes(8, r.Meta)
	return t.fail(op, r.Key, exec(s))
}

// DeleteRow removes a key, if it is there.
func (t *Tx) DeleteRow(bucket uint64, key string) error {
	const op = "index.DeleteRow"
	s, err := t.start(op, deleteRow)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(bucket))
	t.c.bindKey(s, 2, key)
	return t.fail(op, key, exec(s))
}

// PutBody adds a body or replaces what is known of it.
func (t *Tx) PutBody(b Body) error {
	const op = "index.PutBody"
	s, err := t.start(op, putBody)
	if err != nil {
		return err
	}
	return t.fail(op, strconv.FormatUint(b.Sequence, 10), t.c.putBody(s, &b))
}

func (c *conn) putBody(s *sqlite.Stmt, b *Body) error {
	s.BindInt64(1, int64(b.Sequence))
	s.BindInt64(2, int64(b.Segment))
	s.BindInt64(3, b.Offset)
	s.BindInt64(4, b.Length)
	s.BindInt64(5, b.BodyOffset)
	s.BindInt64(6, b.BodyLength)
	s.BindInt64(7, b.Refs)
	if b.Blob == "" {
		s.BindNull(8)
	} else {
		s.BindText(8, b.Blob)
	}
	s.BindInt64(9, c.sums.body(b))
	s.BindBool(10, b.Current)
	return exec(s)
}

// AddRef changes how many rows and parts refer to a body, and returns how many
// do now and the body with that number. The body stays at 0: it is the
// caller's to delete. With ends set the version of the body's own record stands no
// longer. It is fault.Corrupt when the body is missing, the number falls below 0
// or that version did not stand, since then index and journal do not fit.
func (t *Tx) AddRef(sequence uint64, delta int64, ends bool) (int64, Body, error) {
	const op = "index.AddRef"
	name := strconv.FormatUint(sequence, 10)
	b, found, err := t.Body(sequence)
	switch {
	case err != nil:
		return 0, Body{}, t.fail(op, name, err)
	case !found:
		return 0, Body{}, t.fail(op, name, corrupt(op, name, errMissing))
	case b.Refs+delta < 0:
		return 0, Body{}, t.fail(op, name, corrupt(op, name, errNegative))
	case ends && !b.Current:
		return 0, Body{}, t.fail(op, name, corrupt(op, name, errWitness))
	}
	b.Refs += delta
	b.Current = b.Current && !ends
	return b.Refs, b, t.PutBody(b)
}

// DeleteBody forgets a body, if it is there.
func (t *Tx) DeleteBody(sequence uint64) error {
	const op = "index.DeleteBody"
	s, err := t.start(op, deleteBody)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(sequence))
	return t.fail(op, strconv.FormatUint(sequence, 10), exec(s))
}

// PutUpload adds an upload or replaces what is known of it.
func (t *Tx) PutUpload(u Upload) error {
	const op = "index.PutUpload"
	s, err := t.start(op, putUpload)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(u.Bucket))
	t.c.bindKey(s, 2, u.Key)
	s.BindText(3, u.ID)
	s.BindInt64(4, u.Created)
	s.BindInt64(5, int64(u.Sequence))
	s.BindInt64(6, t.c.sums.upload(&u))
	s.BindBytes(7, u.Meta)
	return t.fail(op, u.ID, exec(s))
}

// DeleteUpload forgets an upload and the parts that are still listed under it.
func (t *Tx) DeleteUpload(id string) error {
	if err := t.DeleteParts(id); err != nil {
		return err
	}
	const op = "index.DeleteUpload"
	s, err := t.start(op, deleteUpload)
	if err != nil {
		return err
	}
	s.BindText(1, id)
	return t.fail(op, id, exec(s))
}

// PutPart adds a part or replaces the one with its number.
func (t *Tx) PutPart(p Part) error {
	const op = "index.PutPart"
	s, err := t.start(op, putPart)
	if err != nil {
		return err
	}
	s.BindText(1, p.Upload)
	s.BindInt64(2, int64(p.Number))
	s.BindInt64(3, int64(p.Sequence))
	s.BindInt64(4, p.Size)
	s.BindInt64(5, p.Modified)
	s.BindText(6, p.ETag)
	s.BindInt64(7, t.c.sums.part(&p))
	s.BindBytes(8, p.Meta)
	return t.fail(op, p.Upload, exec(s))
}

// DeleteParts forgets all parts of an upload.
func (t *Tx) DeleteParts(upload string) error {
	const op = "index.DeleteParts"
	s, err := t.start(op, deleteParts)
	if err != nil {
		return err
	}
	s.BindText(1, upload)
	return t.fail(op, upload, exec(s))
}

// SetApplied says how far the journal has been applied once this transaction
// is committed.
func (t *Tx) SetApplied(p Position) { t.applied = &p }

// Commit makes the transaction visible to readers and moves Applied. It is
// atomic but NOT durable on return: the journal is, and a restart replays from
// the Applied that reached the disk. After an error nothing of it is visible.
func (t *Tx) Commit() error {
	const op = "index.Commit"
	if t.c == nil {
		return fault.New(op, fault.Internal, "", errDone)
	}
	err := t.flush()
	if err == nil {
		err = t.fail(op, "", t.c.run(commit))
	}
	if err != nil {
		t.Rollback()
		return err
	}
	if t.applied != nil {
		t.x.applied.Store(t.applied)
	}
	t.end()
	return nil
}

// flush writes what the transaction has kept in memory.
func (t *Tx) flush() error {
	if t.err != nil {
		return t.err
	}
	if err := t.writeBuckets(); err != nil {
		return err
	}
	if t.applied == nil {
		return nil
	}
	st := state{format: t.x.format, store: t.x.store, applied: *t.applied}
	return t.fail("index.Commit", "", t.c.putState(t.c.use(putState), &st))
}

// Rollback throws the transaction away. It does nothing after Commit.
func (t *Tx) Rollback() {
	if t.c == nil {
		return
	}
	if !t.c.db.AutocommitEnabled() { // SQLite itself rolls back after some errors
		if err := t.c.run(rollback); err != nil {
			t.x.log.Error("cannot roll back", "err", err)
		}
	}
	t.end()
}

func (t *Tx) end() {
	t.c = nil
	t.x.writing.Unlock()
}
