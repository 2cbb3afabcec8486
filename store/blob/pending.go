package blob

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"larder/fault"
	"larder/store/vfs"
)

// Pending is a blob that is being written, by one goroutine. It ends with Seal
// or Abort.
type Pending struct {
	s    *Store
	f    vfs.File
	name string
	text string // the id

	t    trailer
	sums []byte // of the whole chunks, as they stand in the file
	part uint32 // CRC32C of the chunk that is not whole yet
	err  error  // sticky
	shut bool
}

var _ io.Writer = (*Pending)(nil)

// Sealed is what a record must say of its blob.
type Sealed struct {
	ID      string
	Size    int64  // bytes of body
	SumsCRC uint32 // CRC32C of the table of chunk sums
}

var errShut = errors.New("the blob was sealed or aborted")

// ID returns the blob's id, which is known from the start.
func (p *Pending) ID() string { return p.text }

// Size returns the bytes written so far.
func (p *Pending) Size() int64 { return p.t.size }

// SumsCRC returns the CRC32C of the chunk sums of what was written so far. After
// the last Write it is what Seal will return.
func (p *Pending) SumsCRC() uint32 {
	sum := crc32.Checksum(p.sums, castagnoli)
	if p.t.size%ChunkSize != 0 {
		var last [4]byte
		binary.LittleEndian.PutUint32(last[:], p.part)
		sum = crc32.Update(sum, castagnoli, last[:])
	}
	return sum
}

// Write appends to the body. After an error (NoSpace, EntityTooLarge) the blob
// is good for Abort only.
func (p *Pending) Write(b []byte) (int, error) {
	const op = "blob.Write"
	if p.err != nil {
		return 0, p.err
	}
	if p.t.size+int64(len(b)) > MaxSize {
		p.err = fault.New(op, fault.EntityTooLarge, p.text, nil)
		return 0, p.err
	}
	if err := p.put(b, p.t.size); err != nil {
		p.err = fault.New(op, vfs.CodeOf(err), p.name, err)
		return 0, p.err
	}
	p.sum(b)
	return len(b), nil
}

func (p *Pending) put(b []byte, off int64) error {
	n, err := p.f.WriteAt(b, off)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// sum adds written bytes to the chunk sums.
func (p *Pending) sum(b []byte) {
	for len(b) > 0 {
		room := ChunkSize - p.t.size%ChunkSize
		n := min(int64(len(b)), room)
		p.part = crc32.Update(p.part, castagnoli, b[:n])
		p.t.size += n
		b = b[n:]
		if n == room {
			p.closeChunk()
		}
	}
}

func (p *Pending) closeChunk() {
	p.sums = binary.LittleEndian.AppendUint32(p.sums, p.part)
	p.part = 0
}

// Seal writes the footer with meta, the record's copy, and makes all bytes of
// the file durable. Its name is not durable yet: see SyncDirs. When the sync
// fails the whole store has failed. After any error the blob is good for Abort
// only.
func (p *Pending) Seal(meta []byte) (Sealed, error) {
	const op = "blob.Seal"
	if p.err != nil {
		return Sealed{}, p.err
	}
	if len(meta) > MaxMeta {
		p.err = fault.New(op, fault.MetadataTooLarge, p.text, fmt.Errorf("%d bytes", len(meta)))
		return Sealed{}, p.err
	}
	if err := p.put(p.footer(meta), p.t.size); err != nil {
		p.err = fault.New(op, vfs.CodeOf(err), p.name, err)
		return Sealed{}, p.err
	}
	if err := p.s.Err(); err != nil {
		p.err = err
		return Sealed{}, err
	}
	err := p.f.Sync()
	if cerr := p.f.Close(); err == nil {
		err = cerr
	}
	p.shut, p.err = true, fault.New(op, fault.Internal, p.text, errShut)
	if err != nil {
		p.err = p.s.fail(op, p.name, err)
		return Sealed{}, p.err
	}
	return Sealed{ID: p.text, Size: p.t.size, SumsCRC: p.t.sumsCRC}, nil
}

// footer returns all that stands behind the body.
func (p *Pending) footer(meta []byte) []byte {
	if p.t.size%ChunkSize != 0 {
		p.closeChunk()
	}
	p.t.sumsCRC = crc32.Checksum(p.sums, castagnoli)
	p.t.metaLen, p.t.metaCRC = len(meta), crc32.Checksum(meta, castagnoli)
	b := make([]byte, 0, len(meta)+len(p.sums)+trailerLen)
	b = append(append(b, meta...), p.sums...)
	return append(b, p.t.encode(&p.s.c.StoreID)...)
}

// Abort closes and removes the blob, also after Seal as long as no record names
// it. It is no longer pending then. Aborting twice does nothing.
func (p *Pending) Abort() error {
	if !p.shut {
		p.f.Close() // its bytes do not matter any more
	}
	if p.s == nil {
		return nil
	}
	err := p.s.c.FS.Remove(p.name)
	p.s.Done(p.text)
	p.shut, p.err = true, fault.New("blob.Write", fault.Internal, p.text, errShut)
	p.s = nil
	if err != nil {
		return fault.New("blob.Abort", vfs.CodeOf(err), p.name, err)
	}
	return nil
}
