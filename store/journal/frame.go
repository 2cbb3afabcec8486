package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The limits of format 1.
const (
	ChunkSize = 64 << 10 // bytes of body that one checksum covers
	MaxMeta   = 4 << 20  // bytes of a record's meta part
	MaxBody   = 16 << 20 // bytes of an inline body

	md5Size    = 16
	sha256Size = 32
)

const (
	recordFormat = 1
	recordHeader = 52 // bytes
	recordAlign  = 8  // records begin at multiples of it
	maxRecord    = recordHeader + MaxMeta + MaxBody + recordAlign
	recordMagic  = "LREC"
)

// castagnoli is the CRC32C table; it is never written to.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the fixed part of a record: see docs/format.md for its bytes.
type header struct {
	format, kind byte
	flags        uint16
	sequence     uint64
	batch        uint64
	metaLen      int
	bodyLen      int
}

func (h *header) bodyOffset() int64 { return int64(recordHeader + h.metaLen) }

// length is that of the whole record, with padding.
func (h *header) length() int64 { return align(h.bodyOffset() + int64(h.bodyLen)) }

func align(n int64) int64 { return (n + recordAlign - 1) &^ (recordAlign - 1) }

// appendRecord appends a whole record, whose Sums must stand, or returns b as it
// was and false when that would make it longer than limit.
func appendRecord(b []byte, r *Record, id *[16]byte, limit int64) ([]byte, header, bool) {
	start := len(b)
	b = append(b, make([]byte, recordHeader)...)
	b = r.AppendMeta(b)
	h := header{
		format: recordFormat, kind: byte(r.Kind), sequence: r.Sequence, batch: r.Batch,
		metaLen: len(b) - start - recordHeader, bodyLen: len(r.Body),
	}
	if int64(start)+h.length() > limit {
		return b[:start], h, false
	}
	h.put(b[start:], id)
	b = append(b, r.Body...)
	return append(b, make([]byte, int64(start)+h.length()-int64(len(b)))...), h, true
}

// put writes the header before its meta part, which must stand in b.
func (h *header) put(b []byte, id *[16]byte) {
	le := binary.LittleEndian
	copy(b, recordMagic)
	b[4], b[5] = h.format, h.kind
	le.PutUint16(b[6:], h.flags)
	le.PutUint64(b[8:], h.sequence)
	le.PutUint64(b[16:], h.batch)
	le.PutUint32(b[24:], uint32(h.metaLen))
	le.PutUint32(b[28:], uint32(h.bodyLen))
	copy(b[32:], id[:])
	le.PutUint32(b[48:], frameCRC(b, h.metaLen))
}

// frameCRC covers the header up to the checksum itself, and the meta part.
func frameCRC(b []byte, metaLen int) uint32 {
	sum := crc32.Update(0, castagnoli, b[:48])
	return crc32.Update(sum, castagnoli, b[recordHeader:recordHeader+metaLen])
}

// parseHeader reads the fixed part of a record. why says what is wrong with it,
// or is empty; the checksum is not looked at yet.
func parseHeader(b []byte, id *[16]byte) (h header, why string) {
	le := binary.LittleEndian
	if len(b) < recordHeader {
		return h, "too short for a record header"
	}
	if string(b[:4]) != recordMagic {
		return h, "no record begins here"
	}
	if !bytes.Equal(b[32:48], id[:]) {
		return h, "the record is of another store"
	}
	h = header{
		format: b[4], kind: b[5], flags: le.Uint16(b[6:]), sequence: le.Uint64(b[8:]), batch: le.Uint64(b[16:]),
	}
	meta, body := le.Uint32(b[24:]), le.Uint32(b[28:])
	if meta > MaxMeta || body > MaxBody {
		return h, "impossible length"
	}
	h.metaLen, h.bodyLen = int(meta), int(body)
	return h, ""
}

// checkFrame verifies the checksum over header and meta part, which b must hold.
func checkFrame(b []byte, h *header) (why string) {
	if binary.LittleEndian.Uint32(b[48:]) != frameCRC(b, h.metaLen) {
		return "the checksum of header and meta does not match"
	}
	return ""
}

// checkKnown refuses what a newer version wrote. The checksum must have matched.
func (h *header) checkKnown() error {
	switch {
	case h.format != recordFormat:
		return fmt.Errorf("record format %d: %w", h.format, errNewer)
	case !Kind(h.kind).known():
		return fmt.Errorf("record kind %d: %w", h.kind, errNewer)
	case h.flags != 0:
		return fmt.Errorf("record flags %#x: %w", h.flags, errNewer)
	}
	return nil
}

// chunkSums appends the CRC32C of each chunk of body to sums.
func chunkSums(sums []uint32, body []byte) []uint32 {
	for len(body) > 0 {
		n := min(len(body), ChunkSize)
		sums = append(sums, crc32.Checksum(body[:n], castagnoli))
		body = body[n:]
	}
	return sums
}

// checkBody verifies a whole record, whose header and meta were verified: every
// chunk of the body, and that the padding is zero.
func checkBody(b []byte, h *header) (why string) {
	body := b[h.bodyOffset():]
	pad := body[h.bodyLen : h.length()-h.bodyOffset()]
	body = body[:h.bodyLen]
	sums := findSums(b[recordHeader:h.bodyOffset()])
	if len(sums) != 4*((len(body)+ChunkSize-1)/ChunkSize) {
		return "the number of chunk checksums does not match the body"
	}
	for i := 0; len(body) > 0; i++ {
		n := min(len(body), ChunkSize)
		if crc32.Checksum(body[:n], castagnoli) != binary.LittleEndian.Uint32(sums[4*i:]) {
			return fmt.Sprintf("the checksum of body chunk %d does not match", i)
		}
		body = body[n:]
	}
	if !allZero(pad) {
		return "the padding is not zero"
	}
	return ""
}

// zeros is never written to.
var zeros [4096]byte

func allZero(b []byte) bool {
	for len(b) > len(zeros) {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return bytes.Equal(b, zeros[:len(b)])
}
