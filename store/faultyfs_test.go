package store_test

import (
	"io/fs"
	"sync"
	"syscall"

	"larder/store/vfs"
)

// faulty is a disk on which one operation fails, or all that change something
// from that one on. It counts every operation that a disk can refuse.
type faulty struct {
	vfs.FS
	plan *plan
}

// plan says which operation fails and how. The file systems of one store share
// it.
type plan struct {
	mu      sync.Mutex
	count   int
	at      int // the operation that fails, counted from 1; 0 fails none
	forever bool
	err     syscall.Errno
	hit     vfs.OpKind // of the operation that failed first
}

// step counts an operation and returns its error.
func (p *plan) step(kind vfs.OpKind, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	hit := p.count == p.at || p.forever && p.at > 0 && p.count > p.at && kind.Changes()
	if !hit {
		return nil
	}
	if p.count == p.at {
		p.hit = kind
	}
	return &fs.PathError{Op: kind.String(), Path: name, Err: p.err}
}

func (p *plan) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = 0
}

func (f faulty) wrap(kind vfs.OpKind, name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	if err := f.plan.step(kind, name); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, name: name, plan: f.plan}, nil
}

func (f faulty) Create(name string) (vfs.File, error) { return f.wrap(vfs.OpCreate, name, f.FS.Create) }

func (f faulty) Open(name string) (vfs.File, error) { return f.wrap(vfs.OpOpen, name, f.FS.Open) }

func (f faulty) OpenWrite(name string) (vfs.File, error) {
	return f.wrap(vfs.OpOpenWrite, name, f.FS.OpenWrite)
}

// SyncDir and what follows fail before they have done anything.
func (f faulty) SyncDir(name string) error {
	if err := f.plan.step(vfs.OpSyncDir, name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f faulty) Rename(from, to string) error {
	if err := f.plan.step(vfs.OpRename, from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f faulty) Remove(name string) error {
	if err := f.plan.step(vfs.OpRemove, name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f faulty) Mkdir(name string) error {
	if err := f.plan.step(vfs.OpMkdir, name); err != nil {
		return err
	}
	return f.FS.Mkdir(name)
}

func (f faulty) List(name string) ([]vfs.Entry, error) {
	if err := f.plan.step(vfs.OpList, name); err != nil {
		return nil, err
	}
	return f.FS.List(name)
}

type faultyFile struct {
	vfs.File
	name string
	plan *plan
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.plan.step(vfs.OpRead, f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// WriteAt writes half of what it was to write when it fails.
func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.plan.step(vfs.OpWrite, f.name); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) Sync() error {
	if err := f.plan.step(vfs.OpSync, f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.plan.step(vfs.OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Preallocate(size int64) error {
	if err := f.plan.step(vfs.OpPreallocate, f.name); err != nil {
		return err
	}
	return f.File.Preallocate(size)
}
