package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// osFile is an open file of the real system.
type osFile struct {
	f *os.File
	// resized says that the size was changed by hand since the last Sync. Then
	// that Sync is an fsync: fdatasync keeps a size that reads need, but what it
	// does after a file shrank is left to each file system.
	resized atomic.Bool
}

var (
	_ File     = (*osFile)(nil)
	_ OSFile   = (*osFile)(nil)
	_ uncacher = (*osFile)(nil)
)

func (o *osFile) ReadAt(p []byte, off int64) (int, error)  { return o.f.ReadAt(p, off) }
func (o *osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o *osFile) Close() error                             { return o.f.Close() }
func (o *osFile) OSFile() *os.File                         { return o.f }

func (o *osFile) Sync() error {
	if o.resized.Swap(false) {
		return o.f.Sync()
	}
	return o.wrap("fdatasync", onFD(o.f, unix.Fdatasync))
}

func (o *osFile) Truncate(size int64) error {
	o.resized.Store(true)
	return o.f.Truncate(size)
}

// Preallocate uses fallocate(2), which reserves blocks, so that writes within
// them neither fail for lack of space nor change the size. Where the file system
// has none it writes zeros.
func (o *osFile) Preallocate(size int64) error {
	o.resized.Store(true)
	err := onFD(o.f, func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return o.writeZeros(size)
	}
	return o.wrap("fallocate", err)
}

func (o *osFile) writeZeros(size int64) error {
	off, err := o.Size()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for off < size {
		n, err := o.f.WriteAt(zeros[:min(int64(len(zeros)), size-off)], off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

func (o *osFile) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Uncache drops clean pages; dirty ones stay, so Sync first.
func (o *osFile) Uncache() error {
	err := onFD(o.f, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) })
	return o.wrap("fadvise", err)
}

func (o *osFile) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: o.f.Name(), Err: err}
}
