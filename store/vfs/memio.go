package vfs

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// memFile is an open file of a Mem.
type memFile struct {
	m     *Mem
	name  string
	node  *inode
	write bool
	shut  bool
}

var (
	_ File     = (*memFile)(nil)
	_ uncacher = (*memFile)(nil)
)

// run is Mem.run for a file that must be open, and writable for a change.
func (f *memFile) run(op Op, do func() error) error {
	op.Name = f.name
	return f.m.run(op, func() error {
		if err := f.usable(op.Kind); err != nil {
			return err
		}
		return do()
	})
}

func (f *memFile) usable(k OpKind) error {
	if f.shut {
		return fs.ErrClosed
	}
	if (k == OpWrite || k == OpTruncate || k == OpPreallocate) && !f.write {
		return fs.ErrPermission
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	err = f.run(Op{Kind: OpRead, Offset: off, Length: len(p)}, func() (err error) {
		n, err = f.node.read(p, off)
		return err
	})
	return n, err
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	op := Op{Kind: OpWrite, Name: f.name, Offset: off, Length: len(p)}
	partial, err := f.m.ask(op)
	if err == nil {
		err = f.usable(OpWrite)
	}
	if err != nil {
		return 0, pathError(op, err)
	}
	if partial != nil {
		n := min(partial.Bytes, len(p))
		f.node.write(p[:n], off)
		return n, pathError(op, partial)
	}
	f.node.write(p, off)
	return len(p), nil
}

// Sync after an injected error leaves the file as Linux does: see failSync.
func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	op := Op{Kind: OpSync, Name: f.name}
	if err := f.usable(OpSync); err != nil {
		return pathError(op, err)
	}
	partial, err := f.m.ask(op)
	if err != nil {
		f.node.failSync()
		return pathError(op, err)
	}
	f.node.sync()
	if partial != nil {
		return pathError(op, partial)
	}
	return nil
}

func (f *memFile) Truncate(size int64) error {
	if size < 0 {
		return fs.ErrInvalid
	}
	return f.run(Op{Kind: OpTruncate, Offset: size}, func() error {
		f.node.truncate(size)
		return nil
	})
}

func (f *memFile) Preallocate(size int64) error {
	return f.run(Op{Kind: OpPreallocate, Offset: size}, func() error {
		f.node.size = max(f.node.size, size)
		return nil
	})
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.shut {
		return 0, fs.ErrClosed
	}
	return f.node.size, nil
}

func (f *memFile) Close() error {
	return f.run(Op{Kind: OpClose}, func() error {
		f.shut = true
		return nil
	})
}

// Uncache brings back what the disk holds where a failed Sync lost bytes.
func (f *memFile) Uncache() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.node.uncache()
	return nil
}
