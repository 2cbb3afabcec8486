package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// owner is what a store does around compactions, as far as the disk is concerned:
// it moves its view over, makes that durable, and removes the inputs.
type owner struct {
	h     *history
	views []view // those that may be durable: the last one is the newest
}

// step compacts n winners from the i-th on and finishes the swap.
func (o *owner) step(j *journal.Journal, i, n int) error {
	inputs := j.Segments()[i : i+n]
	out, moves, err := o.h.compact(j, i, n)
	if err != nil {
		return err
	}
	both, after := o.views[len(o.views)-1].swap(inputs, out, moves)
	o.views = append(o.views, both, after)
	o.views = o.views[len(o.views)-1:] // the checkpoint
	j.Adopt(out.Number)
	for _, s := range j.Superseded() {
		if err := j.Remove(s.Number); err != nil {
			return err
		}
	}
	return nil
}

// work is a script of compactions, of outputs and of neighbours too.
func (o *owner) work(j *journal.Journal) error {
	for _, run := range []struct{ at, n int }{{1, 2}, {1, 2}, {0, 1}, {0, 2}} {
		if err := o.step(j, run.at, run.n); err != nil {
			return err
		}
	}
	return nil
}

// during returns the views that may be durable when the power is cut now: the
// steps of a swap are commits without a sync, up to the checkpoint.
func (o *owner) during(j *journal.Journal, out journal.Segment, inputs []journal.Segment, moves []journal.Move) []view {
	both, after := o.views[len(o.views)-1].swap(inputs, out, moves)
	return append(slices.Clone(o.views), both, after)
}

// recover opens a disk with each view that may be durable, and without one. What
// counts must be as before, and every body a view relies on must be there.
func (o *owner) recover(t *testing.T, disk *vfs.Mem, seed uint64, what string) (states int) {
	t.Helper()
	for _, v := range append(slices.Clone(o.views), view{}) {
		d := disk.CrashClone(rand.New(rand.NewPCG(seed, 7)), 1)
		c := config(d)
		c.SegmentSize, c.Known = 4<<10, v.known
		j, recs, err := tryReplay(c, v.at)
		if err != nil {
			t.Fatalf("%s: known %v: %v (%v)", what, v.known, err, filesOf(t, d))
		}
		v.read(t, o.h, j)
		if v.known == nil {
			o.h.checkRecords(t, j, recs)
		} else if len(recs) > 0 {
			t.Fatalf("%s: known %v: %d records came again", what, v.known, len(recs))
		}
		// It goes on: compact again over what is there, and write.
		if err := (&owner{h: o.h, views: []view{viewOf(t, o.h, j)}}).step(j, 0, 2); err != nil {
			t.Fatalf("%s: after the recovery: %v", what, err)
		}
		j.Close()
		o.h.check(t, d)
		states++
	}
	return states
}

// start opens a copy of a disk with a history.
func start(t *testing.T, base *vfs.Mem, h *history) (*vfs.Mem, *journal.Journal, *owner) {
	t.Helper()
	disk := base.CrashClone(rand.New(rand.NewPCG(1, 1)), 1)
	c := config(disk)
	c.SegmentSize = 4 << 10
	j, _ := replay(t, c)
	return disk, j, &owner{h: h, views: []view{viewOf(t, h, j)}}
}

// TestCompactCrashAtEveryStep cuts the power at every change of the disk that a
// script of compactions makes: writes, syncs, the rename, the removals and the
// folder's syncs, each of them undone or not.
func TestCompactCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	base := vfs.NewMem()
	j, h := old(t, base, 50)
	j.Close()
	states := 0
	for at := 0; ; at++ {
		disk, j, o := start(t, base, h)
		cut := &cutter{left: at}
		disk.Inject(cut.inject)
		err := o.work(j)
		disk.Inject(nil)
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		for variant := range uint64(6) {
			rng := rand.New(rand.NewPCG(uint64(at), variant))
			crashed := disk.CrashClone(rng, float64(variant)/5)
			states += o.recover(t, crashed, variant, fmt.Sprintf("cut at %d, variant %d", at, variant))
		}
		if err == nil {
			break
		}
	}
	t.Logf("%d states", states)
}

// TestSwapCrash cuts the power between the steps of a swap, when no one knows
// which state of the index is durable, and then at every step of the recovery.
func TestSwapCrash(t *testing.T) {
	t.Parallel()
	base := vfs.NewMem()
	j, h := old(t, base, 50)
	j.Close()
	disk, j, o := start(t, base, h)
	inputs := j.Segments()[1:3]
	out, moves, err := h.compact(j, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range o.during(j, out, inputs, moves) {
		for at := 0; ; at++ {
			d := disk.CrashClone(rand.New(rand.NewPCG(1, 1)), 0.5)
			cut := &cutter{left: at}
			d.Inject(cut.inject)
			j, err := v.try(d)
			d.Inject(nil)
			for variant := range uint64(4) {
				crashed := d.CrashClone(rand.New(rand.NewPCG(uint64(at), variant)), float64(variant)/3)
				(&owner{h: h, views: []view{v}}).recover(t, crashed, variant, fmt.Sprintf("view %d, recovery cut at %d", i, at))
			}
			if err == nil {
				j.Close()
				break
			}
		}
	}
}

// TestCompactNthOperationFails fails each operation of a script of compactions in
// turn, once and for ever, before, after and in the middle of it. A lack of space
// or of descriptors must leave the journal usable and nothing of the output; any
// other error on a write or sync must stop it; what counts must not be harmed.
func TestCompactNthOperationFails(t *testing.T) {
	t.Parallel()
	base := vfs.NewMem()
	j, h := old(t, base, 50)
	j.Close()
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE,
		&vfs.Partial{Bytes: 100, Err: syscall.EIO}, &vfs.Partial{Bytes: 100, Err: syscall.ENOSPC}} {
		for _, forever := range []bool{false, true} {
			for n := 0; failCompact(t, base, h, n, cause, forever); n++ {
			}
		}
	}
}

func failCompact(t *testing.T, base *vfs.Mem, h *history, n int, cause error, forever bool) bool {
	disk, j, o := start(t, base, h)
	seen, struck := 0, vfs.OpKind(255)
	disk.Inject(func(op vfs.Op) error {
		seen++
		if seen == n+1 || forever && seen > n {
			struck = op.Kind
			return cause
		}
		return nil
	})
	err := o.work(j)
	disk.Inject(nil)
	what := fmt.Sprintf("%v (for ever: %v) at operation %d, a %v", cause, forever, n, struck)
	switch {
	case err == nil, errors.Is(err, journal.ErrFailed) && j.Err() != nil:
	case j.Err() != nil:
		t.Fatalf("%s: %v, but the journal failed with %v", what, err, j.Err())
	case fault.CodeOf(err) == fault.Internal:
		t.Fatalf("%s: %v", what, err)
	default: // usable: the same again
		put(t, j, &journal.Record{Kind: journal.Abort, Upload: "more"})
		if _, _, err := h.compact(j, 0, 2); err != nil && fault.CodeOf(err) != fault.Conflict && fault.CodeOf(err) != fault.InvalidArgument {
			t.Fatalf("%s: then %v", what, err)
		}
	}
	h.checkAborts(t, disk.CrashClone(rand.New(rand.NewPCG(uint64(n), 5)), 0.5))
	j.Close()
	h.checkAborts(t, disk)
	return struck != 255
}
