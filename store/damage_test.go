package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/fault"
	"larder/store"
)

// TestADamagedRowHealsAtTheNextStart alters a row behind the store's back: it
// is refused, not believed, and the next start makes the index again.
func TestADamagedRowHealsAtTheNextStart(t *testing.T) {
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
	_, err = d.Head(t.Context(), "bucket", "k")
	wantCode(t, err, fault.Corrupt)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, dir).Head(t.Context(), "bucket", "k")
	if err != nil || got.ETag != want.ETag {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

func alter(t *testing.T, dir, query string) {
	t.Helper()
	db, err := sqlite.OpenConn(filepath.Join(dir, "index.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.Execute(db, query, nil); err != nil {
		t.Fatal(err)
	}
	if db.Changes() == 0 {
		t.Fatal("nothing was altered")
	}
	_ = os.Remove(filepath.Join(dir, "index.logged")) // the log is moved into the index when db is closed
}

func TestFilesAreClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 300_000))
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
