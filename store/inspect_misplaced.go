package store

import (
	"errors"
	"fmt"
	"path"

	"larder/fault"
	"larder/store/journal"
)

// misplaced decides about a row whose record was not found where records are
// looked for. A segment never changes, so what stands at the place that the row
// names is the record, or the journal is damaged there: in a compacted segment,
// whose sequences have gaps, two records that were swapped look right one by
// one. nil says that the place acquits the journal, or that there is none.
//
// With elsewhere, the record was found whole at another place. Then the row is
// wrong, unless the journal is damaged where the row says that it lies.
func (in *inspection) misplaced(d Defect, sequence uint64, elsewhere bool) (r Recheck, found bool, err error) {
	body, known, err := in.x.Body(sequence)
	switch {
	case fault.CodeOf(err) == fault.Corrupt:
		return r, false, nil // the index itself
	case err != nil:
		return r, false, err
	case !known || body.Bare():
		return in.lostInDamage(sequence)
	case !in.counts(body.Segment):
		return r, false, nil
	}
	judge := in.otherThan
	if elsewhere {
		judge = in.brokenInOrder
	}
	why, err := judge(locationOf(body))
	if err != nil || why == "" {
		return r, false, err
	}
	if d.Row.Table == Bodies && body.Current {
		return gone("the version that it belongs to is accused"), true, nil
	}
	d.Harm, d.Misplaced, d.Last = HarmObject, true, d.Sequence
	d.File, d.Offset, d.Length, d.Reason = path.Join(segmentsDir, journal.FileName(body.Segment)), body.Offset, body.Length, why
	d.Segment, d.At = body.Segment, body.Offset
	return Recheck{Defect: d}, true, nil
}

// otherThan reads what stands at a record's place and says how it is another
// thing, or "".
func (in *inspection) otherThan(at journal.Location) (why string, err error) {
	_, err = in.s.journal.Scan(in.ctx, at.Segment, at.Offset, func(sc journal.Scanned) error {
		switch {
		case sc.Damage != nil:
			why = sc.Damage.Reason
		case sc.Location.Sequence != at.Sequence || sc.Location.Offset != at.Offset:
			why = fmt.Sprintf("record %d stands where record %d belongs", sc.Location.Sequence, at.Sequence)
		}
		return errEnough
	})
	if errors.Is(err, errEnough) || errors.Is(err, journal.ErrGone) {
		err = nil
	}
	return why, err
}

// brokenInOrder reads the segment of a place from its start and says how that
// place is damaged, or "".
func (in *inspection) brokenInOrder(at journal.Location) (why string, err error) {
	_, err = in.s.journal.Scan(in.ctx, at.Segment, 0, func(sc journal.Scanned) error {
		l := sc.Location
		if l.Offset > at.Offset {
			return errEnough
		}
		if sc.Damage != nil && at.Offset < l.Offset+l.Length {
			why = sc.Damage.Reason
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, journal.ErrGone) {
		err = nil
	}
	return why, err
}

// lostInDamage acquits a row of which only its record knew where it lies, when
// the segment that must have the record is damaged: the damage is accused.
func (in *inspection) lostInDamage(sequence uint64) (r Recheck, found bool, err error) {
	seg, ok := in.segment(func(s journal.Segment) bool { return s.First <= sequence && sequence <= s.Last })
	if !ok {
		return r, false, nil
	}
	damaged := false
	_, err = in.s.journal.Scan(in.ctx, seg.Number, 0, func(sc journal.Scanned) error {
		if damaged = sc.Damage != nil && sc.Record == nil; damaged {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, journal.ErrGone) || !damaged {
		return r, false, err
	}
	return gone("the segment that its record lies in is damaged, and accused"), true, nil
}

// stillMisplaced looks at a place again in which another record stood.
func (in *inspection) stillMisplaced(d Defect) (*Defect, error) {
	if !in.counts(d.Segment) {
		return nil, journal.ErrGone
	}
	why, err := in.otherThan(journal.Location{Segment: d.Segment, Offset: d.Offset, Sequence: d.Sequence})
	if err != nil || why == "" {
		return nil, err
	}
	d.Reason = why
	return &d, nil
}
