package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// FileNameForTest names a segment's file.
func FileNameForTest(n uint64) string {
	c := Config{Dir: "segments"}
	return c.path(n)
}

// EncodeForTest returns a whole record as it stands in a segment.
func EncodeForTest(r *Record, id [16]byte) []byte {
	r.Sums = chunkSums(nil, r.Body)
	b, _, _ := appendRecord(nil, r, &id, maxRecord)
	return b
}

// DecodeForTest reads a whole record and verifies all of it.
func DecodeForTest(b []byte, id [16]byte) (r *Record, why string) {
	h, why := parseHeader(b, &id)
	if why != "" {
		return nil, why
	}
	if h.length() > int64(len(b)) {
		return nil, "too short"
	}
	if why = checkFrame(b, &h); why == "" {
		why = checkBody(b[:h.length()], &h)
	}
	if why != "" {
		return nil, why
	}
	if err := h.checkKnown(); err != nil {
		return nil, err.Error()
	}
	f := frame{header: h, b: b}
	r, err := f.decode()
	if err != nil {
		return nil, err.Error()
	}
	r.Body = b[h.bodyOffset() : h.bodyOffset()+int64(h.bodyLen)]
	return r, ""
}

// SegmentHeaderForTest returns the header of a segment file.
func SegmentHeaderForTest(number, first uint64, created int64, id [16]byte) []byte {
	h := segmentHead{number: number, first: first, created: created}
	return h.encode(&id)
}

// CompactedHeaderForTest returns the header of a compacted segment file.
func CompactedHeaderForTest(number, first, last, asOf, records uint64, length, created int64, id [16]byte) []byte {
	h := segmentHead{
		number: number, first: first, created: created, compacted: true,
		last: last, asOf: asOf, records: records, length: length,
	}
	return h.encode(&id)
}

// DecodeSegmentForTest reads a segment header and writes it again.
func DecodeSegmentForTest(b []byte, id [16]byte) ([]byte, error) {
	h, err := decodeSegment(b, &id)
	if err != nil {
		return nil, err
	}
	return h.encode(&id), nil
}

// FixHeaderForTest puts the right checksums on a changed segment header.
func FixHeaderForTest(b []byte) {
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	if len(b) >= compactedHeader && b[10] == flagCompacted {
		binary.LittleEndian.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	}
}

// FixRecordForTest puts the right checksum on a changed record.
func FixRecordForTest(b []byte) {
	binary.LittleEndian.PutUint32(b[48:], frameCRC(b, int(binary.LittleEndian.Uint32(b[24:]))))
}

// NoZeroAheadForTest makes small batches leave alone what lies behind them, as
// large ones do.
func (j *Journal) NoZeroAheadForTest() { j.ahead = 0 }

// OpenFilesForTest counts the segment files that are open.
func (j *Journal) OpenFilesForTest() int {
	j.files.mu.Lock()
	defer j.files.mu.Unlock()
	return len(j.files.open)
}

// FileName names the segment's file.
func (s Segment) FileName() string { return FileName(s.Number) }
