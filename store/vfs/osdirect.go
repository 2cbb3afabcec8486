package vfs

import (
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// directAlign is what offsets, lengths and memory of a direct read are multiples
// of: enough for every disk, open(2) says.
const directAlign = 4096

// goDirect lets all later reads of the file pass the page cache by, if its file
// system can (O_DIRECT).
func (o *osFile) goDirect() {
	if o.direct.Load() != nil {
		return
	}
	var d *os.File
	err := onFD(o.f, func(fd int) (err error) {
		d, err = os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|unix.O_DIRECT, 0)
		return err
	})
	if err == nil && !o.direct.CompareAndSwap(nil, d) {
		d.Close()
	}
}

// readDirect is ReadAt for a file that was opened with O_DIRECT: it reads the
// blocks around what is wanted.
func readDirect(f *os.File, p []byte, off int64) (int, error) {
	start := off / directAlign * directAlign
	skip := int(off - start)
	blocks := (skip + len(p) + directAlign - 1) / directAlign * directAlign
	buf, err := unix.Mmap(-1, 0, max(blocks, directAlign), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // begins with a page
	if err != nil {
		return 0, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	defer unix.Munmap(buf)
	have := 0
	for have < len(buf) {
		n := 0
		err := onFD(f, func(fd int) (err error) { n, err = unix.Pread(fd, buf[have:], start+int64(have)); return err })
		if err != nil {
			return 0, &fs.PathError{Op: "read", Path: f.Name(), Err: err}
		}
		if have += n; n%directAlign != 0 || n == 0 {
			break // the end of the file
		}
	}
	n := copy(p, buf[min(skip, have):have])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
