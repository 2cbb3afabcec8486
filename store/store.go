// Package store keeps buckets, objects and multipart uploads in one data
// folder: a journal of self-describing records is the truth, large bodies lie
// in blob files of their own, and a SQLite index is a view that can always be
// made again from both.
//
// Every change goes through one committer. When a method that changes
// something returns without an error, the change is on stable storage and
// visible to every later read. The package knows no identities: package gate
// stands before it.
package store

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"larder/fault"
	"larder/store/blob"
	"larder/store/journal"
	"larder/store/vfs"
)

// Store is safe for concurrent use. It owns its data folder from Open to
// Close.
type Store struct {
	cfg    Config
	log    *slog.Logger
	ground ground
	fs     vfs.FS // of the data folder
	blobFS vfs.FS // of the folder that holds blobs/
	lock   io.Closer
	id     [16]byte // from VERSION; fixed once the folder is open

	journal *journal.Journal
	blobs   *blob.Store
	index   view

	buckets   *bucketTable // by name; written by the committer only
	rows      *rowCache    // decoded rows; filled by readers, corrected by the committer
	history   *history     // the last changes, for watchers; written by the committer only
	scrub     scrubFiles   // what the scrubber keeps open
	notes     indexNotes
	sound     soundness
	committer *committer
	reclaimer *reclaimer
	compactor *compactor
	expiry    *expiry

	minPart  int64                       // MinPartBytes, but for tests
	reserved bool                        // index.reserve is there; the committer's
	rebuilt  bool                        // the index was made again at this start
	readOnly atomic.Pointer[fault.Error] // set once, never cleared
	full     fullness
	closing  sync.Once
	closed   atomic.Bool // nothing is read or written any more
}

func (c *Config) setDefaults() {
	if c.BlobDir == "" {
		c.BlobDir = c.Dir
	}
	if c.InlineLimit <= 0 {
		c.InlineLimit = 128 << 10
	}
	c.InlineLimit = min(c.InlineLimit, journal.MaxBody)
	if c.SegmentSize == 0 {
		c.SegmentSize = 64 << 20
	}
	if c.CacheRows == 0 {
		c.CacheRows = 20_000
	}
	if c.CompactRate == 0 {
		c.CompactRate = 50_000_000
	}
	if c.UploadExpiry == 0 {
		c.UploadExpiry = 7 * 24 * time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Open opens the store in cfg.Dir, or makes a new one where the folder is
// empty. It replays what the index has not seen of the journal, so its cost
// grows with what was in flight, not with what is stored; only a lost or
// damaged index costs a walk over all records.
//
// Errors: fault.Locked when another process holds the folder,
// fault.ForeignStore when its parts do not belong together,
// fault.NewerFormat, fault.IndexAhead, and fault.Corrupt when a record before
// the journal's tail is broken. None of them changes anything on the disk.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	return openOn(ctx, cfg, solid())
}

// openOn is Open on the ground given.
func openOn(ctx context.Context, cfg Config, g ground) (*Store, error) {
	cfg.setDefaults()
	s := &Store{
		ground:  g,
		cfg:     cfg,
		log:     cfg.Log,
		buckets: newBucketTable(),
		rows:    newRowCache(cfg.CacheRows),
		minPart: MinPartBytes,
	}
	err := s.open(ctx)
	if fault.CodeOf(err) == fault.NoSpace && s.fs != nil && s.spendReserve() {
		s.closeFiles()
		s.index, s.journal, s.lock = nil, nil, nil
		err = s.open(ctx)
	}
	if err != nil {
		s.closeFiles()
		return nil, err
	}
	s.keepReserve()
	s.history = newHistory(s.journal.Position().Sequence)
	s.committer = newCommitter(s)
	s.reclaimer = newReclaimer(s)
	s.compactor = newCompactor(s)
	s.expiry = newExpiry(s)
	go s.committer.run()
	go s.reclaimer.run()
	go s.compactor.run()
	go s.expiry.run()
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	id, err := s.openFolder()
	if err != nil {
		return err
	}
	s.id = id
	s.blobs, err = blob.Open(blob.Config{FS: s.blobFS, StoreID: id, Log: s.log})
	if err != nil {
		return err
	}
	copied, lost := s.indexWasCopied(), s.logWasLost()
	if !copied {
		s.markIndex()
	}
	err = s.openView(ctx, id)
	if why := s.whyAnew(err, copied, lost); why != "" {
		s.log.Warn("index.db is made again from the journal: "+why, "error", err)
		if err := s.dropView(); err != nil {
			return err
		}
		err = s.openView(ctx, id)
	}
	if copied {
		err = s.judgeCopy(ctx, err)
	}
	if err != nil {
		return err
	}
	s.markIndex()
	s.noteLog()
	return s.blobs.Begin(s.journal.Position().Sequence, s.rebuilt)
}

// whyAnew says why the index must be made again, or nothing. err is that of
// openView. An index that is ahead of the journal stays, and stops the start:
// what it names beyond the journal is missing, which nobody may hide.
func (s *Store) whyAnew(err error, copied, lost bool) string {
	switch code := fault.CodeOf(err); {
	case code == fault.IndexAhead:
		return ""
	case code == fault.IndexStale:
		return "it is older than a compaction of the journal"
	case copied:
		return "it was copied while Larder ran"
	case lost && (err == nil || code == fault.Corrupt):
		return "its log is missing"
	case err != nil && s.index != nil && s.index.Damaged():
		return "it is damaged"
	}
	return ""
}

// openView opens the index and the journal, brings the one up to date from the
// other, and loads the buckets.
func (s *Store) openView(ctx context.Context, id [16]byte) error {
	if err := s.openIndex(ctx, id); err != nil {
		return err
	}
	if err := s.checkNotes(); err != nil {
		return err
	}
	if err := s.replay(ctx, id); err != nil {
		return err
	}
	return s.loadBuckets()
}

// dropView closes what openView has opened, and removes the index.
func (s *Store) dropView() error {
	if s.index != nil {
		s.index.Close() // a view of nothing that is worth keeping
		s.index = nil
	}
	if s.journal != nil {
		if err := s.journal.Close(); err != nil {
			return err
		}
		s.journal = nil
	}
	return s.removeIndex()
}

// Close finishes the changes that were accepted, refuses whatever comes later
// with fault.Unavailable, and closes the files. It may be called more than once.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		s.expiry.close()
		s.compactor.close()
		s.committer.close()
		s.closed.Store(true)
		s.history.close()
		s.reclaimer.close()
		err = s.closeFiles()
	})
	return err
}

