package store_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestSim cuts the power at every step of every pair of operations, and of
// triples when there is time, keeps each part of what was not synced in every way that
// matters, and starts the store on what is left.
//
// Everything is decided by the seed: payloads, choices, and what runs when, since
// a client waits until the store is quiet, operations meant for one batch are
// held until all have come, and a cut is noted together with what is known at
// that very moment. Only ids are random; nothing depends on them.
func TestSim(t *testing.T) {
	c := newSimCampaign(t)
	c.run(t, c.workloadsOf(testing.Short()), c.workload)
	if least := map[bool]int{true: 10_000, false: 200_000}[testing.Short()]; c.only == nil && c.states() < least && !t.Failed() {
		t.Errorf("%d states, at least %d are wanted", c.states(), least)
	}
}

// workload checks all cuts of one script.
func (c *simCampaign) workload(t *testing.T, w simWorkload) {
	r, err := w.run()
	if err == nil && len(r.errs) > 0 {
		err = r.errs[0]
	}
	if err != nil {
		c.fail(t, w.name, fmt.Errorf("%s: %w", w.name, err))
		return
	}
	seen := simSeen{c: c, kinds: map[string]int{}, states: map[simID]bool{}}
	for k := range r.cuts {
		if c.wants(1, k) && !c.over() {
			seen.cut(t, w, k, &r.cuts[k])
		}
	}
	c.add(len(r.cuts), seen.kinds)
}

// simSeen are the states of one workload that were checked.
type simSeen struct {
	c      *simCampaign
	kinds  map[string]int
	states map[simID]bool
}

// simID tells states apart.
type simID struct {
	disk    uint64
	index   *simTables
	allowed string
}

// isNew notes a state, and tells whether it was not there before.
func (s *simSeen) isNew(st *simState, kind string) bool {
	id := simID{st.files.Fingerprint(s.c.print), st.index.now(), strings.Join(st.allowed, "|")}
	if s.states[id] && s.c.only == nil {
		return false
	}
	s.states[id] = true
	s.kinds[kind]++
	return true
}

// cut checks what may be left of one cut, and cuts again during the recovery
// from some of it.
func (s *simSeen) cut(t *testing.T, w simWorkload, k int, cut *simCut) {
	dice := s.c.dice(w.name, k)
	again := dice.IntN(recoverEvery)
	cases := cut.cases(dice, simMixes)
	stride := 1
	if s.c.cycles == 1 {
		stride = len(cases)/simMost + 1
	}
	for n, cs := range cases {
		if !s.c.wants(2, n) || s.c.only == nil && (n+k)%stride != 0 {
			continue
		}
		path := fmt.Sprintf("%s/%d/%d", w.name, k, n)
		st := cut.state(cs, w.segment)
		if !s.isNew(st, cs.kind) {
			continue
		}
		if s.c.only == nil || len(s.c.only) == 3 {
			if err := st.check(simAfter(n)); err != nil {
				s.c.fail(t, path, fmt.Errorf("%s, cut %d (next is %s; not answered %v), %s: %w", w.name, k, cut.what, cut.flying, cs.kind, err))
				return
			}
		}
		if n%recoverEvery == again || len(s.c.only) > 3 {
			s.recovery(t, path, cut, cut.state(cs, w.segment))
		}
	}
}

const (
	simMixes     = 4  // random states of each cut and unit
	simMost      = 80 // states of a cut that one cycle takes of those that there are
	recoverEvery = 40 // states of a cut: from one of them the recovery is cut too
)

// recovery cuts the power a second time, at each step of a start.
func (s *simSeen) recovery(t *testing.T, path string, first *simCut, st *simState) {
	r := &simRun{simDisk: st.simDisk, models: first.models, flying: first.flying, record: true}
	r.files.Inject(r.watch)
	r.index.guard = r.guard
	err := r.open()
	if err == nil {
		r.record = false
		err = r.s.Close()
	}
	if err != nil {
		s.c.fail(t, path, fmt.Errorf("a start: %w", err))
		return
	}
	for k := range r.cuts {
		if !s.c.wants(3, k) {
			continue
		}
		cut, dice := &r.cuts[k], s.c.dice(path, k)
		cases := cut.cases(dice, 2)
		dice.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
		for n, cs := range cases[:min(len(cases), 6)] {
			if !s.c.wants(4, n) {
				continue
			}
			st := cut.state(cs, r.segment)
			if !s.isNew(st, "during recovery") {
				continue
			}
			if err := st.check(simAfter(n)); err != nil {
				s.c.fail(t, fmt.Sprintf("%s/%d/%d", path, k, n), fmt.Errorf("%s, cut again at step %d of the start (next is %s), %s: %w", path, k, cut.what, cs.kind, err))
				return
			}
		}
	}
}

// simAfter is the put that each recovered store must take.
func simAfter(n int) *simOp {
	return simPut(at("after"), simText("after", []int{simInline, simBlob}[n%2]), "")
}
