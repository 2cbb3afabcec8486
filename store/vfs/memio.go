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
		n, err = f.node.cur.read(p, off)
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
		f.put(p[:n], off)
		return n, pathError(op, partial)
	}
	f.put(p, off)
	return len(p), nil
}

func (f *memFile) put(p []byte, off int64) {
	f.m.pending = append(f.m.pending, f.node.write(p, off)...)
}

// Sync after an injected error leaves the file as Linux does: see lose.
func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	op := Op{Kind: OpSync, Name: f.name}
	if err := f.usable(OpSync); err != nil {
		return pathError(op, err)
	}
	if skipsSync(f.name) {
		return nil
	}
	partial, err := f.m.ask(op)
	if err != nil {
		f.m.lose(f.node)
		return forgive(pathError(op, err))
	}
	f.m.persist(f.node)
	if partial != nil {
		return pathError(op, partial)
	}
	return nil
}

// persist makes a file durable as it is seen, but for what an earlier failed
// Sync has lost.
func (m *Mem) persist(n *inode) {
	kept := make([]effect, 0, len(m.pending))
	fresh := map[int64]bool{} // sectors that reach the disk
	for i := range m.pending {
		if e := &m.pending[i]; e.node == n && !e.lost {
			e.apply(&n.dur)
			fresh[e.sector] = fresh[e.sector] || e.kind == PieceBytes
		}
	}
	for _, e := range m.pending {
		if e.node != n || e.lost && !fresh[e.sector] {
			kept = append(kept, e)
		}
	}
	m.pending = kept
}

// lose is a Sync whose writeback failed: the pages are clean, whether the disk
// has their bytes nobody knows, and no later Sync will bring them there.
func (m *Mem) lose(n *inode) {
	pending := slices.Clone(m.pending)
	for i := range pending {
		if e := &pending[i]; e.node == n && e.kind == PieceBytes {
			e.lost = true
		}
	}
	m.pending = pending
}

// uncache brings back what the disk holds where a failed Sync has lost bytes:
// now it is known that it has not got them.
func (m *Mem) uncache(n *inode) {
	kept := make([]effect, 0, len(m.pending))
	n.cur = n.dur.share()
	for _, e := range m.pending {
		if e.node == n && e.lost {
			continue
		}
		if e.node == n {
			e.apply(&n.cur)
		}
		kept = append(kept, e)
	}
	m.pending = kept
}

func (f *memFile) Truncate(size int64) error {
	if size < 0 {
		return fs.ErrInvalid
	}
	return f.run(Op{Kind: OpTruncate, Offset: size}, func() error {
		f.m.pending = append(f.m.pending, f.node.truncate(size))
		return nil
	})
}

func (f *memFile) Preallocate(size int64) error {
	return f.run(Op{Kind: OpPreallocate, Offset: size}, func() error {
		if size > f.node.cur.size {
			f.m.pending = append(f.m.pending, f.node.truncate(size))
		}
		return nil
	})
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.shut {
		return 0, fs.ErrClosed
	}
	return f.node.cur.size, nil
}

func (f *memFile) Close() error {
	return f.run(Op{Kind: OpClose}, func() error {
		f.shut = true
		return nil
	})
}

// Uncache brings back what the disk holds where a failed Sync lost bytes.
func (f *memFile) Uncache(int64, int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.uncache(f.node)
	return nil
}
