package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"larder/store"
)

// TestALostLogIsKnown: an index that was not closed and lacks its log is made
// again, whatever its own pages say; one that has it, or was closed, is not.
func TestALostLogIsKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "key", []byte("content"))
	whole, robbed := crash(t, dir), crash(t, dir)
	if err := os.Remove(filepath.Join(robbed, "index.db-wal")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.logged")); !os.IsNotExist(err) {
		t.Errorf("a clean close leaves the note: %v", err)
	}
	for folder, anew := range map[string]bool{dir: false, whole: false, robbed: true} {
		again := open(t, folder)
		if again.KeepsOrphans() != anew {
			t.Errorf("made again: %v, want %v", !anew, anew)
		}
		if _, err := again.Head(t.Context(), "bucket", "key"); err != nil {
			t.Error(err)
		}
	}
}
