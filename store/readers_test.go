package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"larder/fault"
	"larder/store"
)

// TestReadersNeverMissAnOverwrittenObject reads keys while they are overwritten
// all the time: each read gets one whole version, and the index is not taken
// for damaged.
func TestReadersNeverMissAnOverwrittenObject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "small", noise(1, 10))
	upload(t, s, "bucket", "multi", noise(1, 70), noise(2, 30))
	var stop atomic.Bool
	var readers sync.WaitGroup
	for i := range 4 {
		key := []string{"small", "multi"}[i%2]
		readers.Go(func() {
			for !stop.Load() {
				o, err := s.Get(context.Background(), "bucket", key)
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				var buf bytes.Buffer
				_, err = o.CopyRange(context.Background(), plain{&buf}, 0, o.Info().Size)
				if err != nil || key == "small" && etag(buf.Bytes()) != o.Info().ETag {
					t.Errorf("%s: not one whole version: %v", key, err)
				}
				o.Close()
			}
		})
	}
	for i := range 150 {
		put(t, s, "bucket", "small", noise(uint64(i), 10+i%100))
		if i%5 == 0 {
			upload(t, s, "bucket", "multi", noise(uint64(i), 70), noise(uint64(i+1), 30))
		}
	}
	stop.Store(true)
	readers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.KeepsOrphans() {
		t.Error("the index was made again: a race was taken for damage")
	}
}

// TestACacheBehindTheIndexIsNoDamage reads an object whose row stands in the
// cache while its body is gone from the index, and then a deleted one.
func TestACacheBehindTheIndexIsNoDamage(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	for _, parts := range [][][]byte{{noise(1, 10)}, {noise(1, 200)}, {noise(1, 10), noise(2, 200)}} {
		upload(t, s, "bucket", "k", parts...)
		putBack, err := s.Remember("bucket", "k")
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "bucket", "k", noise(3, 20))
		putBack()
		if !bytes.Equal(read(t, s, "bucket", "k"), noise(3, 20)) {
			t.Error("not the new version")
		}
		put(t, s, "bucket", "k", noise(4, 20))
		remove(t, s, "bucket", "k")
		putBack()
		_, err = s.Get(t.Context(), "bucket", "k")
		wantCode(t, err, fault.NoSuchKey)
		put(t, s, "bucket", "k", nil) // the cache is right again
	}
}

// TestReadYourWrites has clients that read what they have just written, from a
// cache too small for them all.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), CacheRows: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	var wg sync.WaitGroup
	for c := range 16 {
		wg.Go(func() {
			key := fmt.Sprint(c)
			for i := range 40 {
				want := put(t, s, "bucket", key, noise(uint64(c*100+i), i))
				got, err := s.Head(context.Background(), "bucket", key)
				if err != nil || got.Sequence != want.Sequence {
					t.Errorf("wrote %d, read %d, %v", want.Sequence, got.Sequence, err)
				}
				if i%5 == 4 {
					remove(t, s, "bucket", key)
					_, err := s.Head(context.Background(), "bucket", key)
					wantCode(t, err, fault.NoSuchKey)
				}
			}
		})
	}
	wg.Wait()
	check(t, s)
}

// TestASlowReaderHoldsOnlyWhatItReads keeps one object open while others go:
// their space comes back, and its own when it is closed.
func TestASlowReaderHoldsOnlyWhatItReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	upload(t, s, "bucket", "slow", noise(1, 200), noise(2, 100))
	var open []*store.Object
	for range 2 {
		o, err := s.Get(t.Context(), "bucket", "slow")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, o)
	}
	remove(t, s, "bucket", "slow")
	put(t, s, "bucket", "other", noise(3, 300))
	remove(t, s, "bucket", "other")
	eventually(t, "two blobs are left", func() bool { return blobFiles(t, dir) == 2 })
	open[0].Close()
	open[0].Close()
	var buf bytes.Buffer
	if _, err := open[1].CopyRange(t.Context(), plain{&buf}, 0, 300); err != nil {
		t.Fatal(err)
	}
	open[1].Close()
	eventually(t, "no blob is left", func() bool { return blobFiles(t, dir) == 0 })
}

// TestLargeRowsDoNotFillTheCache reads copies of an object with many parts.
func TestLargeRowsDoNotFillTheCache(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), CacheRows: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.AllowSmallParts()
	makeBucket(t, s, "bucket")
	parts := make([][]byte, 500)
	for i := range parts {
		parts[i] = noise(uint64(i), 3)
	}
	upload(t, s, "bucket", "0", parts...)
	for i := range 20 {
		_, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: fmt.Sprint(i), Bucket: "bucket", Key: fmt.Sprint(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if w := s.CacheWeight(); w > 40<<10 {
		t.Errorf("20 rows may take 40 KiB, and take %d", w)
	}
	if !bytes.Equal(read(t, s, "bucket", "20"), bytes.Join(parts, nil)) {
		t.Error("other bytes came back")
	}
	check(t, s)
}

// failingWriter is a client that goes away.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestReadErrorsAreTyped(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "inline", noise(1, 10))
	put(t, s, "bucket", "blob", noise(1, 1000))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, key := range []string{"inline", "blob"} {
		o, err := s.Get(t.Context(), "bucket", key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.CopyRange(t.Context(), failingWriter{}, 0, 10)
		wantCode(t, err, fault.Canceled)
		_, err = o.CopyRange(ended, io.Discard, 0, 10)
		wantCode(t, err, fault.Canceled)
		o.Close()
	}
}

// TestUnknownAlgorithmsAreRefused sends numbers that stand for no checksum.
func TestUnknownAlgorithmsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 10))
	u := startUpload(t, s, "bucket", "multi")
	for name, err := range map[string]error{
		"put":   second(s.Put(ctx, store.PutRequest{Bucket: "bucket", Key: "k", Body: bytes.NewReader(nil), Size: 0, Checksum: 99})),
		"copy":  second(s.Copy(ctx, store.CopyRequest{SourceBucket: "bucket", SourceKey: "k", Bucket: "bucket", Key: "k", Checksum: 99})),
		"start": second(s.CreateUpload(ctx, store.UploadRequest{Bucket: "bucket", Key: "k", Checksum: 99})),
		"type":  second(s.CreateUpload(ctx, store.UploadRequest{Bucket: "bucket", Key: "k", Checksum: store.SHA1, ChecksumType: 7})),
		"part":  second(s.PutPart(ctx, store.PartRequest{Bucket: "bucket", Key: "multi", UploadID: u.ID, Number: 1, Body: bytes.NewReader(nil), Checksum: 99})),
	} {
		if fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
