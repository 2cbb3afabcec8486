package journal

import (
	"context"
	"errors"
	"fmt"

	"larder/fault"
	"larder/store/vfs"
)

const opScan = "journal.Scan"

// Scanned is one record, or one piece of damage, that Scan met.
type Scanned struct {
	// Record has no Body. It is nil where no good record begins; beside Damage it
	// is there when only the body is broken.
	Record *Record
	// Location is the record's. Where none begins it reaches up to the next good
	// record or to the end, and Sequence is the one expected there, or 0.
	Location Location
	Damage   *Damage
}

// Locate visits all records of a segment with their places, in order. It verifies
// headers and metadata, not bodies.
func (j *Journal) Locate(ctx context.Context, number uint64, visit func(Move) error) error {
	const op = "journal.Locate"
	seg, end, err := j.look(op, number)
	if err != nil {
		return err
	}
	w, err := j.walk(ctx, op, seg, end)
	if err != nil {
		return err
	}
	defer w.file.Close()
	for {
		f, at, ok, err := w.next()
		if err != nil || !ok {
			return err
		}
		if err := visit(Move{Sequence: f.sequence, To: f.location(number, at)}); err != nil {
			return err
		}
	}
}

// look finds a segment and where its durable records end. One that is not on the
// disk any more is ErrGone.
func (j *Journal) look(op string, number uint64) (seg segmentHead, end int64, err error) {
	j.state.Lock()
	defer j.state.Unlock()
	seg, ok := j.roster.lookup(number)
	if !ok {
		return seg, 0, fault.New(op, fault.InvalidArgument, j.c.path(number), ErrGone)
	}
	if seg.growing() {
		return seg, j.durable.Offset, nil
	}
	return seg, seg.length, nil
}

// Scan verifies a segment from an offset on, 0 or what an earlier Scan returned,
// every byte of it as the disk holds it: header, records, bodies, padding and
// end. visit is told of every record and of everything that is not as it was
// written, also that the file is missing or cannot be read; Scan goes on behind
// that. It ends at the end of the segment, at the durable end of the head, or when
// visit returns an error, which it passes on; next is the end of what was visited
// last. The error is ErrGone for a segment that was superseded and removed.
func (j *Journal) Scan(ctx context.Context, number uint64, from int64, visit func(Scanned) error) (next int64, err error) {
	seg, end, err := j.look(opScan, number)
	if err != nil {
		return from, err
	}
	s := &scanning{j: j, seg: seg, end: end, off: from, visit: visit}
	s.scanner, err = j.c.scan(ctx, opScan, number, j.c.FS.Open)
	if err != nil {
		return s.absent(err)
	}
	defer s.file.Close()
	s.before = func(off, n int64) error { return vfs.UncacheRange(s.file, off, n) }
	s.order.begin(&seg)
	err = s.run()
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fault.New(opScan, fault.Canceled, j.c.path(number), context.Cause(ctx))
	}
	return s.off, err
}

// scanning is one Scan.
type scanning struct {
	*scanner
	j     *Journal
	seg   segmentHead
	end   int64 // of what is verified
	off   int64 // of the next record
	visit func(Scanned) error

	order
	sure    bool   // order.last is known
	count   uint64 // records seen
	damaged bool   // some of them may have been overlooked
}

// absent judges a file that could not be opened.
func (s *scanning) absent(err error) (int64, error) {
	if fault.CodeOf(err) != fault.Corrupt {
		return s.off, err
	}
	if _, _, gone := s.j.look(opScan, s.seg.number); gone != nil {
		return s.off, gone
	}
	from := s.off
	err = s.tell(from, max(s.end-from, 0), 0, "the file is missing or cannot be read")
	return s.off, err
}

// tell reports damage where no good record lies, and steps over it.
func (s *scanning) tell(off, length int64, sequence uint64, why string) error {
	loc := Location{Segment: s.seg.number, Offset: off, Length: length, Sequence: sequence}
	return s.report(nil, loc, why)
}

// report tells of a record, or of damage when why says so, and steps over it.
func (s *scanning) report(r *Record, loc Location, why string) error {
	s.off = loc.Offset + loc.Length
	it := Scanned{Record: r, Location: loc}
	if why != "" {
		s.damaged = true
		it.Damage = &Damage{Segment: loc.Segment, File: s.j.c.path(loc.Segment), Offset: loc.Offset, Reason: why}
	}
	return s.visit(it)
}

func (s *scanning) run() error {
	whole := s.off < s.seg.start()
	if whole {
		s.last, s.sure = s.seg.first-1, true
		if err := s.head(); err != nil {
			return err
		}
	}
	for s.off < s.end {
		done, err := s.one()
		if done || err != nil {
			return err
		}
	}
	return s.tail(whole)
}

