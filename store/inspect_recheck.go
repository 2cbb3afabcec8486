package store

import (
	"context"
	"errors"
	"slices"

	"larder/fault"
	"larder/store/journal"
)

// Verdict is what a second look at a defect has shown.
type Verdict uint8

// The verdicts.
const (
	Confirmed Verdict = iota // it is there
	Good                     // what stands at the place is whole
	Gone                     // nothing stands there any more that could be accused
)

// Recheck is the outcome of a second look.
type Recheck struct {
	Verdict Verdict
	Defect  Defect // as the second look shows it, when Confirmed
	Why     string // of Gone
	// Left is what stays behind when the version is gone: a damaged place in a
	// segment that nothing needs.
	Left *Defect
}

func gone(why string) Recheck { return Recheck{Verdict: Gone, Why: why} }

// Recheck looks at the place of a defect again, past the page cache, and at
// whether what it was accused of is still live and still lies there.
func (s *Store) Recheck(ctx context.Context, d Defect) (Recheck, error) {
	if s.closed.Load() {
		return Recheck{}, shuttingDown()
	}
	pinned := s.reclaimer.pin()
	defer s.reclaimer.unpin(pinned)
	in := &inspection{s: s, ctx: ctx, x: s.index}
	switch {
	case d.Harm == HarmIndex:
		return in.recheckIndex(d)
	case d.Blob != "":
		return in.recheckBlob(d)
	}
	return in.recheckPiece(d)
}

// recheckPiece reads a broken piece of the journal again.
func (in *inspection) recheckPiece(d Defect) (Recheck, error) {
	now, err := in.rescan(d)
	switch {
	case errors.Is(err, journal.ErrGone) || err == nil && !in.counts(d.Segment):
		return gone("the segment was compacted"), nil
	case err != nil:
		return Recheck{}, err
	case now == nil:
		return Recheck{Verdict: Good}, nil
	}
	if d.Row.Table == NoTable {
		return Recheck{Defect: *now}, nil
	}
	stands, err := in.versionStands(d)
	if err != nil {
		return Recheck{}, err
	}
	if !stands {
		left := *now
		return Recheck{Verdict: Gone, Why: goneWhy, Left: &left}, nil
	}
	now.Harm, now.Bucket, now.Key, now.Row, now.Version = HarmObject, d.Bucket, d.Key, d.Row, d.Version
	return Recheck{Defect: *now}, nil
}

const goneWhy = "the version was deleted, or stored again"

// counts tells whether a segment still counts.
func (in *inspection) counts(number uint64) bool {
	_, ok := in.segment(func(s journal.Segment) bool { return s.Number == number })
	return ok
}

func (in *inspection) segment(is func(journal.Segment) bool) (journal.Segment, bool) {
	for _, s := range in.s.journal.Segments() {
		if is(s) {
			return s, true
		}
	}
	return journal.Segment{}, false
}

// rescan reads the journal from the place of a defect on, up to the next good
// record, and returns what it finds broken there, or nil.
func (in *inspection) rescan(d Defect) (*Defect, error) {
	if d.Misplaced {
		return in.stillMisplaced(d)
	}
	seg, ok := in.segment(func(s journal.Segment) bool { return s.Number == d.Segment })
	if !ok {
		return nil, journal.ErrGone
	}
	in.seg = seg
	in.out.Next = Cursor{Segment: d.Segment, Offset: d.At}
	from := d.At
	if d.Length == 0 { // the end is wrong, which takes the whole to tell
		from, in.out.Next.Offset = 0, 0
	}
	_, err := in.s.journal.Scan(in.ctx, d.Segment, from, func(sc journal.Scanned) error {
		if sc.Damage != nil {
			in.damaged(sc)
			in.out.Bytes += sc.Location.Length
			return nil
		}
		in.close(sc.Location.Sequence - 1)
		in.out.Next.Offset, in.out.Next.Sequence = sc.Location.Offset, sc.Location.Sequence
		if slices.ContainsFunc(in.out.Defects, func(f Defect) bool { return f.overlaps(&d) }) || sc.Location.Offset > d.Offset && d.Length > 0 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	in.close(seg.Last)
	for n := range in.out.Defects {
		if found := &in.out.Defects[n]; found.overlaps(&d) {
			return found, nil
		}
	}
	return nil, nil
}

// versionStands tells whether the version that suffers is still the current
// one. A row that cannot be read counts as standing.
func (in *inspection) versionStands(d Defect) (bool, error) {
	sequence, err := in.rowSequence(d.Row)
	if fault.CodeOf(err) == fault.Corrupt {
		return true, nil
	}
	return sequence == d.Version && sequence != 0, err
}

// rowSequence is the sequence of the record that made a row, 0 without a row.
func (in *inspection) rowSequence(r RowName) (uint64, error) {
	switch r.Table {
	case Buckets:
		b, found, err := in.x.Bucket(uint64(r.ID))
		return sequenceOf(b.ID, found), err
	case Objects:
		row, found, err := in.x.Row(uint64(r.ID), string(r.Key))
		return sequenceOf(row.Sequence, found), err
	case Uploads:
		u, found, err := in.x.Upload(r.Upload)
		return sequenceOf(u.Sequence, found), err
	case Parts:
		p, found, err := in.x.Part(r.Upload, int(r.Number))
		return sequenceOf(p.Sequence, found), err
	}
	b, found, err := in.x.Body(uint64(r.ID))
	return sequenceOf(b.Sequence, found), err
}

func (d *Defect) overlaps(o *Defect) bool {
	return d.Offset == o.Offset || d.Offset < o.Offset+o.Length && o.Offset < d.Offset+d.Length
}

// recheckBlob reads the broken part of a blob again.
func (in *inspection) recheckBlob(d Defect) (Recheck, error) {
	body, found, err := in.x.Body(d.Sequence)
	if err != nil && fault.CodeOf(err) != fault.Corrupt {
		return Recheck{}, err
	}
	if err == nil && (!found || body.Blob != d.Blob) {
		return gone(goneWhy), nil
	}
	if d.Row.Table != NoTable {
		if stands, err := in.versionStands(d); err != nil || !stands {
			return gone(goneWhy), err
		}
	}
	at := locationOf(body)
	at.BodyLength = 0
	r, err := in.s.journal.ReadRecord(at)
	if err != nil {
		return Recheck{Defect: d}, nil // what cannot be read cannot acquit it
	}
	_, _, err = in.s.checkBlob(r, 0, 1)
	if err == nil && d.Offset >= 0 && d.Offset < r.Size {
		_, _, err = in.s.checkBlob(r, d.Offset-d.Offset%windowSize, 1)
	}
	dmg := blobDamage(err, r.Size)
	switch {
	case dmg != nil:
		d.File, d.Offset, d.Length, d.Reason = dmg.file, dmg.offset, dmg.length, dmg.reason
		return Recheck{Defect: d}, nil
	case err != nil:
		return Recheck{}, err
	}
	return Recheck{Verdict: Good}, nil
}
