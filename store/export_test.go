package store

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
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

// Sweepable tells whether a sweep may remove a blob that no record names.
func (s *Store) Sweepable(id string) bool { return s.blobs.Sweepable(id) }

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

// CheckpointIndex moves the index's log into it.
func (s *Store) CheckpointIndex() error { return s.checkpointIndex(index.Passive) }

// CompactNow rewrites all sealed segments, each by itself, whether that is worth
// it or not. Call Settle for what follows from it.
func (s *Store) CompactNow(ctx context.Context) error { return s.CompactRuns(ctx, 1) }

// CompactRuns is CompactNow by runs of up to n segments.
func (s *Store) CompactRuns(ctx context.Context, n int) error {
	for at, sealed := 0, s.Sealed(); at < len(sealed); at += n {
		if err := s.compactor.compact(ctx, sealed[at:min(at+n, len(sealed))], false); err != nil {
			return err
		}
	}
	return nil
}

// CompactAt is CompactNow for the i-th sealed segment.
func (s *Store) CompactAt(ctx context.Context, i int) error {
	return s.compactor.compact(ctx, s.Sealed()[i:i+1], false)
}

// Sealed are the segments that may be compacted, in the order of their records.
func (s *Store) Sealed() []journal.Segment {
	<-s.compactor.begun
	applied := s.index.Applied().Sequence
	return slices.DeleteFunc(s.journal.Segments(), func(g journal.Segment) bool { return g.Head || g.Last < g.First || g.Last > applied })
}

// BeforeIndex calls f before every transaction of the committer.
func (s *Store) BeforeIndex(f func()) {
	s.LimitIndex(func() bool { f(); return false })
}

// LookForOldUploads lets the expiry look now, as if the process had run for up.
func (s *Store) LookForOldUploads(up time.Duration) {
	x := *s.expiry
	x.up = func() time.Duration { return up }
	x.look(s.cfg.UploadExpiry)
}

// Settle waits until what the last run of the process left is settled and the
// reclaimer has nothing to do.
func (s *Store) Settle() {
	<-s.compactor.begun
	r := s.reclaimer
	for {
		r.mu.Lock()
		idle := !r.busy && (len(r.freed) == 0 || r.pinnedBefore(r.freed[0].clock))
		r.mu.Unlock()
		if idle {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// CountSealed counts the records of a kind in sealed segments that name a bucket.
func (s *Store) CountSealed(t testing.TB, kind journal.Kind, bucket string) (n int) {
	t.Helper()
	for _, seg := range s.Sealed() {
		_, err := s.journal.Scan(t.Context(), seg.Number, 0, func(sc journal.Scanned) error {
			if sc.Damage != nil {
				t.Error(sc.Damage)
			} else if sc.Record.Kind == kind && sc.Record.BucketName == bucket {
				n++
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	return n
}

// Segments are the journal's.
func (s *Store) Segments() []journal.Segment { return s.journal.Segments() }

// AfterApplied calls f once, after the next time that somebody asks how far the
// index is. The store is idle meanwhile.
func (s *Store) AfterApplied(f func()) { s.index = &askedView{s.index, f} }

type askedView struct {
	view
	then func()
}

func (v *askedView) Applied() index.Position {
	at := v.view.Applied()
	if f := v.then; f != nil {
		v.then = nil
		f()
	}
	return at
}
