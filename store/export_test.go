package store

import (
	"context"
	"sync/atomic"

	"larder/fault"
	"larder/store/vfs"
)

// OpenOn is Open with something between the store and its file systems.
func OpenOn(ctx context.Context, cfg Config, over func(vfs.FS) vfs.FS) (*Store, error) {
	g := solid()
	g.disk = func(dir string) (vfs.FS, error) {
		f, err := vfs.OS(dir)
		if err != nil {
			return nil, err
		}
		return over(f), nil
	}
	return openOn(ctx, cfg, g)
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

// Dirs are the data folder and the folder that holds blobs/.
func (s *Store) Dirs() (data, blobs string) { return s.cfg.Dir, s.cfg.BlobDir }

// KeepsOrphans tells whether this start removed no orphaned blobs.
func (s *Store) KeepsOrphans() bool { return s.rebuilt }

// AllowSmallParts lets uploads be completed whose parts are of any size. Call
// it before any change.
func (s *Store) AllowSmallParts() {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	s.minPart = 0
}

// FillIndex lets the index have no room while full is set.
func (s *Store) FillIndex(full *atomic.Bool) { s.LimitIndex(full.Load) }

// LimitIndex lets the index have no room while full says so.
func (s *Store) LimitIndex(full func() bool) {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	begin := s.committer.begin
	s.committer.begin = func() (viewTx, error) {
		if full() {
			return nil, fault.New("index.Begin", fault.NoSpace, "", nil)
		}
		return begin()
	}
}

// CacheWeight is about how many bytes the row cache takes.
func (s *Store) CacheWeight() int {
	s.rows.mu.Lock()
	defer s.rows.mu.Unlock()
	return s.rows.weight
}

// Remember returns a function that puts the row which the cache has now back
// into it: what a reader finds there while a batch is in the index and not yet
// in the cache.
func (s *Store) Remember(bucket, key string) (putBack func(), err error) {
	_, e, err := s.find(bucket, key)
	return func() {
		s.rows.mu.Lock()
		defer s.rows.mu.Unlock()
		s.rows.store(e)
	}, err
}
