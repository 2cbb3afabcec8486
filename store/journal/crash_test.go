package journal_test

import (
	"bytes"
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

// errCut is what a process sees of the power cut that ends it.
var errCut = errors.New("power cut")

// cutter lets some changes of the disk through and then none.
type cutter struct {
	left int
	seen int
}

func (c *cutter) inject(op vfs.Op) error {
	if !op.Kind.Changes() {
		return nil
	}
	c.seen++
	if c.seen > c.left {
		return errCut
	}
	return nil
}

// model is what the journal must hold: the records that were appended, in
// order, and how many of them were acknowledged.
type model struct {
	recs  []*journal.Record
	acked int
	made  int // names the next record
}

func (m *model) batch(rng *rand.Rand) []*journal.Record {
	var out []*journal.Record
	for range 1 + rng.IntN(4) {
		m.made++
		size := 100 * rng.IntN(6) // often alike, so that leftovers would fit
		if rng.IntN(10) == 0 {
			size = rng.IntN(5000)
		}
		out = append(out, samplePut(fmt.Sprintf("key-%d", m.made), size))
	}
	return out
}

// recovered holds what replay gave back against the model. All that was given
// back is durable from then on, and the rest must never come back.
func (m *model) recovered(recs []logged) error {
	if len(recs) < m.acked {
		return fmt.Errorf("%d records are back, %d were acknowledged", len(recs), m.acked)
	}
	if len(recs) > len(m.recs) {
		return fmt.Errorf("%d records are back, only %d were ever appended", len(recs), len(m.recs))
	}
	for i, l := range recs {
		if l.rec.Sequence != uint64(i+1) || l.rec.Key != m.recs[i].Key || !bytes.Equal(l.rec.MD5, m.recs[i].MD5) {
			return fmt.Errorf("record %d is %q, want %q", l.rec.Sequence, l.rec.Key, m.recs[i].Key)
		}
	}
	m.recs, m.acked = m.recs[:len(recs)], len(recs)
	return nil
}

// clone is a model whose records are its own.
func (m *model) clone() *model {
	return &model{recs: slices.Clone(m.recs), acked: m.acked, made: m.made}
}

// life is one life of a process: it opens, compares, and works until an error.
func (m *model) life(tb testing.TB, fsys vfs.FS, rng *rand.Rand, steps int) error {
	c := config(fsys)
	c.SegmentSize = 4 << 10
	j, recs, err := tryReplay(c, journal.Position{})
	if err != nil {
		return err
	}
	defer j.Close()
	if rng.IntN(2) == 0 {
		j.NoZeroAheadForTest()
	}
	if err := m.recovered(recs); err != nil {
		tb.Fatal(err)
	}
	for _, l := range recs {
		if body, err := j.ReadBody(l.loc, nil); err != nil {
			return err
		} else if !bytes.Equal(body, sampleBody(l.rec.Key, int(l.rec.Size))) {
			tb.Fatalf("the body of record %d is another", l.rec.Sequence)
		}
	}
	for range steps {
		recs := m.batch(rng)
		// Before the call: what a cut leaves of it may come back.
		m.recs = append(m.recs, recs...)
		if _, err := j.Append(recs); err != nil {
			return err
		}
		if rng.IntN(4) == 0 {
			continue // the next sync serves both
		}
		if err := j.Sync(); err != nil {
			return err
		}
		m.acked = len(m.recs)
	}
	return nil
}

// campaign is a dozen lives, each ended by a power cut or a kill.
func (m *model) campaign(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	keeps := []float64{0, 0.1, 0.5, 0.9, 1}
	disk := vfs.NewMem()
	for life := range 12 {
		cut := &cutter{left: rng.IntN(60)}
		if rng.IntN(3) == 0 {
			cut.left = rng.IntN(12) // also in the middle of the recovery
		}
		disk.Inject(cut.inject)
		err := m.life(t, disk, rng, 1+rng.IntN(12))
		if err != nil && !errors.Is(err, errCut) {
			t.Fatalf("seed %d, life %d: %v", seed, life, err)
		}
		disk.Inject(nil)
		if rng.IntN(4) > 0 {
			disk = disk.CrashClone(rng, keeps[rng.IntN(len(keeps))])
		} // else only the process was killed: the disk goes on as it is
	}
	if err := m.life(t, disk, rng, 1); err != nil {
		t.Fatalf("seed %d, last life: %v", seed, err)
	}
}

// TestCrashCampaign: whatever a power cut or a kill takes, at any write or sync,
// also during recovery, every acknowledged record is back, what is back stays,
// and nothing that was cut off returns.
func TestCrashCampaign(t *testing.T) {
	t.Parallel()
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		new(model).campaign(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestCrashAtEveryStep runs one script and cuts it at each of its changes to the
// disk, then cuts the recovery at each of its own.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	states := 0
	for at := 0; ; at++ {
		disk, m := vfs.NewMem(), &model{}
		cut := &cutter{left: at}
		disk.Inject(cut.inject)
		err := m.life(t, disk, rand.New(rand.NewPCG(7, 7)), 10)
		disk.Inject(nil)
		for variant := range uint64(6) {
			rng := rand.New(rand.NewPCG(uint64(at), variant))
			states += recoverAtEveryStep(t, disk.CrashClone(rng, float64(variant)/5), m)
		}
		if err == nil {
			break
		}
	}
	t.Logf("%d states", states)
}

func recoverAtEveryStep(t *testing.T, crashed *vfs.Mem, m *model) int {
	for at := 0; ; at++ {
		rng := rand.New(rand.NewPCG(uint64(at), 99))
		disk, again := crashed.CrashClone(rng, 1), m.clone()
		cut := &cutter{left: at}
		disk.Inject(cut.inject)
		err := again.life(t, disk, rng, 0)
		disk.Inject(nil)
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		if serr := again.life(t, disk.CrashClone(rng, 0.5), rng, 2); serr != nil {
			t.Fatal(serr)
		}
		if err == nil {
			return at + 1
		}
	}
}

// TestNthOperationFails raises n until the n-th operation no longer exists, for
// errors that come before, after and in the middle of it, once and for ever. A
// lack of space must leave the journal usable and nothing of the batch; anything
// else on a write or sync must stop it; nothing acknowledged may be harmed.
func TestNthOperationFails(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE,
		&vfs.Partial{Bytes: 100, Err: syscall.EIO}, &vfs.Partial{Bytes: 100, Err: syscall.ENOSPC}} {
		for _, forever := range []bool{false, true} {
			for n := 0; ; n++ {
				if !failNth(t, n, cause, forever) {
					break
				}
			}
		}
	}
}

// failNth reports whether there was an n-th operation.
func failNth(t *testing.T, n int, cause error, forever bool) bool {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	disk, m := vfs.NewMem(), &model{}
	seen, struck := 0, vfs.OpKind(255)
	disk.Inject(func(op vfs.Op) error {
		seen++
		if seen == n+1 || forever && seen > n && struck != 255 {
			struck = op.Kind
			return cause
		}
		return nil
	})
	what := fmt.Sprintf("%v (for ever: %v) at operation %d", cause, forever, n)
	m.work(t, disk, rng, what)
	disk.Inject(nil)
	for _, d := range []*vfs.Mem{disk, disk.CrashClone(rng, 0.5)} {
		if err := m.clone().life(t, d, rng, 2); err != nil {
			t.Fatalf("%s: next start: %v", what, err)
		}
	}
	return struck != 255
}

// work is a life that goes on after errors which leave the journal usable.
func (m *model) work(t *testing.T, fsys vfs.FS, rng *rand.Rand, what string) {
	c := config(fsys)
	c.SegmentSize = 4 << 10
	j, recs, err := tryReplay(c, journal.Position{})
	if err != nil {
		return
	}
	defer j.Close()
	if err := m.recovered(recs); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for range 12 {
		recs := m.batch(rng)
		before := j.Position()
		_, err := j.Append(recs)
		switch {
		case err == nil:
			m.recs = append(m.recs, recs...)
		case fault.CodeOf(err) == fault.NoSpace, fault.CodeOf(err) == fault.Unavailable:
			if j.Err() != nil || j.Position() != before {
				t.Fatalf("%s: %v left %+v, then %+v: %v", what, err, before, j.Position(), j.Err())
			}
			continue
		case errors.Is(err, journal.ErrFailed):
			m.recs = append(m.recs, recs...) // may come back
			m.stopped(t, j, what)
			return
		default:
			t.Fatalf("%s: %v", what, err)
		}
		if err := j.Sync(); err != nil {
			m.stopped(t, j, what)
			return
		}
		m.acked = len(m.recs)
	}
}

// stopped expects a failed journal to take nothing more.
func (m *model) stopped(t *testing.T, j *journal.Journal, what string) {
	_, err := j.Append(m.batch(rand.New(rand.NewPCG(1, 1))))
	if !errors.Is(err, journal.ErrFailed) || fault.CodeOf(err) != fault.ReadOnly || j.Err() == nil {
		t.Fatalf("%s: append after a failure: %v", what, err)
	}
	if err := j.Sync(); !errors.Is(err, journal.ErrFailed) {
		t.Fatalf("%s: sync after a failure: %v", what, err)
	}
}
