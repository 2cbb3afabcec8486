package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"larder/store"
)

// TestSimLife lets stores live on after power cuts: some random operations, a
// cut anywhere, a start, and on with what is left, several times.
func TestSimLife(t *testing.T) {
	c := newSimCampaign(t)
	c.run(t, func(yield func(simWorkload) bool) {
		lives := 150 * c.cycles
		if testing.Short() {
			lives = 10
		}
		for i := range lives {
			yield(simWorkload{name: fmt.Sprint("life", i), segment: simSegment(i)})
		}
	}, c.life)
}

const (
	simGenerations = 6
	simDeeds       = 4 // operations between two cuts
)

// life is one of them.
func (c *simCampaign) life(t *testing.T, w simWorkload) {
	dice, macros := c.dice(w.name, 0), simMacros()
	r := newSimRun(w.segment)
	err := r.open()
	defer func() { r.s.Close() }()
	if err == nil {
		for _, ops := range simPrelude() {
			r.step(ops...)
		}
	}
	for g := 0; g < simGenerations && err == nil; g++ {
		r.record = true
		for d := range simDeeds {
			for _, op := range macros[dice.IntN(len(macros))].make(fmt.Sprintf("%d%c", g, 'a'+d)) {
				r.step(op)
			}
		}
		r.record = false
		cut := &r.cuts[dice.IntN(len(r.cuts))]
		cases := cut.cases(dice, 4)
		cs := cases[dice.IntN(len(cases))]
		if err = cut.state(cs, w.segment).check(simAfter(g)); err == nil {
			r, err = r.next(cut, cut.state(cs, w.segment))
		}
		if err != nil {
			err = fmt.Errorf("life %d, before %s, %s: %w", g, cut.what, cs.kind, err)
		}
	}
	if err == nil && len(r.errs) > 0 {
		err = r.errs[0]
	}
	if err != nil {
		c.fail(t, w.name, err)
	}
	c.add(simGenerations, map[string]int{"life": simGenerations})
}

// next is the run that goes on with what a cut has left.
func (r *simRun) next(cut *simCut, st *simState) (*simRun, error) {
	r.s.Close()
	n := &simRun{simDisk: st.simDisk, uploads: map[string]string{}, errs: r.errs}
	n.files.Inject(n.watch)
	n.index.guard, n.index.kept = n.guard, r.index.kept
	if err := n.open(); err != nil {
		return r, err
	}
	seen, err := simContent(n.s)
	if err != nil {
		return n, err
	}
	models := allowedAfter(cut.models, cut.flying)
	n.models = slices.DeleteFunc(models, func(m *simModel) bool { return m.String() != seen })
	buckets, err := n.s.Buckets(context.Background())
	for _, b := range buckets {
		page, err := n.s.ListUploads(context.Background(), store.UploadsRequest{Bucket: b.Name, Max: store.MaxPage})
		if err != nil {
			return n, err
		}
		for _, u := range page.Uploads {
			n.uploads[u.Owner] = u.ID
		}
	}
	return n, err
}
