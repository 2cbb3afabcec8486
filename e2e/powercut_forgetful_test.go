package e2e_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// forgetful is a disk that keeps what POSIX promises and nothing more: bytes
// once their file was synced, names once their folder was. ext4 and XFS keep
// more than that by luck of how they work, which hides a missing sync. It is a
// FUSE file system in the memory of the test.
type forgetful struct {
	t      *testing.T
	dir    string // where it is mounted
	server *fuse.Server

	mu      sync.Mutex // guards what follows, and all nodes
	root    *node
	dead    bool // the power is off: every call fails
	pending []nameChange
	inodes  uint64
	failAt  int // the sync so many from now fails; 0 = none
}

// nameChange is one change of names that no sync has made durable yet, whole
// or not at all: two names for a rename.
type nameChange []struct {
	folder *node
	name   string
	node   *node // nil = gone
}

// newForgetful mounts an empty disk with a folder "data".
func newForgetful(t *testing.T) *forgetful {
	t.Helper()
	if os.Getuid() != 0 {
		skips.skip(t, "not root, which mounting a disk needs")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		skips.skip(t, "no /dev/fuse")
	}
	d := &forgetful{t: t, dir: t.TempDir()}
	d.root = d.newNode(true)
	data := d.newNode(true)
	d.root.names["data"], d.root.kept["data"] = data, data
	d.mount()
	t.Cleanup(d.unmount)
	return d
}

func (d *forgetful) data() string { return filepath.Join(d.dir, "data") }

func (d *forgetful) mount() {
	d.t.Helper()
	options := fuse.MountOptions{DirectMountStrict: true, FsName: "forgetful", Name: "forgetful", MaxWrite: 1 << 20, DisableXAttrs: true}
	server, err := fs.Mount(d.dir, d.root, &fs.Options{MountOptions: options})
	if err != nil {
		skips.skip(d.t, "no FUSE file system can be mounted: "+err.Error())
	}
	d.server = server
}

func (d *forgetful) unmount() {
	await(d.t, "unmounting", unmountWithin, func() bool { return d.server.Unmount() == nil })
}

// cutPower stops the disk at this instant.
func (d *forgetful) cutPower() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// failSync lets one sync of a file fail, the n-th from now, as Linux does it:
// what was to be written is dropped, and the next sync knows nothing of it.
func (d *forgetful) failSync(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt = n
}

// fails tells whether this sync is the one.
func (d *forgetful) fails() bool {
	if d.failAt == 0 {
		return false
	}
	d.failAt--
	return d.failAt == 0
}

// powerBack mounts what the disk has kept: all that was synced, and of each
// page and each change of names that was not, a share of luck drawn from choose.
func (d *forgetful) powerBack(choose *rand.Rand, luck float64) {
	d.t.Helper()
	d.unmount()
	d.mu.Lock()
	lucky := func() bool { return choose.Float64() < luck }
	for _, change := range d.pending {
		if lucky() {
			change.keep()
		}
	}
	d.pending, d.dead, d.failAt = nil, false, 0
	d.root = d.root.survive(lucky, map[*node]*node{})
	d.mu.Unlock()
	d.mount()
}

// change makes a change of names visible; a sync of the folder makes it durable.
func (d *forgetful) change(c nameChange) {
	for _, e := range c {
		set(e.folder.names, e.name, e.node)
	}
	d.pending = append(d.pending, c)
}

func (c nameChange) keep() {
	for _, e := range c {
		set(e.folder.kept, e.name, e.node)
	}
}

// syncNames makes the changes durable that touch a folder.
func (d *forgetful) syncNames(folder *node) {
	var rest []nameChange
	for _, c := range d.pending {
		touches := false
		for _, e := range c {
			touches = touches || e.folder == folder
		}
		if touches {
			c.keep()
			continue
		}
		rest = append(rest, c)
	}
	d.pending = rest
}

func set(names map[string]*node, name string, n *node) {
	if n == nil {
		delete(names, name)
		return
	}
	names[name] = n
}
