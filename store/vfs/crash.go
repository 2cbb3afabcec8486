package vfs

import (
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
)

// PieceKind says what a power cut may leave or take.
type PieceKind uint8

// The kinds of pieces.
const (
	PieceNames PieceKind = iota // a creation, a removal, or a rename, both of its ends
	PieceBytes                  // one sector of a file
	PieceSize                   // a file's growth
	PieceCut                    // a file's truncation
)

func (k PieceKind) String() string {
	return [...]string{"names", "bytes", "size", "cut"}[k]
}

// effect is one change that has not been synced.
type effect struct {
	kind PieceKind
	lost bool // of a Sync that failed: it may be on the disk, no Sync brings it there

	node   *inode  // of all but names
	sector int64   // of bytes
	data   *sector // of bytes; nil is zeros
	size   int64   // of size and cut
	from   int64   // of size: the write that grew the file began at most here

	names nameChange
}

// apply brings an effect on a file into c.
func (e *effect) apply(c *content) {
	switch e.kind {
	case PieceBytes:
		c.set(e.sector, e.data)
	case PieceSize:
		c.size = max(c.size, e.size)
	case PieceCut:
		if e.size < c.size {
			c.resize(e.size)
		}
	}
}

// Piece describes one change that a power cut may leave or take, for those who
// choose.
type Piece struct {
	Kind   PieceKind
	Name   string // of the file when it was made, or the first name that changes
	Offset int64  // of PieceBytes in its file; of the sizes, the size
}

// Image is a disk at one moment: what is durable, and in their order the changes
// that are not. It never changes.
type Image struct {
	root    *memNode
	dirs    map[*memNode]map[string]*memNode
	files   map[*inode]content
	pending []effect
}

// Image returns the disk as it is now.
func (m *Mem) Image() *Image {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.image()
}

// Before returns the disk as it is before the operation. Only an injector may
// call it, while it runs.
func (o Op) Before() *Image { return o.mem.image() }

func (m *Mem) image() *Image {
	i := &Image{
		root: m.root, dirs: map[*memNode]map[string]*memNode{}, files: map[*inode]content{},
		pending: m.pending,
	}
	i.visit(m.root)
	for k := range i.pending {
		for _, change := range i.pending[k].names {
			i.visit(change.dir)
			i.visit(change.node)
		}
	}
	i.pending = slices.DeleteFunc(slices.Clone(i.pending), i.unreachable)
	return i
}

// unreachable tells whether an effect is on a file that no name can lead to.
func (i *Image) unreachable(e effect) bool {
	_, reachable := i.files[e.node]
	return e.kind != PieceNames && !reachable
}

// visit notes what is durable of a node and of those below.
func (i *Image) visit(n *memNode) {
	switch {
	case n == nil:
	case !n.dir:
		i.files[n.data] = n.data.dur.share()
	case i.dirs[n] == nil:
		i.dirs[n] = maps.Clone(n.dur)
		for _, child := range n.dur {
			i.visit(child)
		}
	}
}

// Pieces lists what a power cut may leave or take, in the order of the changes.
func (i *Image) Pieces() []Piece {
	out := make([]Piece, len(i.pending))
	for k := range i.pending {
		out[k] = i.pending[k].piece()
	}
	return out
}

func (e *effect) piece() Piece {
	switch e.kind {
	case PieceNames:
		return Piece{Kind: e.kind, Name: e.names[0].name}
	case PieceBytes:
		return Piece{Kind: e.kind, Name: e.node.name, Offset: e.sector * sectorSize}
	}
	return Piece{Kind: e.kind, Name: e.node.name, Offset: e.size}
}

// Crash returns a disk as a power cut leaves it: what was durable, and the
// pieces that keep says, by their place in Pieces. All of it is durable, nothing
// is locked, nothing injected. Where a file grew by a write whose bytes were not
// kept, garbage fills the room, or zeros do when it is nil.
func (i *Image) Crash(keep func(piece int) bool, garbage *rand.Rand) *Mem {
	c := cut{image: i, dirs: map[*memNode]map[string]*memNode{}, files: map[*inode]*content{}}
	if garbage != nil {
		c.written = map[place]bool{}
	}
	for k := range i.pending {
		if keep(k) {
			c.take(&i.pending[k])
		}
	}
	if garbage != nil {
		c.fill(keep, garbage)
	}
	for _, f := range c.files {
		f.resize(f.size) // bytes that were kept behind the end are gone
	}
	c.made = map[*memNode]*memNode{}
	return &Mem{root: c.node(i.root), locks: map[string]bool{}}
}

