package store

import (
	"context"
	"io"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// piece is one extent and where its body lies.
type piece struct {
	extent journal.Extent
	body   index.Body
}

// resolve finds the current version of a key and where its bytes are. A version
// that is replaced between the look-up of its row and that of its bodies is
// looked up again.
func (s *Store) resolve(bucket, key string) (*entry, []piece, error) {
	b, e, err := s.find(bucket, key)
	for err == nil {
		var pieces []piece
		pieces, err = s.pieces(e)
		if err != nil || pieces != nil {
			return e, pieces, err
		}
		e, err = s.successor(b, key, e)
	}
	return nil, nil, err
}

// successor finds what took the place of a version whose body is gone. It asks
// the index, which a batch alters before the row cache.
func (s *Store) successor(b Bucket, key string, gone *entry) (*entry, error) {
	e, _, err := s.readCurrent(b.ID, key)
	switch {
	case err != nil:
		return nil, err
	case e == nil:
		return nil, noSuchKey(b.Name, key)
	case e.row.Sequence == gone.row.Sequence:
		s.RebuildLater()
		return nil, fault.New("store.Get", fault.Corrupt, b.Name+"/"+key, nil).
			WithHint("The index does not know where this object's bytes are.")
	}
	return e, nil
}

// pieces finds where a version's bytes lie, or nil when a body is not there
// (any more). Nobody alters what it returns.
func (s *Store) pieces(e *entry) ([]piece, error) {
	if p := e.pieces.Load(); p != nil {
		return *p, nil
	}
	moves := s.rows.moved()
	pieces, err := s.findPieces(e.extents())
	if err != nil || pieces == nil {
		return nil, err
	}
	s.rows.keep(e, pieces, moves)
	return pieces, nil
}

// findPieces asks for one body at a time, each once. It returns nil when one is
// missing: the version was replaced meanwhile.
func (s *Store) findPieces(extents []journal.Extent) ([]piece, error) {
	known := make(map[uint64]index.Body, len(extents))
	pieces := make([]piece, len(extents))
	for i, e := range extents {
		b, ok := known[e.Body]
		if !ok {
			var err error
			if b, ok, err = s.index.Body(e.Body); err != nil || !ok {
				return nil, err
			}
			known[e.Body] = b
		}
		pieces[i] = piece{e, b}
	}
	return pieces, nil
}

// copyPiece writes a range of a piece's extent. trust spares blobs their
// verification.
func (s *Store) copyPiece(ctx context.Context, w io.Writer, p piece, r span, trust bool) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fault.New("store.Get", fault.Canceled, "", err)
	}
	r.off += p.extent.Offset
	if r.off+r.n > p.body.BodyLength {
		return 0, fault.New("store.Get", fault.Corrupt, "", io.ErrUnexpectedEOF)
	}
	if p.body.Blob != "" {
		return s.copyBlob(ctx, w, p.body, r, trust)
	}
	buf := windows.Get().(*[]byte)
	defer windows.Put(buf)
	body, err := s.journal.ReadBody(locationOf(p.body), *buf)
	if err != nil {
		return 0, err
	}
	return writeTo(w, body[r.off:r.off+r.n])
}

func locationOf(b index.Body) journal.Location {
	return journal.Location{
		Segment: b.Segment, Offset: b.Offset, Length: b.Length,
		BodyOffset: b.BodyOffset, BodyLength: b.BodyLength, Sequence: b.Sequence,
	}
}
