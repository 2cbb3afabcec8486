package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"larder/fault"
	"larder/store"
)

// TestNotedDamageOutlivesAKill meets a damaged row and is killed before it
// could close: the next start makes the index again all the same.
func TestNotedDamageOutlivesAKill(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := open(t, made)
	makeBucket(t, s, "bucket")
	want := put(t, s, "bucket", "k", noise(1, 1000))
	dir := crash(t, made)
	alter(t, dir, `UPDATE objects SET etag = 'other'`)

	d, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	_, err = d.Head(t.Context(), "bucket", "k")
	wantCode(t, err, fault.Corrupt)
	killed := crash(t, dir)
	got, err := open(t, killed).Head(t.Context(), "bucket", "k")
	if err != nil || got.ETag != want.ETag {
		t.Errorf("after a kill: %+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(killed, "index.damaged")); !os.IsNotExist(err) {
		t.Errorf("the note of damage outlives the rebuild: %v", err)
	}
}

// TestAnIndexBelowItsFloorIsMadeAgain loses the newer part of an index whose log
// was moved: what is left of it is not believed.
func TestAnIndexBelowItsFloorIsMadeAgain(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := open(t, made)
	makeBucket(t, s, "bucket")
	for i := range 20 {
		put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), 1000))
	}
	earlier := crash(t, made)
	for i := range 10 {
		remove(t, s, "bucket", fmt.Sprint(i))
	}
	if err := s.CheckpointIndex(); err != nil {
		t.Fatal(err)
	}
	dir := crash(t, made)
	for _, name := range []string{"index.db", "index.db-wal", "index.db-shm"} {
		takeOver(t, filepath.Join(earlier, name), filepath.Join(dir, name))
	}
	again := open(t, dir)
	if !again.KeepsOrphans() {
		t.Error("the index was believed")
	}
	if n := len(list(t, again, "bucket")); n != 10 {
		t.Errorf("%d objects are listed, want 10", n)
	}
}

// takeOver puts a file in another's place, or removes that where there is none.
func takeOver(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		err = os.Remove(to)
		if os.IsNotExist(err) {
			err = nil
		}
	} else if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
