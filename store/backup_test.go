package store_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"larder/store"
)

// TestAPictureHoldsWhatReplacedTheCompacted takes a picture while a version is
// replaced and its segment compacted, between the two looks that it takes: it must
// hold one of the two versions.
func TestAPictureHoldsWhatReplacedTheCompacted(t *testing.T) {
	t.Parallel()
	s := openManual(t, t.TempDir())
	makeBucket(t, s, "bucket")
	old, young := noise(1, 500), noise(2, 500)
	put(t, s, "bucket", "key", old)
	fillMore(t, s, 12)
	s.Settle()
	s.AfterApplied(func() {
		put(t, s, "bucket", "key", young)
		compactAll(t, s, 1)
	})
	p, err := s.Picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	copied := openManual(t, develop(t, s, p))
	if got, err := tryRead(copied, "bucket", "key"); err != nil || !bytes.Equal(got, old) && !bytes.Equal(got, young) {
		t.Errorf("the picture up to record %d has %d bytes of the key, %v", p.Sequence, len(got), err)
	}
	check(t, copied)
}

// develop makes a data folder of a picture.
func develop(t *testing.T, s *store.Store, p *store.Picture) string {
	t.Helper()
	to := t.TempDir()
	from, _ := s.Dirs()
	if err := os.Mkdir(filepath.Join(to, "blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"VERSION", "blobs/VERSION"} {
		takeFile(t, filepath.Join(from, name), filepath.Join(to, name))
	}
	files := p.Segments
	err := p.Blobs(t.Context(), func(f store.PictureFile) error { files = append(files, f); return nil })
	for _, f := range files {
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, f.Name)), 0o700)
		}
		b := make([]byte, f.Size)
		if src, oerr := p.Open(f); err == nil && oerr == nil {
			_, err = src.ReadAt(b, 0)
			src.Close()
		}
		if err == nil || err == io.EOF {
			err = os.WriteFile(filepath.Join(to, f.Name), b, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
