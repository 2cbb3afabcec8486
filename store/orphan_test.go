package store_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBlobsOfARestoredJournalStay restores an older copy of everything but the
// blobs, in all the ways in which people do, and uses the store on: what newer
// records named may be somebody's only copy, and no start may sweep it.
func TestBlobsOfARestoredJournalStay(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"with its index":    func(*testing.T, string) {},
		"without its index": func(t *testing.T, dir string) { removeIndex(t, dir) },
		"without the mark": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "blobs", "MARK")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openSmall(t, dir)
			makeBucket(t, s, "bucket")
			put(t, s, "bucket", "old", noise(1, 1000))
			backup := crash(t, dir)
			put(t, s, "bucket", "new", noise(2, 1000)) // just one, the first after the backup
			s.Close()

			restoreAllButBlobs(t, backup, dir)
			spoil(t, dir)
			for round := range 3 {
				s := openSmall(t, dir)
				put(t, s, "bucket", "later", noise(uint64(10+round), 1000))
				s.Settle()
				s.Close()
				if n := blobFiles(t, dir); n != 3 {
					t.Errorf("round %d: %d blobs, want old, new and later", round, n)
				}
			}
			if got := string(read(t, openSmall(t, dir), "bucket", "old")); got != string(noise(1, 1000)) {
				t.Error("the old object is damaged")
			}
		})
	}
}

func restoreAllButBlobs(t *testing.T, backup, dir string) {
	t.Helper()
	today, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range today {
		if e.Name() == "blobs" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(backup, "blobs")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
}

// TestOrphansOfACrashGo leaves a sealed and an unfinished blob without a record,
// as a killed process does.
func TestOrphansOfACrashGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	s.Close()
	orphan := files[0][:len(files[0])-20] + "00000000000000000000" // the same tag
	if err := copyFile(files[0], orphan); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(orphan[:len(orphan)-1]+"1", []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	openSmall(t, dir)
	eventually(t, "the orphans are gone", func() bool { return blobFiles(t, dir) == 1 })
}
