package e2e_test

import (
	"context"
	"maps"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const diskPage = 4096

// node is a file or folder of a forgetful disk, as programs see it and as the
// disk has it. Pages are never changed in place, so that both can share them.
type node struct {
	fs.Inode
	d      *forgetful
	number uint64
	mode   uint32 // with the kind

	names, kept map[string]*node // of a folder: seen, durable

	seen, stored content
	dirty        map[int64]bool // pages of seen that are not stored
}

type content struct {
	size  int64
	pages map[int64][]byte // by their number; a missing one is zeros
}

var (
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeMknoder   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeAllocater = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

func (d *forgetful) newNode(folder bool) *node {
	d.inodes++
	n := &node{d: d, number: d.inodes, mode: syscall.S_IFREG | 0o600, dirty: map[int64]bool{}}
	n.seen.pages, n.stored.pages = map[int64][]byte{}, map[int64][]byte{}
	if folder {
		n.mode = syscall.S_IFDIR | 0o700
		n.names, n.kept = map[string]*node{}, map[string]*node{}
	}
	return n
}

// survive is the node after a power cut.
func (n *node) survive(lucky func() bool, done map[*node]*node) *node {
	if done[n] != nil {
		return done[n]
	}
	out := n.d.newNode(n.names != nil)
	done[n], out.mode, out.number = out, n.mode, n.number
	for _, name := range slices.Sorted(maps.Keys(n.kept)) {
		child := n.kept[name].survive(lucky, done)
		out.names[name], out.kept[name] = child, child
	}
	for _, page := range slices.Sorted(maps.Keys(n.dirty)) {
		if lucky() {
			n.store(page)
		}
	}
	if lucky() {
		n.stored.size = n.seen.size
	}
	n.stored.cut(n.stored.size)
	out.seen = content{n.stored.size, maps.Clone(n.stored.pages)}
	out.stored = n.stored
	return out
}

// store takes one page over as it is seen.
func (n *node) store(page int64) {
	if b := n.seen.pages[page]; b != nil {
		n.stored.pages[page] = b
	} else {
		delete(n.stored.pages, page)
	}
	delete(n.dirty, page)
}

// cut drops the pages behind a size.
func (c *content) cut(size int64) {
	c.size = size
	maps.DeleteFunc(c.pages, func(page int64, _ []byte) bool { return page*diskPage >= size })
}

// enter locks the disk and says whether it still works. The caller unlocks.
func (n *node) enter() syscall.Errno {
	n.d.mu.Lock()
	if n.d.dead {
		return syscall.EIO
	}
	return 0
}

func (n *node) attr(out *fuse.Attr) {
	out.Ino, out.Mode, out.Nlink = n.number, n.mode, 1
	out.Size, out.Blocks, out.Blksize = uint64(n.seen.size), uint64(len(n.seen.pages))*diskPage/512, diskPage
}

// child is what the kernel is told of a node.
func (n *node) child(ctx context.Context, c *node, out *fuse.EntryOut) *fs.Inode {
	c.attr(&out.Attr)
	return n.NewInode(ctx, c, fs.StableAttr{Mode: c.mode & syscall.S_IFMT, Ino: c.number})
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	err := n.enter()
	defer n.d.mu.Unlock()
	n.attr(&out.Attr)
	return err
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return err
	}
	if mode, ok := in.GetMode(); ok {
		n.mode = n.mode&syscall.S_IFMT | mode&0o7777
	}
	if size, ok := in.GetSize(); ok {
		n.resize(int64(size))
	}
	n.attr(&out.Attr)
	return 0
}

// resize cuts or lengthens; what comes back later is zeros.
func (n *node) resize(size int64) {
	if size < n.seen.size {
		for page := range n.seen.pages {
			if page*diskPage >= size {
				n.dirty[page] = true
			}
		}
		n.seen.cut(size)
		if b := n.seen.pages[size/diskPage]; b != nil {
			n.seen.pages[size/diskPage] = append(slices.Clone(b[:size%diskPage]), make([]byte, diskPage-size%diskPage)...)
			n.dirty[size/diskPage] = true
		}
	}
	n.seen.size = size
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return nil, err
	}
	c := n.names[name]
	if c == nil {
		return nil, syscall.ENOENT
	}
	return n.child(ctx, c, out), 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	err := n.enter()
	defer n.d.mu.Unlock()
	var list []fuse.DirEntry
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		list = append(list, fuse.DirEntry{Name: name, Mode: n.names[name].mode, Ino: n.names[name].number})
	}
	return fs.NewListDirStream(list), err
}