// head verifies the segment's header against what the journal knows of it.
func (s *scanning) head() error {
	start := s.seg.start()
	why := "the file ends within the segment header"
	if s.size >= start {
		var err error
		why, err = s.read(func() (string, error) {
			b, err := s.bytes(0, start)
			if err != nil {
				return "", err
			}
			return s.checkHead(b), nil
		})
		if err != nil {
			return err
		}
	}
	if why != "" {
		return s.tell(0, start, 0, why)
	}
	s.off = start
	return nil
}

func (s *scanning) checkHead(b []byte) string {
	h, err := decodeSegment(b, &s.j.c.StoreID)
	if err != nil {
		return err.Error()
	}
	want := s.seg
	want.created = h.created
	if !want.compacted {
		want.last, want.length = 0, 0
	}
	if h != want {
		return "the segment header is that of another segment"
	}
	return ""
}

// unreadable makes damage of a failed read that says that the disk cannot give
// the bytes back, and leaves other errors.
func unreadable(err error) (why string, rest error) {
	var r *readError
	if errors.As(err, &r) && vfs.CodeOf(err) == fault.Internal {
		return r.Error(), nil
	}
	return "", err
}

// read reads and judges. When the disk cannot give the bytes back it tries once
// more, and asks only for what is needed: a broken sector condemns nothing beside
// it. Later reads are as narrow. A read that fails again is damage.
func (s *scanning) read(judge func() (why string, err error)) (string, error) {
	why, err := judge()
	bad, rest := unreadable(err)
	if bad != "" && s.window > 1 {
		s.window = 1
		why, err = judge()
		bad, rest = unreadable(err)
	}
	if bad != "" {
		why = bad
	}
	return why, rest
}

// one verifies the record at off. It is done when the rest is the zeros that a
// sealed segment may end with.
func (s *scanning) one() (done bool, err error) {
	f, r, why, err := s.record()
	if err != nil {
		return false, err
	}
	if why != "" {
		return s.misplaced(&f, why)
	}
	at := s.off
	why, err = s.read(func() (string, error) { return s.body(at, &f) })
	if err != nil {
		return false, err
	}
	if early, err := s.early(&f); err != nil {
		return false, err
	} else if early != "" {
		return false, s.tell(at, f.length(), s.last+1, early)
	}
	s.step(&f.header)
	s.sure = true
	s.count++
	return false, s.report(r, f.location(s.seg.number, at), why)
}

// early tells whether the record at off belongs further back, or nothing: where
// sequences have gaps, one that is too high fits, and would condemn all records
// behind it. The next record tells, which fits to the one before both.
func (s *scanning) early(f *frame) (why string, err error) {
	behind := s.off + f.length()
	if !s.gaps || !s.sure || behind >= s.end {
		return "", nil
	}
	_, err = s.read(func() (string, error) {
		g, bad, err := s.frame(behind)
		if bad == "" && err == nil && s.last < g.sequence && g.sequence <= f.sequence && s.plausible(&g.header) {
			why = fmt.Sprintf("record %d stands before record %d", f.sequence, g.sequence)
		}
		return "", err
	})
	return why, err
}

// record reads the frame at off and decodes it. why says why no good record of
// this segment begins there.
func (s *scanning) record() (f frame, r *Record, why string, err error) {
	why, err = s.read(func() (why string, err error) {
		f, why, err = s.frame(s.off)
		return why, err
	})
	if why == "" && err == nil && s.off+f.length() > s.end {
		why = "the record reaches over the end of the segment"
	}
	if why == "" && err == nil {
		why = s.fits(&f.header)
	}
	if why != "" || err != nil {
		return f, nil, why, err
	}
	if err := f.checkKnown(); err != nil {
		return f, nil, err.Error(), nil
	}
	if r, err = f.decode(); err != nil {
		return f, nil, err.Error(), nil
	}
	return f, r, "", nil
}

// fits checks a record's place. Where nothing is known of the record before, any
// of the segment's will do.
func (s *scanning) fits(h *header) string {
	if s.sure {
		return s.order.check(h, &s.seg)
	}
	if h.sequence < s.seg.first || h.sequence > s.seg.last {
		return fmt.Sprintf("record %d stands in a segment that holds %s", h.sequence, s.seg.span())
	}
	o := order{gaps: s.gaps, last: h.sequence - 1}
	return o.check(h, &s.seg)
}

// misplaced deals with a place where the next record does not begin. When it is
// others that are missing there, no byte of the record that stands there is told
// of: a piece of length 0 stands for them.
func (s *scanning) misplaced(f *frame, why string) (done bool, err error) {
	ahead, err := s.ahead(f)
	if err != nil {
		return false, err
	}
	if !ahead {
		return s.lost(why)
	}
	expected := s.last + 1
	s.last, s.batch = f.sequence-1, 0
	return false, s.tell(s.off, 0, expected, why)
}

