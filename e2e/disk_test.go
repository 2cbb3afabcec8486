package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	ext4Shutdown  = 0x8004587d // EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32)
	withoutFlush  = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH: nothing more reaches the disk
	unmountWithin = 10 * time.Second
)

// disk is an ext4 of its own, in a file, that a test can fill or cut off.
type disk struct {
	t          *testing.T
	dir, image string
}

// newDisk makes and mounts a disk with an empty folder "data". Where that
// cannot be done (only root may), the test skips.
func newDisk(t *testing.T, size int64) *disk {
	t.Helper()
	need(t, "mkfs.ext4", "mount", "umount")
	if os.Getuid() != 0 {
		skips.skip(t, "not root, which mounting a disk needs")
	}
	d := &disk{t: t, dir: t.TempDir(), image: filepath.Join(t.TempDir(), "image")}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, size); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v\n%s", err, out)
	}
	if err := d.mount(); err != nil {
		skips.skip(t, "no loop device can be mounted")
	}
	t.Cleanup(d.unmount)
	if err := os.Mkdir(d.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *disk) data() string { return filepath.Join(d.dir, "data") }

// mount mounts with a long commit interval, so that the file system writes
// what it is asked to sync, and little else in time to hide a missing sync.
func (d *disk) mount() error {
	return exec.Command("mount", "-o", "loop,commit=1000", d.image, d.dir).Run()
}

func (d *disk) unmount() {
	await(d.t, "unmounting", unmountWithin, func() bool { return exec.Command("umount", d.dir).Run() == nil })
}

// cutPower stops the file system where it stands: what was not synced is gone.
func (d *disk) cutPower() {
	d.t.Helper()
	f, err := os.Open(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, withoutFlush); err != nil {
		skips.skip(d.t, "the kernel cannot shut an ext4 down: "+err.Error())
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
