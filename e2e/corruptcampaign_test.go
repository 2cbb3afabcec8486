package e2e_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// campaign counts what became of the wounds.
type campaign struct {
	t        *testing.T
	done     map[string]int // wounds by kind
	found    int
	reads    int // answers that were compared
	failed   int // reads that failed, as reads of damage may
	wrong    int // whole answers with wrong bytes
	alarms   int // findings where nothing is damaged
	removed  int // files that went away while a pass ran
	passes   int
	healed   int // wounds that went away by storing the content again
	rebuilt  int // damaged indexes that ended in the right answers
	refusals int // starts that were refused, as some damage demands
	late     int // wounds that only a second pass has found
}

func newCampaign(t *testing.T) *campaign { return &campaign{t: t, done: map[string]int{}} }

// wounded counts wounds that were struck.
func (c *campaign) wounded(wounds []wound) {
	for _, w := range wounds {
		c.done[w.kind]++
	}
}

// injections is the number of wounds of all kinds.
func (c *campaign) injections() (n int) {
	for _, k := range c.done {
		n += k
	}
	return n
}

// readings counts what clients got.
func (c *campaign) readings(r *reading) {
	c.reads += r.right + len(r.failed) + len(r.missing) + len(r.wrong)
	c.failed += len(r.failed)
	c.wrong += len(r.wrong)
}

// pass runs a pass, and a second one when the first has missed something: pages
// that a connection still holds, from sendfile, cannot be dropped, and the pass
// has read them from memory.
func (c *campaign) pass(s *server, wounds []wound) verdict {
	c.t.Helper()
	v := s.verify()
	missed := 0
	for _, w := range wounds {
		if !slices.ContainsFunc(w.at, v.accuses) {
			missed++
		}
	}
	if missed == 0 {
		return v
	}
	c.late += missed
	c.passes++
	return s.verify()
}

// accused compares a pass's findings with the wounds: each wound has to be
// found, and nothing else may be.
func (c *campaign) accused(v verdict, wounds []wound) {
	c.t.Helper()
	c.passes++
	if !v.complete {
		c.t.Errorf("a pass ended early, with the findings %+v", v.open)
	}
	for _, w := range wounds {
		missed := slices.DeleteFunc(slices.Clone(w.at), v.accuses)
		if len(missed) == 0 {
			c.found++
			continue
		}
		c.t.Errorf("not found: %s, at %v", w.kind, missed)
	}
	for _, f := range v.open {
		if !slices.ContainsFunc(wounds, func(w wound) bool { return slices.ContainsFunc(w.at, f.accuses) }) {
			c.alarms++
			c.t.Errorf("false alarm in pass %d: %+v, wounds of this file: %v", c.passes, f, woundsOf(wounds, f.File))
		}
	}
}

// woundsOf lists the wounds of a file.
func woundsOf(wounds []wound, file string) (list []string) {
	for _, w := range wounds {
		for _, p := range w.at {
			if p.file == file {
				list = append(list, fmt.Sprintf("%s %d-%d", w.kind, p.from, p.to))
			}
		}
	}
	return list
}

// report prints the figures and hands them on.
func (c *campaign) report() {
	c.t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(c.done)) {
		c.t.Logf("%5d × %s", c.done[kind], kind)
	}
	numbers := map[string]any{
		"injections": c.injections(), "found": c.found, "wrong_bytes": c.wrong, "false_alarms": c.alarms,
		"files_removed": c.removed, "passes": c.passes, "reads": c.reads, "reads_failed": c.failed, "healed": c.healed,
		"index_right": c.rebuilt, "starts_refused": c.refusals, "found_late": c.late, "kinds": len(c.done), "seed": fmt.Sprint(runSeed),
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		c.t.Logf("%s: %v", name, numbers[name])
	}
	figures(c.t, numbers)
}

// filesOf lists all files with data of a folder, so that it can be seen that a
// pass removed none.
func filesOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, pattern := range []string{"segments/*.seg", "blobs/*/*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			all[f] = true
		}
	}
	return all
}

// gone counts the files that were there before and are not any more. Segments
// may go when compaction has made a new one meanwhile.
func (c *campaign) gone(before map[string]bool, dir string) {
	c.t.Helper()
	after, compacted := filesOf(c.t, dir), false
	for f := range after {
		compacted = compacted || !before[f] && strings.HasSuffix(f, ".seg")
	}
	for f := range before {
		if !after[f] && !(compacted && strings.HasSuffix(f, ".seg")) {
			c.removed++
			c.t.Errorf("a pass removed %s", f)
		}
	}
}
