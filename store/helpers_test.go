package store_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/fault"
	"larder/store"
)

// reporter is the part of testing.TB that rapid's T has too.
type reporter interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// open opens a store in dir and closes it, fully checked, at the test's end.
func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.Close()
			return
		}
		if s.Stats().ReadOnly == "" {
			check(t, s)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// check verifies a whole store: every index row, every reference, every blob
// file, every byte of every object, its ETag, the order of the listing, and the
// counters.
func check(t reporter, s *store.Store) {
	t.Helper()
	ctx := context.Background()
	if err := s.VerifyIndex(ctx); err != nil {
		t.Errorf("index: %v", err)
	}
	checkReferences(t, s)
	buckets, err := s.Buckets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range buckets {
		var objects, size int64
		for _, info := range list(t, s, b.Name) {
			objects++
			size += info.Size
			body := read(t, s, b.Name, info.Key)
			if !strings.Contains(info.ETag, "-") && etag(body) != info.ETag {
				t.Errorf("%s/%s: bytes do not fit the ETag", b.Name, info.Key)
			}
		}
		if objects != b.Objects || size != b.Bytes {
			t.Errorf("bucket %s counts %d objects, %d bytes; it holds %d, %d", b.Name, b.Objects, b.Bytes, objects, size)
		}
	}
}

// list gives all objects of a bucket, page by page.
func list(t reporter, s *store.Store, bucket string) []store.Info {
	t.Helper()
	var all []store.Info
	req := store.ListRequest{Bucket: bucket, Max: 1000}
	for {
		page, err := s.List(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Objects...)
		if !page.Truncated {
			return all
		}
		req.After = page.Next
	}
}

func put(t testing.TB, s *store.Store, bucket, key string, body []byte) store.Info {
	t.Helper()
	info, err := s.Put(context.Background(), store.PutRequest{
		Bucket: bucket, Key: key, Body: bytes.NewReader(body), Size: int64(len(body)),
	})
	if err != nil {
		t.Fatalf("put %s/%s: %v", bucket, key, err)
	}
	return info
}

func read(t reporter, s *store.Store, bucket, key string) []byte {
	t.Helper()
	body, err := tryRead(s, bucket, key)
	if err != nil {
		t.Fatalf("get %s/%s: %v", bucket, key, err)
	}
	return body
}

func tryRead(s *store.Store, bucket, key string) ([]byte, error) {
	o, err := s.Get(context.Background(), bucket, key)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	var buf bytes.Buffer
	n, err := o.CopyRange(context.Background(), plain{&buf}, 0, o.Info().Size)
	if err == nil && n != o.Info().Size {
		err = fmt.Errorf("%d bytes of %d", n, o.Info().Size)
	}
	return buf.Bytes(), err
}

// plain hides a writer's ReadFrom.
type plain struct{ io.Writer }

func remove(t testing.TB, s *store.Store, bucket, key string) {
	t.Helper()
	if err := s.Delete(context.Background(), store.DeleteRequest{Bucket: bucket, Key: key}); err != nil {
		t.Fatal(err)
	}
}

func makeBucket(t testing.TB, s *store.Store, name string) {
	t.Helper()
	if _, err := s.CreateBucket(context.Background(), name); err != nil {
		t.Fatal(err)
	}
}

// noise is n bytes that no checksum takes for others.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)}).Read(b)
	return b
}

func etag(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

func wantCode(t reporter, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("got %v, want %v", err, code)
	}
}

// blobFiles counts the blobs on the disk.
func blobFiles(t testing.TB, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(d.Name()) == 32 {
			n++
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return n
}

// eventually waits for something that happens in the background.
func eventually(t reporter, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// crash copies a live store's folder as a killed process would leave it: what
// the kernel has, at one moment of no writes, without a Close.
func crash(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	// The copy stands for the very folder, so its index is not to be taken for a
	// copy: see indexWasCopied.
	_ = os.Remove(filepath.Join(to, "index.open"))
	return to
}
