package e2e_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FS_IOC_FIEMAP of linux/fiemap.h, which tells where a file lies on its disk.
const (
	fiemapIoctl  = 0xc020660b // _IOWR('f', 11, struct fiemap)
	fiemapSync   = 1          // flush the file first, so that it lies anywhere
	fiemapHead   = 32         // bytes of struct fiemap
	fiemapExtent = 56         // bytes of struct fiemap_extent
	fiemapMost   = 256        // extents that are asked for at once
	// fiemapElsewhere: unknown, delayed, encoded, unaligned, inline, tail and
	// unwritten extents. What is written at their place is not what is read.
	fiemapElsewhere = 0xf8e
)

// diskRun is a piece of a file that lies on the disk in one go.
type diskRun struct{ logical, physical, length int64 }

// diskRuns tells where the written pieces of a file lie.
func diskRuns(path string) ([]diskRun, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, fiemapHead+fiemapMost*fiemapExtent)
	binary.NativeEndian.PutUint64(b[8:], 1<<62) // length: the whole file
	binary.NativeEndian.PutUint32(b[16:], fiemapSync)
	binary.NativeEndian.PutUint32(b[24:], fiemapMost)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fiemapIoctl, uintptr(unsafe.Pointer(&b[0]))); errno != 0 {
		return nil, fmt.Errorf("FIEMAP of %s: %w", path, errno)
	}
	found := binary.NativeEndian.Uint32(b[20:])
	if found == fiemapMost {
		return nil, fmt.Errorf("%s lies in more than %d pieces", path, fiemapMost)
	}
	var runs []diskRun
	for e := b[fiemapHead : fiemapHead+found*fiemapExtent]; len(e) > 0; e = e[fiemapExtent:] {
		if binary.NativeEndian.Uint32(e[40:])&fiemapElsewhere == 0 {
			runs = append(runs, diskRun{
				logical: int64(binary.NativeEndian.Uint64(e)), physical: int64(binary.NativeEndian.Uint64(e[8:])),
				length: int64(binary.NativeEndian.Uint64(e[16:])),
			})
		}
	}
	return runs, nil
}

// writeBelow writes into the blocks of a file behind the back of the mounted
// file system: what is cached of the file stays as it was, as it does when a
// disk loses bits.
func (d *disk) writeBelow(path string, off int64, p []byte) error {
	runs, err := diskRuns(path)
	if err != nil {
		return err
	}
	image, err := os.OpenFile(d.image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer image.Close()
	for _, r := range runs {
		from, to := max(off, r.logical), min(off+int64(len(p)), r.logical+r.length)
		if from != off || from >= to {
			continue
		}
		if _, err := image.WriteAt(p[:to-from], r.physical+from-r.logical); err != nil {
			return err
		}
		if off, p = to, p[to-from:]; len(p) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s has no block on the disk at %d", path, off)
}

// writeThrough writes into a file as a program does.
func writeThrough(path string, off int64, p []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(p, off); err != nil {
		return err
	}
	return f.Sync()
}

// forget drops what the kernel has cached of a file, so that the next reader
// gets what the disk holds.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// TestWriteBelow holds that the harness does what it claims: a program that
// reads through the page cache sees nothing of the damage, and one that reads
// the disk does.
func TestWriteBelow(t *testing.T) {
	d := newDisk(t, 64<<20, ext4)
	path := d.dir + "/file"
	content := payloadBytes("below", 0, 300_000)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	const at = 123_456
	see := func() byte {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil || len(b) != len(content) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		return b[at]
	}
	if err := d.writeBelow(path, at, []byte{^content[at]}); err != nil {
		t.Fatal(err)
	}
	if see() != content[at] {
		t.Error("the page cache shows the damage")
	}
	if err := forget(path); err != nil {
		t.Fatal(err)
	}
	if see() != ^content[at] {
		t.Error("the disk does not show the damage")
	}
}
