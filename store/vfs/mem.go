package vfs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"
	"syscall"

	"larder/fault"
)

// Mem is the simulated twin of OS. It keeps, for every file and folder, what is
// visible and what is durable, and Image and CrashClone give the file systems
// that a power cut could leave behind.
//
// It is stricter than the usual file systems on purpose: syncing a file does not
// make its name durable, and unsynced writes survive or vanish one 512-byte
// sector at a time, in any order.
type Mem struct {
	mu      sync.Mutex
	root    *memNode
	pending []effect // not synced, in order; replaced, never changed in place
	locks   map[string]bool
	inject  func(Op) error
}

var _ FS = (*Mem)(nil)

// memNode is a folder or a file.
type memNode struct {
	dir  bool
	cur  map[string]*memNode // a folder's names, as seen
	dur  map[string]*memNode // a folder's names, as they stand on the disk
	data *inode              // of a file
}

// nameChange is a change of names that survives a power cut wholly or not at
// all. A nil node means that the name is gone.
type nameChange []struct {
	dir  *memNode
	name string
	node *memNode
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{root: newDir(), locks: map[string]bool{}}
}

func newDir() *memNode {
	return &memNode{dir: true, cur: map[string]*memNode{}, dur: map[string]*memNode{}}
}

// Inject makes f see every operation before it happens, one at a time. An error
// that f returns becomes the operation's: without effect, or with the effect
// that a *Partial says. f must not use the Mem, but may ask the Op for the disk
// as it is. A nil f ends it.
func (m *Mem) Inject(f func(Op) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inject = f
}

// ask shows an operation to the injector. The error means that it must not
// happen, the Partial that it must fail afterwards.
func (m *Mem) ask(op Op) (*Partial, error) {
	if m.inject == nil {
		return nil, nil
	}
	op.mem = m
	err := m.inject(op)
	var p *Partial
	if errors.As(err, &p) {
		return p, nil
	}
	return nil, err
}

// run asks the injector and then does the operation, all under the lock.
func (m *Mem) run(op Op, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	partial, err := m.ask(op)
	if err == nil {
		err = do()
	}
	if err == nil && partial != nil {
		err = partial
	}
	if err != nil {
		return pathError(op, err)
	}
	return nil
}

func pathError(op Op, err error) error {
	if err == io.EOF {
		return err
	}
	return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
}

// find returns the node of a name, or nil.
func (m *Mem) find(name string) *memNode {
	n := m.root
	if name == "." {
		return n
	}
	for _, part := range strings.Split(name, "/") {
		if n == nil || !n.dir {
			return nil
		}
		n = n.cur[part]
	}
	return n
}

// parent returns the folder that holds a name.
func (m *Mem) parent(name string) (*memNode, string, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, "", fs.ErrInvalid
	}
	d := m.find(path.Dir(name))
	if d == nil {
		return nil, "", fs.ErrNotExist
	}
	if !d.dir {
		return nil, "", syscall.ENOTDIR
	}
	return d, path.Base(name), nil
}

// change makes a change of names visible, and durable with the next SyncDir.
func (m *Mem) change(c nameChange) {
	for _, e := range c {
		set(e.dir.cur, e.name, e.node)
	}
	m.pending = append(m.pending, effect{kind: PieceNames, names: c})
}

func set(names map[string]*memNode, name string, n *memNode) {
	if n == nil {
		delete(names, name)
		return
	}
	names[name] = n
}

func (m *Mem) Create(name string) (f File, err error) {
	err = m.run(Op{Kind: OpCreate, Name: name}, func() error {
		d, base, err := m.parent(name)
		if err != nil {
			return err
		}
		if d.cur[base] != nil {
			return fs.ErrExist
		}
		n := &memNode{data: &inode{name: name}}
		m.change(nameChange{{d, base, n}})
		f = &memFile{m: m, name: name, node: n.data, write: true}
		return nil
	})
	return orNil(f, err)
}

func (m *Mem) Open(name string) (File, error) { return m.open(OpOpen, name, false) }

func (m *Mem) OpenWrite(name string) (File, error) { return m.open(OpOpenWrite, name, true) }

