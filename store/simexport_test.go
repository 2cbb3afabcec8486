package store

import (
	"context"
	"slices"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
	"larder/store/vfs"
)

// View and ViewTx are what a store asks of its index.
type (
	View   = view
	ViewTx = viewTx
)

// Ground is what a simulated store stands on.
type Ground struct {
	Disk  func(dir string) (vfs.FS, error)
	Index func(context.Context, index.Config) (View, error)
}

// OpenOnGround is Open on a ground of the test's own.
func OpenOnGround(ctx context.Context, cfg Config, g Ground) (*Store, error) {
	return openOn(ctx, cfg, ground{disk: g.Disk, index: g.Index})
}

// OpenSQLView opens the view that every store but the simulated ones has.
func OpenSQLView(ctx context.Context, cfg index.Config) (View, error) { return openSQLView(ctx, cfg) }

// Hold keeps the committer busy, without a record, until release: what is
// submitted meanwhile comes into one batch.
func (s *Store) Hold() (release func(), err error) {
	gate := make(chan struct{})
	ch := &change{prepare: func() (*journal.Record, error) {
		<-gate
		return nil, nil
	}}
	if err := s.committer.accept(ch); err != nil {
		return nil, err
	}
	return func() { close(gate) }, nil
}

// VerifyBody reads a whole body past the row cache and verifies it.
func (s *Store) VerifyBody(b index.Body) error {
	if b.Blob == "" {
		_, err := s.journal.ReadBody(locationOf(b), nil)
		return err
	}
	body, err := s.blobs.Open(b.Blob)
	if err != nil {
		return err
	}
	defer body.Close()
	if body.Size() != b.BodyLength {
		return fault.New("sim", fault.Corrupt, b.Blob, nil)
	}
	return body.VerifySums()
}

// SyncedTo is the last record of the journal.
func (s *Store) SyncedTo() uint64 { return s.journal.Position().Sequence }

// CompactNewest rewrites the newest sealed segment that holds records, alone.
func (s *Store) CompactNewest(ctx context.Context) error {
	<-s.compactor.begun
	for _, seg := range slices.Backward(s.journal.Segments()) {
		if !seg.Head && seg.Last >= seg.First {
			return s.compactor.compact(ctx, []journal.Segment{seg}, false)
		}
	}
	return nil
}

// OSDisk is the disk of every store but the simulated ones.
func OSDisk(dir string) (vfs.FS, error) { return vfs.OS(dir) }
