package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const (
	segmentFormat   = 1
	segmentHeader   = 64  // bytes
	compactedHeader = 128 // bytes: the first 64 are those of every segment
	segmentMagic    = "LARDSEG1"
	segmentSuffix   = ".seg"
	newSuffix       = ".new" // of the output of a compaction that is not finished

	flagCompacted = 1
)

// segmentName matches the file names of segments; it is never changed.
var segmentName = regexp.MustCompile(`^[0-9]{10,20}\.seg$`)

// FileName returns the name of a segment's file, in the journal's folder.
func FileName(number uint64) string { return fmt.Sprintf("%010d%s", number, segmentSuffix) }

// parseName returns the number of a segment's file name, or 0.
func parseName(name string) uint64 {
	if !segmentName.MatchString(name) {
		return 0
	}
	n, err := strconv.ParseUint(name[:len(name)-len(segmentSuffix)], 10, 64)
	if err != nil || FileName(n) != name {
		return 0
	}
	return n
}

// parseNewName returns the number of an unfinished output's file name, or 0.
func parseNewName(name string) uint64 {
	base, ok := strings.CutSuffix(name, newSuffix)
	if !ok {
		return 0
	}
	return parseName(base)
}

// segmentHead is the header of a segment file: see docs/format.md for its bytes.
// Of a segment that was not compacted, last and length do not stand in the file:
// last follows from the segment behind it, length is the file's size.
type segmentHead struct {
	number  uint64
	first   uint64 // sequence of the first record, also while there is none
	created int64  // Unix nanoseconds, information only

	compacted bool
	last      uint64 // sequence up to which the segment holds what is needed
	asOf      uint64 // sequence up to which records had been applied when that was decided
	records   uint64 // of a compacted one
	length    int64  // of the file
}

// start returns where the first record lies.
func (s *segmentHead) start() int64 {
	if s.compacted {
		return compactedHeader
	}
	return segmentHeader
}

// growing reports whether the segment is the head.
func (s *segmentHead) growing() bool { return s.last == math.MaxUint64 }

// empty reports whether a sealed segment never got a record.
func (s *segmentHead) empty() bool { return s.last < s.first }

func (s *segmentHead) encode(id *[16]byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, s.start())
	copy(b, segmentMagic)
	le.PutUint16(b[8:], segmentFormat)
	if s.compacted {
		le.PutUint16(b[10:], flagCompacted)
	}
	copy(b[16:], id[:])
	le.PutUint64(b[32:], s.number)
	le.PutUint64(b[40:], s.first)
	le.PutUint64(b[48:], uint64(s.created))
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	if s.compacted {
		le.PutUint64(b[64:], s.last)
		le.PutUint64(b[72:], s.asOf)
		le.PutUint64(b[80:], s.records)
		le.PutUint64(b[88:], uint64(s.length))
		le.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	}
	return b
}

// errHeader says that a segment's header does not hold together: it was never
// written wholly, or is damaged.
var errHeader = errors.New("the segment header is broken")

// errForeign says that a whole header names another store.
var errForeign = errors.New("the segment belongs to another store")

// decodeSegment reads the header at the front of b. The error is or wraps
// errHeader, errForeign or errNewer.
func decodeSegment(b []byte, id *[16]byte) (s segmentHead, err error) {
	le := binary.LittleEndian
	if len(b) < segmentHeader || string(b[:8]) != segmentMagic {
		return s, errHeader
	}
	if le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return s, errHeader
	}
	flags := le.Uint16(b[10:])
	if f := le.Uint16(b[8:]); f != segmentFormat || flags&^flagCompacted != 0 {
		return s, fmt.Errorf("segment format %d, flags %#x: %w", f, flags, errNewer)
	}
	if !allZero(b[12:16]) || !allZero(b[56:60]) {
		return s, fmt.Errorf("reserved bytes are in use: %w", errNewer)
	}
	if !bytes.Equal(b[16:32], id[:]) {
		return s, errForeign
	}
	s = segmentHead{number: le.Uint64(b[32:]), first: le.Uint64(b[40:]), created: int64(le.Uint64(b[48:]))}
	if flags&flagCompacted != 0 {
		err = s.decodeCompacted(b)
	}
	return s, err
}

// decodeCompacted reads the second half of a compacted segment's header.
func (s *segmentHead) decodeCompacted(b []byte) error {
	le := binary.LittleEndian
	s.compacted = true
	if len(b) < compactedHeader || le.Uint32(b[124:]) != crc32.Checksum(b[:124], castagnoli) {
		return errHeader
	}
	if !allZero(b[96:124]) {
		return fmt.Errorf("reserved bytes are in use: %w", errNewer)
	}
	s.last, s.asOf, s.records = le.Uint64(b[64:]), le.Uint64(b[72:]), le.Uint64(b[80:])
	s.length = int64(le.Uint64(b[88:]))
	if s.empty() || s.length < compactedHeader || s.records > s.last-s.first+1 {
		return fmt.Errorf("%w: impossible values", errHeader)
	}
	return nil
}
