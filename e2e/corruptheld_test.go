package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestCorruptHeld damages large bodies while connections on which nobody reads
// hold their pages in memory, so that the kernel cannot forget them: a pass has
// to find the damage all the same, in the body and behind it.
func TestCorruptHeld(t *testing.T) {
	d := newDisk(t, 128<<20, ext4)
	s := serve(t, setup{dir: d.data()})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/held", nil)
	sizes := []int64{8 << 20, 300_000}
	for i, size := range sizes {
		before := blobFiles(t, s.dir)
		target := "/held/" + string(rune('a'+i))
		c.must(http.StatusOK, http.MethodPut, target, payloadBytes("held", i, size))
		path := added(t, before, blobFiles(t, s.dir))
		resp, err := c.http.Do(c.request(t.Context(), http.MethodGet, target, nil, 0))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		defer resp.Body.Close() // and nobody reads it before
		content, err := os.ReadFile(path)
		must(t, err)
		at := int64(150_000)
		if i == 1 {
			at = size + 1 // the sums of its chunks
		}
		must(t, d.writeBelow(path, at, []byte{^content[at]}))
		file, err := filepath.Rel(s.dir, path)
		must(t, err)
		if v := s.verify(); !v.accuses(place{file: file, from: at, to: at + 1}) {
			t.Errorf("%d bytes, damaged at %d: not among %+v", size, at, v.open)
		}
	}
}

// added is the one file that has come.
func added(t *testing.T, before, after []string) string {
	t.Helper()
	known := map[string]bool{}
	for _, name := range before {
		known[name] = true
	}
	for _, name := range after {
		if !known[name] {
			return name
		}
	}
	t.Fatal("no file has come")
	return ""
}
