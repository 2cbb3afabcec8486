package blob_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/blob"
	"larder/store/vfs"
)

const mark = "blobs/MARK"

// begun opens a store that knows what its journal holds, and makes a blob.
func begun(t *testing.T, fsys vfs.FS, held uint64, doubt bool) (s *blob.Store, id string) {
	t.Helper()
	s = open(t, fsys)
	if err := s.Begin(held, doubt); err != nil {
		t.Fatal(err)
	}
	return s, store(t, s, sample(10), 10).ID
}

// TestWhatASweepMayRemove starts in every state that the mark and the journal
// can have to each other.
func TestWhatASweepMayRemove(t *testing.T) {
	t.Parallel()
	flip := func(b []byte) []byte { b[35] ^= 1; return b }
	for name, c := range map[string]struct {
		held  uint64 // at the second start; the mark says 7
		doubt bool
		spoil func(b []byte) []byte // of the mark, nil leaves it
		old   bool                  // may the blob of the first start be swept?
	}{
		"a usual start":        {7, false, nil, true},
		"a longer journal":     {900, false, nil, true},
		"an older journal":     {6, false, nil, false},
		"no journal":           {0, false, nil, false},
		"a new index":          {7, true, nil, false},
		"a broken mark":        {7, false, flip, false},
		"half a mark":          {7, false, func(b []byte) []byte { return b[:32] }, false},
		"an empty mark":        {7, false, func([]byte) []byte { return nil }, false},
		"another store's mark": {7, false, func([]byte) []byte { return blob.MarkForTest([16]byte{9}, [4]byte{}, 1) }, false},
	} {
		m := vfs.NewMem()
		s, old := begun(t, m, 5, false)
		s.Noted(7)
		if !s.Sweepable(old) {
			t.Errorf("%s: a fresh blob cannot be swept", name)
		}
		if c.spoil != nil {
			overwrite(t, m, mark, c.spoil(read(t, m, mark)))
		}
		for range 3 { // the verdict on the old one is for good
			again, fresh := begun(t, m, c.held, c.doubt)
			if again.Sweepable(old) != c.old || !again.Sweepable(fresh) {
				t.Errorf("%s: old %v, want %v; fresh %v", name, again.Sweepable(old), c.old, again.Sweepable(fresh))
			}
			c.held, c.doubt = c.held+1000, false
		}
	}
	if s := open(t, vfs.NewMem()); s.Sweepable(store(t, s, sample(1), 1).ID) {
		t.Error("without Begin something may be swept")
	}
}

// noWrites is a disk that takes nothing new.
type noWrites struct {
	vfs.FS
	err error
}

func (d noWrites) Create(name string) (vfs.File, error) {
	return nil, &fs.PathError{Op: "create", Path: name, Err: d.err}
}

func TestNoMarkNoSweep(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]fault.Code{
		syscall.ENOSPC: fault.OK, syscall.EROFS: fault.OK, syscall.EMFILE: fault.OK, syscall.EDQUOT: fault.OK,
		syscall.EIO: fault.Internal,
	} {
		m := vfs.NewMem()
		_, old := begun(t, m, 5, false)
		s := open(t, noWrites{m, err})
		if got := fault.CodeOf(s.Begin(3, false)); got != code {
			t.Errorf("%v: %v, want %v", err, got, code)
		}
		if s.Sweepable(old) {
			t.Errorf("%v: an old blob may be swept", err)
		}
		s.Noted(9) // nothing to note it in
		if again, _ := begun(t, m, 5, false); !again.Sweepable(old) {
			t.Errorf("%v: a start that could write nothing changed the mark", err)
		}
	}
}

// TestAnUnsyncedMark takes the power away: the mark is the old one or the new
// one, and a tag that blobs have stands on the disk.
func TestAnUnsyncedMark(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	s, id := begun(t, m, 5, false)
	s.Noted(700)
	after := m.CrashClone(rand.New(rand.NewPCG(1, 2)), 0)
	if again, _ := begun(t, after, 5, false); !again.Sweepable(id) {
		t.Error("the tag of a durable blob is not on the disk")
	}
}

func TestGoldenMark(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "mark.bin")
	got := blob.MarkForTest(testID, [4]byte{0xa1, 0xa2, 0xa3, 0xa4}, 3456)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the format has changed: %v\n got %x\nwant %x", err, got, want)
	}
	newer := bytes.Clone(got)
	newer[8]++
	if _, err := blob.DecodeMarkForTest(newer, testID); !errors.Is(err, blob.ErrMarkForTest) {
		t.Errorf("a changed byte: %v", err)
	}
}

func FuzzMark(f *testing.F) {
	f.Add(blob.MarkForTest(testID, [4]byte{1, 2, 3, 4}, 77))
	f.Add([]byte("LARDMARK"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if again, err := blob.DecodeMarkForTest(b, testID); err == nil && !bytes.Equal(again, b) {
			t.Errorf("%x is read and written as %x", b, again)
		}
	})
}

// noDescriptors is a disk whose folders cannot be opened for want of a
// descriptor.
type noDescriptors struct {
	vfs.FS
	left *int // syncs that fail
}

func (d noDescriptors) SyncDir(name string) error {
	if *d.left--; *d.left >= 0 {
		return &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return d.FS.SyncDir(name)
}

// TestAFolderThatCannotBeOpenedIsNoFailedSync lets descriptors run out at every
// folder's sync in turn: the call can be made again.
func TestAFolderThatCannotBeOpenedIsNoFailedSync(t *testing.T) {
	t.Parallel()
	left := 0
	s := open(t, noDescriptors{vfs.NewMem(), &left})
	for n := range 2 {
		left = n + 1
		for range n + 1 {
			_, err := s.Create()
			if fault.CodeOf(err) != fault.Unavailable || fault.HintOf(err) == "" || s.Err() != nil {
				t.Errorf("create: %v, failed %v", err, s.Err())
			}
		}
	}
	sealed := store(t, s, sample(100), 10)
	left = 1
	if err := s.SyncDirs([]string{sealed.ID}); fault.CodeOf(err) != fault.Unavailable || s.Err() != nil {
		t.Errorf("sync: %v, failed %v", err, s.Err())
	}
	if err := s.SyncDirs([]string{sealed.ID}); err != nil {
		t.Error(err)
	}
}
