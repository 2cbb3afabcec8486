package e2e_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// The layout of docs/format.md, read here a second time so that damage can be
// placed: no part of Larder helps.
const (
	segmentHeadBytes   = 64
	compactedHeadBytes = 128
	recordHeadBytes    = 52
	blobTrailerBytes   = 72
	tagKey             = 4
	tagBlob            = 25
)

// place is a piece of a file of the data folder.
type place struct {
	file     string // relative to the data folder
	from, to int64
}

func (p place) touches(q place) bool { return p.file == q.file && p.from < q.to && q.from < p.to }

// storedRecord is a record and where its parts lie: header, meta part, body,
// padding.
type storedRecord struct {
	place
	meta, body, end int64 // where meta part and body begin, and the body ends
	kind            byte
	sequence        uint64
	key, blob       string
}

// storedSegment is a segment file and its records, in order.
type storedSegment struct {
	file    string
	head    int64 // bytes of its header
	size    int64
	records []storedRecord
}

// readSegments parses all segments of a data folder, the growing one last.
func readSegments(dir string) ([]storedSegment, error) {
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err != nil {
		return nil, err
	}
	var all []storedSegment
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := parseSegment(filepath.Join("segments", filepath.Base(path)), b)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b storedSegment) int { return int(int64(a.firstSequence()) - int64(b.firstSequence())) })
	return all, nil
}

func (s *storedSegment) firstSequence() uint64 {
	if len(s.records) == 0 {
		return 1 << 62 // an empty head
	}
	return s.records[0].sequence
}

func parseSegment(name string, b []byte) (storedSegment, error) {
	s := storedSegment{file: name, head: segmentHeadBytes, size: int64(len(b))}
	if len(b) < segmentHeadBytes || !bytes.HasPrefix(b, []byte("LARDSEG1")) {
		return s, fmt.Errorf("%s has no header", name)
	}
	if b[10]&1 != 0 {
		s.head = compactedHeadBytes
	}
	for at := s.head; int64(len(b))-at >= recordHeadBytes && string(b[at:at+4]) == "LREC"; {
		h := b[at:]
		meta, body := int64(binary.LittleEndian.Uint32(h[24:])), int64(binary.LittleEndian.Uint32(h[28:]))
		r := storedRecord{kind: h[5], sequence: binary.LittleEndian.Uint64(h[8:]), meta: at + recordHeadBytes}
		r.body, r.end = r.meta+meta, r.meta+meta+body
		r.place = place{name, at, (r.end + 7) &^ 7}
		if r.to > int64(len(b)) {
			return s, fmt.Errorf("%s: the record at %d is longer than the file", name, at)
		}
		r.key, r.blob = metaText(b[r.meta:r.body], tagKey), metaText(b[r.meta:r.body], tagBlob)
		s.records = append(s.records, r)
		at = r.to
	}
	return s, nil
}

// metaText finds a field in a meta part.
func metaText(meta []byte, want uint64) string {
	for len(meta) > 0 {
		tag, n := binary.Uvarint(meta)
		size, m := binary.Uvarint(meta[n:])
		value := meta[n+m:]
		if tag == want {
			return string(value[:size])
		}
		meta = value[size:]
	}
	return ""
}

// storedBlob is a blob file: the body, then the footer.
type storedBlob struct {
	file       string
	body, size int64
}

// readBlobs finds the whole blobs of a data folder.
func readBlobs(dir string) ([]storedBlob, error) {
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "*"))
	if err != nil {
		return nil, err
	}
	var all []storedBlob
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(b) < blobTrailerBytes || len(filepath.Base(path)) != 2*16 {
			return nil, fmt.Errorf("%s is no whole blob", path)
		}
		trailer := b[len(b)-blobTrailerBytes:]
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		all = append(all, storedBlob{name, int64(binary.LittleEndian.Uint64(trailer[48:])), int64(len(b))})
	}
	return all, nil
}
