package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

func TestOneOfManyRacingWritersWins(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	makeBucket(t, s, "bucket")
	for name, cond := range map[string]store.Condition{
		"create": {IfNoneMatch: true}, "replace": {IfMatch: put(t, s, "bucket", "replace", []byte("old")).ETag},
	} {
		var won, lost atomic.Int32
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				_, err := s.Put(context.Background(), store.PutRequest{
					Bucket: "bucket", Key: name, Body: bytes.NewReader([]byte(fmt.Sprint(i))), Size: -1, Cond: cond,
				})
				switch fault.CodeOf(err) {
				case fault.OK:
					won.Add(1)
				case fault.Precondition:
					lost.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 199 {
			t.Errorf("%s: %d won, %d lost", name, won.Load(), lost.Load())
		}
	}
}

func TestBucketDeletionTakesNoObjectWithIt(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for round := range 30 {
		name := fmt.Sprintf("bucket-%d", round)
		makeBucket(t, s, name)
		var wg sync.WaitGroup
		var stored atomic.Bool
		var deleted error
		for i := range 4 {
			wg.Go(func() {
				_, err := s.Put(context.Background(), store.PutRequest{Bucket: name, Key: fmt.Sprint(i), Body: bytes.NewReader(nil), Size: 0})
				if err == nil {
					stored.Store(true)
				}
			})
		}
		wg.Go(func() { deleted = s.DeleteBucket(context.Background(), name) })
		wg.Wait()
		if deleted == nil && stored.Load() {
			t.Fatal("an acknowledged object went with its bucket")
		}
	}
}

// counted opens a store that counts what it asks of the disk.
func counted(t testing.TB) (*store.Store, *vfs.Counter) {
	t.Helper()
	var counter *vfs.Counter
	s, err := store.OpenOn(t.Context(), store.Config{Dir: t.TempDir()}, func(f vfs.FS) vfs.FS {
		if counter == nil {
			counter = vfs.Counted(f)
			return counter
		}
		return f
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	makeBucket(t, s, "bucket")
	return s, counter
}

func TestAnInlinePutMakesOneSync(t *testing.T) {
	t.Parallel()
	s, counter := counted(t)
	put(t, s, "bucket", "first", nil)
	before := counter.Counts()
	for i := range 100 {
		put(t, s, "bucket", fmt.Sprint(i), noise(1, 1024))
	}
	after := counter.Counts()
	if syncs := after.Of(vfs.OpSync) - before.Of(vfs.OpSync); syncs != 100 {
		t.Errorf("100 puts made %d syncs", syncs)
	}
	if dirs := after.Of(vfs.OpSyncDir) - before.Of(vfs.OpSyncDir); dirs != 0 {
		t.Errorf("100 puts made %d directory syncs", dirs)
	}
}

func TestReadersKeepWhatTheyOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	for _, n := range []int{1000, 3 << 20} {
		body := noise(1, n)
		put(t, s, "bucket", "k", body)
		o, err := s.Get(t.Context(), "bucket", "k")
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "bucket", "k", []byte("new"))
		remove(t, s, "bucket", "k")
		var buf bytes.Buffer
		if _, err := o.CopyRange(t.Context(), plain{&buf}, 0, int64(n)); err != nil || !bytes.Equal(buf.Bytes(), body) {
			t.Errorf("%d bytes: the open object changed: %v", n, err)
		}
		o.Close()
	}
	eventually(t, "no blob left", func() bool { return blobFiles(t, dir) == 0 })
}

func TestDamagedBytesAreNeverServedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	small, large := noise(1, 5000), noise(2, 3<<20)
	put(t, s, "bucket", "small", small)
	put(t, s, "bucket", "large", large)
	damaged := crash(t, dir)
	for pattern, offset := range map[string]int{"segments/*.seg": -1, "blobs/*/*/*": 2<<20 + 5} {
		flip(t, damaged, pattern, offset, small)
	}
	d, err := store.Open(t.Context(), store.Config{Dir: damaged})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for key, whole := range map[string][]byte{"small": small, "large": large} {
		got, err := tryRead(d, "bucket", key)
		wantCode(t, err, fault.Corrupt)
		if len(got) >= len(whole) || !bytes.Equal(got, whole[:len(got)]) {
			t.Errorf("%s: %d bytes were served, or wrong ones", key, len(got))
		}
	}
}

// flip turns one bit over: at an offset, or within the bytes of find.
func flip(t *testing.T, dir, pattern string, offset int, find []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if offset < 0 {
		offset = bytes.Index(b, find) + 7
	}
	b[offset] ^= 4
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedSyncIsFinal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", []byte("kept"))
	copied := crash(t, dir)

	var broken atomic.Bool
	f, err := store.OpenOn(t.Context(), store.Config{Dir: copied}, func(f vfs.FS) vfs.FS { return failingSync{f, &broken} })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	broken.Store(true)
	req := store.PutRequest{Bucket: "bucket", Key: "k", Body: bytes.NewReader([]byte("lost")), Size: 4}
	_, err = f.Put(t.Context(), req)
	wantCode(t, err, fault.ReadOnly)
	broken.Store(false)
	req.Body = bytes.NewReader([]byte("late"))
	_, err = f.Put(t.Context(), req)
	wantCode(t, err, fault.ReadOnly)
	if string(read(t, f, "bucket", "k")) != "kept" || f.Stats().ReadOnly == "" {
		t.Error("reads go on with what was acknowledged, and the state is told")
	}
}

// failingSync is a disk whose syncs fail while broken is set.
type failingSync struct {
	vfs.FS
	broken *atomic.Bool
}

func (f failingSync) Create(name string) (vfs.File, error) { return f.wrap(f.FS.Create(name)) }

func (f failingSync) OpenWrite(name string) (vfs.File, error) { return f.wrap(f.FS.OpenWrite(name)) }

func (f failingSync) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return failingSyncFile{file, f.broken}, nil
}

type failingSyncFile struct {
	vfs.File
	broken *atomic.Bool
}

func (f failingSyncFile) Sync() error {
	if f.broken.Load() {
		return os.ErrInvalid
	}
	return f.File.Sync()
}
