package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/fault"
	"larder/store"
)

// TestDamageStopsACompaction damages one record: its segment is not rewritten,
// others are, and all else can be read.
func TestDamageStopsACompaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openManual(t, dir)
	makeBucket(t, s, "bucket")
	body := noise(77, 500)
	put(t, s, "bucket", "damaged", body)
	fillSegment(t, s)
	name := segmentFiles(t, dir)[0]
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, body)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{^body[0]}, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := s.Segments()
	wantCode(t, s.CompactNow(t.Context()), fault.Corrupt)
	if after := s.Segments(); len(after) != len(before) || after[0] != before[0] {
		t.Errorf("the segments are %+v, were %+v", after, before)
	}
	if s.Stats().ReadOnly != "" {
		t.Error("the store is read-only")
	}
	if len(s.Sealed()) > 1 {
		if err := s.CompactAt(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	_, err = tryRead(s, "bucket", "damaged")
	wantCode(t, err, fault.Corrupt)
	if len(list(t, s, "filler")) != 10 {
		t.Error("others are gone")
	}
}

// TestTheQueueIsBoundedInBytes lets large inline bodies wait for a committer
// that is held up.
func TestTheQueueIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), InlineLimit: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.BeforeIndex(func() {
		once.Do(func() { close(held) })
		<-release
	})
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, "bucket", "first", []byte("x")) })
	<-held
	body := noise(1, 10<<20)
	codes := make(chan fault.Code, 8)
	for range 8 {
		wg.Go(func() {
			_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: "k", Body: bytes.NewReader(body), Size: -1})
			codes <- fault.CodeOf(err)
		})
	}
	for range 2 { // 60 MiB wait, the rest is refused at once
		if code := <-codes; code != fault.Unavailable {
			t.Errorf("got %v", code)
		}
	}
	close(release)
	wg.Wait()
	for range 6 {
		if code := <-codes; code != fault.OK {
			t.Errorf("one that waited: %v", code)
		}
	}
	put(t, s, "bucket", "after", body)
}

// TestTheSweepDoesNotBelieveADamagedIndex loses the rows of all blobs: no blob
// goes, and the index is made again.
func TestTheSweepDoesNotBelieveADamagedIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openManual(t, dir)
	makeBucket(t, s, "bucket")
	for i := range 5 {
		put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), 2000))
	}
	u := startUpload(t, s, "bucket", "multi")
	putPart(t, s, u, 1, noise(9, 2000))
	want := state(t, s)
	s.Close()
	db, err := sqlite.OpenConn(filepath.Join(dir, "index.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(db, `DELETE FROM bodies WHERE blob IS NOT NULL`, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = openManual(t, dir) // cannot read them
	s.Settle()
	s.Close()
	if n := blobFiles(t, dir); n != 6 {
		t.Fatalf("%d blobs of 6 are left", n)
	}
	s = openManual(t, dir)
	if got := state(t, s); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	check(t, s)
}
