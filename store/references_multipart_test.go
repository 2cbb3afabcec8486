package store_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"larder/fault"
	"larder/store"
)

// openSmall opens a store that takes parts of any size and makes blobs of all
// above 64 bytes.
func openSmall(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 64 << 10, InlineLimit: 64})
	if err != nil {
		t.Fatal(err)
	}
	s.AllowSmallParts()
	t.Cleanup(func() {
		_, closed := s.Buckets(context.Background())
		if !t.Failed() && closed == nil && s.Stats().ReadOnly == "" {
			check(t, s)
		}
		s.Close()
	})
	return s
}

func startUpload(t testing.TB, s *store.Store, bucket, key string) store.Upload {
	t.Helper()
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func copyPart(t testing.TB, s *store.Store, u store.Upload, number int, source string, off, n int64) store.Part {
	t.Helper()
	p, err := s.CopyPart(t.Context(), store.CopyPartRequest{
		Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: number,
		SourceBucket: u.Bucket, SourceKey: source, Offset: off, Length: n,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func complete(t testing.TB, s *store.Store, u store.Upload, parts ...store.Part) {
	t.Helper()
	req := store.CompleteRequest{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Size: -1}
	for _, p := range parts {
		req.Parts = append(req.Parts, store.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	if _, err := s.CompleteUpload(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// TestPartsMayShareExtents completes uploads whose parts are copies of the same
// bytes, every choice of them: whichever are left out, the object keeps its own.
func TestPartsMayShareExtents(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	a, b, own := noise(1, 100), noise(2, 90), noise(3, 80)
	for choice := 1; choice < 1<<5; choice++ {
		upload(t, s, "bucket", "source", a, b)
		u := startUpload(t, s, "bucket", "k")
		parts := []store.Part{
			copyPart(t, s, u, 1, "source", 0, 100),
			copyPart(t, s, u, 2, "source", 0, -1),
			putPart(t, s, u, 3, nil),
			copyPart(t, s, u, 4, "source", 50, 100),
			putPart(t, s, u, 5, own),
		}
		bodies := [][]byte{a, append(bytes.Clone(a), b...), nil, append(bytes.Clone(a[50:]), b[:50]...), own}
		remove(t, s, "bucket", "source")
		var listed []store.Part
		var want []byte
		for i := range parts {
			if choice&(1<<i) != 0 {
				listed, want = append(listed, parts[i]), append(want, bodies[i]...)
			}
		}
		complete(t, s, u, listed...)
		if !bytes.Equal(read(t, s, "bucket", "k"), want) {
			t.Errorf("choice %05b: other bytes", choice)
		}
		checkReferences(t, s)
	}
}

// TestBodiesOutliveTheirNames passes one body through copies of copies and
// uploads onto their own sources, while the names before go away.
func TestBodiesOutliveTheirNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	body := noise(1, 200)
	put(t, s, "bucket", "0", body)
	for i := range 3 {
		from, to := fmt.Sprint(i), fmt.Sprint(i+1)
		_, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: from, Bucket: "bucket", Key: to})
		if err != nil {
			t.Fatal(err)
		}
		remove(t, s, "bucket", from)
	}
	u := startUpload(t, s, "bucket", "3") // onto its own source
	copyPart(t, s, u, 1, "3", 0, 100)
	p1 := copyPart(t, s, u, 1, "3", 100, 100) // replaced by another range of the same body
	p2 := copyPart(t, s, u, 2, "3", 0, 100)
	complete(t, s, u, p1, p2)
	want := append(bytes.Clone(body[100:]), body[:100]...)
	if !bytes.Equal(read(t, s, "bucket", "3"), want) {
		t.Error("other bytes")
	}
	if got := state(t, openSmall(t, crash(t, dir))); got != state(t, s) {
		t.Error("the state does not survive a crash")
	}
	u = startUpload(t, s, "bucket", "3")
	complete(t, s, u, copyPart(t, s, u, 9, "3", 150, 10))
	if !bytes.Equal(read(t, s, "bucket", "3"), want[150:160]) {
		t.Error("other bytes")
	}
}

func TestCopyPartRefusesRangesThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "ten", noise(1, 10))
	put(t, s, "bucket", "empty", nil)
	u := startUpload(t, s, "bucket", "k")
	const most = 1<<63 - 1
	for _, r := range [][2]int64{{-1, 5}, {0, 11}, {10, -1}, {11, -1}, {20, -1}, {5, most}, {1, most}, {most, most}, {most, -1}, {10, 0}, {3, 0}} {
		_, err := s.CopyPart(t.Context(), store.CopyPartRequest{
			Bucket: "bucket", Key: "k", UploadID: u.ID, Number: 1, SourceBucket: "bucket", SourceKey: "ten", Offset: r[0], Length: r[1],
		})
		if fault.CodeOf(err) != fault.InvalidRange {
			t.Errorf("range %v: %v", r, err)
		}
	}
	if p := copyPart(t, s, u, 1, "empty", 0, -1); p.Size != 0 {
		t.Errorf("%+v", p)
	}
	o, err := s.Get(t.Context(), "bucket", "ten")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, r := range [][2]int64{{-1, 5}, {0, -1}, {0, 11}, {11, 0}, {5, most}, {most, most}} {
		var buf bytes.Buffer
		n, err := o.CopyRange(t.Context(), &buf, r[0], r[1])
		if fault.CodeOf(err) != fault.InvalidRange || n != 0 || buf.Len() != 0 {
			t.Errorf("range %v: %d bytes, %v", r, n, err)
		}
	}
}

// TestObjectsAreMadeOfBoundedPieces doubles an object by copying it until it is
// refused: records, and the memory for them, stay small.
func TestObjectsAreMadeOfBoundedPieces(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 3))
	for range 30 {
		u := startUpload(t, s, "bucket", "k")
		req := store.CompleteRequest{Bucket: "bucket", Key: "k", UploadID: u.ID, Size: -1}
		for n := range 9 {
			p := copyPart(t, s, u, n+1, "k", 0, -1)
			req.Parts = append(req.Parts, store.CompletePart{Number: p.Number, ETag: p.ETag})
		}
		_, err := s.CompleteUpload(t.Context(), req)
		if err == nil {
			continue
		}
		wantCode(t, err, fault.EntityTooLarge)
		put(t, s, "bucket", "other", noise(1, 10))
		return
	}
	t.Error("never refused")
}