func (m *Mem) open(kind OpKind, name string, write bool) (f File, err error) {
	err = m.run(Op{Kind: kind, Name: name}, func() error {
		n := m.find(name)
		if n == nil {
			return fs.ErrNotExist
		}
		if n.dir {
			return syscall.EISDIR
		}
		f = &memFile{m: m, name: name, node: n.data, write: write}
		return nil
	})
	return orNil(f, err)
}

func orNil(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (m *Mem) SyncDir(name string) error {
	if Sabotaged(SkipDirSync) {
		return nil
	}
	return forgive(m.run(Op{Kind: OpSyncDir, Name: name}, func() error {
		d := m.find(name)
		if d == nil || !d.dir {
			return fs.ErrNotExist
		}
		kept := make([]effect, 0, len(m.pending))
		for _, e := range m.pending {
			if e.names.touches(d) {
				e.names.persist()
			} else {
				kept = append(kept, e)
			}
		}
		m.pending = kept
		return nil
	}))
}

func (c nameChange) touches(d *memNode) bool {
	for _, e := range c {
		if e.dir == d {
			return true
		}
	}
	return false
}

func (c nameChange) persist() {
	for _, e := range c {
		set(e.dir.dur, e.name, e.node)
	}
}

func (m *Mem) Rename(from, to string) error {
	return m.run(Op{Kind: OpRename, Name: from}, func() error {
		fd, fb, err := m.parent(from)
		if err != nil {
			return err
		}
		td, tb, err := m.parent(to)
		if err != nil {
			return err
		}
		n := fd.cur[fb]
		if n == nil {
			return fs.ErrNotExist
		}
		m.change(nameChange{{fd, fb, nil}, {td, tb, n}})
		return nil
	})
}

func (m *Mem) Remove(name string) error {
	return m.run(Op{Kind: OpRemove, Name: name}, func() error {
		d, base, err := m.parent(name)
		if err != nil {
			return err
		}
		n := d.cur[base]
		if n == nil {
			return fs.ErrNotExist
		}
		if n.dir && len(n.cur) > 0 {
			return syscall.ENOTEMPTY
		}
		m.change(nameChange{{d, base, nil}})
		return nil
	})
}

func (m *Mem) Mkdir(name string) error {
	return m.run(Op{Kind: OpMkdir, Name: name}, func() error {
		d, base, err := m.parent(name)
		if err != nil {
			return err
		}
		if n := d.cur[base]; n != nil {
			if n.dir {
				return nil
			}
			return fs.ErrExist
		}
		m.change(nameChange{{d, base, newDir()}})
		return nil
	})
}

func (m *Mem) List(name string) (entries []Entry, err error) {
	err = m.run(Op{Kind: OpList, Name: name}, func() error {
		d := m.find(name)
		if d == nil {
			return fs.ErrNotExist
		}
		if !d.dir {
			return syscall.ENOTDIR
		}
		for n, node := range d.cur {
			entries = append(entries, node.entry(n))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(entries, func(i, k int) bool { return entries[i].Name < entries[k].Name })
	return entries, nil
}

func (n *memNode) entry(name string) Entry {
	if n.dir {
		return Entry{Name: name, IsDir: true}
	}
	return Entry{Name: name, Size: n.data.cur.size}
}

func (m *Mem) Stat(name string) (e Entry, err error) {
	err = m.run(Op{Kind: OpStat, Name: name}, func() error {
		n := m.find(name)
		if n == nil {
			return fs.ErrNotExist
		}
		e = n.entry(path.Base(name))
		return nil
	})
	return e, err
}

// Lock is held until it is closed; a clone made by CrashClone has no locks, as
// after the end of a process.
func (m *Mem) Lock(name string) (c io.Closer, err error) {
	err = m.run(Op{Kind: OpLock, Name: name}, func() error {
		d, base, err := m.parent(name)
		if err != nil {
			return err
		}
		if m.locks[name] {
			return fault.New("vfs.Lock", fault.Locked, name, ErrLocked)
		}
		if d.cur[base] == nil {
			m.change(nameChange{{d, base, &memNode{data: &inode{name: name}}}})
		}
		m.locks[name] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &memLock{m: m, name: name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}

// Space always tells of plenty; inject ENOSPC to fill the disk.
func (m *Mem) Space() (s Space, err error) {
	err = m.run(Op{Kind: OpSpace, Name: "."}, func() error {
		s = Space{Free: 1 << 40, Total: 1 << 41, FreeInodes: -1}
		return nil
	})
	return s, err
}
