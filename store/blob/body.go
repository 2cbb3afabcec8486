package blob

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"larder/fault"
	"larder/store/vfs"
)

// Body is an open blob, for reading. ReadVerified may be called at once by many
// goroutines; File has one offset, which is its caller's.
type Body struct {
	s    *Store
	f    vfs.File
	t    trailer
	name string
}

// Damage is the cause of a fault.Corrupt: what is wrong with which file.
type Damage struct {
	File   string // below the FS
	Offset int64  // bytes into the file
	Reason string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", d.File, d.Offset, d.Reason)
}

func corrupt(op, name string, offset int64, reason string) error {
	return fault.New(op, fault.Corrupt, name, &Damage{File: name, Offset: offset, Reason: reason})
}

// Open opens a blob and verifies its trailer, which binds the file to this store
// and id and gives its exact length. A missing or broken file is fault.Corrupt:
// nobody asks for a blob that no record names.
func (s *Store) Open(id string) (*Body, error) {
	return s.open(id, func(vfs.File) error { return nil })
}

// OpenUncached is Open for those who want the trailer as the disk has it, and not
// the page cache. What else is read of the body is theirs to drop there.
func (s *Store) OpenUncached(id string) (*Body, error) {
	return s.open(id, func(f vfs.File) error {
		size, err := f.Size()
		if err != nil || size == 0 {
			return err
		}
		return vfs.UncacheRange(f, max(size-trailerLen, 0), trailerLen)
	})
}

func (s *Store) open(id string, prepare func(vfs.File) error) (*Body, error) {
	const op = "blob.Body"
	name, ok := s.path(id)
	if !ok {
		return nil, errID(op, id)
	}
	f, err := s.c.FS.Open(name)
	if err != nil {
		return nil, fault.New(op, vfs.CodeOfRead(err), name, err)
	}
	b := &Body{s: s, f: f, name: name}
	hex.Decode(b.t.id[:], []byte(id))
	if err := prepare(f); err != nil {
		f.Close()
		return nil, fault.New(op, vfs.CodeOfRead(err), name, err)
	}
	if err := b.readTrailer(); err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

func (b *Body) readTrailer() error {
	const op = "blob.Body"
	size, err := b.f.Size()
	if err != nil {
		return fault.New(op, vfs.CodeOfRead(err), b.name, err)
	}
	if size < trailerLen {
		return corrupt(op, b.name, 0, errTrailer.Error())
	}
	var buf [trailerLen]byte
	if err := b.read(buf[:], size-trailerLen); err != nil {
		return err
	}
	id := b.t.id
	b.t, err = decodeTrailer(buf[:], &b.s.c.StoreID, &id, size)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errForeign):
		return fault.New(op, fault.ForeignStore, b.name, err)
	case errors.Is(err, errNewer):
		return fault.New(op, fault.NewerFormat, b.name, err)
	}
	return corrupt(op, b.name, size-trailerLen, err.Error())
}

// read fills p, or fails.
func (b *Body) read(p []byte, off int64) error {
	const op = "blob.Read"
	n, err := b.f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return corrupt(op, b.name, off, "the file is too short")
	}
	return fault.New(op, vfs.CodeOfRead(err), b.name, err)
}

// Size returns the bytes of the body.
func (b *Body) Size() int64 { return b.t.size }

// SumsCRC returns the CRC32C of the table of chunk sums. It must be what the
// record says, or the file holds another body.
func (b *Body) SumsCRC() uint32 { return b.t.sumsCRC }

// Meta returns the copy of the record's meta part, verified.
func (b *Body) Meta() ([]byte, error) {
	meta := make([]byte, b.t.metaLen)
	if err := b.read(meta, b.t.size); err != nil {
		return nil, err
	}
	if crc32.Checksum(meta, castagnoli) != b.t.metaCRC {
		return nil, corrupt("blob.Meta", b.name, b.t.size, "the checksum of the record's copy does not match")
	}
	return meta, nil
}

// ReadVerified reads into p from off on and verifies every chunk against its
// checksum. It fills p or reads up to the end of the body, where it returns 0
// and io.EOF. off must be a multiple of ChunkSize, and so must len(p) unless p
// reaches the end. It reads of the table of sums only what it needs, so memory
// does not depend on the size of the body. After an error nothing in p may be
// used.
func (b *Body) ReadVerified(p []byte, off int64) (int, error) {
	const op = "blob.ReadVerified"
	if off == b.t.size {
		return 0, io.EOF
	}
	if off < 0 || off > b.t.size || off%ChunkSize != 0 || len(p)%ChunkSize != 0 && off+int64(len(p)) < b.t.size {
		return 0, fault.New(op, fault.InvalidArgument, b.name, fmt.Errorf("window of %d bytes at %d", len(p), off))
	}
	p = p[:min(int64(len(p)), b.t.size-off)]
	if err := b.read(p, off); err != nil {
		return 0, err
	}
	var small [256]byte
	sums := small[:]
	if n := 4 * chunks(int64(len(p))); n <= int64(len(small)) {
		sums = sums[:n]
	} else {
		sums = make([]byte, n)
	}
	if err := b.read(sums, b.t.sumsOffset()+off/ChunkSize*4); err != nil {
		return 0, err
	}
	for i := 0; i < len(p); i += ChunkSize {
		chunk := p[i:min(i+ChunkSize, len(p))]
		if crc32.Checksum(chunk, castagnoli) != binary.LittleEndian.Uint32(sums[i/ChunkSize*4:]) {
			return 0, corrupt(op, b.name, off+int64(i), "the checksum of the chunk does not match")
		}
	}
	return len(p), nil
}

// VerifySums reads the whole table of chunk sums and checks it against the
// footer, a piece at a time.
func (b *Body) VerifySums() error {
	var sum uint32
	buf := make([]byte, 4096)
	for left, off := 4*chunks(b.t.size), b.t.sumsOffset(); left > 0; {
		n := min(left, int64(len(buf)))
		if err := b.read(buf[:n], off); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, buf[:n])
		left, off = left-n, off+n
	}
	if sum != b.t.sumsCRC {
		return corrupt("blob.VerifySums", b.name, b.t.sumsOffset(), "the checksum of the table of sums does not match")
	}
	return nil
}

// File returns the open file. The body is its first Size bytes.
func (b *Body) File() vfs.File { return b.f }

// Close closes the file.
func (b *Body) Close() error { return b.f.Close() }
