package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// shutdownFS is EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, _IOR('X', 125, __u32).
	shutdownFS    = 0x8004587d
	withoutFlush  = 2 // *_GOING_FLAGS_NOLOGFLUSH: nothing more reaches the disk
	unmountWithin = 10 * time.Second
)

// The file systems that a disk can have. XFS takes no image under 300 MiB.
// tmpfs has no power to cut.
const (
	ext4  = "ext4"
	xfs   = "xfs"
	tmpfs = "tmpfs"
)

// disk is a file system of its own, which a test can fill, cut off, or take
// away.
type disk struct {
	t      *testing.T
	dir    string // where it is mounted
	image  string // the file below it; tmpfs has none
	fsType string
	size   int64
	inodes int // 0 = as the file system likes
}

// newDisk makes and mounts a disk of size bytes, with an empty folder "data".
// Where that cannot be done (only root may), the test skips, and is counted.
func newDisk(t *testing.T, size int64, fsType string) *disk {
	t.Helper()
	return newDiskOf(t, disk{size: size, fsType: fsType})
}

// newDiskOf is newDisk for a disk with few inodes.
func newDiskOf(t *testing.T, d disk) *disk {
	t.Helper()
	need(t, "mount", "umount")
	if os.Getuid() != 0 {
		skips.skip(t, "not root, which mounting a disk needs")
	}
	d.t, d.dir, d.image = t, t.TempDir(), filepath.Join(t.TempDir(), "image")
	d.format()
	if err := d.mount(); err != nil {
		skips.skip(t, "no "+d.fsType+" can be mounted")
	}
	t.Cleanup(d.unmount)
	if err := os.Mkdir(d.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	return &d
}

func (d *disk) format() {
	d.t.Helper()
	args := map[string][]string{
		ext4:  {"mkfs.ext4", "-q", "-F"},
		xfs:   {"mkfs.xfs", "-q", "-f"},
		tmpfs: nil,
	}[d.fsType]
	if args == nil {
		return
	}
	need(d.t, args[0])
	if d.inodes > 0 && d.fsType == ext4 {
		args = append(args, "-N", fmt.Sprint(d.inodes))
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Truncate(d.image, d.size); err != nil {
		d.t.Fatal(err)
	}
	if out, err := exec.Command(args[0], append(args[1:], d.image)...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
}

func (d *disk) data() string { return filepath.Join(d.dir, "data") }

// mount mounts with a long commit interval where there is one, so that the file
// system writes what it is asked to sync, and little else in time to hide a
// missing sync.
func (d *disk) mount(flags ...string) error {
	args := map[string][]string{
		ext4:  {"-t", ext4, "-o", "loop,commit=1000"},
		xfs:   {"-t", xfs, "-o", "loop"},
		tmpfs: {"-t", tmpfs, "-o", fmt.Sprintf("size=%d,nr_inodes=%d", d.size, d.inodes)},
	}[d.fsType]
	source := d.image
	if d.fsType == tmpfs {
		source = tmpfs
	}
	args = append(args, flags...)
	return exec.Command("mount", append(args, source, d.dir)...).Run()
}

func (d *disk) unmount() {
	await(d.t, "unmounting", unmountWithin, func() bool {
		out, err := exec.Command("umount", d.dir).CombinedOutput()
		return err == nil || strings.Contains(string(out), "not mounted")
	})
}

// remount changes the mounted disk: "ro", or "rw".
func (d *disk) remount(option string) {
	d.t.Helper()
	await(d.t, "remounting "+option, unmountWithin, func() bool {
		return exec.Command("mount", "-o", "remount,"+option, d.dir).Run() == nil
	})
}

// cutPower stops the file system where it stands: what was not synced is gone,
// and every later call on it fails with EIO.
func (d *disk) cutPower() {
	d.t.Helper()
	f, err := os.Open(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdownFS, withoutFlush); err != nil {
		skips.skip(d.t, "the kernel cannot shut an "+d.fsType+" down: "+err.Error())
	}
}

// powerBack mounts the disk again, as it is after a power cut.
func (d *disk) powerBack() {
	d.t.Helper()
	d.unmount()
	if err := d.mount(); err != nil {
		d.t.Fatalf("mounting after the power cut: %v", err)
	}
}

// fill takes all bytes of the disk, as another program would, and returns what
// gives them back.
func (d *disk) fill() (empty func()) {
	d.t.Helper()
	f, err := os.CreateTemp(d.dir, "filler")
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 512; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			d.t.Fatal(err)
		}
	}
}

// fillInodes makes empty files until there are no more, and returns what removes
// them.
func (d *disk) fillInodes() (empty func()) {
	d.t.Helper()
	dir, err := os.MkdirTemp(d.dir, "inodes")
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(dir); err != nil {
			d.t.Fatal(err)
		}
	}
}
