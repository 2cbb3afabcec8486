package journal

import (
	"errors"
	"fmt"

	"larder/fault"
	"larder/store/vfs"
)

const (
	// zeroAhead is how far a small batch writes zeros behind itself, in the same
	// write. Reserved space that was never written costs a metadata commit at the
	// sync of its first write; writing it ahead pays that once in many batches.
	zeroAhead = 256 << 10
	// smallBatch is the largest batch that does so: the zeros are not to cost more
	// than the records.
	smallBatch = 32 << 10
)

// noRoom is an error that left the journal as it was before: the batch can be
// tried again later.
type noRoom struct {
	code fault.Code
	path string
	err  error
}

func (e *noRoom) Error() string { return e.path + ": " + e.err.Error() }
func (e *noRoom) Unwrap() error { return e.err }

// soft makes a noRoom of an error that only says "not now", and leaves others.
func soft(path string, err error) error {
	if code := vfs.CodeOf(err); code == fault.NoSpace || code == fault.Unavailable {
		return &noRoom{code: code, path: path, err: err}
	}
	return err
}

// Append writes the records as one batch and assigns Sequence, Batch and Sums.
// It returns where they lie. They are not durable before Sync; batches that are
// appended without a Sync between them count as one.
//
// A record that cannot be written (InvalidArgument, MetadataTooLarge,
// EntityTooLarge), and a lack of space (NoSpace) or of file descriptors
// (Unavailable), leave nothing of the whole batch, and the journal usable. Any
// other error is final: see ErrFailed. When the disk is full, batches of nothing
// but deletes and aborts still find room in the reserve.
func (j *Journal) Append(recs []*Record) ([]Location, error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.Err(); err != nil {
		return nil, err
	}
	for _, r := range recs {
		if err := r.check(); err != nil {
			return nil, err
		}
	}
	a := &appending{j: j, before: j.head, next: j.next, frees: allFree(recs), locs: make([]Location, 0, len(recs))}
	if err := a.run(recs); err != nil {
		return nil, a.undo(err)
	}
	a.finish()
	return a.locs, nil
}

func allFree(recs []*Record) bool {
	for _, r := range recs {
		if !r.Kind.frees() {
			return false
		}
	}
	return true
}

// appending is one Append.
type appending struct {
	j       *Journal
	before  head   // to go back to
	next    uint64 // likewise
	touched bool   // the files are no longer as they were
	frees   bool
	sealed  []segmentHead // the heads that were followed by another, in order
	locs    []Location
}

func (a *appending) run(recs []*Record) error {
	j := a.j
	if !j.dirty {
		j.batch = j.next
	}
	if !a.frees {
		if err := j.keepReserve(); err != nil {
			return err
		}
	}
	for len(recs) > 0 {
		n, need, err := a.encode(recs)
		if err != nil {
			return err
		}
		if n > 0 {
			err = a.write()
		} else {
			err = a.roll(need)
		}
		if err != nil {
			return err
		}
		recs = recs[n:]
	}
	return nil
}

// encode fills the buffer with as many records as fit into the head, and gives
// them their places. need is the size of the first one that does not fit.
func (a *appending) encode(recs []*Record) (n int, need int64, err error) {
	j := a.j
	j.buf = j.buf[:0]
	for _, r := range recs {
		start := int64(len(j.buf))
		r.Sequence, r.Batch = j.next, j.batch
		r.Sums = chunkSums(r.Sums[:0], r.Body)
		buf, h, ok := appendRecord(j.buf, r, &j.c.StoreID, j.head.room-j.head.end)
		j.buf = buf
		if h.metaLen > MaxMeta {
			return 0, 0, &noRoom{code: fault.MetadataTooLarge, path: r.Key, err: fmt.Errorf("%d bytes of metadata", h.metaLen)}
		}
		if !ok {
			return n, h.length(), nil
		}
		a.locs = append(a.locs, Location{
			Segment: j.head.number, Offset: j.head.end + start, Length: h.length(),
			BodyOffset: h.bodyOffset(), BodyLength: int64(h.bodyLen), Sequence: r.Sequence,
		})
		j.next++
		n++
	}
	return n, 0, nil
}

// write puts the buffer behind the last record, with one write.
func (a *appending) write() error {
	h := &a.j.head
	size := int64(len(a.j.buf))
	end := h.end + size
	if end > h.zeroed {
		a.j.zeroAhead(end)
		h.zeroed = h.end + int64(len(a.j.buf))
	}
	a.touched = true
	if n, err := h.handle.file.WriteAt(a.j.buf, h.end); err != nil {
		return soft(a.j.c.path(h.number), err)
	} else if n < len(a.j.buf) {
		return errors.New("short write without an error")
	}
	h.end = end
	return nil
}

