package e2e_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	liveInjections = 700
	woundsAtOnce   = 48
	healedAtOnce   = 4
	hoardDisk      = 512 << 20
)

// TestCorruptLive damages a disk below its mounted file system while the server
// runs on it, again and again. Whoever asks gets the right bytes or none, and a
// pass finds every piece, whatever the page cache says.
func TestCorruptLive(t *testing.T) {
	d := newDisk(t, hoardDisk, ext4)
	s := serve(t, hoardSetup(d.data()))
	h := fillHoard(t, s, 300, 90)
	c := newCampaign(t)
	defer c.report()
	g := h.surgeon(s.dir, d.dir)
	g.write = d.writeBelow
	h.whole(c, s)
	for c.injections() < cycles(t, liveInjections) && !t.Failed() {
		liveRound(c, h, g, s)
	}
}

// surgeon makes one that damages the hoard.
func (h *hoard) surgeon(dir, disk string) *surgeon {
	h.t.Helper()
	g := &surgeon{t: h.t, dir: dir, aside: filepath.Join(disk, "aside"), stale: h.stale, write: writeThrough, choose: random("wounds " + h.t.Name())}
	if err := os.MkdirAll(g.aside, 0o700); err != nil {
		h.t.Fatal(err)
	}
	return g
}

// whole demands that everything is right and that nothing is accused.
func (h *hoard) whole(c *campaign, s *server) {
	h.t.Helper()
	r := h.readAll()
	c.readings(r)
	if !r.allRight() {
		h.t.Fatalf("without damage: %v", r)
	}
	c.accused(s.verify(), nil)
}

// plan makes up to n wounds that lie apart, of all kinds in turn. No object has
// two: a pass accuses it once.
func (g *surgeon) plan(kinds []woundKind, n int) (wounds []wound) {
	g.t.Helper()
	g.look()
	seen := map[string]bool{}
	order := slices.Repeat(kinds, (n+len(kinds)-1)/len(kinds))
	// A kind that needs a whole file comes before those that need a piece of it.
	for tries := range 10 * n {
		if len(wounds) == n {
			break
		}
		kind := order[tries%len(order)]
		w, ok := kind.make(g)
		if !ok {
			continue
		}
		victims := slices.Collect(maps.Keys(g.victims([]wound{w})))
		if slices.ContainsFunc(victims, func(key string) bool { return seen[key] }) {
			continue
		}
		for _, key := range victims {
			seen[key] = true
		}
		w.kind = kind.name
		wounds = append(wounds, w)
	}
	return wounds
}

// liveRound strikes some wounds at once, looks what comes of them, and heals
// them.
func liveRound(c *campaign, h *hoard, g *surgeon, s *server) {
	h.t.Helper()
	wounds := g.plan(dataWounds(), woundsAtOnce)
	before := h.readAll() // fills the page cache with good bytes
	c.readings(before)
	for _, w := range wounds {
		must(h.t, w.strike())
	}
	c.wounded(wounds)
	c.readings(h.readAll())
	files := filesOf(h.t, s.dir)
	c.accused(c.pass(s, wounds), wounds)
	c.gone(files, s.dir)
	g.forget()
	damaged := h.readAll()
	c.readings(damaged)
	h.onlyVictims(damaged, g.victims(wounds))
	wounds = h.storeAgain(c, g, s, damaged, wounds)
	for _, w := range slices.Backward(wounds) {
		if err := w.undo(); err != nil && !errors.Is(err, fs.ErrNotExist) { // compaction may have been faster
			h.t.Fatal(err)
		}
	}
	g.forget()
	h.whole(c, s)
}

// storeAgain stores the content of some damaged keys once more, which heals
// them: reads work and no pass accuses them. It returns the wounds that are left.
func (h *hoard) storeAgain(c *campaign, g *surgeon, s *server, damaged *reading, wounds []wound) (left []wound) {
	h.t.Helper()
	again := map[string]bool{}
	for _, w := range wounds {
		keys := g.victims([]wound{w})
		if len(again) < healedAtOnce && len(keys) == 1 && len(w.at) == 1 && slices.Contains(damaged.failed, slices.Collect(maps.Keys(keys))[0]) {
			maps.Copy(again, keys)
			if strings.HasPrefix(w.at[0].file, "blobs") {
				continue // the old blob goes
			}
		}
		left = append(left, w)
	}
	r := &reading{}
	for key := range again {
		h.again(key)
		h.read(r, key)
	}
	if !r.allRight() {
		h.t.Errorf("stored again: %v", r)
	}
	for _, f := range s.verify().open {
		if f.Kind == "object" && again[f.Key] {
			h.t.Errorf("%s was stored again and is still accused: %+v", f.Key, f)
		}
	}
	c.passes++
	c.healed += len(again)
	return left
}

// victims are the keys whose bytes lie where the wounds are.
func (g *surgeon) victims(wounds []wound) map[string]bool {
	hurt := func(p place) bool {
		return slices.ContainsFunc(wounds, func(w wound) bool { return slices.ContainsFunc(w.at, p.touches) })
	}
	keys := map[string]bool{}
	for _, s := range g.segments {
		for _, r := range s.records {
			blob := place{file: "", to: 1}
			if len(r.blob) == 32 {
				blob.file = filepath.Join("blobs", r.blob[:2], r.blob[2:4], r.blob)
			}
			if hurt(r.place) || hurt(blob) {
				keys[r.key] = true
			}
		}
	}
	return keys
}

// onlyVictims demands that damage fails the reads of what it hit and no others.
func (h *hoard) onlyVictims(r *reading, victims map[string]bool) {
	h.t.Helper()
	if len(r.missing) > 0 || r.wrongListed || r.listingFailed {
		h.t.Errorf("damaged data makes objects disappear: %v", r)
	}
	for _, key := range r.failed {
		if !victims[key] {
			h.t.Errorf("%s fails, and nothing of it is damaged", key)
		}
	}
}

// forget drops the cache of all files with data.
func (g *surgeon) forget() {
	g.t.Helper()
	for f := range filesOf(g.t, g.dir) {
		must(g.t, forget(f))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
