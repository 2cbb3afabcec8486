package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"larder/store"
)

// TestLostRowsRemoveNothing loses rows of the index, as a page that was never
// written does, and frees enough that segments are worth compacting: what the
// index no longer names must not go, and is back at the next start.
func TestLostRowsRemoveNothing(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"object":    `DELETE FROM objects WHERE key = CAST('5' AS BLOB)`,
		"body":      `DELETE FROM bodies WHERE sequence = (SELECT sequence FROM objects WHERE key = CAST('5' AS BLOB))`,
		"blob body": `DELETE FROM bodies WHERE sequence = (SELECT sequence FROM objects WHERE key = CAST('blob' AS BLOB))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseRows(t, query)
		})
	}
}

func loseRows(t *testing.T, query string) {
	made := t.TempDir()
	s := openTiny(t, made)
	makeBucket(t, s, "bucket")
	for i := range 60 {
		put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), 100_000))
	}
	put(t, s, "bucket", "blob", noise(100, 300_000))
	dir := crash(t, made)
	alter(t, dir, query)

	d := openTiny(t, dir)
	for i := 10; i < 60; i++ {
		remove(t, d, "bucket", fmt.Sprint(i))
	}
	eventually(t, "the damage is noted", func() bool {
		_, err := os.Stat(filepath.Join(dir, "index.damaged"))
		return err == nil
	})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if got := read(t, again, "bucket", "5"); !bytes.Equal(got, noise(5, 100_000)) {
		t.Error("5 has other bytes")
	}
	if got := read(t, again, "bucket", "blob"); !bytes.Equal(got, noise(100, 300_000)) {
		t.Error("the blob has other bytes")
	}
}

// openTiny opens a store with segments that are soon full.
func openTiny(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
