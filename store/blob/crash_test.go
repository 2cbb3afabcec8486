package blob_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/blob"
	"larder/store/vfs"
)

// TestSyncCounts: a blob costs one sync, and a batch one directory sync.
func TestSyncCounts(t *testing.T) {
	t.Parallel()
	fsys := vfs.Counted(vfs.NewMem())
	s := open(t, fsys)
	store(t, s, sample(10), 10) // begins the folder
	before := fsys.Counts()
	var ids []string
	for range 20 {
		p, _ := s.Create()
		p.Write(sample(1000))
		if _, err := p.Seal(nil); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID())
	}
	if err := s.SyncDirs(ids); err != nil {
		t.Fatal(err)
	}
	got := fsys.Counts().Since(before)
	if got.Of(vfs.OpSync) != 20 || got.Of(vfs.OpSyncDir) != 1 || got.Of(vfs.OpWrite) != 40 || got.Of(vfs.OpMkdir) != 0 {
		t.Errorf("20 blobs cost %v", got)
	}
}

// TestCrash: after SyncDirs a blob survives any power cut, wherever it comes.
func TestCrash(t *testing.T) {
	t.Parallel()
	cut := errors.New("power cut")
	for at := 0; ; at++ {
		m := vfs.NewMem()
		seen := 0
		m.Inject(func(op vfs.Op) error {
			if op.Kind.Changes() {
				if seen++; seen > at {
					return cut
				}
			}
			return nil
		})
		var safe []blob.Sealed
		err := work(m, &safe)
		m.Inject(nil)
		for seed := range uint64(6) {
			crashed := m.CrashClone(rand.New(rand.NewPCG(seed, uint64(at))), float64(seed)/5)
			s := open(t, crashed)
			for _, sealed := range safe {
				check(t, s, sealed, sample(int(sealed.Size)), 1<<20)
			}
			err := s.Walk(context.Background(), func(id string, _ int64) error { verify(s, id); return s.Remove(id) })
			if err != nil {
				t.Fatal(err)
			}
		}
		if err == nil {
			return
		}
	}
}

func work(m *vfs.Mem, safe *[]blob.Sealed) error {
	s, err := blob.Open(blob.Config{FS: m, StoreID: testID})
	if err != nil {
		return err
	}
	for i := range 4 {
		p, err := s.Create()
		if err != nil {
			return err
		}
		if _, err := p.Write(sample(i * 50_000)); err != nil {
			return err
		}
		sealed, err := p.Seal(sampleMeta)
		if err != nil {
			return err
		}
		if err := s.SyncDirs([]string{sealed.ID}); err != nil {
			return err
		}
		*safe = append(*safe, sealed)
	}
	return nil
}

// TestErrors: a lack of space is the blob's trouble only, a failed sync stops
// the whole store.
func TestErrors(t *testing.T) {
	t.Parallel()
	fail := func(kind vfs.OpKind, err error) (*vfs.Mem, *blob.Store) {
		m := vfs.NewMem()
		s := open(t, m)
		store(t, s, sample(10), 10)
		m.Inject(func(op vfs.Op) error {
			if op.Kind == kind {
				return err
			}
			return nil
		})
		return m, s
	}
	m, s := fail(vfs.OpWrite, &vfs.Partial{Bytes: 3, Err: syscall.ENOSPC})
	p, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Write(sample(100)); fault.CodeOf(err) != fault.NoSpace {
			t.Errorf("write on a full disk: %v", err)
		}
	}
	if _, err := p.Seal(nil); fault.CodeOf(err) != fault.NoSpace {
		t.Errorf("seal on a full disk: %v", err)
	}
	if err := p.Abort(); err != nil {
		t.Error(err)
	}
	m.Inject(nil)
	check(t, s, store(t, s, sample(100), 100), sample(100), 1<<20)

	_, s = fail(vfs.OpCreate, syscall.EMFILE)
	if _, err := s.Create(); fault.CodeOf(err) != fault.Unavailable || s.Err() != nil {
		t.Errorf("too many open files: %v", err)
	}

	for _, kind := range []vfs.OpKind{vfs.OpSync, vfs.OpSyncDir} {
		m, s = fail(kind, syscall.EIO)
		p, _ := s.Create()
		_, err := p.Seal(nil)
		if kind == vfs.OpSyncDir && err == nil {
			err = s.SyncDirs([]string{p.ID()})
		}
		m.Inject(nil)
		_, cerr := s.Create()
		for _, err := range []error{err, cerr, s.Err(), s.Remove(p.ID()), s.SyncDirs(nil)} {
			if fault.CodeOf(err) != fault.ReadOnly || !errors.Is(err, blob.ErrFailed) || fault.HintOf(err) == "" {
				t.Errorf("after a failed %v: %v", kind, err)
			}
		}
		if err := p.Abort(); err != nil {
			t.Error(err)
		}
	}
}
