// Package index is the SQLite view over the journal: which version stands
// under each key, where the bytes of every body lie, the buckets with their
// counters, and the multipart uploads in progress.
//
// The journal is the truth. The index remembers how far it has applied the
// journal (Applied), a restart replays the rest, and a lost or damaged
// database is deleted and built anew. That is why a commit is atomic but not
// synced (WAL, synchronous=NORMAL): it may be lost with the power, together
// with its Applied, never torn.
//
// There is one writer (Tx), and there are a few read connections, each read
// of which is one short statement or one page. Reads see committed state only
// and leave no transaction open. Every row carries a CRC32C over all its
// columns; a row that does not fit is fault.Corrupt.
//
// The package knows nothing of the journal's records: metadata is opaque
// bytes, keys are bytes in byte order.
package index

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// The memory that SQLite may use for pages of each connection, and the size
// that the log file keeps when it is reused. All in KiB.
const (
	writerCache  = "16384"
	readerCache  = "4096"
	walKeptBytes = "4194304"
)

// minVersion is the oldest SQLite that is allowed, 3.54: up to 3.51.2 two
// connections could damage the database when the log was reset.
const minVersion = 3_054_000

// Config says which database to open. Path and StoreID are required.
type Config struct {
	Path    string   // of the database; SQLite keeps Path-wal and Path-shm beside it
	StoreID [16]byte // of the store that the index belongs to
	Readers int      // read connections, and so concurrent reads; 0 = 4
	Log     *slog.Logger

	// OnDamage is called once, by any goroutine, when damage is first met. It
	// must be quick and not call the index. nil: nobody is told.
	OnDamage func()
}

func (c *Config) setDefaults() {
	if c.Readers <= 0 {
		c.Readers = 4
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// Index is the view. Its reads may be called by any goroutine; they wait while
// all read connections are in use. Begin, Checkpoint and Close are for the one
// goroutine that writes.
type Index struct {
	path   string
	store  [16]byte
	format int
	log    *slog.Logger

	writing sync.Mutex // held by the open Tx, by Checkpoint and by Close
	writer  *conn      // guarded by writing

	readers chan *conn    // the idle ones
	closed  chan struct{} // closed by Close, under writing

	applied atomic.Pointer[Position] // of the last commit
	damaged atomic.Bool
	told    func() // of damage, nil = nobody
}

// Open opens the database, makes it when it is missing or empty, and brings an
// older format up to date. It reads a few pages, however large the database.
//
// fault.Corrupt means that the file is damaged: delete Files and open again,
// then replay everything. fault.ForeignStore and fault.NewerFormat mean that it
// belongs to another store, another program or a newer Larder: delete nothing.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	const op = "index.Open"
	cfg.setDefaults()
	if sqlite.VersionNumber < minVersion {
		return nil, fault.New(op, fault.Internal, sqlite.Version, errTooOld)
	}
	x := &Index{
		path: cfg.Path, store: cfg.StoreID, log: cfg.Log, told: cfg.OnDamage,
		readers: make(chan *conn, cfg.Readers), closed: make(chan struct{}),
	}
	if err := x.open(ctx, cfg.Readers); err != nil {
		x.closeAll()
		return nil, failure(op, cfg.Path, err)
	}
	return x, nil
}

func (x *Index) open(ctx context.Context, readers int) error {
	if err := x.openWriter(ctx); err != nil {
		return err
	}
	for range readers {
		c, err := connect(x.path, sqlite.OpenReadWrite, connPragmas(readerCache, "query_only = ON")...)
		if err != nil {
			return err
		}
		x.readers <- c
		if err := c.prepare(readStatements); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// openWriter opens the connection that writes, and checks and upgrades the
// database with it.
func (x *Index) openWriter(ctx context.Context) error {
	c, err := connect(x.path, sqlite.OpenReadWrite|sqlite.OpenCreate, connPragmas(writerCache)...)
	if err != nil {
		return err
	}
	x.writer = c
	c.db.SetInterrupt(ctx.Done())
	defer c.db.SetInterrupt(nil)
	if err := c.beginVacuumable(); err != nil {
		return err
	}
	mode, err := c.pragma("journal_mode = WAL")
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fault.New("index.Open", fault.Internal, x.path, errNotWAL)
	}
	st, err := c.migrate(x.store)
	if err != nil {
		return err
	}
	x.format = st.format
	x.applied.Store(&st.applied)
	if err := x.checkSize(c); err != nil {
		return err
	}
	return c.prepare(allStatements)
}

// checkSize empties the log that a crash has left and compares the size of the
// file with what its header says.
func (x *Index) checkSize(c *conn) error {
	if err := c.checkpoint(Truncate); err != nil {
		return err
	}
	pages, err := c.pragmaInt("page_count")
	if err != nil {
		return err
	}
	size, err := c.pragmaInt("page_size")
	if err != nil {
		return err
	}
	info, err := os.Stat(x.path)
	if err == nil && info.Size() < int64(pages)*int64(size) {
		err = corrupt("index.Open", x.path, errSize)
	}
	return err
}

// connPragmas are what every connection sets, and then its own. The writer
// checkpoints when Checkpoint is called and at no other time.
func connPragmas(cache string, own ...string) []string {
	return append([]string{
		"page_size = 4096", // of a new database
		"cache_size = -" + cache,
		"synchronous = NORMAL",
		"wal_autocheckpoint = 0",
		"journal_size_limit = " + walKeptBytes,
		"foreign_keys = ON",
		"mmap_size = 0",
		"temp_store = MEMORY",
		"cell_size_check = ON",
		"trusted_schema = OFF",
	}, own...)
}

// Files returns the names of all files of the database with this name, in the
// order in which they may be deleted: a log without its database is ignored,
// a database without its log may be damaged.
func Files(name string) []string {
	return []string{name, name + "-wal", name + "-shm"}
}

// Applied returns the position of the last committed transaction: all before
// it is in the index, nothing behind it. After a restart it may be an earlier
// one, never a later one.
func (x *Index) Applied() Position { return *x.applied.Load() }

// Damaged tells whether any method has met fault.Corrupt since Open. Then the
// index should be built anew, at the next start at the latest: Open alone need
// not notice it.
func (x *Index) Damaged() bool { return x.damaged.Load() }

// note remembers damage and returns err.
func (x *Index) note(err error) error {
	if err != nil && fault.CodeOf(err) == fault.Corrupt {
		x.MarkDamaged()
	}
	return err
}

func (x *Index) isClosed() bool {
	select {
	case <-x.closed:
		return true
	default:
		return false
	}
}

// Close waits for the open transaction and for running reads, moves the log
// into the database, syncs it and closes. Reads fail with fault.Unavailable
// from then on.
func (x *Index) Close() error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.isClosed() {
		return nil
	}
	close(x.closed)
	for range cap(x.readers) {
		if err := (<-x.readers).close(); err != nil {
			x.log.Error("cannot close a reader of the index", "err", err)
		}
	}
	err := x.writer.checkpoint(Truncate)
	if e := x.writer.close(); err == nil {
		err = failure("index.Close", x.path, e)
	}
	return err
}

// closeAll closes what a failed Open has opened.
func (x *Index) closeAll() {
	for len(x.readers) > 0 {
		(<-x.readers).close()
	}
	if x.writer != nil {
		x.writer.close()
	}
}