// ahead reports whether the record at off is good though others belong before
// it: the one behind it follows it, or it is the segment's last, of the head the
// last that is durable.
func (s *scanning) ahead(f *frame) (bool, error) {
	if !s.sure || s.gaps || f.sequence <= s.last+1 {
		return false, nil
	}
	if good, err := s.good(s.off); !good || err != nil {
		return false, err
	}
	behind := s.off + f.length()
	if behind == s.end {
		return s.seg.growing() || f.sequence == s.seg.last, nil
	}
	follows := false
	why, err := s.read(func() (string, error) {
		g, why, err := s.frame(behind)
		follows = g.sequence == f.sequence+1
		return why, err
	})
	return follows && why == "", err
}

// lost deals with a place where no good record begins.
func (s *scanning) lost(why string) (done bool, err error) {
	if err := s.establish(); err != nil {
		return false, err
	}
	if s.atEnd() {
		zero, err := s.zeros(s.off)
		if zero || err != nil {
			s.off = s.end
			return zero, err
		}
	}
	var expected uint64
	if s.sure {
		expected = s.last + 1
	}
	next, err := s.search(s.off + recordAlign)
	if err != nil {
		return false, err
	}
	s.batch, s.sure = 0, s.sure && s.gaps
	return false, s.tell(s.off, next-s.off, expected, why)
}

// zeros reports whether all from off on can be read and is zero.
func (s *scanning) zeros(off int64) (zero bool, err error) {
	why, err := s.read(func() (string, error) {
		zero, err = s.empty(off)
		return "", err
	})
	return zero && why == "", err
}

// atEnd reports whether all records of a sealed segment that was not compacted
// may have been seen: zeros may follow.
func (s *scanning) atEnd() bool {
	return !s.seg.compacted && !s.seg.growing() && s.size >= s.end && (!s.sure || s.last == s.seg.last)
}

// establish finds out which record comes before off, when a Scan began in the
// middle.
func (s *scanning) establish() error {
	if s.sure {
		return nil
	}
	w := &walker{scanner: s.scanner, c: &s.j.c, op: opScan, seg: s.seg, off: s.seg.start()}
	w.last = s.seg.first - 1
	w.order.begin(&s.seg)
	for w.off < s.off {
		_, _, ok, err := w.next()
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err != nil || !ok {
			return nil // it stays unknown
		}
	}
	s.last, s.sure = w.last, w.off == s.off
	return nil
}

// search returns where the next good record begins, or the end. What a broken
// body holds is not taken for records: copies in it are older than it.
func (s *scanning) search(at int64) (int64, error) {
	const block = 4096
	defer func(w int64) { s.window = w }(s.window)
	s.window = 1 // what cannot be read is stepped over by the block
	end := min(s.end, s.size)
	for at < end {
		n, i := min(block-at%block, end-at), -1
		_, err := s.read(func() (string, error) {
			b, err := s.bytes(at, n)
			if err == nil {
				i = findMagic(b)
			}
			return "", err
		})
		if err != nil {
			return 0, err
		}
		if i < 0 {
			at += n
			continue
		}
		at += int64(i)
		if good, err := s.good(at); good || err != nil {
			return at, err
		}
		at += recordAlign
	}
	return s.end, nil
}

// good reports whether a record that may follow begins at an offset.
func (s *scanning) good(at int64) (ok bool, err error) {
	why, err := s.read(func() (string, error) {
		f, why, err := s.frame(at)
		ok = why == "" && err == nil && s.plausible(&f.header) && at+f.length() <= s.end
		return why, err
	})
	return ok && why == "", err
}

func (s *scanning) plausible(h *header) bool {
	if h.sequence < s.seg.first || h.sequence > s.seg.last || s.sure && h.sequence <= s.last {
		return false
	}
	return h.batch <= h.sequence
}

// tail verifies what only shows at the end.
func (s *scanning) tail(whole bool) error {
	why, seg := "", &s.seg
	switch {
	case seg.growing():
	case seg.compacted && s.size != seg.length:
		why = fmt.Sprintf("the file has %d bytes, its header says %d", s.size, seg.length)
	case seg.compacted && whole && !s.damaged && s.count != seg.records:
		why = fmt.Sprintf("it holds %d records, its header says %d", s.count, seg.records)
	case !seg.compacted && s.sure && s.last < seg.last:
		why = fmt.Sprintf("the segment ends with record %d, but the next one begins with record %d", s.last, seg.last+1)
	case !seg.compacted && s.size > s.end:
		zero, err := s.zeros(s.end)
		if err != nil {
			return err
		}
		if !zero {
			why = "something stands behind the end"
		}
	}
	if why == "" {
		return nil
	}
	return s.tell(s.end, 0, 0, why)
}
