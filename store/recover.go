package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

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
	cfg := index.Config{Path: filepath.Join(s.cfg.Dir, indexFile), StoreID: id, OnDamage: s.noteDamage, Log: s.log}
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
	s.dropNotes()
	return nil
}

// replay opens the journal and applies to the index what it has not seen, by
// the same function as the committer.
func (s *Store) replay(ctx context.Context, id [16]byte) error {
	from := s.index.Applied()
	known, err := s.index.Segments()
	if err != nil {
		return err
	}
	r := replayer{store: s, meter: s.newReplayMeter(from.Sequence == 0), known: known}
	j, err := journal.Open(ctx, journal.Config{
		FS: s.fs, StoreID: id, SegmentSize: s.cfg.SegmentSize, Log: s.log, Known: known, Enter: r.enter,
	}, journal.Position(from), r.take)
	if err == nil {
		s.journal = j
		err = r.finish()
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
	meter *replayMeter
	tx    viewTx
	apply *applier
	last  journal.Position
	open  int // records in tx
	count int

	known   []uint64 // segments, to the index before
	segment uint64   // the last one that the index was told of
}

func (r *replayer) begin() error {
	if r.tx != nil {
		return nil
	}
	tx, err := r.store.index.Begin()
	if err != nil {
		return err
	}
	r.tx, r.apply = tx, newApplier(tx)
	r.apply.replaying, r.apply.segment = true, r.segment
	return nil
}

// enter tells the index of a segment before its records, since it may have none:
// a compacted one that the index does not know counts as unfinished at the next
// start, also when this replay was cut off.
func (r *replayer) enter(segment uint64) error {
	if slices.Contains(r.known, segment) {
		return nil
	}
	if err := r.begin(); err != nil {
		return err
	}
	r.apply.segment = segment
	return r.tx.AddSegment(segment)
}

func (r *replayer) take(rec *journal.Record, loc journal.Location) error {
	if err := r.begin(); err != nil {
		return err
	}
	if lost := rec.Kind == journal.Delete && vfs.Sabotaged(vfs.SkipTombstone); !lost {
		if err := r.apply.record(rec, loc); err != nil {
			return err
		}
	}
	r.last = journal.Position{Sequence: rec.Sequence, Segment: loc.Segment, Offset: loc.Offset + loc.Length}
	r.meter.step(loc.Length)
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
	if r.last != (journal.Position{}) {
		r.tx.SetApplied(index.Position(r.last))
	}
	if err := r.tx.Commit(); err != nil {
		return err
	}
	r.segment = r.apply.segment
	r.tx, r.apply, r.open = nil, nil, 0
	return r.store.checkpoint()
}

// finish commits what was replayed and then what follows from having seen it
// all: which segments count, how far the journal goes (its last records may have
// been dropped by compaction), and which bodies nothing refers to.
func (r *replayer) finish() error {
	if err := r.commit(); err != nil {
		return err
	}
	for {
		tx, err := r.store.index.Begin()
		if err != nil {
			return err
		}
		r.tx, r.apply = tx, newApplier(tx)
		changed, err := r.store.settleReplay(tx)
		if err != nil || !changed {
			r.rollback()
			return err
		}
		r.last = r.store.journal.Position()
		if err := r.commit(); err != nil {
			return err
		}
	}
}

// settleReplay does a part of finish, and tells whether there was anything to do.
func (s *Store) settleReplay(tx viewTx) (changed bool, err error) {
	known, err := s.index.Segments()
	if err != nil {
		return false, err
	}
	changed = s.index.Applied() != index.Position(s.journal.Position())
	for _, seg := range s.journal.Segments() {
		if slices.Contains(known, seg.Number) {
			continue
		}
		changed = true
		if err := tx.AddSegment(seg.Number); err != nil {
			return true, err
		}
	}
	dead, err := tx.Unreferenced(replayBatch)
	for _, sequence := range dead {
		if err == nil {
			err = tx.DeleteBody(sequence)
		}
	}
	return changed || len(dead) > 0, err
}

func (r *replayer) rollback() {
	if r.tx != nil {
		r.tx.Rollback()
		r.tx = nil
	}
}
