package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestFaultFailedWrite lets one write or sync fail in the running server. What
// it was for is not acknowledged, and nothing is written from then on until a
// restart, though the disk works again; reads go on.
func TestFaultFailedWrite(t *testing.T) {
	for name, c := range map[string]struct {
		calls string
		file  string // in the data folder, "" = the first of all
		size  int64  // of the put that meets it
	}{
		"sync of the journal":     {"fdatasync", "segments/0000000001.seg", inlineBytes},
		"write to the journal":    {"pwrite64", "segments/0000000001.seg", inlineBytes},
		"write to the index":      {"pwrite64", "index.db-wal", inlineBytes},
		"sync of a blob":          {"fdatasync", "", blobBytes},
		"write to a blob":         {"pwrite64", "", blobBytes},
		"sync of a blob's folder": {"fsync", "", blobBytes},
	} {
		t.Run(name, func(t *testing.T) {
			f := standing(t, setup{})
			var paths []string
			if c.file != "" {
				paths = []string{filepath.Join(f.s.dir, c.file)}
			}
			in := inject(t, f.s, c.calls, "error=EIO:when=1", paths...)
			f.refusedPut(c.size, http.StatusServiceUnavailable, "ServiceUnavailable")
			in.stop()
			f.readOnly("Check the disk, then restart Larder")
			f.restarted()
		})
	}
}

// TestFaultFailedRead lets the reads of one file fail: the objects in it answer
// with an error or break off, all others go on, and so do writes.
func TestFaultFailedRead(t *testing.T) {
	for name, size := range map[string]int64{"a blob": blobBytes, "a segment": inlineBytes} {
		t.Run(name, func(t *testing.T) {
			f := standing(t, setup{})
			old := blobFiles(t, f.s.dir)
			key := f.mustPut(size)
			file := filepath.Join(f.s.dir, "segments/0000000001.seg")
			others := []string{f.mustPut(blobBytes)} // what does not lie in the file
			if size == blobBytes {
				file, others = newestOf(t, f.s.dir, old, 2), append(f.book.standing()[:3], others...)
			}
			f.s.kill()
			f.s.restart() // nothing is cached
			in := inject(t, f.s, "pread64", "error=EIO", file)
			a, err := f.c.try(t.Context(), http.MethodGet, "/"+crashBucket+"/"+key, nil, 0)
			if err == nil && a.status == http.StatusOK {
				t.Errorf("an object that cannot be read: %v", a)
			}
			for _, other := range others {
				if err := verifyKey(t, f.c, f.book, other); err != nil {
					t.Error(err)
				}
			}
			f.mustPut(size)
			in.stop()
			f.reads("after the fault")
			f.writable()
		})
	}
}

// newestOf is the first of n blob files that were not there before.
func newestOf(t *testing.T, dir string, before []string, n int) string {
	t.Helper()
	known := map[string]bool{}
	for _, b := range before {
		known[b] = true
	}
	var found []string
	for _, b := range blobFiles(t, dir) {
		if !known[b] {
			found = append(found, b)
		}
	}
	if len(found) != n {
		t.Fatalf("%d new blobs, want %d", len(found), n)
	}
	first, at := "", int64(0)
	for _, b := range found {
		info, err := os.Stat(b)
		if err != nil {
			t.Fatal(err)
		}
		if when := info.ModTime().UnixNano(); first == "" || when < at {
			first, at = b, when
		}
	}
	return first
}
