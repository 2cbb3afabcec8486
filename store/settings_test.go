package store_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"larder/fault"
	"larder/store"
)

// TestBucketSettingsStay sets and unsets a setting, over restarts and over the
// loss of the index.
func TestBucketSettingsStay(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := open(t, made)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	wantSettings(t, s, store.BucketSettings{})
	for _, want := range []store.BucketSettings{{UnverifiedReads: true}, {}, {UnverifiedReads: true}} {
		if err := s.SetBucketSettings(t.Context(), "bucket", want); err != nil {
			t.Fatal(err)
		}
		wantSettings(t, s, want)
	}
	put(t, s, "bucket", "l", noise(2, 1000))
	last := store.BucketSettings{UnverifiedReads: true}
	kept := crash(t, made)
	wantSettings(t, open(t, kept), last)

	lost := crash(t, made)
	for _, name := range []string{"index.db", "index.db-wal", "index.db-shm"} {
		if err := os.Remove(filepath.Join(lost, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	wantSettings(t, open(t, lost), last)
	wantCode(t, s.SetBucketSettings(t.Context(), "other", last), fault.NoSuchBucket)
}

func wantSettings(t *testing.T, s *store.Store, want store.BucketSettings) {
	t.Helper()
	b, err := s.Bucket(t.Context(), "bucket")
	if err != nil || b.Settings != want {
		t.Errorf("the bucket is %+v, %v; want settings %+v", b, err, want)
	}
}

// TestVerifiedReads damages a blob: a bucket that verifies never gives its bytes
// out, one that does not sends them as they lie there.
func TestVerifiedReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	makeBucket(t, s, "bucket")
	body := noise(1, 3<<20)
	put(t, s, "bucket", "k", body)
	flipInBlob(t, dir, 2<<20)

	got, err := tryRead(s, "bucket", "k")
	wantCode(t, err, fault.Corrupt)
	if !bytes.Equal(got, body[:len(got)]) {
		t.Error("wrong bytes were given out")
	}
	if err := s.SetBucketSettings(t.Context(), "bucket", store.BucketSettings{UnverifiedReads: true}); err != nil {
		t.Fatal(err)
	}
	got, err = tryRead(s, "bucket", "k")
	if err != nil || len(got) != len(body) || bytes.Equal(got, body) {
		t.Errorf("unverified: %d bytes, %v", len(got), err)
	}
}

// flipInBlob flips one bit of the only blob.
func flipInBlob(t *testing.T, dir string, off int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(d.Name()) != 32 {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		var b [1]byte
		if _, err := f.ReadAt(b[:], off); err != nil {
			return err
		}
		b[0] ^= 1
		_, err = f.WriteAt(b[:], off)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
