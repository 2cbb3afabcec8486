package journal

import (
	"context"
	"errors"
	"fmt"

	"larder/fault"
	"larder/store/vfs"
)

const opOpen = "journal.Open"

// Open opens the journal, or begins it when there is none, and calls apply with
// every record after from, in order. What apply is given is durable. The Record
// is the callee's to keep; its Body is nil.
//
// Open stops with fault.Corrupt around a *Damage when a broken record stands
// before the tail or segments are missing or do not fit together; with
// fault.IndexAhead when from is newer than the journal; with fault.IndexStale when
// the index has to be made anew, since compaction replaced what it relies on; with
// fault.ForeignStore and fault.NewerFormat, or with apply's error. It changes
// nothing on the disk then.
//
// A torn tail, which is what a power cut leaves of the last batch when it was
// not synced, is cut off before Open returns, durably. What an unfinished
// compaction left is removed; so are superseded segments when c.Known tells that
// the index does not need them.
func Open(ctx context.Context, c Config, from Position, apply func(*Record, Location) error) (*Journal, error) {
	c.setDefaults()
	j := &Journal{c: c, ahead: zeroAhead}
	j.files = newFiles(&j.c)
	j.roster.leaving = map[uint64]bool{}
	j.base, j.stop = context.WithCancelCause(context.Background())
	o := &opening{j: j, ctx: ctx, from: from, apply: apply, sizes: map[uint64]int64{}}
	if err := o.run(); err != nil {
		if j.head.handle != nil {
			j.files.release(j.head.handle)
		}
		j.files.close()
		return nil, err
	}
	j.roster.all = o.found
	j.roster.now = o.now
	j.publish(nil)
	j.durable = j.pos
	return j, nil
}

// opening is one Open.
type opening struct {
	j     *Journal
	ctx   context.Context
	from  Position
	apply func(*Record, Location) error

	found   []segmentHead    // all on the disk
	sizes   map[uint64]int64 // of their files
	settled uint64           // number of the head, or of what would have become it
	unborn  uint64           // number of a head whose header was never written, or 0
	known   map[uint64]bool  // to the index
	now     arrangement
	useless []string // files to remove

	order         // last: sequence of the last good record
	end    int64  // where it ends
	count  uint64 // records in its segment
	before uint64 // number of its segment
	torn   bool   // something stands behind it
	met    bool   // from was found to be a border between two records
	size   int64  // of the last segment's file
	dry    bool   // only whether the journal is whole
}