// zeroAhead lengthens a small batch by zeros, up to a multiple of the page size.
func (j *Journal) zeroAhead(end int64) {
	if len(j.buf) > smallBatch {
		return
	}
	until := min((end+j.ahead)&^4095, j.head.room)
	for pad := until - end; pad > 0; pad = until - j.head.end - int64(len(j.buf)) {
		j.buf = append(j.buf, zeros[:min(pad, int64(len(zeros)))]...)
	}
}

// undo takes a batch back after a lack of space, so that nothing of it is left,
// not even after a power cut. All else makes the journal fail.
func (a *appending) undo(cause error) error {
	j := a.j
	var lack *noRoom
	if !errors.As(cause, &lack) {
		return j.fail("journal.Append", j.c.path(j.head.number), cause)
	}
	if a.touched {
		if err := a.restore(); err != nil {
			return j.fail("journal.Append", j.c.path(j.head.number), errors.Join(cause, err))
		}
	}
	j.next = a.next
	return fault.New("journal.Append", lack.code, lack.path, lack.err)
}

// restore removes the segments that the batch began and cuts its records off the
// one that it found. A later segment is the proof that an earlier one is whole,
// so the later ones go first, each durably: a power cut must leave no gap.
func (a *appending) restore() error {
	j := a.j
	for i := len(a.sealed); i > 0; i-- {
		n := j.head.number
		if i < len(a.sealed) {
			n = a.sealed[i].number
		}
		j.files.forget(n)
		if err := j.c.FS.Remove(j.c.path(n)); err != nil {
			return err
		}
		if err := j.c.FS.SyncDir(j.c.Dir); err != nil {
			return err
		}
	}
	if j.head.handle != a.before.handle {
		j.files.release(j.head.handle)
	}
	j.head = a.before
	if err := j.head.seal(); err != nil {
		return err
	}
	j.synced()
	return nil
}

// finish lets go of what only undo needed, and shows the new position.
func (a *appending) finish() {
	j := a.j
	if j.head.handle != a.before.handle {
		j.files.release(a.before.handle)
	}
	if cap(j.buf) > keptBuffer {
		j.buf = nil
	}
	j.dirty = j.dirty || len(a.locs) > 0
	j.publish(a.sealed)
}

// seal cuts the segment behind its last record, durably. It takes no more.
func (h *head) seal() error {
	if err := h.handle.file.Truncate(h.end); err != nil {
		return err
	}
	if err := h.handle.file.Sync(); err != nil {
		return err
	}
	h.room, h.sealed = h.end, true
	return nil
}

// check refuses a record that could not be read back as it is.
func (r *Record) check() error {
	bad := func(code fault.Code, format string, args ...any) error {
		return fault.New("journal.Append", code, r.Key, fmt.Errorf(format, args...))
	}
	switch {
	case !r.Kind.known() || r.Kind == Body:
		return bad(fault.InvalidArgument, "record kind %d", r.Kind)
	case len(r.Body) > MaxBody:
		return bad(fault.EntityTooLarge, "inline body of %d bytes", len(r.Body))
	case r.Size < 0 || r.Part < 0:
		return bad(fault.InvalidArgument, "negative size or part")
	case len(r.MD5) != 0 && len(r.MD5) != md5Size, len(r.SHA256) != 0 && len(r.SHA256) != sha256Size:
		return bad(fault.InvalidArgument, "a digest of the wrong length")
	case r.Checksum.Algorithm == 0 && (r.Checksum.Type != 0 || len(r.Checksum.Value) > 0):
		return bad(fault.InvalidArgument, "a checksum without an algorithm")
	case len(r.Body) > 0 && (r.Blob != "" || len(r.Extents) > 0), r.Blob != "" && len(r.Extents) > 0:
		return bad(fault.InvalidArgument, "more than one body")
	}
	if err := errors.Join(checkPairs(r.User), checkPairs(r.Tags), checkPairs(r.Settings), r.checkLists()); err != nil {
		return bad(fault.InvalidArgument, "%w", err)
	}
	return nil
}

func (r *Record) checkLists() error {
	for _, e := range r.Extents {
		if e.Offset < 0 || e.Length < 0 {
			return errors.New("negative extent")
		}
	}
	for _, n := range r.PartSizes {
		if n < 0 {
			return errors.New("negative part size")
		}
	}
	return nil
}
