package vfs

import (
	"io"
	"slices"
)

const sectorSize = 512

type sector [sectorSize]byte

// content is what stands in a file, by the sector; a sector that is nil, or
// behind the last one, is zeros. No sector is ever changed in place, so contents
// share them, and a copy of a content costs little.
type content struct {
	size    int64
	sectors []*sector
	shared  bool // others have the slice too: copy it before changing it
}

// share returns a copy.
func (c *content) share() content {
	c.shared = true
	return *c
}

// own makes the slice the content's own, with room for sector i.
func (c *content) own(i int64) {
	if c.shared {
		c.sectors, c.shared = slices.Clone(c.sectors), false
	}
	if missing := i + 1 - int64(len(c.sectors)); missing > 0 {
		c.sectors = append(c.sectors, make([]*sector, missing)...)
	}
}

func (c *content) set(i int64, s *sector) {
	c.own(i)
	c.sectors[i] = s
}

func (c *content) sector(i int64) *sector {
	if i < int64(len(c.sectors)) {
		return c.sectors[i]
	}
	return nil
}

// resize sets the size. What is behind it becomes zeros.
func (c *content) resize(size int64) {
	keep := (size + sectorSize - 1) / sectorSize
	if keep < int64(len(c.sectors)) {
		c.own(0)
		clear(c.sectors[keep:])
		c.sectors = c.sectors[:keep]
	}
	if last := c.sector(size / sectorSize); last != nil {
		s := *last
		clear(s[size%sectorSize:])
		c.set(size/sectorSize, &s)
	}
	c.size = size
}

func (c *content) read(p []byte, off int64) (int, error) {
	if off >= c.size {
		return 0, io.EOF
	}
	want := int(min(int64(len(p)), c.size-off))
	for done := 0; done < want; {
		at := off + int64(done)
		in := at % sectorSize
		dst := p[done:want]
		dst = dst[:min(int64(len(dst)), sectorSize-in)]
		if s := c.sector(at / sectorSize); s != nil {
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

// inode is a file: what a program sees of it and what the disk has. It is
// guarded by its Mem's lock.
type inode struct {
	name string // that it was made with, for messages
	cur  content
	dur  content
}

// write puts p at off and returns what that does to the disk, sooner or later:
// the size first, then each sector.
func (n *inode) write(p []byte, off int64) []effect {
	if len(p) == 0 {
		return nil // also behind the end, as on the real system
	}
	var out []effect
	if end := off + int64(len(p)); end > n.cur.size {
		out = append(out, effect{kind: PieceSize, node: n, size: end, from: n.cur.size})
		n.cur.size = end
	}
	for len(p) > 0 {
		i := off / sectorSize
		var s sector
		if old := n.cur.sector(i); old != nil {
			s = *old
		}
		c := copy(s[off%sectorSize:], p)
		data := &s
		if s == (sector{}) {
			data = nil
		}
		n.cur.set(i, data)
		out = append(out, effect{kind: PieceBytes, node: n, sector: i, data: data})
		p, off = p[c:], off+int64(c)
	}
	return out
}

func (n *inode) truncate(size int64) effect {
	kind := PieceCut
	if size >= n.cur.size {
		kind = PieceSize
	}
	n.cur.resize(size)
	return effect{kind: kind, node: n, size: size, from: size}
}