func shuttingDown() error {
	return fault.New("store", fault.Unavailable, "", nil).WithHint("Larder is shutting down.")
}

// closeFiles closes what is open and returns the first error. Nothing that was
// acknowledged depends on it.
func (s *Store) closeFiles() error {
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	if s.index != nil {
		s.noteFloor()
		s.forgetLog()
		keep(s.index.Close())
		if s.index.Damaged() {
			s.log.Warn("a damaged row was found: the next start makes index.db again from the journal")
			keep(s.removeIndex())
		}
		s.scrub.close()
		if s.committer != nil {
			s.unmarkIndex()
		}
	}
	if s.journal != nil {
		keep(s.journal.Close())
	}
	if s.lock != nil {
		keep(s.lock.Close())
	}
	return first
}

// fail makes the store read-only for the rest of its life. A failed sync is
// final: the kernel may have dropped what it could not write, and a later sync
// that succeeds says nothing about it.
func (s *Store) fail(cause error) {
	f := fault.New("store", fault.ReadOnly, "", cause).
		WithHint(failHint(cause))
	if s.readOnly.CompareAndSwap(nil, f) {
		s.log.Error("the store is read-only until a restart", "error", cause)
	}
}

// writable tells whether changes are taken.
func (s *Store) writable() error {
	if f := s.readOnly.Load(); f != nil {
		return f
	}
	return nil
}

// Stats gives the store's numbers. It runs no query.
func (s *Store) Stats() Stats {
	st := Stats{Sequence: s.journal.Position().Sequence}
	for _, b := range s.buckets.all() {
		st.Buckets++
		st.Objects += b.Objects
		st.Bytes += b.Bytes
	}
	s.compactor.stats(&st)
	if space, err := s.fs.Space(); err == nil {
		st.FreeBytes, st.TotalBytes = int64(space.Free), int64(space.Total)
	}
	if f := s.readOnly.Load(); f != nil {
		st.ReadOnly = f.Hint
	} else {
		st.ReadOnly = s.mountedReadOnly()
	}
	st.Full = s.lacksRoom()
	return st
}
