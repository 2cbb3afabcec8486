package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/fault"
	"larder/store"
)

// TestCloseUnderLoad closes a store while clients put into it: everybody is
// answered, and what was acknowledged is there afterwards.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	var wg sync.WaitGroup
	var mu sync.Mutex
	acked := map[string][]byte{}
	for c := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key, body := fmt.Sprintf("%d/%d", c, i), noise(uint64(c*1000+i), 30*(i%4))
				_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: key, Body: bytes.NewReader(body), Size: -1})
				if err != nil {
					wantCode(t, err, fault.Unavailable)
					return
				}
				mu.Lock()
				acked[key] = body
				mu.Unlock()
			}
		})
	}
	eventually(t, "some puts", func() bool { mu.Lock(); defer mu.Unlock(); return len(acked) > 100 })
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { wantCode(t, s.Close(), fault.OK) })
	}
	closers.Wait()
	wg.Wait()
	again := openSmall(t, dir)
	for key, body := range acked {
		if !bytes.Equal(read(t, again, "bucket", key), body) {
			t.Fatalf("%s is lost", key)
		}
	}
	if n := len(list(t, again, "bucket")); n != len(acked) {
		t.Errorf("%d objects, %d were acknowledged", n, len(acked))
	}
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	s, err := store.Open(ctx, store.Config{Dir: dir, InlineLimit: 64})
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "blob", noise(1, 1000))
	u := startUpload(t, s, "bucket", "multi")
	o, err := s.Get(ctx, "bucket", "blob")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, errs := s.Buckets(ctx)
	for name, err := range map[string]error{
		"buckets": errs, "delete bucket": s.DeleteBucket(ctx, "bucket"),
		"delete": s.Delete(ctx, store.DeleteRequest{Bucket: "bucket", Key: "blob"}), "abort": s.AbortUpload(ctx, "bucket", "multi", u.ID),
		"delete many": s.DeleteMany(ctx, make([]store.DeleteRequest, 3))[2], "condition": s.CheckCondition(ctx, "bucket", "k", store.Condition{}),
		"bucket":        second(s.Bucket(ctx, "bucket")),
		"create bucket": second(s.CreateBucket(ctx, "other")),
		"head":          second(s.Head(ctx, "bucket", "blob")),
		"get":           second(s.Get(ctx, "bucket", "blob")),
		"open object":   second(o.CopyRange(ctx, io.Discard, 0, 1000)),
		"list":          second(s.List(ctx, store.ListRequest{Bucket: "bucket", Max: 10})),
		"put":           second(s.Put(ctx, store.PutRequest{Bucket: "bucket", Key: "k", Body: bytes.NewReader(noise(1, 500)), Size: 500})),
		"copy":          second(s.Copy(ctx, store.CopyRequest{SourceBucket: "bucket", SourceKey: "blob", Bucket: "bucket", Key: "k"})),
		"start":         second(s.CreateUpload(ctx, store.UploadRequest{Bucket: "bucket", Key: "k"})),
		"upload":        second(s.Upload(ctx, "bucket", "multi", u.ID)),
		"uploads":       second(s.ListUploads(ctx, store.UploadsRequest{Bucket: "bucket", Max: 1})),
		"parts":         second(s.ListParts(ctx, "bucket", "multi", u.ID, 0, 10)),
		"part":          second(s.PutPart(ctx, store.PartRequest{Bucket: "bucket", Key: "multi", UploadID: u.ID, Number: 1, Body: bytes.NewReader(noise(1, 500)), Size: 500})),
		"copy part":     second(s.CopyPart(ctx, store.CopyPartRequest{Bucket: "bucket", Key: "multi", UploadID: u.ID, Number: 1, SourceBucket: "bucket", SourceKey: "blob", Length: -1})),
		"complete":      second(s.CompleteUpload(ctx, store.CompleteRequest{Bucket: "bucket", Key: "multi", UploadID: u.ID, Parts: []store.CompletePart{{Number: 1}}, Size: -1})),
	} {
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = s.Stats()
	o.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := blobFiles(t, dir); n != 1 {
		t.Errorf("%d blob files, want 1", n)
	}
}

