package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	offlineInjections = 216
	offlineAtOnce     = 24
)

// TestCorruptOffline damages the folder of a server that is stopped or was
// killed. `larder verify` finds every piece; a start is either refused or
// serves nothing wrong; and neither changes a byte.
func TestCorruptOffline(t *testing.T) {
	s := serve(t, hoardSetup(""))
	h := fillHoard(t, s, 300, 60)
	c := newCampaign(t)
	defer c.report()
	g := h.surgeon(s.dir, t.TempDir())
	h.whole(c, s)
	for round := 0; c.injections() < cycles(t, offlineInjections) && !t.Failed(); round++ {
		if round%2 == 0 {
			s.kill()
		} else {
			s.stop()
		}
		offlineRound(c, h, g, s)
		s.restart()
		h.whole(c, s)
	}
}

func offlineRound(c *campaign, h *hoard, g *surgeon, s *server) {
	h.t.Helper()
	wounds := g.plan(dataWounds(), offlineAtOnce)
	for _, w := range wounds {
		must(h.t, w.strike())
	}
	c.wounded(wounds)
	files := filesOf(h.t, s.dir)
	stands := h.verifyMended(c, s, wounds)
	stands = h.startMended(c, s, stands)
	r := h.readAll()
	c.readings(r)
	h.onlyVictims(r, g.victims(stands))
	c.gone(files, s.dir)
	s.kill()
	for _, w := range slices.Backward(stands) {
		must(h.t, w.undo())
	}
}

// verifyMended runs passes over a folder that is not in use. Damage that no
// server could start with ends a pass early: then what it names is mended, until
// a pass comes to its end. It returns the wounds that are left.
func (h *hoard) verifyMended(c *campaign, s *server, wounds []wound) []wound {
	h.t.Helper()
	for {
		v := s.verify()
		if v.complete {
			c.accused(v, wounds)
			return wounds
		}
		left := h.mend(wounds, func(p place) bool { return v.accuses(p) || len(v.open) > 0 && s.leavesHole(p, v.open[0].Reason) })
		if c.found += len(wounds) - len(left); len(left) == len(wounds) {
			h.t.Fatalf("a pass ended early and names nothing that is damaged: %+v", v.open)
		}
		c.passes++
		wounds = left
	}
}

// leavesHole tells whether a message is about the gap that a deleted segment
// leaves: its name stands nowhere any more, those of its neighbours do.
func (s *server) leavesHole(p place, message string) bool {
	_, err := os.Stat(filepath.Join(s.dir, p.file))
	return os.IsNotExist(err) && strings.HasPrefix(p.file, "segments") &&
		(strings.Contains(message, "the next one begins with record") || strings.Contains(message, "no segment holds the records from"))
}

// mend undoes the wounds of which a place is named, and returns the others.
func (h *hoard) mend(wounds []wound, named func(place) bool) []wound {
	h.t.Helper()
	return slices.DeleteFunc(slices.Clone(wounds), func(w wound) bool {
		is := slices.ContainsFunc(w.at, named)
		if is {
			must(h.t, w.undo())
		}
		return is
	})
}

// startMended starts the server on a damaged folder. When that is refused, what
// the message names is mended and nothing else, until the server starts. It
// returns the wounds that are left.
func (h *hoard) startMended(c *campaign, s *server, wounds []wound) []wound {
	h.t.Helper()
	for {
		serves, why := s.tryStart()
		if serves {
			return wounds
		}
		c.refusals++
		left := h.mend(wounds, func(p place) bool { return strings.Contains(why, p.file) || s.leavesHole(p, why) })
		if len(left) == len(wounds) {
			h.t.Fatalf("a refused start names nothing that is damaged: %s", why)
		}
		wounds = left
	}
}

// tryStart starts the server and tells whether it serves, and what it printed.
// A start that is refused ends by itself.
func (s *server) tryStart() (serves bool, said string) {
	s.t.Helper()
	before := len(s.log.String())
	s.launch()
	await(s.t, "a start on a damaged folder", readyWithin, func() bool {
		select {
		case <-s.exited:
			return true
		default:
			serves = s.ready(s.t.Context())
			return serves
		}
	})
	return serves, s.log.String()[before:]
}

const churnFor = 12 * time.Second

// TestCorruptChurn runs pass after pass while 16 clients put, overwrite, delete
// and complete uploads. Nothing is damaged, so nothing may be accused.
func TestCorruptChurn(t *testing.T) {
	s := serve(t, hoardSetup(""))
	cl, book, c := s.client(), newLedger(), newCampaign(t)
	defer c.report()
	cl.must(200, "PUT", "/"+crashBucket, nil)
	crowd := startCrowd(cl, book, usual(0))
	crowd.awaitAcks(t)
	for began := time.Now(); time.Since(began) < churnFor && !t.Failed(); {
		v := s.verify()
		c.accused(v, nil)
		for _, f := range v.healed {
			c.alarms++
			t.Errorf("false alarm, taken back: %+v", f)
		}
	}
	s.kill()
	crowd.wait()
	s.restart()
	verify(t, cl, book)
	c.accused(s.verify(), nil)
	t.Logf("%d acknowledged changes, %d passes", crowd.acks.Load(), c.passes)
}
