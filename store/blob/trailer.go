package blob

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The limits of format 1.
const (
	ChunkSize = 64 << 10 // bytes of body that one checksum covers
	MaxMeta   = 4 << 20  // bytes of the record's copy in the footer
	// MaxSize is the largest body a Pending takes. Its chunk sums stay in memory
	// until it is sealed: 64 KiB of them for each GiB.
	MaxSize = 1 << 40
)

const (
	blobFormat = 1
	trailerLen = 72 // bytes, at the very end of the file
	blobMagic  = "LARDBLOB"
	idLen      = 16 // bytes; an id is their hexadecimal form
)

// castagnoli is the CRC32C table; it is never written to.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// trailer is the fixed end of a blob file: see docs/format.md for its bytes. The
// file is body, meta, chunk sums, trailer.
type trailer struct {
	id      [idLen]byte
	size    int64 // of the body
	metaLen int
	metaCRC uint32
	sumsCRC uint32
}

func (t *trailer) encode(store *[16]byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, trailerLen)
	copy(b, blobMagic)
	le.PutUint16(b[8:], blobFormat)
	le.PutUint32(b[12:], uint32(t.metaLen))
	copy(b[16:], store[:])
	copy(b[32:], t.id[:])
	le.PutUint64(b[48:], uint64(t.size))
	le.PutUint32(b[56:], t.sumsCRC)
	le.PutUint32(b[60:], t.metaCRC)
	le.PutUint32(b[68:], crc32.Checksum(b[:68], castagnoli))
	return b
}

// The reasons why a file's end is not a trailer to go by.
var (
	errTrailer = errors.New("the footer is broken")
	errForeign = errors.New("the blob belongs to another store")
	errNewer   = errors.New("written by a newer version")
	errOther   = errors.New("the file holds another blob")
)

// decodeTrailer reads the end of a file of the given size, which must be the
// blob id of store.
func decodeTrailer(b []byte, store *[16]byte, id *[idLen]byte, fileSize int64) (t trailer, err error) {
	le := binary.LittleEndian
	if len(b) != trailerLen || string(b[:8]) != blobMagic || le.Uint32(b[68:]) != crc32.Checksum(b[:68], castagnoli) {
		return t, errTrailer
	}
	if f := le.Uint16(b[8:]); f != blobFormat || le.Uint16(b[10:]) != 0 || le.Uint32(b[64:]) != 0 {
		return t, fmt.Errorf("blob format %d: %w", f, errNewer)
	}
	if !bytes.Equal(b[16:32], store[:]) {
		return t, errForeign
	}
	if !bytes.Equal(b[32:48], id[:]) {
		return t, errOther
	}
	size, meta := le.Uint64(b[48:]), le.Uint32(b[12:])
	t = trailer{id: *id, size: int64(size), metaLen: int(meta), sumsCRC: le.Uint32(b[56:]), metaCRC: le.Uint32(b[60:])}
	if size > MaxSize || meta > MaxMeta || t.fileSize() != fileSize {
		return t, errors.New("the file is not as long as its footer says")
	}
	return t, nil
}

func chunks(size int64) int64 { return (size + ChunkSize - 1) / ChunkSize }

// sumsOffset is where the table of chunk sums begins.
func (t *trailer) sumsOffset() int64 { return t.size + int64(t.metaLen) }

func (t *trailer) fileSize() int64 { return t.sumsOffset() + 4*chunks(t.size) + trailerLen }
