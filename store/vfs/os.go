package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"golang.org/x/sys/unix"

	"larder/fault"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// osFS is a folder of the real system. The root is held open, so the folder may
// be renamed meanwhile, and names cannot lead out of it, not even by a symlink.
type osFS struct {
	root  *os.Root
	self  *os.File // the folder once more, for system calls that want a descriptor
	spare spare
}

var _ FS = (*osFS)(nil)

// OS returns the file system of an existing folder. The folder stays open as
// long as the FS is in use.
func OS(root string) (FS, error) {
	if err := checkSabotage(); err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("vfs.OS: %w", err)
	}
	self, err := r.Open(".")
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("vfs.OS: %w", err)
	}
	o := &osFS{root: r, self: self}
	o.spare.keep(r)
	return o, nil
}

func (o *osFS) Create(name string) (File, error) {
	return o.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (o *osFS) Open(name string) (File, error) { return o.open(name, os.O_RDONLY) }

func (o *osFS) OpenWrite(name string) (File, error) { return o.open(name, os.O_RDWR) }

func (o *osFS) open(name string, flag int) (File, error) {
	f, err := o.root.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	return &osFile{f: f}, nil
}

// SyncDir uses fsync: a folder's names are metadata, which fdatasync may leave.
func (o *osFS) SyncDir(name string) error {
	return o.spare.lend(o.root, func() error { return o.syncDir(name) })
}

func (o *osFS) syncDir(name string) error {
	if Sabotaged(SkipDirSync) {
		return nil
	}
	d, err := o.root.Open(name)
	if err != nil {
		return err
	}
	err = forgive(d.Sync())
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func (o *osFS) Rename(from, to string) error {
	return o.spare.lend(o.root, func() error { return o.root.Rename(from, to) })
}

func (o *osFS) Remove(name string) error {
	return o.spare.lend(o.root, func() error { return o.root.Remove(name) })
}

func (o *osFS) Mkdir(name string) error {
	err := o.root.Mkdir(name, dirMode)
	if err == nil || !os.IsExist(err) {
		return err
	}
	if e, serr := o.Stat(name); serr == nil && e.IsDir {
		return nil
	}
	return err
}

func (o *osFS) List(name string) ([]Entry, error) {
	d, err := o.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	infos, err := d.Readdir(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(infos))
	for i, info := range infos {
		entries[i] = entryOf(info)
	}
	sort.Slice(entries, func(i, k int) bool { return entries[i].Name < entries[k].Name })
	return entries, nil
}

func (o *osFS) Stat(name string) (Entry, error) {
	info, err := o.root.Stat(name)
	if err != nil {
		return Entry{}, err
	}
	e := entryOf(info)
	e.Name = filepath.Base(name)
	return e, nil
}

func entryOf(info fs.FileInfo) Entry {
	if info.IsDir() {
		return Entry{Name: info.Name(), IsDir: true}
	}
	return Entry{Name: info.Name(), Size: info.Size()}
}

// Lock uses flock(2), which the kernel drops when the process dies, also by
// kill -9. A lock file that is left over therefore locks nobody out.
func (o *osFS) Lock(name string) (io.Closer, error) {
	f, err := o.root.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if errors.Is(err, unix.EROFS) {
		f, err = o.root.Open(name)
	}
	if err != nil {
		return nil, err
	}
	err = onFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		return f, nil
	}
	f.Close()
	if err == unix.EWOULDBLOCK {
		return nil, fault.New("vfs.Lock", fault.Locked, name, ErrLocked)
	}
	return nil, &fs.PathError{Op: "flock", Path: name, Err: err}
}

func (o *osFS) Space() (Space, error) {
	var st unix.Statfs_t
	if err := onFD(o.self, func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return Space{}, &fs.PathError{Op: "fstatfs", Path: ".", Err: err}
	}
	s := Space{
		Free: int64(st.Bavail) * st.Bsize, Total: int64(st.Blocks) * st.Bsize, FreeInodes: -1,
		ReadOnly: st.Flags&unix.ST_RDONLY != 0,
	}
	if st.Files > 0 { // btrfs and others say 0: no limit
		s.FreeInodes = int64(st.Ffree)
	}
	return s, nil
}

// onFD runs a system call on f's descriptor, which stays open meanwhile, and
// repeats it when a signal interrupts it.
func onFD(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := conn.Control(func(fd uintptr) {
		for {
			if err = call(int(fd)); err != unix.EINTR {
				return
			}
		}
	})
	if cerr != nil {
		return cerr
	}
	return err
}
