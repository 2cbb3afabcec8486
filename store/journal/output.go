package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"larder/fault"
	"larder/store/vfs"
)

const (
	// copyBuffer is how much an output collects before it is written.
	copyBuffer = 1 << 20
	// syncStep is how much of an output is synced at once: the syncs of the journal
	// wait on the disk for this much at most.
	syncStep = 4 << 20
	// paceStep is the most that Throttle is asked for.
	paceStep = 1 << 20
)

// output is the segment that one compaction writes.
type output struct {
	j        *Journal
	ctx      context.Context
	throttle func(context.Context, int) error
	seg      segmentHead // its header, once finished

	file     vfs.File // nil before the first write
	name     string   // of the unfinished file, "" while there is none
	named    bool     // it may have its final name
	buf      []byte   // what was not written yet
	end      int64    // where buf begins
	unsynced int64
	moves    []Move
}

func newOutput(ctx context.Context, j *Journal, number uint64, throttle func(context.Context, int) error) *output {
	return &output{j: j, ctx: ctx, throttle: throttle, seg: segmentHead{number: number}, end: compactedHeader}
}

// copy takes over what is kept of one input.
func (w *output) copy(c *Compaction, seg segmentHead) error {
	in, err := w.j.walk(w.ctx, opCompact, seg, seg.length)
	if err != nil {
		return err
	}
	defer in.file.Close()
	in.before = func(_, n int64) error { return w.pace(n) }
	for {
		f, at, ok, err := in.next()
		if err != nil || !ok {
			return err
		}
		if err := w.record(c, in, &f, at); err != nil {
			return err
		}
	}
}

// record carries out the verdict on one record.
func (w *output) record(c *Compaction, in *walker, f *frame, at int64) error {
	if f.sequence > c.AsOf {
		return fault.New(opCompact, fault.InvalidArgument, w.j.c.path(in.seg.number),
			fmt.Errorf("record %d was not applied: verdicts are as of record %d", f.sequence, c.AsOf))
	}
	r, err := f.decode()
	if err != nil {
		return w.j.c.corrupt(opCompact, in.seg.number, at, err.Error()).WithHint(hintDamaged)
	}
	verdict, err := c.Keep(r, f.location(in.seg.number, at))
	if err != nil || verdict == Drop {
		return err
	}
	if err := in.whole(at, f); err != nil {
		return err
	}
	switch {
	case verdict == Keep, verdict == KeepBody && r.Kind == Body, verdict == KeepEnd && r.Kind == Abort:
		return w.add(f.header, f.b[:f.length()])
	case verdict == KeepBody && (f.bodyLen > 0 || r.Blob != ""):
		r = carrierOf(r)
		r.Body = f.b[f.bodyOffset() : f.bodyOffset()+int64(f.bodyLen)]
	case verdict == KeepEnd && r.Kind == Complete:
		r = enderOf(r)
	default:
		return fault.New(opCompact, fault.InvalidArgument, "", fmt.Errorf("verdict %d on record %d, which has nothing of that", verdict, r.Sequence))
	}
	b, h, _ := appendRecord(nil, r, &w.j.c.StoreID, math.MaxInt64)
	return w.add(h, b)
}

// carrierOf returns the record that carries the body of another one: what tells
// of the body, and nothing of what it was stored as.
func carrierOf(r *Record) *Record {
	return &Record{
		Kind: Body, Sequence: r.Sequence, Batch: r.Batch, Size: r.Size, MD5: r.MD5, SHA256: r.SHA256,
		Checksum: r.Checksum, Blob: r.Blob, Sums: r.Sums, SumsCRC: r.SumsCRC,
	}
}

// enderOf returns the record that ends the upload of a Complete whose object is
// gone: kept as it is, it would bring the object back once the key's own
// tombstone has been dropped.
func enderOf(r *Record) *Record {
	return &Record{
		Kind: Abort, Sequence: r.Sequence, Batch: r.Batch, Time: r.Time, Bucket: r.Bucket, BucketName: r.BucketName,
		Key: r.Key, Upload: r.Upload, Since: r.Since, Prev: r.Prev,
	}
}

