package snapshot_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"larder/auth"
	"larder/cmd/appliance/internal/snapshot"
	"larder/store/vfs"
)

type keeper struct {
	*snapshot.Keeper
	dir   string
	files vfs.FS
	auth  *auth.Auth
	now   time.Time
}

func open(t *testing.T) *keeper {
	t.Helper()
	dir := t.TempDir()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.Open(t.Context(), auth.Config{Path: filepath.Join(dir, "system.db"), SecretKey: make([]byte, 32), BcryptCost: bcrypt.MinCost})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	k := &keeper{dir: dir, files: files, auth: a, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	k.Keeper = snapshot.New(snapshot.Config{
		Data: dir, Files: files, Auth: a, Period: 24 * time.Hour, Days: 7, Weeks: 4,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return k.now },
	})
	return k
}

// TestPruning takes two snapshots a day for two months: those of seven days and
// four weeks stay.
func TestPruning(t *testing.T) {
	t.Parallel()
	k := open(t)
	for range 60 {
		for range 2 {
			k.now = k.now.Add(6 * time.Hour)
			if _, err := k.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		k.now = k.now.Add(12 * time.Hour)
	}
	list, err := snapshot.List(k.files)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 9 || len(list) > 11 {
		t.Errorf("%d snapshots: %v", len(list), list)
	}
	if age := k.now.Sub(list[len(list)-1].Time); age < 14*24*time.Hour || age > 30*24*time.Hour {
		t.Errorf("the oldest is %s old", age)
	}
	k.now = k.now.AddDate(1, 0, 0) // a year without power takes nothing away
	if _, err := k.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, _ := snapshot.List(k.files); len(after) < len(list)-1 {
		t.Errorf("%d of %d are left after a pause", len(after), len(list))
	}
}

// TestNewestGood passes damaged ones over, and PutBack keeps what was there.
func TestNewestGood(t *testing.T) {
	t.Parallel()
	k := open(t)
	var names []string
	for range 3 {
		k.now = k.now.Add(24 * time.Hour)
		name, err := k.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := os.Truncate(filepath.Join(k.dir, snapshot.Dir, names[2]), 5000); err != nil {
		t.Fatal(err)
	}
	got, ok := snapshot.NewestGood(t.Context(), k.dir, k.files, make([]byte, 32))
	if !ok || got.Name != names[1] {
		t.Errorf("%v %v, want %s", got, ok, names[1])
	}
	if err := k.auth.Close(); err != nil {
		t.Fatal(err)
	}
	aside, err := snapshot.PutBack(t.Context(), k.files, got.Name, k.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{aside, "system.db", filepath.Join(snapshot.Dir, got.Name)} {
		if err := auth.CheckSnapshot(t.Context(), filepath.Join(k.dir, name), make([]byte, 32)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMark: a crash in place and a copy of a closed file are no copies of an open
// one, and what a power cut leaves of a mark is none.
func TestMark(t *testing.T) {
	t.Parallel()
	k := open(t)
	if snapshot.WasCopied(k.files) {
		t.Error("without a mark")
	}
	if err := snapshot.Mark(k.files); err != nil {
		t.Fatal(err)
	}
	if snapshot.WasCopied(k.files) {
		t.Error("in place")
	}
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	copied, err := vfs.OS(to)
	if err != nil {
		t.Fatal(err)
	}
	if !snapshot.WasCopied(copied) {
		t.Error("a copy is not known as one")
	}
	if err := os.WriteFile(filepath.Join(to, snapshot.OpenedFile), make([]byte, 60), 0o600); err != nil {
		t.Fatal(err)
	}
	if snapshot.WasCopied(copied) {
		t.Error("zeros count as a mark")
	}
	if err := snapshot.Unmark(k.files); err != nil || snapshot.WasCopied(k.files) {
		t.Error(err)
	}
}

// TestRhythm: a first one at once, one after each change and each period, and
// none besides.
func TestRhythm(t *testing.T) {
	t.Parallel()
	k := open(t)
	count := func() int {
		list, err := snapshot.List(k.files)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	turn := func(pause time.Duration) {
		t.Helper()
		k.now = k.now.Add(pause)
		if err := snapshot.Turn(k.Keeper, t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	turn(0)
	if count() != 1 {
		t.Fatal("no first snapshot")
	}
	turn(time.Hour)
	if newest(t, k) != k.now.Add(-time.Hour) {
		t.Error("a snapshot without a change")
	}
	if _, err := k.auth.CreateUser(t.Context(), "ann", "password of it", auth.RoleViewer); err != nil {
		t.Fatal(err)
	}
	turn(time.Minute)
	if newest(t, k) != k.now {
		t.Error("a change is not in a snapshot after an hour")
	}
	turn(25 * time.Hour)
	if newest(t, k) != k.now {
		t.Error("no snapshot after a period")
	}
}

func newest(t *testing.T, k *keeper) time.Time {
	t.Helper()
	list, err := snapshot.List(k.files)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list[0].Time
}
