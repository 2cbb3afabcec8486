package index

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// segmentsFormat is the format that has the table of segments.
const segmentsFormat = 2

// fillSegments puts all segments from 1 to last in, as they were numbered
// before there was compaction.
func (c *conn) fillSegments(last uint64) error {
	s, _, err := c.db.PrepareTransient(queries()[putSegment])
	if err != nil {
		return err
	}
	defer s.Finalize()
	for n := uint64(1); n <= last; n++ {
		if err := c.putSegment(s, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) putSegment(s *sqlite.Stmt, number uint64) error {
	s.BindInt64(1, int64(number))
	s.BindInt64(2, c.sums.segment(number))
	return exec(s)
}

func (c *conn) decodeSegment(s *sqlite.Stmt) (uint64, error) {
	number := uint64(s.ColumnInt64(0))
	return number, check(s.ColumnInt64(1), c.sums.segment(number))
}

// Segments returns the numbers of all segments that the index relies on, in
// ascending order. There are as many as segment files.
func (x *Index) Segments() ([]uint64, error) {
	return with(x, "index.Segments", func(c *conn) (out []uint64, err error) {
		_, err = each("index.Segments", c.use(scanSegments), c.decodeSegment, func(n uint64) { out = append(out, n) })
		return out, err
	})
}

// AddSegment notes that the index relies on a segment. It may be there already.
func (t *Tx) AddSegment(number uint64) error {
	const op = "index.AddSegment"
	s, err := t.start(op, putSegment)
	if err != nil {
		return err
	}
	return t.fail(op, strconv.FormatUint(number, 10), t.c.putSegment(s, number))
}

// DropSegment forgets a segment, if it is there.
func (t *Tx) DropSegment(number uint64) error {
	const op = "index.DropSegment"
	s, err := t.start(op, deleteSegment)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(number))
	return t.fail(op, strconv.FormatUint(number, 10), exec(s))
}

// MoveBody changes where the record with a body lies, and tells whether the
// body is known. A witness has no place.
func (t *Tx) MoveBody(sequence, segment uint64, offset, length, bodyOffset int64) (bool, error) {
	const op = "index.MoveBody"
	b, found, err := t.Body(sequence)
	if err != nil || !found || b.Bare() {
		return false, t.fail(op, strconv.FormatUint(sequence, 10), err)
	}
	b.Segment, b.Offset, b.Length, b.BodyOffset = segment, offset, length, bodyOffset
	return true, t.PutBody(b)
}

// Unreferenced returns up to max bodies that nothing refers to, in ascending
// order. Its cost does not grow with the other bodies.
func (t *Tx) Unreferenced(max int) ([]uint64, error) {
	const op = "index.Unreferenced"
	s, err := t.start(op, scanUnreferenced)
	if err != nil {
		return nil, err
	}
	s.BindInt64(1, int64(min(max, maxRun)))
	var out []uint64
	decode := func(s *sqlite.Stmt) (uint64, error) { return uint64(s.ColumnInt64(0)), nil }
	_, err = each(op, s, decode, func(n uint64) { out = append(out, n) })
	return out, t.fail(op, "", err)
}

// Bodies returns up to max bodies with sequences above after, in ascending
// order; never more than 1,000.
func (x *Index) Bodies(after uint64, max int) ([]Body, error) {
	const op = "index.Bodies"
	return with(x, op, func(c *conn) (out []Body, err error) {
		s := c.use(scanBodies)
		s.BindInt64(1, int64(after))
		s.BindInt64(2, int64(min(max, maxRun)))
		decode := func(s *sqlite.Stmt) (Body, error) { return c.decodeBody(s, uint64(s.ColumnInt64(9))) }
		_, err = each(op, s, decode, func(b Body) { out = append(out, b) })
		return out, err
	})
}

// Sync makes everything that was committed before it durable. Any goroutine
// may call it beside the writer. An error is a failed sync, after which the
// writer must stop.
//
// What a checkpoint moved is durable before the log is begun anew, so the log
// is all that is left to sync. SQLite holds no lock on that file that closing
// it here could drop.
func (x *Index) Sync() error {
	const op = "index.Sync"
	f, err := os.OpenFile(x.path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return fault.New(op, fault.Internal, x.path, err)
	}
	return nil
}

// minFree is how many free pages are kept in any case.
const minFree = 256

// Vacuum gives up to so many free pages back to the file system, once more than
// a quarter of the file is free, and tells whether there are more. The file
// shrinks at the next checkpoint. It fails with fault.Conflict while a Tx is
// open. Databases made before format 2 keep their free pages.
func (x *Index) Vacuum(pages int) (more bool, err error) {
	const op = "index.Vacuum"
	if !x.writing.TryLock() {
		return false, fault.New(op, fault.Conflict, "", errBusy)
	}
	defer x.writing.Unlock()
	if x.isClosed() {
		return false, fault.New(op, fault.Unavailable, "", errClosed)
	}
	more, err = x.writer.vacuum(pages)
	return more, x.note(failure(op, "", err))
}

// beginVacuumable lets a new database keep what Vacuum needs. SQLite wants to
// know before it writes the first page; of an old database, asking would write.
func (c *conn) beginVacuumable() error {
	pages, err := c.pragmaInt("page_count")
	if err == nil && pages == 0 {
		_, err = c.pragma("auto_vacuum = INCREMENTAL")
	}
	return err
}

func (c *conn) vacuum(pages int) (more bool, err error) {
	if mode, err := c.pragmaInt("auto_vacuum"); err != nil || mode != 2 {
		return false, err
	}
	free, err := c.pragmaInt("freelist_count")
	if err != nil {
		return false, err
	}
	all, err := c.pragmaInt("page_count")
	if err != nil || free <= minFree || free < all/4 {
		return false, err
	}
	s, _, err := c.db.PrepareTransient("PRAGMA incremental_vacuum(" + strconv.Itoa(pages) + ")")
	if err != nil {
		return false, err
	}
	defer s.Finalize()
	for row := true; row && err == nil; {
		row, err = s.Step() // a row for each page
	}
	return err == nil && free-pages > minFree, err
}