// add puts a whole record behind the others.
func (w *output) add(h header, b []byte) error {
	f := frame{header: h}
	w.moves = append(w.moves, Move{Sequence: h.sequence, To: f.location(w.seg.number, w.end+int64(len(w.buf)))})
	w.buf = append(w.buf, b...)
	if len(w.buf) < copyBuffer {
		return nil
	}
	return w.flush()
}

// flush writes what was collected, and syncs it now and then.
func (w *output) flush() error {
	if err := w.pace(int64(len(w.buf))); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	if err := w.write(w.buf, w.end); err != nil {
		return err
	}
	w.end += int64(len(w.buf))
	w.unsynced += int64(len(w.buf))
	w.buf = w.buf[:0]
	if w.unsynced < syncStep {
		return nil
	}
	w.unsynced = 0
	return w.hard(w.file.Sync())
}

// open makes the file.
func (w *output) open() (err error) {
	if w.file != nil {
		return nil
	}
	name := w.j.c.path(w.seg.number) + newSuffix
	w.file, err = w.j.c.FS.Create(name)
	w.name = name // an error may come after the effect
	return w.lacking(err)
}

func (w *output) write(b []byte, off int64) error {
	if err := w.j.Err(); err != nil {
		return err
	}
	n, err := w.file.WriteAt(b, off)
	if err == nil && n < len(b) {
		err = errors.New("short write without an error")
	}
	return w.lacking(err)
}

// finish writes the header, and makes the output durable under its own name.
func (w *output) finish(seg segmentHead) error {
	if err := w.flush(); err != nil {
		return err
	}
	seg.records, seg.length = uint64(len(w.moves)), w.end
	w.seg = seg
	if err := w.write(seg.encode(&w.j.c.StoreID), 0); err != nil {
		return err
	}
	if err := w.hard(w.file.Sync()); err != nil {
		return err
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return w.hard(err)
	}
	w.named = true
	if err := w.lacking(w.j.c.FS.Rename(w.name, w.j.c.path(seg.number))); err != nil {
		return err
	}
	return w.lacking(w.j.c.FS.SyncDir(w.j.c.Dir))
}

// pace asks the throttle, and ends a compaction that nobody waits for.
func (w *output) pace(n int64) error {
	for ; n > 0; n -= paceStep {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.throttle == nil {
			continue
		}
		if err := w.throttle(w.ctx, int(min(n, paceStep))); err != nil {
			return err
		}
	}
	return nil
}

// lacking passes on a lack of space or of descriptors; any other error is final.
func (w *output) lacking(err error) error {
	if err == nil {
		return nil
	}
	err = soft(w.name, err)
	var lack *noRoom
	if errors.As(err, &lack) {
		return err
	}
	return w.hard(err)
}

// hard makes the journal fail: nobody knows what the disk holds.
func (w *output) hard(err error) error {
	if err == nil {
		return nil
	}
	return w.j.fail(opCompact, w.name, err)
}

// giveUp removes what there is of the output and returns the error for the
// caller. After a final error all is left to the next start.
func (w *output) giveUp(cause error) error {
	if w.file != nil {
		w.file.Close()
	}
	if errors.Is(cause, ErrFailed) {
		return cause
	}
	if w.name != "" {
		if err := w.remove(); err != nil {
			return w.j.fail(opCompact, w.name, fmt.Errorf("%v; then %w", cause, err))
		}
	}
	var lack *noRoom
	switch {
	case errors.As(cause, &lack):
		return fault.New(opCompact, lack.code, lack.path, lack.err)
	case w.ctx.Err() != nil && errors.Is(context.Cause(w.ctx), errClosed):
		return fault.New(opCompact, fault.Unavailable, "", errClosed)
	case w.ctx.Err() != nil && errors.Is(cause, w.ctx.Err()):
		return fault.New(opCompact, fault.Canceled, "", context.Cause(w.ctx))
	}
	return cause
}

// remove takes the output away. An unfinished one that comes back after a power
// cut is removed by the next start; a finished one must not come back.
func (w *output) remove() error {
	fsys := w.j.c.FS
	err := fsys.Remove(w.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !w.named {
		return nil
	}
	err = fsys.Remove(w.j.c.path(w.seg.number))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(w.j.c.Dir)
}
