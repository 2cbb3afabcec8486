// Package journal is the truth of a store: every change is a checksummed,
// self-describing record, appended to numbered segment files. docs/format.md
// describes every byte.
//
// The promises:
//
//   - A record is durable when Sync returns nil after the Append that wrote it.
//   - Open gives back, in order and exactly once, every record that was ever
//     made durable after the position it is told, and perhaps records of the last
//     batch that was not; those it makes durable first.
//   - What Open cuts off never comes back.
//   - A broken record that a power cut does not explain stops Open. Nothing is
//     skipped silently.
//   - After any failed write or sync but a lack of space, the journal takes
//     nothing more until it is opened again.
//   - A compaction changes no record's order, and nothing that still counts: it
//     writes what is kept of some sealed segments to a new one, which takes their
//     place when the index durably relies on it.
//
// Sector writes are taken to be safe for the bytes that were there before: an
// append may rewrite the last sector of earlier records with the same bytes.
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path"
	"sync"
	"time"

	"larder/fault"
	"larder/store/vfs"
)

// ErrFailed is in the chain of every error after a failed write or sync.
var ErrFailed = errors.New("a write or sync failed; the journal takes nothing more until a restart")

const (
	defaultSegment = 64 << 20
	minSegment     = 4 << 10
	maxReserve     = 4 << 20
	// keptBuffer is how large an encoding buffer may stay between batches.
	keptBuffer = 8 << 20
)

// Config says where the journal lies and whose it is.
type Config struct {
	FS          vfs.FS
	Dir         string // folder of the segments; default "segments", made when absent
	StoreID     [16]byte
	SegmentSize int64            // bytes, default 64 MiB; may change between starts
	Log         *slog.Logger     // nil discards
	Now         func() time.Time // for the creation time in segment headers; default time.Now
	// Known are the numbers of all segments in which the index has bodies; nil
	// when it has none, new or about to be made anew.
	Known []uint64
	// Enter, when set, is called by Open with the number of every segment that it
	// replays, before its records. Some have none, and are to be known all the same.
	Enter func(number uint64) error
}

func (c *Config) setDefaults() {
	if c.Dir == "" {
		c.Dir = "segments"
	}
	if c.SegmentSize == 0 {
		c.SegmentSize = defaultSegment
	}
	c.SegmentSize = max(align(c.SegmentSize), minSegment)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// reservePath names the file of zeros that holds room for deletes on a full disk.
func (c *Config) reservePath() string { return path.Join(c.Dir, "reserve") }

func (c *Config) reserveSize() int64 { return min(c.SegmentSize, maxReserve) }

// Journal is an open journal. Append, Sync and Close run one at a time; reads,
// compactions and Position run beside them.
type Journal struct {
	c     Config
	files *files

	writing sync.Mutex // guards the fields of this group
	head    head
	next    uint64 // sequence of the next record
	batch   uint64 // first sequence since the last Sync, when unsynced
	dirty   bool   // something was appended since the last Sync
	reserve bool   // the reserve file stands
	buf     []byte // the encoded batch
	ahead   int64  // zeroAhead, but for tests

	state   sync.Mutex // guards the fields of this group
	pos     Position
	durable Position // what the last Sync covered
	failed  error
	roster  roster
	closing bool // no more changes beside Append begin

	changes sync.WaitGroup  // changes beside Append: Compact, Discard, Remove
	base    context.Context // ends them
	stop    context.CancelCauseFunc
}

// head is the segment that takes the next record.
type head struct {
	number uint64
	first  uint64 // as in its header
	handle *handle
	end    int64 // of the last record
	room   int64 // the file's size: appends stay below it
	zeroed int64 // up to here the file was written, not only reserved
	sealed bool  // truncated to end and synced: takes nothing more
}

// Position returns the border after the last appended record.
func (j *Journal) Position() Position {
	j.state.Lock()
	defer j.state.Unlock()
	return j.pos
}

// Err returns why the journal takes no more records, or nil. The reason stays
// until it is opened again.
func (j *Journal) Err() error {
	j.state.Lock()
	defer j.state.Unlock()
	return j.failed
}

// publish shows the new position, and the segments that were sealed before it.
func (j *Journal) publish(sealed []segmentHead) {
	j.state.Lock()
	defer j.state.Unlock()
	j.pos = Position{Sequence: j.next - 1, Segment: j.head.number, Offset: j.head.end}
	if len(sealed) > 0 {
		j.roster.roll(sealed, j.head.record())
		j.durable = Position{Sequence: j.head.first - 1, Segment: j.head.number, Offset: segmentHeader}
	}
}

// record describes the head as a segment. Its last sequence is not known yet.
func (h *head) record() segmentHead {
	return segmentHead{number: h.number, first: h.first, last: math.MaxUint64, length: h.end}
}

// fail makes the journal take nothing more. Only a restart reads the disk anew,
// and after a failed sync nothing else can tell what it holds.
func (j *Journal) fail(op, file string, err error) error {
	j.state.Lock()
	defer j.state.Unlock()
	if j.failed == nil {
		j.failed = fault.New(op, fault.ReadOnly, file, fmt.Errorf("%w: %w", ErrFailed, err)).
			WithHint("The disk reported an error. The store is read-only until Larder is started again; check the disk first.")
	}
	return j.failed
}

// Sync makes all appended records durable, with one fdatasync, or none when
// there are none. After an error the journal has failed for good.
func (j *Journal) Sync() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	return j.sync()
}

func (j *Journal) sync() error {
	if err := j.Err(); err != nil {
		return err
	}
	if !j.dirty {
		return nil
	}
	if err := j.head.handle.file.Sync(); err != nil {
		return j.fail("journal.Sync", j.c.path(j.head.number), err)
	}
	j.synced()
	return nil
}

// synced notes that all records up to the position are durable.
func (j *Journal) synced() {
	j.dirty = false
	j.state.Lock()
	defer j.state.Unlock()
	j.durable = j.pos
}

// Close makes what was appended durable and closes the files; reads that run go
// on, a compaction is given up first. A failed journal closes with the error that
// it failed with. Closing again does nothing.
func (j *Journal) Close() error {
	j.state.Lock()
	j.closing = true
	j.state.Unlock()
	j.stop(errClosed)
	j.changes.Wait()
	j.writing.Lock()
	defer j.writing.Unlock()
	if errors.Is(j.Err(), errClosed) {
		return nil
	}
	err := j.sync()
	if j.head.handle != nil {
		j.files.release(j.head.handle)
		j.head.handle = nil
	}
	if cerr := j.files.close(); cerr != nil && err == nil {
		err = fault.New("journal.Close", fault.ReadOnly, j.c.Dir, cerr)
	}
	j.state.Lock()
	defer j.state.Unlock()
	j.failed = fault.New("journal.Append", fault.Unavailable, "", errClosed)
	return err
}
