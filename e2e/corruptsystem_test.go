package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	systemDB = "system.db"
	extraKey = "kept-in-the-snapshot"
)

// systemWound is a way to damage system.db. refused tells whether the damage is
// such that no start may overlook it; a byte in an unused part of a page is not.
type systemWound struct {
	name    string
	refused bool
	alter   func(x *indexFolder, b []byte) []byte
}

func systemWounds() []systemWound {
	wounds := []systemWound{
		{"header, garbage", true, func(x *indexFolder, b []byte) []byte { x.garbage(b[:100]); return b }},
		{"first page, zeroed", true, func(_ *indexFolder, b []byte) []byte { clear(b[:sqlitePage]); return b }},
		{"all garbage", true, func(x *indexFolder, b []byte) []byte { x.garbage(b); return b }},
		{"half of it", true, func(_ *indexFolder, b []byte) []byte { return b[:len(b)/2/sqlitePage*sqlitePage] }},
		{"truncated by 1", true, func(_ *indexFolder, b []byte) []byte { return b[:len(b)-1] }},
		{"empty", true, func(*indexFolder, []byte) []byte { return nil }},
		{"page, garbage", true, func(x *indexFolder, b []byte) []byte { x.garbage(x.pageOf(b, 0, sqlitePage)); return b }},
		{"page, zeroed", true, func(x *indexFolder, b []byte) []byte { clear(x.usedPage(b)); return b }},
	}
	for range 4 {
		wounds = append(wounds, systemWound{"page, 1 byte", false, func(x *indexFolder, b []byte) []byte {
			x.oneByte(x.pageOf(b, 0, sqlitePage))
			return b
		}})
	}
	return wounds
}

// usedPage is a page that is not all zeros already.
func (x *indexFolder) usedPage(b []byte) []byte {
	for {
		if p := x.pageOf(b, 0, sqlitePage); !bytes.Equal(p, make([]byte, len(p))) {
			return p
		}
	}
}

const systemInjections = 24

// TestCorruptSystem damages system.db, which nothing can replace. The server
// refuses to start and says how to put the newest good snapshot back, with which
// it works again; it never begins anew with other identities.
func TestCorruptSystem(t *testing.T) {
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)
	if out, err := s.run("key", "create", extraKey, "--bucket", crashBucket); err != nil {
		t.Fatalf("making a key: %v\n%s", err, out)
	}
	freshSnapshot(t, s)
	s.stop()
	x := &indexFolder{t: t, dir: s.dir, choose: random("system")}
	good := x.read(systemDB)
	tally := newCampaign(t)
	defer tally.report()
	wounds := systemWounds()
	for i := range cycles(t, systemInjections) {
		w := wounds[i%len(wounds)]
		x.remove(systemDB+"-wal", systemDB+"-shm")
		x.write(systemDB, w.alter(x, bytes.Clone(good)))
		tally.done["system.db, "+w.name]++
		serves, said := s.tryStart()
		if !serves {
			tally.refusals++
			if !strings.Contains(said, "newest good snapshot is of") || !strings.Contains(said, "larder snapshot restore") {
				t.Errorf("%s: the refusal does not name a snapshot: %s", w.name, said)
			}
			tally.found++
			continue
		}
		if now, err := s.run("key", "list"); w.refused || err != nil || !strings.Contains(now, extraKey) {
			t.Errorf("%s: the server starts, with the keys %s %v", w.name, now, err)
		}
		tally.found++
		s.kill()
	}
	x.write(systemDB, nil)
	if out, err := s.run("snapshot", "restore", "--yes"); err != nil {
		t.Fatalf("restoring the snapshot: %v\n%s", err, out)
	}
	s.start()
	c.must(http.StatusOK, http.MethodHead, "/"+crashBucket, nil)
	if now, err := s.run("key", "list"); err != nil || !strings.Contains(now, extraKey) {
		t.Errorf("keys after the restore: %s %v", now, err)
	}
}

// freshSnapshot starts the server without snapshots, so that it takes one at
// once, of what system.db holds now.
func freshSnapshot(t *testing.T, s *server) {
	t.Helper()
	s.stop()
	must(t, os.RemoveAll(filepath.Join(s.dir, "backups")))
	s.start()
	await(t, "a snapshot", readyWithin, func() bool {
		found, err := filepath.Glob(filepath.Join(s.dir, "backups", "system-*.db"))
		return err == nil && len(found) > 0
	})
}
