package e2e_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// wound is one damage done to a store.
type wound struct {
	kind         string
	at           []place // each has to be accused for the wound to count as found
	strike, undo func() error
}

// surgeon chooses where a store is damaged. The wounds of a round lie apart, so
// that each has to be found on its own.
type surgeon struct {
	t        *testing.T
	dir      string // the data folder
	aside    string // a folder on the same file system, for files that are taken away
	write    func(path string, off int64, p []byte) error
	choose   *rand.Rand
	segments []storedSegment
	blobs    []storedBlob
	stale    []byte // an old blob, whose object is gone
	taken    []place
}

// look reads anew what there is to damage.
func (g *surgeon) look() {
	g.t.Helper()
	var err error
	if g.segments, err = readSegments(g.dir); err != nil {
		g.t.Fatal(err)
	}
	if g.blobs, err = readBlobs(g.dir); err != nil {
		g.t.Fatal(err)
	}
	g.taken = nil
}

func (g *surgeon) path(file string) string { return filepath.Join(g.dir, file) }

// take claims a place for one wound, or says that it is taken.
func (g *surgeon) take(places ...place) bool {
	for _, p := range places {
		if slices.ContainsFunc(g.taken, p.touches) {
			return false
		}
	}
	g.taken = append(g.taken, places...)
	return true
}

// read returns the good bytes of a place.
func (g *surgeon) read(p place) []byte {
	g.t.Helper()
	f, err := os.Open(g.path(p.file))
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, p.to-p.from)
	if _, err := f.ReadAt(b, p.from); err != nil {
		g.t.Fatal(err)
	}
	return b
}

// overwrite is a wound that puts other bytes into a place. It is none when the
// bytes are the same.
func (g *surgeon) overwrite(p place, other []byte, accused ...place) (wound, bool) {
	good := g.read(p)
	if bytes.Equal(good, other) {
		return wound{}, false
	}
	return wound{
		at:     accused,
		strike: func() error { return g.write(g.path(p.file), p.from, other) },
		undo:   func() error { return g.write(g.path(p.file), p.from, good) },
	}, true
}

// wholeFile is a place that every finding of the file touches.
func wholeFile(file string) place { return place{file, 0, 1 << 62} }

// spread changes a place within an area of a file.
type spread func(g *surgeon, area place) (place, []byte)

func oneBit(g *surgeon, area place) (place, []byte) {
	at := area.from + g.choose.Int64N(area.to-area.from)
	p := place{area.file, at, at + 1}
	return p, []byte{g.read(p)[0] ^ 1<<g.choose.IntN(8)}
}

func oneByte(g *surgeon, area place) (place, []byte) {
	at := area.from + g.choose.Int64N(area.to-area.from)
	p := place{area.file, at, at + 1}
	return p, []byte{g.read(p)[0] + byte(1+g.choose.IntN(255))}
}

// zeros clears the aligned block that a byte of the area lies in, as far as the
// file goes.
func zeros(block int64) spread {
	return func(g *surgeon, area place) (place, []byte) {
		at := area.from + g.choose.Int64N(area.to-area.from)
		at -= at % block
		p := place{area.file, at, min(at+block, g.size(area.file))}
		return p, make([]byte, p.to-p.from)
	}
}

func (g *surgeon) size(file string) int64 {
	g.t.Helper()
	info, err := os.Stat(g.path(file))
	if err != nil {
		g.t.Fatal(err)
	}
	return info.Size()
}

// part is a piece of a record.
type part func(r storedRecord) place

func headPart(r storedRecord) place    { return place{r.file, r.from, r.meta} }
func metaPart(r storedRecord) place    { return place{r.file, r.meta, r.body} }
func bodyPart(r storedRecord) place    { return place{r.file, r.body, r.end} }
func paddingPart(r storedRecord) place { return place{r.file, r.end, r.to} }

