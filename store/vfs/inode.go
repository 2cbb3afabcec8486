package vfs

import "io"

const sectorSize = 512

type sector [sectorSize]byte

// inode is a file's content, kept by the sector; sectors that are absent are
// zeros. It is guarded by its Mem's lock.
type inode struct {
	size    int64
	sectors map[int64]*sector
	durSize int64             // the size on the disk
	undo    map[int64]*sector // what the disk holds of sectors written since the last Sync
	lost    map[int64]*sector // the same for sectors of a failed Sync: they look clean
}

func newInode() *inode {
	return &inode{sectors: map[int64]*sector{}, undo: map[int64]*sector{}, lost: map[int64]*sector{}}
}

// touch makes a sector ready to be changed and returns it.
func (n *inode) touch(i int64) *sector {
	old := n.sectors[i]
	if _, dirty := n.undo[i]; !dirty {
		if l, ok := n.lost[i]; ok {
			n.undo[i] = l
			delete(n.lost, i)
		} else {
			n.undo[i] = old
		}
	}
	fresh := new(sector)
	if old != nil {
		*fresh = *old
	}
	n.sectors[i] = fresh
	return fresh
}

func (n *inode) write(p []byte, off int64) {
	if len(p) == 0 {
		return // also behind the end, as on the real system
	}
	n.size = max(n.size, off+int64(len(p)))
	for len(p) > 0 {
		s := n.touch(off / sectorSize)
		c := copy(s[off%sectorSize:], p)
		p, off = p[c:], off+int64(c)
	}
}

func (n *inode) read(p []byte, off int64) (int, error) {
	if off >= n.size {
		return 0, io.EOF
	}
	want := int(min(int64(len(p)), n.size-off))
	for done := 0; done < want; {
		at := off + int64(done)
		dst := p[done:want]
		in := at % sectorSize
		dst = dst[:min(int64(len(dst)), sectorSize-in)]
		if s := n.sectors[at/sectorSize]; s != nil {
			copy(dst, s[in:])
		} else {
			clear(dst)
		}
		done += len(dst)
	}
	if want < len(p) {
		return want, io.EOF
	}
	return want, nil
}

func (n *inode) truncate(size int64) {
	for i := range n.sectors {
		start := i * sectorSize
		if start+sectorSize <= size {
			continue
		}
		clear(n.touch(i)[max(size-start, 0):])
	}
	n.size = size
}

func (n *inode) sync() {
	n.durSize = n.size
	clear(n.undo)
}

// failSync is a Sync whose writeback failed: the pages are clean and hold bytes
// that the disk never got, and no later Sync will bring them there.
func (n *inode) failSync() {
	for i, s := range n.undo {
		n.lost[i] = s
	}
	clear(n.undo)
}

func (n *inode) uncache() {
	n.restore(n.lost)
	clear(n.lost)
}

func (n *inode) restore(old map[int64]*sector) {
	for i, s := range old {
		if s == nil {
			delete(n.sectors, i)
		} else {
			n.sectors[i] = s
		}
	}
}

// crash returns the file that a power cut leaves, all of it durable. Each
// unsynced sector, and the unsynced size, is kept if keep says so.
func (n *inode) crash(keep func() bool) *inode {
	c := newInode()
	c.size = n.durSize
	if n.size != n.durSize && keep() {
		c.size = n.size
	}
	for i, s := range n.sectors {
		c.sectors[i] = s // never changed in place: touch copies
	}
	c.restore(n.lost)
	for _, i := range sortedKeys(n.undo) {
		if !keep() {
			c.restore(map[int64]*sector{i: n.undo[i]})
		}
	}
	c.cutTo(c.size)
	c.sync()
	return c
}

// cutTo makes all beyond size zero.
func (n *inode) cutTo(size int64) {
	n.truncate(size)
	clear(n.undo)
}
