package scrubber_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"larder/scrubber"
	"larder/store"
)

// open opens a store with small segments, so that tests have many.
func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 256 << 10, CompactRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newScrubber(t testing.TB, source scrubber.Source) *scrubber.Scrubber {
	t.Helper()
	sc, err := scrubber.New(t.Context(), scrubber.Config{Store: source})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// pass runs a whole pass over a store.
func pass(t testing.TB, s *store.Store) scrubber.Report {
	t.Helper()
	r, err := newScrubber(t, s).Pass(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete {
		t.Error("the pass is not complete")
	}
	return r
}

func makeBucket(t testing.TB, s *store.Store, name string) {
	t.Helper()
	if _, err := s.CreateBucket(context.Background(), name); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, s *store.Store, key string, body []byte) store.Info {
	t.Helper()
	info, err := s.Put(context.Background(), store.PutRequest{
		Bucket: "bucket", Key: key, Body: bytes.NewReader(body), Size: int64(len(body)),
	})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return info
}

func remove(t testing.TB, s *store.Store, key string) {
	t.Helper()
	if err := s.Delete(context.Background(), store.DeleteRequest{Bucket: "bucket", Key: key}); err != nil {
		t.Fatal(err)
	}
}

// noise is n bytes that no checksum takes for others.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b)
	return b
}

// fill stores something of every kind: objects in segments and in blobs, empty
// ones, copies, overwritten and deleted ones, finished, begun and aborted
// uploads, a deleted bucket.
func fill(t testing.TB, s *store.Store) {
	t.Helper()
	makeBucket(t, s, "gone")
	if err := s.DeleteBucket(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	for n := range 30 {
		put(t, s, fmt.Sprintf("small/%02d", n), noise(uint64(n), 20_000+n))
	}
	for n := range 4 {
		put(t, s, fmt.Sprintf("large/%d", n), noise(uint64(100+n), 300_000+n))
	}
	put(t, s, "empty", nil)
	put(t, s, "small/01", noise(201, 1000))
	put(t, s, "large/1", noise(202, 200_000))
	remove(t, s, "small/02")
	remove(t, s, "large/2")
	put(t, s, "small/02", noise(203, 2000))
	remove(t, s, "small/03")
	for _, from := range []string{"small/04", "large/3"} {
		_, err := s.Copy(t.Context(), store.CopyRequest{
			SourceBucket: "bucket", SourceKey: from, Bucket: "bucket", Key: "copy/" + from,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	upload(t, s, "multi", true)
	upload(t, s, "begun", false)
	if err := s.AbortUpload(t.Context(), "bucket", "stopped", upload(t, s, "stopped", false)); err != nil {
		t.Fatal(err)
	}
}

// upload uploads a part twice, so that the second one counts.
func upload(t testing.TB, s *store.Store, key string, complete bool) string {
	t.Helper()
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var listed []store.CompletePart
	for n, size := range []int{100, 200_000} {
		p, err := s.PutPart(t.Context(), store.PartRequest{
			Bucket: "bucket", Key: key, UploadID: u.ID, Number: 1, Body: bytes.NewReader(noise(uint64(300+n), size)), Size: int64(size),
		})
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			listed = append(listed, store.CompletePart{Number: p.Number, ETag: p.ETag})
		}
	}
	if !complete {
		return u.ID
	}
	_, err = s.CompleteUpload(t.Context(), store.CompleteRequest{
		Bucket: "bucket", Key: key, UploadID: u.ID, Parts: listed, Size: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

func tryRead(s *store.Store, key string) ([]byte, error) {
	o, err := s.Get(context.Background(), "bucket", key)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	var buf bytes.Buffer
	_, err = o.CopyRange(context.Background(), struct{ io.Writer }{&buf}, 0, o.Info().Size)
	return buf.Bytes(), err
}
