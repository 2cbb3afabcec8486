package e2e_test

import (
	"bytes"
	"fmt"
	"testing"
)

// TestCorruptIndex damages the index of a server that was stopped or killed.
// The index is a view: whatever happens to it, the right answers come back, at
// the start, after a pass, or at the start after that, and until then nobody
// gets wrong bytes.
func TestCorruptIndex(t *testing.T) {
	s := serve(t, hoardSetup(""))
	h := fillHoard(t, s, 160, 6)
	x := &indexFolder{t: t, dir: s.dir, choose: random("index")}
	s.stop()
	x.older = x.files()
	s.start()
	h.changeMuch(1)
	s.stop()
	s.start()
	h.changeMuch(2)
	s.kill()
	killed := x.files()
	s.start()
	s.stop()
	stopped := x.files()
	c := newCampaign(t)
	defer c.report()
	kinds := indexWounds()
	for i := range cycles(t, indexInjections) {
		kind := kinds[i%len(kinds)]
		if kind.killed {
			x.putBack(killed)
		} else {
			x.putBack(stopped)
		}
		if kind.strike(x) {
			c.done[kind.name]++
			h.comesRight(c, s, kind.name)
		}
	}
}

// changeMuch overwrites, deletes, adds and copies small objects.
func (h *hoard) changeMuch(phase int) {
	h.t.Helper()
	h.each(30, func(i int) { h.put(fmt.Sprintf("inline/%04d", i*5), 1000) })
	for i := range 10 {
		deleteNoted(h.t, h.c, h.book, fmt.Sprintf("inline/%04d", phase+i*7))
		h.copy(fmt.Sprintf("copy/%04d", i), fmt.Sprintf("inline/%04d", 100+3*i+phase))
	}
}

// comesRight starts a server on a damaged index and looks until when the answers
// are right again.
func (h *hoard) comesRight(c *campaign, s *server, kind string) {
	h.t.Helper()
	serves, said := s.tryStart()
	if !serves {
		h.t.Errorf("%s: the server does not start: %s", kind, lastBytes(said, 500))
		return
	}
	h.heals(c, s, kind)
	s.kill()
}

// heals reads everything, runs a pass and, where that did not help, starts the
// server again. Then all has to be right, and a pass has to find nothing.
func (h *hoard) heals(c *campaign, s *server, kind string) {
	h.t.Helper()
	first := h.readAll()
	c.readings(first)
	v := s.verify()
	c.passes++
	second := h.readAll()
	c.readings(second)
	if !second.allRight() || len(v.open) > 0 {
		s.kill()
		s.start()
		third := h.readAll()
		c.readings(third)
		if !third.allRight() {
			h.t.Errorf("%s: %v at first, %v after a pass with %+v, %v after another start", kind, first, second, v.open, third)
			return
		}
	}
	if v := s.verify(); len(v.open) > 0 {
		h.t.Errorf("%s: after everything came right a pass finds %+v", kind, v.open)
	}
	c.found++
	c.rebuilt++
}

const liveIndexInjections = 20

// TestCorruptIndexLive damages the pages of the index below the file system
// while the server runs on it. Nobody gets wrong bytes, and after a pass, or a
// start after it, all answers are right.
func TestCorruptIndexLive(t *testing.T) {
	d := newDisk(t, hoardDisk, ext4)
	s := serve(t, hoardSetup(d.data()))
	h := fillHoard(t, s, 160, 6)
	x := &indexFolder{t: t, dir: s.dir, choose: random("live index")}
	c := newCampaign(t)
	defer c.report()
	for i := range cycles(t, liveIndexInjections) {
		s.stop() // the log moves into the database
		x.older = x.files()
		s.start()
		good := x.read(indexDB)
		bad := bytes.Clone(good)
		page := x.pageOf(bad, 0, sqlitePage)
		kind := []string{"live index page, 1 byte", "live index page, zeroed", "live index page, garbage", "live index page, 1 byte of its header"}[i%4]
		switch i % 4 {
		case 0:
			x.oneByte(page)
		case 1:
			clear(page)
		case 2:
			x.garbage(page)
		case 3:
			x.oneByte(page[:8])
		}
		must(t, d.writeBelow(x.path(indexDB), 0, bad))
		must(t, forget(x.path(indexDB)))
		c.done[kind]++
		h.heals(c, s, kind)
	}
}
