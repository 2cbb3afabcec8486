package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"larder/store/vfs"
)

// simError is how a disk fails.
type simError struct {
	name    string
	err     error // a *vfs.Partial has an effect before it fails
	forever bool
	hits    func(vfs.Op) bool
	passing bool // the store writes on when the disk does
}

func (e simError) String() string {
	if e.forever {
		return e.name + " for ever"
	}
	return e.name
}

// simErrors are the ways, each once and for ever.
func simErrors() (out []simError) {
	kinds := func(of ...vfs.OpKind) func(vfs.Op) bool {
		return func(op vfs.Op) bool { return slices.Contains(of, op.Kind) }
	}
	opens := kinds(vfs.OpCreate, vfs.OpOpen, vfs.OpOpenWrite, vfs.OpList, vfs.OpLock)
	grows := kinds(vfs.OpCreate, vfs.OpMkdir, vfs.OpWrite, vfs.OpPreallocate)
	writes := kinds(vfs.OpWrite)
	changes := func(op vfs.Op) bool { return op.Kind.Changes() }
	for _, forever := range []bool{false, true} {
		out = append(out,
			simError{"EIO", syscall.EIO, forever, changes, false},
			simError{"EIO of anything", syscall.EIO, forever, func(vfs.Op) bool { return true }, false},
			simError{"EIO after the fact", &vfs.Partial{Bytes: 1 << 30, Err: syscall.EIO}, forever, changes, false},
			simError{"short write, EIO", &vfs.Partial{Bytes: 100, Err: syscall.EIO}, forever, writes, false},
			simError{"ENOSPC", syscall.ENOSPC, forever, grows, true},
			simError{"short write, ENOSPC", &vfs.Partial{Bytes: 100, Err: syscall.ENOSPC}, forever, writes, true},
			simError{"EMFILE", syscall.EMFILE, forever, opens, true})
	}
	return out
}

// TestSimErrors fails the disk at an operation of every pair, once or for ever,
// goes on, and cuts the power in the end.
func TestSimErrors(t *testing.T) {
	c := newSimCampaign(t)
	c.run(t, c.workloadsOf(testing.Short()), c.errors)
}

// errorStride is between the operations that fail in one cycle; more cycles
// take more of them.
const errorStride = 8

// errors runs a script once for each way and place of an error.
func (c *simCampaign) errors(t *testing.T, w simWorkload) {
	stride := max(1, errorStride/c.cycles)
	kinds := map[string]int{}
	for n, e := range simErrors() {
		if !c.wants(1, n) {
			continue
		}
		first := c.dice(w.name, n).IntN(stride)
		for i, hit := 0, true; hit && !c.over(); i++ {
			if c.only == nil && i%stride != first || !c.wants(2, i) {
				hit = i < 1000
				continue
			}
			var states int
			var err error
			states, hit, err = c.withError(w, i, e)
			kinds[e.String()] += states
			if err != nil {
				path := fmt.Sprintf("%s/%d/%d", w.name, n, i)
				c.fail(t, path, fmt.Errorf("%s, %s at operation %d: %w", w.name, e, i, err))
			}
		}
	}
	c.add(0, kinds)
}

// withError is one run.
func (c *simCampaign) withError(w simWorkload, i int, e simError) (states int, hit bool, err error) {
	r, hit, err := w.runWithError(i, e)
	if err == nil && len(r.errs) > 0 {
		err = r.errs[0]
	}
	if err == nil && hit {
		return c.afterError(w, r, e, c.dice(w.name, i))
	}
	if r.s != nil {
		r.s.Close()
	}
	return 0, hit, err
}

// runWithError runs a script on a disk that fails at its i-th operation, from 0,
// that the error can hit, and tells whether it came to that.
func (w simWorkload) runWithError(i int, e simError) (r *simRun, hit bool, err error) {
	r = newSimRun(w.segment)
	if err := r.open(); err != nil {
		return r, false, err
	}
	for _, ops := range simPrelude() {
		r.step(ops...)
	}
	r.faulty = true
	count := 0
	r.files.Inject(func(op vfs.Op) error {
		if !e.hits(op) {
			return nil
		}
		count++
		if count == i+1 || e.forever && count > i {
			return e.err
		}
		return nil
	})
	for _, ops := range w.steps {
		r.step(ops...)
	}
	r.files.Inject(nil)
	return r, count > i, nil
}

// afterError checks a store that has seen an error, alive and after power cuts.
func (c *simCampaign) afterError(w simWorkload, r *simRun, e simError, dice *rand.Rand) (states int, hit bool, err error) {
	cut := simCut{disk: r.files.Image(), index: r.index.states(), models: r.models}
	if r.s != nil {
		err = r.alive(e)
		r.s.Close()
	}
	if err != nil {
		return 0, true, err
	}
	cases := cut.cases(dice, 2)
	dice.Shuffle(len(cases), func(i, k int) { cases[i], cases[k] = cases[k], cases[i] })
	for n, cs := range cases[:min(len(cases), 4)] {
		if err := cut.state(cs, w.segment).check(simAfter(n)); err != nil {
			return states, true, fmt.Errorf("after a cut, %s, index at %d: %w", cs.kind, cs.index.applied.Sequence, err)
		}
		states++
	}
	return states, true, nil
}

// alive reads a store whose disk works again, and writes where it must take that.
func (r *simRun) alive(e simError) error {
	seen, err := simContent(r.s)
	if err != nil {
		return fmt.Errorf("the live store cannot be read: %w", err)
	}
	if !slices.ContainsFunc(r.models, func(m *simModel) bool { return m.String() == seen }) {
		return fmt.Errorf("the live store holds\n%s\nwhich is not allowed", seen)
	}
	if !e.passing || !strings.Contains(seen, simBucket+"/") {
		return nil
	}
	for _, op := range []*simOp{simPut(at("again"), "again", ""), simDelete(at("again"))} {
		if err := op.do(r); err != nil {
			return fmt.Errorf("%s after the error has passed: %w", op, err)
		}
	}
	synctest.Wait()
	return nil
}