func second[T any](_ T, err error) error { return err }

// TestNothingIsLeftBehind counts goroutines and files: it does not run beside
// other tests.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	files := openFiles(t, dir)
	for range 5 {
		s, err := store.Open(t.Context(), store.Config{Dir: dir, InlineLimit: 64})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.CreateBucket(t.Context(), "bucket")
		put(t, s, "bucket", "k", noise(1, 1000))
		read(t, s, "bucket", "k")
		_, err = s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "k", Body: &brokenBody{left: 700 << 10}, Size: -1})
		wantCode(t, err, fault.IncompleteBody)
		if n := blobFiles(t, dir); n > 2 {
			t.Errorf("%d blob files", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), store.Config{Dir: dir, BlobDir: t.TempDir()}); err == nil {
			t.Fatal("opened with the wrong blobs")
		}
	}
	eventually(t, "no goroutine of the store", func() bool {
		buf := make([]byte, 1<<20)
		return !strings.Contains(string(buf[:runtime.Stack(buf, true)]), "larder/store.(")
	})
	eventually(t, "no file but the roots that wait for the collector", func() bool {
		runtime.GC()
		return openFiles(t, dir) <= files
	})
}

// openFiles counts this process's open files below dir.
func openFiles(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	n := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}

// brokenBody gives some bytes and then fails as a connection does.
type brokenBody struct{ left int }

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("connection reset by peer")
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

// lazyBody gives nothing at all, panicBody worse.
type lazyBody struct{}

func (lazyBody) Read([]byte) (int, error) { return 0, nil }

type panicBody struct{}

func (panicBody) Read([]byte) (int, error) { panic("a bug in a decoder") }

func TestBadBodiesStoreNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	large := io.LimitReader(&brokenBody{left: 1 << 30}, 600<<10)
	for name, c := range map[string]struct {
		body io.Reader
		size int64
		code fault.Code
	}{
		"cut at once":   {&brokenBody{}, -1, fault.IncompleteBody},
		"cut later":     {&brokenBody{left: 1 << 20}, -1, fault.IncompleteBody},
		"nothing":       {lazyBody{}, -1, fault.IncompleteBody},
		"nothing later": {io.MultiReader(bytes.NewReader(noise(1, 100)), lazyBody{}), -1, fault.IncompleteBody},
		"panics later":  {io.MultiReader(bytes.NewReader(noise(1, 100)), panicBody{}), -1, fault.Internal},
		"too much":      {&brokenBody{left: 1 << 30}, 100_000, fault.IncompleteBody},
		"too little":    {large, 700 << 10, fault.IncompleteBody},
	} {
		_, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "k", Body: c.body, Size: c.size})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
		if n := blobFiles(t, dir); n != 0 {
			t.Errorf("%s: %d blobs are left", name, n)
		}
	}
}

// TestAStalledClientSeesTheDiskFail lets the disk fail while the client sends
// nothing: the store is read-only at once, the put ends with its read.
func TestAStalledClientSeesTheDiskFail(t *testing.T) {
	t.Parallel()
	p := &plan{err: 5}
	s, err := openFaulty(t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	p.mu.Lock()
	p.at, p.forever = p.count+1, true
	p.mu.Unlock()
	r, w := io.Pipe()
	answered := make(chan error, 1)
	go func() {
		_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: "k", Body: r, Size: -1})
		answered <- err
	}()
	go w.Write(noise(1, 600<<10))
	eventually(t, "the store is read-only", func() bool { return s.Stats().ReadOnly != "" })
	w.CloseWithError(errors.New("gone"))
	select {
	case err := <-answered:
		wantCode(t, err, fault.ReadOnly)
	case <-time.After(20 * time.Second):
		t.Fatal("the put hangs")
	}
}
