package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"larder/fault"
	"larder/store/vfs"
)

const opOpen = "journal.Open"

// Open opens the journal, or begins it when there is none, and calls apply with
// every record after from, in order. What apply is given is durable. The Record
// is the callee's to keep; its Body is nil.
//
// Open stops with fault.Corrupt around a *Damage when a broken record stands
// before the tail, fault.IndexAhead when from is newer than the journal,
// fault.ForeignStore and fault.NewerFormat, or with apply's error. It changes
// nothing on the disk then.
//
// A torn tail, which is what a power cut leaves of the last batch when it was
// not synced, is cut off before Open returns, durably.
func Open(ctx context.Context, c Config, from Position, apply func(*Record, Location) error) (*Journal, error) {
	c.setDefaults()
	j := &Journal{c: c, ahead: zeroAhead}
	j.files = newFiles(&j.c)
	o := &opening{j: j, ctx: ctx, from: from, apply: apply}
	if err := o.run(); err != nil {
		if j.head.handle != nil {
			j.files.release(j.head.handle)
		}
		j.files.close()
		return nil, err
	}
	j.publish()
	return j, nil
}

// opening is one Open.
type opening struct {
	j     *Journal
	ctx   context.Context
	from  Position
	apply func(*Record, Location) error

	segments []segmentHead
	unborn   uint64 // number of a last segment whose header was never written, or 0
	last     uint64 // sequence of the last good record
	batch    uint64 // its batch, 0 when not known
	end      int64  // where it ends
	torn     bool   // something stands behind it
	found    bool   // from was found to be a border between two records
	size     int64  // of the last segment's file
}

func (o *opening) run() error {
	if err := o.list(); err != nil {
		return err
	}
	if err := o.replay(); err != nil {
		return err
	}
	if err := o.mend(); err != nil {
		return fault.New(opOpen, vfs.CodeOf(err), o.j.c.Dir, err)
	}
	return nil
}

// list reads the headers of all segments.
func (o *opening) list() error {
	numbers, err := o.numbers()
	if err != nil {
		return err
	}
	for i, n := range numbers {
		if n != uint64(i)+1 {
			return o.damaged(uint64(i)+1, 0, "the segment is missing")
		}
		h, err := o.readHead(n, i == len(numbers)-1)
		if err != nil {
			return err
		}
		if o.unborn == 0 {
			o.segments = append(o.segments, h)
		}
	}
	return nil
}

