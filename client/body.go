package client

import (
	"hash/crc32"
	"io"
	"slices"

	"larder/fault"
	"larder/native/wire"
)

const (
	// firstPiece of a body goes with the request, so that a small body is one
	// write.
	firstPiece = 64 << 10
	// piecesAhead of a stream wait to be written: one is written while the next
	// is read.
	piecesAhead = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// body is what a Put sends, and how far it has come.
type body struct {
	from   io.Reader // nil: nothing
	size   int64     // as it was promised; -1: not known
	length int64     // bytes read so far
	crc    uint32    // of them
	whole  bool      // all has been read
	moved  bool      // bytes behind the first piece have been read

	seeker io.Seeker // nil: what was read cannot be read again
	start  int64     // where the body begins in it
}

// newBody prepares a reader; a size of 0 stands for one that the caller does
// not know, which readers of known lengths tell.
func newBody(from io.Reader, size int64) body {
	b := body{from: from, size: size}
	if size <= 0 {
		b.size = -1
		if from == nil {
			b.size = 0
		} else if known, ok := from.(interface{ Len() int }); ok {
			b.size = int64(known.Len())
		}
	}
	if seeker, ok := from.(io.Seeker); ok {
		if at, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			b.seeker, b.start = seeker, at
		}
	}
	return b
}

// fill reads as much of the body as there is room for. At the body's end it
// compares the length with the one that was promised.
func (b *body) fill(p []byte) (n int, err error) {
	for n < len(p) && b.from != nil && err == nil {
		var some int
		some, err = b.from.Read(p[n:])
		n += some
	}
	if err != nil && err != io.EOF {
		return n, err
	}
	b.crc = crc32.Update(b.crc, castagnoli, p[:n])
	b.length += int64(n)
	b.whole = b.from == nil || err == io.EOF
	if b.size >= 0 && (b.length > b.size || b.whole && b.length < b.size) {
		return n, fault.New("client.Put", fault.IncompleteBody, "", nil).
			WithHint("The body is not as long as its size says.")
	}
	return n, nil
}

// again makes the body ready to be sent once more, if it can be.
func (b *body) again() bool {
	if !b.moved {
		return true // the parcel holds all that was read
	}
	if b.seeker == nil {
		return false
	}
	if _, err := b.seeker.Seek(b.start, io.SeekStart); err != nil {
		return false
	}
	b.length, b.crc, b.whole, b.moved = 0, 0, false, false
	return true
}

func (b *body) trailer() wire.Trailer {
	return wire.Trailer{Length: b.length, CRC: b.crc, HasCRC: true}
}

// fill puts the first piece of a body behind the request, and the END where
// that is all of it.
func (p *parcel) fill(b *body) error {
	p.data = len(p.frames)
	room := firstPiece + 1 // one more, to meet the end behind it
	if b.size >= 0 {
		room = int(min(b.size, firstPiece)) + 1
	}
	p.frames = slices.Grow(p.frames, wire.HeaderSize+room+maxEnd)
	at := p.data + wire.HeaderSize
	n, err := b.fill(p.frames[at : at+room])
	if err != nil {
		return err
	}
	if p.body = n; n > 0 {
		p.frames = wire.Header{Type: wire.TypeData, Length: uint32(n)}.Append(p.frames)
		p.frames = p.frames[:len(p.frames)+n]
	} else {
		p.data = 0
	}
	if p.complete = b.whole; b.whole {
		p.end = len(p.frames)
		p.frames = b.trailer().Append(p.frames, 0)
	}
	return nil
}
