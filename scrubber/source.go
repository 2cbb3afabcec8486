package scrubber

import (
	"context"

	"larder/store"
)

// Source is a store as the scrubber sees it. *store.Store is one.
type Source interface {
	// Inspect verifies the next piece and says where to go on.
	Inspect(ctx context.Context, from store.Cursor, known []store.Defect) (store.Inspected, error)
	// Recheck looks at the place of a defect again, past the cache.
	Recheck(ctx context.Context, d store.Defect) (store.Recheck, error)
	// HealRow makes a row of the index again from its record, and tells whether
	// it could.
	HealRow(ctx context.Context, d store.Defect) (bool, error)
	// RebuildLater lets the index be made again from the journal at the next
	// start, which fails where the journal itself is damaged.
	RebuildLater()
	// InspectSize is about how many bytes there are to verify.
	InspectSize() int64
	Memory
}

// Memory keeps what a scrubber must remember over restarts.
type Memory interface {
	// SaveScrub replaces it, atomically and durably.
	SaveScrub(state []byte) error
	// LoadScrub returns it, nil when there is nothing.
	LoadScrub() ([]byte, error)
}

var _ Source = (*store.Store)(nil)