// record chooses a record of any segment.
func (g *surgeon) record() (s *storedSegment, i int) {
	for {
		s = &g.segments[g.choose.IntN(len(g.segments))]
		if len(s.records) > 0 {
			return s, g.choose.IntN(len(s.records))
		}
	}
}

// inRecord wounds a part of a record.
func inRecord(of part, change spread) func(*surgeon) (wound, bool) {
	return func(g *surgeon) (wound, bool) {
		s, i := g.record()
		area := of(s.records[i])
		if area.from == area.to {
			return wound{}, false
		}
		p, other := change(g, area)
		if end := s.records[len(s.records)-1].to; p.to > end { // what is stored there meanwhile is not undone
			p.to, other = end, other[:end-p.from]
		}
		hurt, around := s.around(p)
		if !g.take(around) {
			return wound{}, false
		}
		return g.overwrite(p, other, hurt)
	}
}

// around tells which records a place touches, as one place, and the same with
// the record before and the one behind.
func (s *storedSegment) around(p place) (hurt, wide place) {
	first := slices.IndexFunc(s.records, p.touchesRecord)
	last := first
	for last+1 < len(s.records) && s.records[last+1].touches(p) {
		last++
	}
	hurt = place{p.file, s.records[first].from, s.records[last].to}
	wide = place{p.file, s.records[max(first-1, 0)].from, s.records[min(last+1, len(s.records)-1)].to}
	if first == 0 && p.from < s.head {
		hurt.from = 0
	}
	return hurt, wide
}

func (p place) touchesRecord(r storedRecord) bool { return p.touches(r.place) }

// swapRecords exchanges a record and the next.
func swapRecords(g *surgeon) (wound, bool) {
	s, i := g.record()
	if i+1 == len(s.records) {
		return wound{}, false
	}
	both := place{s.file, s.records[i].from, s.records[i+1].to}
	_, around := s.around(both)
	if !g.take(around) {
		return wound{}, false
	}
	return g.overwrite(both, append(g.read(s.records[i+1].place), g.read(s.records[i].place)...), both)
}

// misplaceRecord puts a record in the place of another of the same length, as a
// misdirected write does.
func misplaceRecord(g *surgeon) (wound, bool) {
	s, i := g.record()
	r := s.records[i].place
	for _, other := range s.records {
		if other.from != r.from && other.to-other.from == r.to-r.from {
			_, around := s.around(r)
			if !g.take(around) {
				return wound{}, false
			}
			return g.overwrite(r, g.read(other.place), r)
		}
	}
	return wound{}, false
}

// inSegmentHeader wounds the header of a segment. The first record counts as
// hurt with it.
func inSegmentHeader(change spread) func(*surgeon) (wound, bool) {
	return func(g *surgeon) (wound, bool) {
		s, _ := g.record()
		p, other := change(g, place{s.file, 0, s.head})
		hurt, around := s.around(place{s.file, p.from, s.head + 1})
		if !g.take(around) {
			return wound{}, false
		}
		return g.overwrite(p, other, place{s.file, 0, hurt.to})
	}
}

// blob chooses a blob that nothing has hurt in this round.
func (g *surgeon) blob() (b storedBlob, whole place, free bool) {
	b = g.blobs[g.choose.IntN(len(g.blobs))]
	whole = wholeFile(b.file)
	return b, whole, g.take(whole)
}

type blobPart func(b storedBlob) place

func blobBody(b storedBlob) place    { return place{b.file, 0, b.body} }
func blobFooter(b storedBlob) place  { return place{b.file, b.body, b.size - blobTrailerBytes} }
func blobTrailer(b storedBlob) place { return place{b.file, b.size - blobTrailerBytes, b.size} }

func inBlob(of blobPart, change spread) func(*surgeon) (wound, bool) {
	return func(g *surgeon) (wound, bool) {
		b, whole, free := g.blob()
		if !free {
			return wound{}, false
		}
		p, other := change(g, of(b))
		return g.overwrite(p, other, whole)
	}
}