// cut is one Crash.
type cut struct {
	image   *Image
	dirs    map[*memNode]map[string]*memNode // those whose names change
	files   map[*inode]*content              // those whose content changes
	written map[place]bool                   // sectors that were kept, if anybody asks
	made    map[*memNode]*memNode
}

type place struct {
	node   *inode
	sector int64
}

func (c *cut) take(e *effect) {
	if e.kind != PieceNames {
		if c.written != nil && e.kind == PieceBytes {
			c.written[place{e.node, e.sector}] = true
		}
		e.apply(c.file(e.node))
		return
	}
	for _, change := range e.names {
		if c.dirs[change.dir] == nil {
			c.dirs[change.dir] = maps.Clone(c.image.dirs[change.dir])
		}
		set(c.dirs[change.dir], change.name, change.node)
	}
}

func (c *cut) file(n *inode) *content {
	if c.files[n] == nil {
		f := c.image.files[n] // nothing, when no name leads there
		c.files[n] = &f
	}
	return c.files[n]
}

// fill puts garbage where a file grew and nothing was written.
func (c *cut) fill(keep func(int) bool, garbage *rand.Rand) {
	for k := range c.image.pending {
		e := &c.image.pending[k]
		if e.kind != PieceSize || e.from >= e.size || !keep(k) {
			continue
		}
		f := c.file(e.node)
		for i := e.from / sectorSize; i*sectorSize < min(e.size, f.size); i++ {
			if c.written[place{e.node, i}] {
				continue
			}
			var s sector
			if old := f.sector(i); old != nil {
				s = *old
			}
			for b := max(e.from-i*sectorSize, 0); b < sectorSize; b++ {
				s[b] = byte(garbage.Uint32())
			}
			f.set(i, &s)
		}
	}
}

// node makes the new disk's twin of a node and of all below.
func (c *cut) node(n *memNode) *memNode {
	if done := c.made[n]; done != nil {
		return done
	}
	if !n.dir {
		f, ok := c.files[n.data]
		if !ok {
			old := c.image.files[n.data]
			f = &old
		}
		out := &memNode{data: &inode{name: n.data.name, cur: f.share(), dur: f.share()}}
		c.made[n] = out
		return out
	}
	out := newDir()
	c.made[n] = out
	names, ok := c.dirs[n]
	if !ok {
		names = c.image.dirs[n]
	}
	for name, child := range names {
		twin := c.node(child)
		out.cur[name], out.dur[name] = twin, twin
	}
	return out
}

// CrashClone returns a file system as a power cut at this moment could leave it:
// what was synced, and of the rest each sector, size and change of names with
// probability keep, drawn from rng. The same rng state gives the same clone.
func (m *Mem) CrashClone(rng *rand.Rand, keep float64) *Mem {
	return m.Image().Crash(func(int) bool { return rng.Float64() < keep }, nil)
}

// Fingerprint tells disks apart by what is seen of them: names, sizes and bytes.
func (m *Mem) Fingerprint(seed maphash.Seed) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var h maphash.Hash
	h.SetSeed(seed)
	m.root.hash(&h)
	return h.Sum64()
}

func (n *memNode) hash(h *maphash.Hash) {
	if n.dir {
		for _, name := range sortedKeys(n.cur) {
			h.WriteString(name)
			h.WriteByte('/')
			n.cur[name].hash(h)
		}
		h.WriteByte('.')
		return
	}
	maphash.WriteComparable(h, n.data.cur.size)
	for i, s := range n.data.cur.sectors {
		if s != nil && *s != (sector{}) {
			maphash.WriteComparable(h, i)
			h.Write(s[:])
		}
	}
}