// numbers lists the segment files, in order.
func (o *opening) numbers() ([]uint64, error) {
	c := &o.j.c
	if err := o.folder(); err != nil {
		return nil, err
	}
	entries, err := c.FS.List(c.Dir)
	if err != nil {
		return nil, fault.New(opOpen, vfs.CodeOfRead(err), c.Dir, err)
	}
	var out []uint64
	for _, e := range entries {
		if n := parseName(e.Name); n != 0 && !e.IsDir {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// folder makes the folder of a new journal, and makes names durable that a
// process which was killed may have left without that.
func (o *opening) folder() error {
	c := &o.j.c
	if _, err := c.FS.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) && o.from.Sequence > 0 {
		return o.ahead("there are no segments")
	}
	err := c.FS.Mkdir(c.Dir)
	if err == nil {
		err = c.FS.SyncDir(".")
	}
	if err == nil {
		err = c.FS.SyncDir(c.Dir)
	}
	if err != nil {
		return fault.New(opOpen, vfs.CodeOf(err), c.Dir, err)
	}
	return nil
}

// readHead reads and checks the header of one segment. That of the last one may
// never have been written; then the file holds nothing else, as the header is
// durable before the first record is written.
func (o *opening) readHead(n uint64, last bool) (h segmentHead, err error) {
	c := &o.j.c
	if last {
		if err := o.settle(n); err != nil {
			return h, err
		}
	}
	s, err := o.scan(n, c.FS.Open)
	if err != nil {
		return h, err
	}
	defer s.file.Close()
	b, err := s.bytes(0, min(s.size, segmentHeader))
	if err != nil {
		return h, o.unreadable(n, err)
	}
	h, err = decodeSegment(b, &c.StoreID)
	switch {
	case err == nil:
		return h, o.checkHead(n, &h)
	case errors.Is(err, errForeign):
		return h, fault.New(opOpen, fault.ForeignStore, c.path(n), err).WithHint(hintForeign)
	case errors.Is(err, errNewer):
		return h, fault.New(opOpen, fault.NewerFormat, c.path(n), err)
	}
	if blank, berr := s.empty(segmentHeader); berr != nil {
		return h, o.unreadable(n, berr)
	} else if !last || !blank {
		return h, o.damaged(n, 0, err.Error())
	}
	o.unborn = n
	return h, nil
}

// settle makes what an earlier process wrote to the last segment durable, before
// anybody acts on it, and then lets reads come from the disk: after a failed sync
// the page cache tells what the disk does not hold, even of the header.
func (o *opening) settle(n uint64) error {
	c := &o.j.c
	f, err := c.FS.OpenWrite(c.path(n))
	if err != nil {
		return fault.New(opOpen, vfs.CodeOfRead(err), c.path(n), err)
	}
	defer f.Close()
	if err = f.Sync(); err == nil {
		err = vfs.Uncache(f)
	}
	if err != nil {
		return fault.New(opOpen, fault.ReadOnly, c.path(n), err)
	}
	return nil
}

// checkHead compares a header with the file's name and its predecessor. The
// first segment begins with the first record: segments are not dropped.
func (o *opening) checkHead(n uint64, h *segmentHead) error {
	if h.number != n {
		return o.damaged(n, 0, fmt.Sprintf("its header says that it is segment %d", h.number))
	}
	lowest := uint64(1)
	if len(o.segments) > 0 {
		lowest = o.segments[len(o.segments)-1].first
	}
	if h.first < lowest || n == 1 && h.first != 1 {
		return o.damaged(n, 0, fmt.Sprintf("it begins with record %d, out of order", h.first))
	}
	return nil
}

// scan opens a segment for scanning.
func (o *opening) scan(n uint64, open func(string) (vfs.File, error)) (*scanner, error) {
	c := &o.j.c
	file, err := open(c.path(n))
	if err != nil {
		return nil, fault.New(opOpen, vfs.CodeOfRead(err), c.path(n), err)
	}
	size, err := file.Size()
	if err != nil {
		file.Close()
		return nil, fault.New(opOpen, vfs.CodeOfRead(err), c.path(n), err)
	}
	return &scanner{ctx: o.ctx, file: file, size: size, id: &c.StoreID}, nil
}

// replay scans from the segment of from to the last. A segment is scanned from
// its start, so that from is known to be a border between records.
func (o *opening) replay() error {
	if len(o.segments) == 0 {
		return o.checkEnd(1, "")
	}
	start := 0
	if o.from.Sequence > 0 {
		if o.from.Segment > uint64(len(o.segments)) || o.from.Segment == 0 {
			return o.ahead(fmt.Sprintf("segment %d is not there", o.from.Segment))
		}
		start = int(o.from.Segment) - 1
	}
	o.last = o.segments[start].first - 1
	for i := start; i < len(o.segments); i++ {
		if err := o.segment(&o.segments[i], i == len(o.segments)-1); err != nil {
			return err
		}
	}
	return nil
}

// segment replays one segment.
func (o *opening) segment(h *segmentHead, last bool) error {
	c := &o.j.c
	if h.first != o.last+1 {
		return o.damaged(h.number-1, o.end,
			fmt.Sprintf("the segment ends after record %d, but the next one begins with record %d", o.last, h.first))
	}
	open := c.FS.Open
	if last {
		open = c.FS.OpenWrite
	}
	s, err := o.scan(h.number, open)
	if err != nil {
		return err
	}
	if last {
		o.j.head = head{number: h.number, handle: o.j.files.add(h.number, s.file), end: segmentHeader}
	} else {
		defer s.file.Close()
	}
	o.size = s.size
	if err := o.walk(s, h.number, last); err != nil {
		return err
	}
	if h.number == o.from.Segment && o.from.Sequence > 0 && !o.found {
		return o.mismatch(h.number)
	}
	return nil
}

// walk replays the records of a segment up to its end or to a broken record.
func (o *opening) walk(s *scanner, segment uint64, last bool) error {
	o.end = segmentHeader
	for {
		if err := o.border(segment); err != nil {
			return err
		}
		if o.end == s.size {
			return o.stop(s, segment, last, "")
		}
		f, why, err := s.frame(o.end)
		if why == "" && err == nil {
			why, err = o.record(s, segment, &f)
		}
		if err != nil {
			return o.unreadable(segment, err)
		}
		if why != "" {
			return o.stop(s, segment, last, why)
		}
	}
}

// border holds from against the border between two records. Records up to from
// are only checked, so it must lie on a border of this very journal.
func (o *opening) border(segment uint64) error {
	if o.from.Sequence == 0 || segment != o.from.Segment {
		return nil
	}
	place, record := o.end == o.from.Offset, o.last == o.from.Sequence
	if place != record {
		return o.mismatch(segment)
	}
	o.found = o.found || place
	return nil
}

func (o *opening) mismatch(segment uint64) error {
	return o.j.c.corrupt(opOpen, segment, o.end, fmt.Sprintf("record %d ends here, but the index has record %d ending at offset %d",
		o.last, o.from.Sequence, o.from.Offset)).WithHint(hintOtherIndex)
}

// record checks that a whole frame is the next record, and applies it. The body
// of one that is applied already is not looked at: if it is broken, the reader
// of that object is told, and all others are served.
func (o *opening) record(s *scanner, segment uint64, f *frame) (why string, err error) {
	if f.sequence != o.last+1 {
		return "", o.damaged(segment, o.end, fmt.Sprintf("record %d stands where record %d belongs", f.sequence, o.last+1))
	}
	if f.batch != f.sequence && (f.batch > f.sequence || o.batch != 0 && f.batch != o.batch) {
		return "", o.damaged(segment, o.end, fmt.Sprintf("record %d is of batch %d, which it cannot be", f.sequence, f.batch))
	}
	if err := f.checkKnown(); err != nil {
		return "", fault.New(opOpen, fault.NewerFormat, o.j.c.path(segment), err)
	}
	if f.sequence > o.from.Sequence {
		if why, err = o.fresh(s, segment, f); why != "" || err != nil {
			return why, err
		}
	}
	o.last, o.batch = f.sequence, f.batch
	o.end += f.length()
	return "", nil
}

// fresh verifies the body of a record and applies it.
func (o *opening) fresh(s *scanner, segment uint64, f *frame) (why string, err error) {
	if why, err = s.body(o.end, f); why != "" || err != nil {
		return why, err
	}
	r, err := DecodeMeta(f.b[recordHeader:f.bodyOffset()])
	if errors.Is(err, errNewer) {
		return "", fault.New(opOpen, fault.NewerFormat, o.j.c.path(segment), err)
	}
	if err != nil {
		return "", o.damaged(segment, o.end, err.Error())
	}
	return "", o.apply(f.record(r), f.location(segment, o.end))
}

func (f *frame) record(r *Record) *Record {
	r.Kind, r.Sequence, r.Batch = Kind(f.kind), f.sequence, f.batch
	return r
}

func (f *frame) location(segment uint64, offset int64) Location {
	return Location{
		Segment: segment, Offset: offset, Length: f.length(),
		BodyOffset: f.bodyOffset(), BodyLength: int64(f.bodyLen), Sequence: f.sequence,
	}
}
