package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
)

const (
	segmentFormat = 1
	segmentHeader = 64 // bytes
	segmentMagic  = "LARDSEG1"
	segmentSuffix = ".seg"
)

// segmentName matches the file names of segments; it is never changed.
var segmentName = regexp.MustCompile(`^[0-9]{10,20}\.seg$`)

func fileName(number uint64) string { return fmt.Sprintf("%010d%s", number, segmentSuffix) }

// parseName returns the number of a segment's file name, or 0.
func parseName(name string) uint64 {
	if !segmentName.MatchString(name) {
		return 0
	}
	n, err := strconv.ParseUint(name[:len(name)-len(segmentSuffix)], 10, 64)
	if err != nil || fileName(n) != name {
		return 0
	}
	return n
}

// segmentHead is the header of a segment file: see docs/format.md for its bytes.
type segmentHead struct {
	number  uint64
	first   uint64 // sequence of the first record, also while there is none
	created int64  // Unix nanoseconds, information only
}

func (s *segmentHead) encode(id *[16]byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, segmentHeader)
	copy(b, segmentMagic)
	le.PutUint16(b[8:], segmentFormat)
	copy(b[16:], id[:])
	le.PutUint64(b[32:], s.number)
	le.PutUint64(b[40:], s.first)
	le.PutUint64(b[48:], uint64(s.created))
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

// errHeader says that a segment's header does not hold together: it was never
// written wholly, or is damaged.
var errHeader = errors.New("the segment header is broken")

// errForeign says that a whole header names another store.
var errForeign = errors.New("the segment belongs to another store")

// decodeSegment reads a segment header. The error is errHeader, errForeign or
// wraps errNewer.
func decodeSegment(b []byte, id *[16]byte) (s segmentHead, err error) {
	le := binary.LittleEndian
	if len(b) < segmentHeader || string(b[:8]) != segmentMagic {
		return s, errHeader
	}
	if le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return s, errHeader
	}
	if f := le.Uint16(b[8:]); f != segmentFormat || le.Uint16(b[10:]) != 0 {
		return s, fmt.Errorf("segment format %d, flags %#x: %w", f, le.Uint16(b[10:]), errNewer)
	}
	if !allZero(b[12:16]) || !allZero(b[56:60]) {
		return s, fmt.Errorf("reserved bytes are in use: %w", errNewer)
	}
	if !bytes.Equal(b[16:32], id[:]) {
		return s, errForeign
	}
	return segmentHead{number: le.Uint64(b[32:]), first: le.Uint64(b[40:]), created: int64(le.Uint64(b[48:]))}, nil
}
