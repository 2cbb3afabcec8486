package e2e_test

import (
	"os"
	"path/filepath"
)

// woundKind is a way to damage data. make fails when the place chosen does not
// lend itself to it.
type woundKind struct {
	name string
	make func(*surgeon) (wound, bool)
}

// dataWounds are the ways to damage segments and blobs. Those that need a whole
// segment come first, while there is one.
func dataWounds() []woundKind {
	return []woundKind{
		{"segment truncated by 1", truncateSegment},
		{"segment extended by 1", extendSegment},
		{"segment deleted", deleteSegment},
		{"record body, 1 bit", inRecord(bodyPart, oneBit)},
		{"record body, 1 byte", inRecord(bodyPart, oneByte)},
		{"record header, 1 bit", inRecord(headPart, oneBit)},
		{"record header, 1 byte", inRecord(headPart, oneByte)},
		{"record meta, 1 bit", inRecord(metaPart, oneBit)},
		{"record meta, 1 byte", inRecord(metaPart, oneByte)},
		{"record padding, 1 bit", inRecord(paddingPart, oneBit)},
		{"segment, 512 B zeroed", inRecord(bodyPart, zeros(512))},
		{"segment, 4 KiB zeroed", inRecord(bodyPart, zeros(4096))},
		{"segment header, 1 bit", inSegmentHeader(oneBit)},
		{"records swapped", swapRecords},
		{"record over another", misplaceRecord},
		{"blob body, 1 bit", inBlob(blobBody, oneBit)},
		{"blob body, 1 byte", inBlob(blobBody, oneByte)},
		{"blob, 512 B zeroed", inBlob(blobBody, zeros(512))},
		{"blob, 4 KiB zeroed", inBlob(blobBody, zeros(4096))},
		{"blob footer, 1 bit", inBlob(blobFooter, oneBit)},
		{"blob trailer, 1 bit", inBlob(blobTrailer, oneBit)},
		{"blob trailer, 1 byte", inBlob(blobTrailer, oneByte)},
		{"blob truncated by 1", truncateBlob},
		{"blob extended by 1", extendBlob},
		{"blobs swapped", swapBlobs},
		{"blobs' contents swapped", swapContents},
		{"stale blob put back", staleBlob},
		{"blob deleted", deleteBlob},
	}
}

// sealed chooses a segment that has been sealed, and claims all of it.
func (g *surgeon) sealed() (s *storedSegment, whole place, free bool) {
	if len(g.segments) < 2 {
		return nil, place{}, false
	}
	s = &g.segments[g.choose.IntN(len(g.segments)-1)]
	whole = wholeFile(s.file)
	return s, whole, len(s.records) > 0 && g.take(whole)
}

// end is the last record of a segment and what may stand behind it.
func (s *storedSegment) end() place {
	return place{s.file, s.records[len(s.records)-1].from, s.size + 1}
}

func truncateSegment(g *surgeon) (wound, bool) {
	s, _, free := g.sealed()
	if !free {
		return wound{}, false
	}
	return g.cutOff(s.file, s.size, s.end()), true
}

func truncateBlob(g *surgeon) (wound, bool) {
	b, whole, free := g.blob()
	if !free {
		return wound{}, false
	}
	return g.cutOff(b.file, b.size, whole), true
}

func (g *surgeon) cutOff(file string, size int64, accused place) wound {
	last := g.read(place{file, size - 1, size})
	return wound{
		at:     []place{accused},
		strike: func() error { return os.Truncate(g.path(file), size-1) },
		undo:   func() error { return writeThrough(g.path(file), size-1, last) },
	}
}

func extendSegment(g *surgeon) (wound, bool) {
	s, _, free := g.sealed()
	if !free {
		return wound{}, false
	}
	return g.append(s.file, s.size, s.end()), true
}

func extendBlob(g *surgeon) (wound, bool) {
	b, whole, free := g.blob()
	if !free {
		return wound{}, false
	}
	return g.append(b.file, b.size, whole), true
}

// append adds a byte that is not zero: zeros behind the last record of a
// segment are none of its content.
func (g *surgeon) append(file string, size int64, accused place) wound {
	return wound{
		at:     []place{accused},
		strike: func() error { return writeThrough(g.path(file), size, []byte{byte(1 + g.choose.IntN(255))}) },
		undo:   func() error { return os.Truncate(g.path(file), size) },
	}
}

func deleteSegment(g *surgeon) (wound, bool) {
	s, whole, free := g.sealed()
	if !free {
		return wound{}, false
	}
	return g.takeAway(s.file, whole), true
}

func deleteBlob(g *surgeon) (wound, bool) {
	b, whole, free := g.blob()
	if !free {
		return wound{}, false
	}
	return g.takeAway(b.file, whole), true
}

func (g *surgeon) takeAway(file string, accused place) wound {
	aside := filepath.Join(g.aside, filepath.Base(file))
	return wound{
		at:     []place{accused},
		strike: func() error { return os.Rename(g.path(file), aside) },
		undo:   func() error { return os.Rename(aside, g.path(file)) },
	}
}

func swapBlobs(g *surgeon) (wound, bool) {
	a, wholeA, freeA := g.blob()
	b, wholeB, freeB := g.blob()
	if !freeA || !freeB {
		return wound{}, false
	}
	aside := filepath.Join(g.aside, filepath.Base(a.file))
	swap := func() error {
		for _, move := range [][2]string{{g.path(a.file), aside}, {g.path(b.file), g.path(a.file)}, {aside, g.path(b.file)}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				return err
			}
		}
		return nil
	}
	return wound{at: []place{wholeA, wholeB}, strike: swap, undo: swap}, true
}

// swapContents exchanges the blocks of two blobs of one length.
func swapContents(g *surgeon) (wound, bool) {
	a, wholeA, free := g.blob()
	if !free {
		return wound{}, false
	}
	for _, b := range g.blobs {
		wholeB := wholeFile(b.file)
		if b.size != a.size || b.file == a.file || !g.take(wholeB) {
			continue
		}
		first, _ := g.overwrite(place{a.file, 0, a.size}, g.read(place{b.file, 0, b.size}))
		second, _ := g.overwrite(place{b.file, 0, b.size}, g.read(place{a.file, 0, a.size}))
		return wound{
			at:     []place{wholeA, wholeB},
			strike: func() error { return inTurn(first.strike, second.strike) },
			undo:   func() error { return inTurn(first.undo, second.undo) },
		}, true
	}
	return wound{}, false
}

func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// staleBlob puts an older file of the store in the place of a blob.
func staleBlob(g *surgeon) (wound, bool) {
	b, whole, free := g.blob()
	if !free {
		return wound{}, false
	}
	away := g.takeAway(b.file, whole)
	away.strike = func() error {
		return inTurn(
			func() error { return os.Rename(g.path(b.file), filepath.Join(g.aside, filepath.Base(b.file))) },
			func() error { return os.WriteFile(g.path(b.file), g.stale, 0o600) },
		)
	}
	return away, true
}
