package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"larder/fault"
)

const opCompact = "journal.Compact"

// ErrGone says that a segment is not on the disk any more: it was superseded and
// removed.
var ErrGone = errors.New("the segment was compacted and is gone")

// Verdict says what a compaction does with a record.
type Verdict uint8

// The verdicts.
const (
	Drop     Verdict = iota // it is needed no more
	Keep                    // it is kept as it stands, byte for byte
	KeepBody                // of it only the body is needed: a carrier takes its place
	KeepEnd                 // of a Complete only the end of its upload is needed: an Abort takes its place
)

// Compaction says which segments are rewritten into one, and what of them is
// kept.
type Compaction struct {
	// Inputs are the numbers of one or more segments that follow each other among
	// the winners, in order. The head is none of them.
	Inputs []uint64
	// AsOf is the sequence up to which the records had been applied before the
	// first verdict was found. No record of the inputs may be later.
	AsOf uint64
	// Keep is asked about every record, in order. The Record is the callee's to
	// keep; it has no Body. KeepBody is for records that bring a body of their own,
	// inline or in a blob, KeepEnd for Complete.
	Keep func(*Record, Location) (Verdict, error)
	// Throttle, when set, waits until so many bytes may be read or written; it is
	// asked for at most 1 MiB at a time. Its error ends the compaction.
	Throttle func(context.Context, int) error
}

// Move says where a record lies now.
type Move struct {
	Sequence uint64
	To       Location
}

// Compact writes what is kept of the inputs to a new segment and returns it, with
// the places of all its records. Every kept record is verified whole before it is
// copied; a dropped one only as far as it was read. On return the output is
// durable and its bodies can be read, but it does not count yet: move the index
// over, make that durable, and Adopt it, or Discard it. Until then there is no
// other Compact (Conflict).
//
// Compact runs beside Append, Sync and reads. A damaged record (Corrupt), a lack
// of space (NoSpace) or of file descriptors (Unavailable), a done ctx and an error
// of Keep or Throttle leave nothing of the output, and the journal as it was. Any
// other failed write or sync is final, as everywhere: see ErrFailed.
func (j *Journal) Compact(ctx context.Context, c Compaction) (Segment, []Move, error) {
	ctx, done, err := j.enter(ctx, opCompact)
	if err != nil {
		return Segment{}, nil, err
	}
	defer done()
	inputs, number, err := j.claim(c.Inputs)
	if err != nil {
		return Segment{}, nil, err
	}
	w := newOutput(ctx, j, number, c.Throttle)
	for i := 0; i < len(inputs) && err == nil; i++ {
		err = w.copy(&c, inputs[i])
	}
	if err == nil {
		err = w.finish(segmentHead{
			number: number, first: inputs[0].first, last: inputs[len(inputs)-1].last, asOf: c.AsOf,
			compacted: true, created: j.c.Now().UnixNano(),
		})
	}
	if err != nil {
		err = w.giveUp(err)
	}
	j.state.Lock()
	defer j.state.Unlock()
	if err != nil {
		j.roster.pending = 0
		return Segment{}, nil, err
	}
	j.roster.output = &w.seg
	return w.seg.public(), w.moves, nil
}

// enter begins a change of the files beside Append, which Close waits for.
func (j *Journal) enter(ctx context.Context, op string) (context.Context, func(), error) {
	j.state.Lock()
	defer j.state.Unlock()
	if j.failed != nil {
		return nil, nil, j.failed
	}
	if j.closing {
		return nil, nil, fault.New(op, fault.Unavailable, "", errClosed)
	}
	j.changes.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(j.base, func() { cancel(context.Cause(j.base)) })
	return ctx, func() {
		stop()
		cancel(nil)
		j.changes.Done()
	}, nil
}

// claim holds the inputs of a compaction against the winners, and takes the
// number of its output.
func (j *Journal) claim(numbers []uint64) ([]segmentHead, uint64, error) {
	refuse := func(code fault.Code, format string, args ...any) ([]segmentHead, uint64, error) {
		return nil, 0, fault.New(opCompact, code, "", fmt.Errorf(format, args...))
	}
	j.state.Lock()
	defer j.state.Unlock()
	r := &j.roster
	if r.pending != 0 {
		return refuse(fault.Conflict, "segment %d is neither adopted nor discarded", r.pending)
	}
	if len(numbers) == 0 {
		return refuse(fault.InvalidArgument, "no inputs")
	}
	at := find(r.now.winners, numbers[0])
	if at < 0 || at+len(numbers) >= len(r.now.winners) { // the last winner is the head
		return refuse(fault.InvalidArgument, "segments %d are no sealed winners", numbers)
	}
	inputs := slices.Clone(r.now.winners[at : at+len(numbers)])
	for i, s := range inputs {
		if s.number != numbers[i] {
			return refuse(fault.InvalidArgument, "segments %d do not follow each other", numbers)
		}
	}
	if inputs[len(inputs)-1].last < inputs[0].first {
		return refuse(fault.InvalidArgument, "segments %d never held a record", numbers)
	}
	r.top++
	r.pending = r.top
	return inputs, r.pending, nil
}

// Discard gives an output of Compact up that is not adopted, and removes it
// durably. The index must not rely on it.
func (j *Journal) Discard(output uint64) error {
	return j.take("journal.Discard", output, func(r *roster) error {
		if r.output == nil || r.output.number != output {
			return errors.New("no such output")
		}
		return nil
	}, func(r *roster) { r.output, r.pending = nil, 0 })
}

// Remove removes a superseded segment, durably. The index must not rely on it.
// Reads that have the file open go on; ReadBody finds it no more. A segment that
// is gone already is no error; one that counts is InvalidArgument. After a lack of
// space or of file descriptors it can be tried again; any other error is final.
func (j *Journal) Remove(number uint64) error {
	err := j.take("journal.Remove", number, func(r *roster) error {
		switch {
		case find(r.all, number) < 0 && number != r.pending:
			return ErrGone
		case !r.beaten(number):
			return errors.New("the segment is not superseded")
		}
		return nil
	}, func(r *roster) { r.drop(number) })
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// take removes a segment's file, durably, when may has nothing against it, and
// then forgets it. It is gone for new readers before: none is to take a missing
// file for damage.
func (j *Journal) take(op string, number uint64, may func(*roster) error, forget func(*roster)) error {
	_, done, err := j.enter(context.Background(), op)
	if err != nil {
		return err
	}
	defer done()
	j.state.Lock()
	err = may(&j.roster)
	if err == nil {
		j.roster.leaving[number] = true
	}
	j.state.Unlock()
	if err != nil {
		return fault.New(op, fault.InvalidArgument, j.c.path(number), err)
	}
	name := j.c.path(number)
	err = j.c.FS.Remove(name)
	removed := err == nil || errors.Is(err, fs.ErrNotExist)
	if removed {
		j.files.forget(number) // nobody can open it anew
		err = j.c.FS.SyncDir(j.c.Dir)
	}
	err = j.changed(op, name, err)
	j.state.Lock()
	defer j.state.Unlock()
	if err == nil {
		forget(&j.roster)
	}
	if err == nil || !removed {
		delete(j.roster.leaving, number)
	}
	return err
}

// changed makes the error of a change of files: a lack of space or descriptors
// is told, anything else is final.
func (j *Journal) changed(op, name string, err error) error {
	var lack *noRoom
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrFailed):
		return err
	case errors.As(soft(name, err), &lack):
		return fault.New(op, lack.code, lack.path, lack.err)
	}
	return j.fail(op, name, err)
}