func (o *opening) run() error {
	if err := o.list(); err != nil {
		return err
	}
	if err := o.choose(); err != nil {
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

// replay scans from the segment of from to the last. A segment is scanned from
// its start, so that from is known to be a border between records.
func (o *opening) replay() error {
	winners := o.now.winners
	if len(winners) == 0 {
		return o.checkEnd(1, "")
	}
	start, err := o.start()
	if err != nil {
		return err
	}
	o.last = winners[start].first - 1
	for i := start; i < len(winners); i++ {
		if err := o.segment(&winners[i], i == len(winners)-1); err != nil {
			return err
		}
	}
	return nil
}

// start returns the first winner to scan: that of from, or, when it was compacted
// since, the one behind the output, all of whose records the index has then.
func (o *opening) start() (int, error) {
	winners := o.now.winners
	if o.from.Sequence == 0 {
		return 0, nil
	}
	if i := find(winners, o.from.Segment); i >= 0 {
		return i, nil
	}
	i := len(winners) - 1
	for i > 0 && winners[i].first > o.from.Sequence {
		i--
	}
	w := &winners[i]
	if !w.compacted || o.from.Segment == 0 {
		return 0, o.ahead(fmt.Sprintf("segment %d is not there", o.from.Segment))
	}
	if !o.known[w.number] && w.asOf > o.from.Sequence {
		return 0, o.stale(fmt.Sprintf("segment %d was compacted to segment %d since", o.from.Segment, w.number))
	}
	return i + 1, nil
}

// segment replays one segment.
func (o *opening) segment(h *segmentHead, last bool) error {
	c := &o.j.c
	if h.first != o.last+1 {
		return o.misfit(&misfit{segment: o.before, offset: o.end, hint: hintHole,
			reason: fmt.Sprintf("the segment ends with record %d, but the next one begins with record %d", o.last, h.first)})
	}
	open := c.FS.Open
	if last && !o.dry {
		open = c.FS.OpenWrite
	}
	s, err := o.scan(h.number, open)
	if err != nil {
		return err
	}
	if last && !o.dry {
		o.j.head = head{number: h.number, first: h.first, handle: o.j.files.add(h.number, s.file), end: segmentHeader}
	} else {
		defer s.file.Close()
	}
	if o.j.c.Enter != nil && !o.dry {
		if err := o.j.c.Enter(h.number); err != nil {
			return err
		}
	}
	o.size, o.before = s.size, h.number
	o.order.begin(h)
	if err := o.walk(s, h, last); err != nil {
		return err
	}
	if h.number == o.from.Segment && o.from.Sequence > 0 && !o.met {
		return o.mismatch(h.number)
	}
	if h.compacted {
		o.last = h.last
	}
	return nil
}

// walk replays the records of a segment up to its end or to a broken record.
func (o *opening) walk(s *scanner, h *segmentHead, last bool) error {
	o.end, o.count = h.start(), 0
	for {
		if err := o.border(h.number); err != nil {
			return err
		}
		if o.end == s.size {
			return o.ends(s, h, last, "")
		}
		f, why, err := s.frame(o.end)
		if why == "" && err == nil {
			why, err = o.record(s, h, &f)
		}
		if err != nil {
			return o.unreadable(h.number, err)
		}
		if why != "" {
			return o.ends(s, h, last, why)
		}
	}
}

// ends judges the place where no good record begins. A compacted segment has one
// length and one number of records.
func (o *opening) ends(s *scanner, h *segmentHead, last bool, why string) error {
	switch {
	case !h.compacted:
		return o.stop(s, h.number, last, why)
	case why != "":
		return o.damaged(h.number, o.end, why+"; the segment was compacted, so it was synced as a whole")
	case o.count != h.records:
		return o.damaged(h.number, o.end, fmt.Sprintf("it holds %d records, its header says %d", o.count, h.records))
	}
	return nil
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
	o.met = o.met || place
	return nil
}

func (o *opening) mismatch(segment uint64) error {
	return o.j.c.corrupt(opOpen, segment, o.end, fmt.Sprintf("record %d ends here, but the index has record %d ending at offset %d",
		o.last, o.from.Sequence, o.from.Offset)).WithHint(hintOtherIndex)
}

// record checks that a whole frame is the next record, and applies it. The body
// of one that is applied already is not looked at: if it is broken, the reader
// of that object is told, and all others are served.
func (o *opening) record(s *scanner, h *segmentHead, f *frame) (why string, err error) {
	if wrong := o.order.check(&f.header, h); wrong != "" {
		return "", o.damaged(h.number, o.end, wrong)
	}
	if err := f.checkKnown(); err != nil {
		return "", fault.New(opOpen, fault.NewerFormat, o.j.c.path(h.number), err)
	}
	if f.sequence > o.from.Sequence && !o.dry {
		if why, err = o.fresh(s, h.number, f); why != "" || err != nil {
			return why, err
		}
	}
	o.order.step(&f.header)
	o.end += f.length()
	o.count++
	return "", nil
}

// fresh verifies the body of a record and applies it.
func (o *opening) fresh(s *scanner, segment uint64, f *frame) (why string, err error) {
	if why, err = s.body(o.end, f); why != "" || err != nil {
		return why, err
	}
	r, err := f.decode()
	if errors.Is(err, errNewer) {
		return "", fault.New(opOpen, fault.NewerFormat, o.j.c.path(segment), err)
	}
	if err != nil {
		return "", o.damaged(segment, o.end, err.Error())
	}
	return "", o.apply(r, f.location(segment, o.end))
}

// decode returns the record without its body.
func (f *frame) decode() (*Record, error) {
	r, err := DecodeMeta(f.b[recordHeader:f.bodyOffset()])
	if err != nil {
		return nil, err
	}
	r = f.record(r)
	if why := checkCarrier(r, f.bodyLen); why != "" {
		return nil, errors.New(why)
	}
	return r, nil
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
