package store

import (
	"context"
	"sync"
	"time"

	"larder/fault"
)

// soundFor is how long an index that was found whole may be gone by.
const soundFor = time.Hour

// soundness remembers when the index was last held against itself.
type soundness struct {
	mu   sync.Mutex // held while it is
	last time.Time
}

// trustIndex fails with fault.Corrupt when rows of the index are missing or
// contradict one another, and lets the next start make it again. It is asked
// before anything is removed for good because the index does not name it: each
// row has a checksum, but a row that was lost has none.
func (s *Store) trustIndex(ctx context.Context) error {
	x, ok := s.index.(sqlView)
	if !ok {
		return nil // a simulated one loses no rows
	}
	s.sound.mu.Lock()
	defer s.sound.mu.Unlock()
	if now := s.cfg.Now(); s.sound.last.IsZero() || now.Sub(s.sound.last) > soundFor {
		if err := x.Sound(ctx, references); err != nil {
			if fault.CodeOf(err) == fault.Corrupt {
				s.log.Error("index.db contradicts itself; nothing is removed until the next start makes it again", "error", err)
			}
			return err
		}
		s.sound.last = now
	}
	return nil
}

// references are those that the row of a version or part has, see
// index.References.
func references(meta []byte, sequence uint64, size int64) (refs int64, own bool, err error) {
	r, err := decodeMeta(meta)
	if err != nil {
		return 0, false, err
	}
	return int64(len(extentsOf(r.Extents, sequence, size))), ownBody(r.Extents, size), nil
}
