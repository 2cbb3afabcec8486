package e2e_test

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func (n *node) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, err := n.Mknod(ctx, name, syscall.S_IFREG|mode, 0, out)
	return inode, nil, 0, err
}

// Mknod makes a file, or the name of a socket.
func (n *node) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, mode, out)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, syscall.S_IFDIR|mode, out)
}

// add makes a name for something new.
func (n *node) add(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return nil, err
	}
	if n.names[name] != nil {
		return nil, syscall.EEXIST
	}
	c := n.d.newNode(mode&syscall.S_IFMT == syscall.S_IFDIR)
	c.mode = mode
	n.d.change(nameChange{{n, name, c}})
	return n.child(ctx, c, out), 0
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err == 0 {
		n.d.change(nameChange{{n, name, nil}})
	}
	return err
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	n.d.mu.Lock()
	full := n.names[name] != nil && len(n.names[name].names) > 0
	n.d.mu.Unlock()
	if full {
		return syscall.ENOTEMPTY
	}
	return n.Unlink(ctx, name)
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return err
	}
	if flags != 0 {
		return syscall.EINVAL
	}
	n.d.change(nameChange{{n, name, nil}, {to.(*node), newName, n.names[name]}})
	return 0
}

func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	err := n.enter()
	defer n.d.mu.Unlock()
	return nil, fuse.FOPEN_KEEP_CACHE, err
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return nil, err
	}
	dest = dest[:max(0, min(int64(len(dest)), n.seen.size-off))]
	clear(dest)
	for done := 0; done < len(dest); {
		page, in := (off+int64(done))/diskPage, (off+int64(done))%diskPage
		room := min(diskPage-int(in), len(dest)-done)
		if b := n.seen.pages[page]; b != nil {
			copy(dest[done:done+room], b[in:])
		}
		done += room
	}
	return fuse.ReadResultData(dest), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return 0, err
	}
	for done := 0; done < len(data); {
		page, in := (off+int64(done))/diskPage, (off+int64(done))%diskPage
		b := make([]byte, diskPage)
		copy(b, n.seen.pages[page])
		done += copy(b[in:], data[done:])
		n.seen.pages[page], n.dirty[page] = b, true
	}
	n.seen.size = max(n.seen.size, off+int64(len(data)))
	return uint32(len(data)), 0
}

// Fsync makes a file's bytes and size durable, or a folder's names.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err != 0 {
		return err
	}
	if n.names != nil {
		n.d.syncNames(n)
		return 0
	}
	if n.d.fails() {
		clear(n.dirty)
		return syscall.EIO
	}
	for page := range n.dirty {
		n.store(page)
	}
	n.stored.cut(n.seen.size)
	return 0
}

// Allocate lengthens a file by zeros, as fallocate does without flags.
func (n *node) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	err := n.enter()
	defer n.d.mu.Unlock()
	if err == 0 && mode != 0 {
		err = syscall.EOPNOTSUPP
	}
	if err == 0 {
		n.seen.size = max(n.seen.size, int64(off+size))
	}
	return err
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const size = 16 << 30
	*out = fuse.StatfsOut{Bsize: diskPage, Frsize: diskPage, NameLen: 255, Files: 1 << 20, Ffree: 1 << 20}
	out.Blocks, out.Bfree, out.Bavail = size/diskPage, size/diskPage, size/diskPage
	return 0
}
