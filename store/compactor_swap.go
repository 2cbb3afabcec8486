package store

import (
	"context"
	"slices"
	"time"

	"larder/fault"
	"larder/store/journal"
)

// moveChunk is how many bodies move in one transaction: few enough that a put
// which waits for it hardly notices.
const moveChunk = 64

// swap moves the index from the inputs of a compaction to its output, in steps
// that a crash may part: as long as the index names output and inputs, both are
// kept, and the next start goes on.
type swap struct {
	compactor *compactor
	out       uint64
	inputs    []uint64
	moves     []journal.Move
	live      int64 // bytes of records whose bodies have moved
}

// run returns when the index durably relies on the output alone, nobody can find
// the inputs any more, and the reclaimer has them.
func (w *swap) run(ctx context.Context) error {
	s := w.compactor.store
	if err := w.move(ctx); err != nil {
		return err
	}
	if err := s.index.Sync(); err != nil {
		s.fail(err)
		return err
	}
	s.journal.Adopt(w.out)
	s.rows.forget(w.inputs)
	s.reclaimer.add(segmentsOf(w.inputs))
	return nil
}

// move goes chunk by chunk. When the very first one fails, the output is given
// up; from then on it waits for room in the index.
func (w *swap) move(ctx context.Context) error {
	s := w.compactor.store
	for next, first := 0, true; first || next < len(w.moves); {
		chunk := w.moves[next:min(next+moveChunk, len(w.moves))]
		last := next+len(chunk) == len(w.moves)
		began := s.cfg.Now()
		err := s.indexOnly(func(tx viewTx) error { return w.step(tx, chunk, first, last) })
		took := s.cfg.Now().Sub(began)
		switch {
		case err == nil:
			first, next = false, next+len(chunk)
		case first:
			return w.discard(err)
		case fault.CodeOf(err) != fault.NoSpace:
			return err
		default:
			took = retryTime
		}
		if last && err == nil {
			return nil
		}
		if s.cfg.CompactRate < 0 && err == nil {
			continue // somebody waits for it
		}
		if err := w.yield(ctx, took); err != nil {
			return err
		}
	}
	return nil
}

// step is one transaction.
func (w *swap) step(tx viewTx, chunk []journal.Move, first, last bool) error {
	if first {
		if err := tx.AddSegment(w.out); err != nil {
			return err
		}
	}
	live := int64(0)
	for _, m := range chunk {
		found, err := tx.MoveBody(m.Sequence, m.To.Segment, m.To.Offset, m.To.Length, m.To.BodyOffset)
		if err != nil {
			return err
		}
		if found {
			live += m.To.Length
		}
	}
	for _, n := range w.inputs {
		if !last {
			break
		}
		if err := tx.DropSegment(n); err != nil {
			return err
		}
	}
	w.live += live
	return nil
}

// yield leaves the committer to others for several times as long as a chunk took.
func (w *swap) yield(ctx context.Context, took time.Duration) error {
	t := time.NewTimer(min(4*took, retryTime))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (w *swap) discard(cause error) error {
	if err := w.compactor.store.journal.Discard(w.out); err != nil {
		w.compactor.store.log.Warn("the output of a compaction could not be removed; the next start does it", "segment", w.out, "error", err)
	}
	return cause
}

// settleLeftovers finishes what the last run of the process left: swaps that had
// begun, and inputs that were not yet removed.
func (c *compactor) settleLeftovers() {
	c.working.Lock()
	defer c.working.Unlock()
	err := c.tryLeftovers()
	if err != nil && c.ctx.Err() == nil {
		c.store.log.Warn("the leftovers of a compaction stay until the next start", "error", err)
	}
}

func (c *compactor) tryLeftovers() error {
	s := c.store
	left := s.journal.Superseded()
	if len(left) == 0 {
		return nil
	}
	known, err := s.index.Segments()
	if err != nil {
		return err
	}
	begun := make(map[uint64][]uint64) // inputs that the index names, by output
	var gone []uint64
	for _, l := range left {
		if slices.Contains(known, l.Number) {
			begun[l.By] = append(begun[l.By], l.Number)
		} else {
			gone = append(gone, l.Number)
		}
	}
	for out, inputs := range begun {
		w := &swap{compactor: c, out: out, inputs: inputs}
		if err := w.resume(c.ctx); err != nil {
			return err
		}
	}
	if err := s.index.Sync(); err != nil { // it may just have been made again
		s.fail(err)
		return err
	}
	s.reclaimer.add(segmentsOf(gone))
	return nil
}

// resume is run after a restart. The moves that were made are made again, which
// changes nothing.
func (w *swap) resume(ctx context.Context) error {
	s := w.compactor.store
	s.log.Info("a compaction that was cut off goes on", "segment", w.out, "inputs", len(w.inputs))
	err := s.journal.Locate(ctx, w.out, func(m journal.Move) error {
		w.moves = append(w.moves, m)
		return nil
	})
	if err != nil {
		return err
	}
	return w.run(ctx)
}

// vacuumPages is how many pages of the index are given back in one step.
const vacuumPages = 64

// shrinkIndex gives free pages of the index back, one step at a time, while
// nothing else is to be done. It tells whether there are more.
func (c *compactor) shrinkIndex() (more bool) {
	s := c.store
	err := s.committer.do(func() error {
		if err := s.writable(); err != nil {
			return err
		}
		var err error
		if more, err = s.index.Vacuum(vacuumPages); err != nil {
			return s.committer.choreFailed(err)
		}
		if err := s.checkpoint(); err != nil {
			s.fail(err)
		}
		return nil
	})
	return more && err == nil
}
