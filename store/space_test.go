package store_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// fullDisk is a disk that takes no new segments and blobs while full is set.
type fullDisk struct {
	vfs.FS
	full *atomic.Bool
}

func (d fullDisk) Create(name string) (vfs.File, error) {
	if d.full.Load() {
		return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.ENOSPC}
	}
	return d.FS.Create(name)
}

func TestAFullDiskRefusesPutsAndTakesDeletions(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	dir := t.TempDir()
	s, err := store.OpenOn(t.Context(), store.Config{Dir: dir, SegmentSize: 256 << 10}, func(f vfs.FS) vfs.FS { return fullDisk{f, &full} })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	for i := range 40 {
		put(t, s, "bucket", fmt.Sprint("old", i), noise(uint64(i), 1000))
	}
	full.Store(true)
	refused := fillUp(s)

	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: "new", Body: bytes.NewReader(noise(1, 100_000)), Size: 100_000})
			wantCode(t, err, fault.NoSpace)
		})
		wg.Go(func() {
			err := s.Delete(context.Background(), store.DeleteRequest{Bucket: "bucket", Key: fmt.Sprint("old", i)})
			wantCode(t, err, fault.OK)
		})
	}
	wg.Wait()
	_, err = s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "blob", Body: bytes.NewReader(noise(1, 300_000)), Size: -1})
	wantCode(t, err, fault.NoSpace)

	full.Store(false)
	put(t, s, "bucket", "after", []byte("room again"))
	if _, err := s.Head(t.Context(), "bucket", refused); fault.CodeOf(err) != fault.NoSuchKey {
		t.Error("a refused put was stored")
	}
	check(t, s)
	if blobFiles(t, dir) != 0 {
		t.Error("a refused put left a blob")
	}
}

// fillUp puts until a put is refused, and returns that one's key.
func fillUp(s *store.Store) string {
	for i := 0; ; i++ {
		key := fmt.Sprint("fill", i)
		_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: key, Body: strings.NewReader(strings.Repeat("x", 50_000)), Size: 50_000})
		if err != nil {
			return key
		}
	}
}

// TestDeletionsSpendTheIndexReserve fills the disk for the index, but for the
// room that the reserve holds.
func TestDeletionsSpendTheIndexReserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", []byte("x"))
	reserve := filepath.Join(dir, "index.reserve")
	reserved := func() bool {
		info, err := os.Stat(reserve)
		return err == nil && info.Size() == 4<<20
	}
	if !reserved() {
		t.Fatal("there is no reserve")
	}
	s.LimitIndex(reserved)
	remove(t, s, "bucket", "k")
	if reserved() {
		t.Error("the deletion did not need the reserve")
	}
	_, err := s.Head(t.Context(), "bucket", "k")
	wantCode(t, err, fault.NoSuchKey)
}
