package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// osFile is an open file of the real system.
type osFile struct {
	f *os.File
	// resized says that the size was changed by hand since the last Sync. Then
	// that Sync is an fsync: fdatasync keeps a size that reads need, but what it
	// does after a file shrank is left to each file system.
	resized atomic.Bool
	// direct is the same file past the page cache, for reads, once Uncache has met
	// pages that somebody holds.
	direct atomic.Pointer[os.File]
}

var (
	_ File     = (*osFile)(nil)
	_ OSFile   = (*osFile)(nil)
	_ uncacher = (*osFile)(nil)
)

func (o *osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o *osFile) OSFile() *os.File                         { return o.f }

func (o *osFile) ReadAt(p []byte, off int64) (int, error) {
	if d := o.direct.Load(); d != nil {
		return readDirect(d, p, off)
	}
	return o.f.ReadAt(p, off)
}

func (o *osFile) Close() error {
	if d := o.direct.Load(); d != nil {
		d.Close() // it was only read
	}
	return o.f.Close()
}

func (o *osFile) Sync() error {
	if skipsSync(o.f.Name()) {
		return nil
	}
	if o.resized.Swap(false) {
		return forgive(o.f.Sync())
	}
	return forgive(o.wrap("fdatasync", onFD(o.f, unix.Fdatasync)))
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

// folio is the largest run of pages that the kernel caches as one: a huge page.
// It begins at a multiple of its size.
const folio = 2 << 20

// uncacheTries is how often Uncache asks for pages that somebody holds for a
// moment, such as a read that is under way.
const uncacheTries = 4

// Uncache drops clean pages; dirty ones stay, so Sync first. The kernel drops
// only what lies within the range as a whole, and caches up to a folio as one, so
// the range is rounded outwards to folios: with single pages, some bytes of most
// large files would never be read from the disk. It drops no page that is in use,
// by a slow connection that it is being sent on, say, and does not tell. So it is
// asked what is left (cachestat, Linux 6.5; older ones are believed), and where
// something is, all later reads of this file pass the page cache by.
func (o *osFile) Uncache(off, n int64) error {
	start, end := off/folio*folio, (off+n+folio-1)/folio*folio
	if n == 0 {
		end = start // to the end of the file, says fadvise(2)
	}
	for try := range uncacheTries {
		if err := onFD(o.f, func(fd int) error { return unix.Fadvise(fd, start, end-start, unix.FADV_DONTNEED) }); err != nil {
			return o.wrap("fadvise", err)
		}
		if !o.holdsClean(start, end-start) {
			return nil
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
	o.goDirect()
	return nil
}

// holdsClean tells whether the page cache has pages of n bytes from off on, 0 for
// all, that are as the disk has them.
func (o *osFile) holdsClean(off, n int64) bool {
	var st unix.Cachestat_t
	r := unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
	err := onFD(o.f, func(fd int) error { return unix.Cachestat(uint(fd), &r, &st, 0) })
	return err == nil && st.Cache > st.Dirty+st.Writeback
}

func (o *osFile) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: o.f.Name(), Err: err}
}
