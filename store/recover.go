package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
	"larder/store/vfs"
)

// replayBatch is how many records one transaction takes in at replay: large
// enough that the commit does not count, small enough to bound memory.
const replayBatch = 1000

// openIndex opens the index. A damaged one is removed and made again by the
// replay that follows: it is only a view.
func (s *Store) openIndex(ctx context.Context, id [16]byte) error {
	cfg := index.Config{Path: filepath.Join(s.cfg.Dir, indexFile), StoreID: id, Log: s.log}
	if err := s.touchIndex(); err != nil {
		return err
	}
	x, err := s.ground.index(ctx, cfg)
	if fault.CodeOf(err) == fault.Corrupt {
		s.log.Warn("index.db is damaged and is made again from the journal", "error", err)
		if err := s.removeIndex(); err != nil {
			return err
		}
		if err := s.touchIndex(); err != nil {
			return err
		}
		x, err = s.ground.index(ctx, cfg)
	}
	s.index = x
	return err
}

// touchIndex makes a missing index an empty file for the owner alone: SQLite
// would let others read it.
func (s *Store) touchIndex() error {
	f, err := s.fs.Create(indexFile)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fault.New("store.Open", vfs.CodeOf(err), indexFile, err)
	}
	return nil
}

func (s *Store) removeIndex() error {
	for _, name := range []string{indexFile, indexFile + "-wal", indexFile + "-shm"} {
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New("store.Open", fault.Internal, name, err)
		}
	}
	return nil
}

// replay opens the journal and applies to the index what it has not seen, by
// the same function as the committer.
func (s *Store) replay(ctx context.Context, id [16]byte) error {
	r := replayer{store: s}
	from := s.index.Applied()
	j, err := journal.Open(ctx, journal.Config{
		FS: s.fs, StoreID: id, SegmentSize: s.cfg.SegmentSize, Log: s.log,
	}, journal.Position(from), r.take)
	if err == nil {
		s.journal = j
		err = r.commit()
	}
	if err != nil {
		r.rollback()
		return err
	}
	if j.Position().Sequence == 0 {
		// The first record of a store makes a bucket, long before the first blob.
		if err := s.refuseBlobs("The folder holds blobs, but the journal that names them is gone. Restore segments/ from a backup."); err != nil {
			return err
		}
	}
	s.rebuilt = from.Sequence == 0 && j.Position().Sequence > 0
	if r.count > 0 {
		s.log.Info("index brought up to date from the journal", "records", r.count)
	}
	return nil
}

// replayer applies records in transactions of replayBatch.
type replayer struct {
	store *Store
	tx    viewTx
	apply *applier
	last  journal.Position
	open  int // records in tx
	count int
}

func (r *replayer) take(rec *journal.Record, loc journal.Location) error {
	if r.tx == nil {
		tx, err := r.store.index.Begin()
		if err != nil {
			return err
		}
		r.tx, r.apply = tx, newApplier(tx)
	}
	if err := r.apply.record(rec, loc); err != nil {
		return err
	}
	r.last = journal.Position{Sequence: rec.Sequence, Segment: loc.Segment, Offset: loc.Offset + loc.Length}
	r.open++
	r.count++
	if r.open < replayBatch {
		return nil
	}
	return r.commit()
}

func (r *replayer) commit() error {
	if r.tx == nil {
		return nil
	}
	r.tx.SetApplied(index.Position(r.last))
	if err := r.tx.Commit(); err != nil {
		return err
	}
	r.tx, r.apply, r.open = nil, nil, 0
	return r.store.checkpoint()
}

func (r *replayer) rollback() {
	if r.tx != nil {
		r.tx.Rollback()
	}
}
