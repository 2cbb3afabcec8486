package store

import (
	"context"

	"larder/store/vfs"
)

// OpenOn is Open with something between the store and its file systems.
func OpenOn(ctx context.Context, cfg Config, over func(vfs.FS) vfs.FS) (*Store, error) {
	return openOn(ctx, cfg, over)
}

// VerifyIndex checks every row of the index.
func (s *Store) VerifyIndex(ctx context.Context) error { return s.index.Verify(ctx) }

// JoinChecksums is joinChecksums.
func JoinChecksums(a Algorithm, parts []Part) ([]byte, bool) { return joinChecksums(a, parts) }

// CachedRows is how many rows the cache holds.
func (s *Store) CachedRows() int {
	s.rows.mu.Lock()
	defer s.rows.mu.Unlock()
	return s.rows.order.Len()
}
