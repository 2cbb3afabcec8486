package store

import (
	"context"
	"errors"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// recheckIndex compares a row of the index with its record again, reading both
// from the disk.
func (in *inspection) recheckIndex(d Defect) (Recheck, error) {
	x, ok := in.s.index.(inspectable)
	if !ok {
		return gone("the index cannot be looked into"), nil
	}
	if err := in.s.uncacheIndex(); err != nil {
		return Recheck{}, err
	}
	i, err := x.Inspector()
	if err != nil {
		if fault.CodeOf(err) == fault.Corrupt {
			return Recheck{Defect: d}, nil
		}
		return Recheck{}, err
	}
	defer i.Close()
	in.x = i
	switch {
	case d.Segment != 0:
		return in.recheckRecord(d)
	case d.Row.ID == index.First:
		return in.recheckTable(i, d)
	}
	return in.recheckRow(d)
}

// recheckRecord holds a record, whose place is known, against its row.
func (in *inspection) recheckRecord(d Defect) (Recheck, error) {
	r, loc, err := in.recordAt(d)
	if err != nil {
		return Recheck{}, err
	}
	if r == nil {
		return gone("the record was compacted, or is itself damaged"), nil
	}
	if err := in.record(r, loc); err != nil {
		return Recheck{}, err
	}
	for _, found := range in.out.Defects {
		if found.Row.Table == d.Row.Table || d.Row.Table == NoTable {
			return Recheck{Defect: found}, nil
		}
	}
	for _, c := range in.out.Claims {
		if c.Kind == Absent {
			return in.recheckAbsent(d, r, loc)
		}
	}
	return Recheck{Verdict: Good}, nil
}

// recheckAbsent: a record has no row, or none to go by. Nothing had ended it up
// to Checked; what was stored since may have.
func (in *inspection) recheckAbsent(d Defect, r *journal.Record, loc journal.Location) (Recheck, error) {
	ended, err := in.endedSince(r, max(d.Checked, r.Sequence))
	if err != nil {
		return Recheck{}, err
	}
	if ended || !in.counts(loc.Segment) {
		// Compaction drops a record with what ended it, and that only once no
		// segment that counts has the record.
		return gone(goneWhy), nil
	}
	reason := "the record has no row, though nothing has replaced or removed what it brought"
	found := rowDefect(rowNameOf(r), r.BucketName, r.Key, loc, reason)
	found.Checked = d.Checked
	return Recheck{Defect: found}, nil
}

// rowNameOf names the row that a record makes.
func rowNameOf(r *journal.Record) RowName {
	switch r.Kind {
	case journal.BucketCreate:
		return RowName{Table: Buckets, ID: int64(r.Sequence)}
	case journal.UploadCreate:
		return RowName{Table: Uploads, ID: int64(r.Bucket), Key: []byte(r.Key), Upload: r.Upload}
	case journal.Part:
		return partRow(r.Upload, r.Part)
	}
	return objectRow(r.Bucket, r.Key)
}

// endedSince reads the journal behind a record and tells whether another one
// replaces what it brought, or ends it, or may: not all can be read.
func (in *inspection) endedSince(r *journal.Record, after uint64) (ended bool, err error) {
	until := in.s.index.Applied().Sequence // the row was looked up before
	for _, seg := range in.s.journal.Segments() {
		if seg.Last <= after || seg.First > until {
			continue
		}
		_, err := in.s.journal.Scan(in.ctx, seg.Number, 0, func(sc journal.Scanned) error {
			unread := sc.Record == nil && sc.Location.Length > 0 && sc.Location.Offset > 0
			if unread || sc.Record != nil && sc.Location.Sequence > after && ends(sc.Record, r) {
				ended = true
				return errEnough
			}
			return nil
		})
		if ended {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// ends tells whether a later record leaves nothing of what r brought.
func ends(later, r *journal.Record) bool {
	switch r.Kind {
	case journal.BucketCreate:
		return later.Kind == journal.BucketDelete && later.Bucket == r.Sequence
	case journal.UploadCreate, journal.Part:
		over := later.Kind == journal.Complete || later.Kind == journal.Abort
		again := later.Kind == journal.Part && r.Kind == journal.Part && later.Part == r.Part
		return later.Upload == r.Upload && (over || again)
	}
	switch later.Kind {
	case journal.Put, journal.Complete, journal.Delete:
		return later.Bucket == r.Bucket && later.Key == r.Key
	}
	return false
}

// recheckTable walks a whole table again, of which a page was damaged.
func (in *inspection) recheckTable(i *index.Inspector, d Defect) (Recheck, error) {
	in.out.Next = Cursor{Stage: StageRows, Row: RowName{Table: d.Row.Table, ID: index.First, Number: index.First}}
	for {
		n, err := in.table(i)
		switch {
		case fault.CodeOf(err) == fault.Corrupt:
			return Recheck{Defect: d}, nil
		case err != nil:
			return Recheck{}, err
		case n < inspectRows:
			return Recheck{Verdict: Good}, nil
		}
		in.out.Claims, in.out.Defects = nil, nil
		if err := in.ctx.Err(); err != nil {
			return Recheck{}, fault.New("store.Recheck", fault.Canceled, "", err)
		}
	}
}

// recheckRow looks for the record of a row, whose place is not known.
func (in *inspection) recheckRow(d Defect) (Recheck, error) {
	found, err := in.visitRow(d.Row)
	if fault.CodeOf(err) == fault.Corrupt {
		return Recheck{Defect: d}, nil
	}
	if err != nil {
		return Recheck{}, err
	}
	if len(in.out.Defects) > 0 {
		return Recheck{Defect: in.out.Defects[0]}, nil
	}
	if !found || len(in.out.Claims) == 0 || d.Sequence != 0 && in.out.Claims[0].Sequence != d.Sequence {
		return gone("the row is no more"), nil
	}
	stands := in.out.Claims[0]
	r, loc, err := in.recordOf(stands.Sequence)
	if err != nil {
		return Recheck{}, err
	}
	if r != nil {
		if err := in.record(r, loc); err != nil {
			return Recheck{}, err
		}
		for _, c := range in.out.Claims {
			if c.Kind == Agreed && c.Name == stands.Name && c.Sequence == stands.Sequence {
				return Recheck{Verdict: Good}, nil
			}
		}
	}
	now, err := in.rowSequence(d.Row)
	if err == nil && now != stands.Sequence {
		return gone("the row is no more"), nil // it may have gone with its record
	}
	d.Key = string(d.Row.Key)
	if d.Row.Table == Objects || d.Row.Table == Uploads {
		d.Bucket = in.bucketOfID(uint64(d.Row.ID))
	}
	if other, found, err := in.misplaced(d, stands.Sequence, r != nil); found || err != nil {
		return other, err
	}
	d.File, d.Reason = indexFile, "the row stands for a record that the journal does not have"
	return Recheck{Defect: d}, nil
}

// visitRow looks a row up and does with it what an inspection does.
func (in *inspection) visitRow(name RowName) (found bool, err error) {
	switch name.Table {
	case Buckets:
		return visitFound(in.bucketRow)(in.x.Bucket(uint64(name.ID)))
	case Objects:
		return visitFound(in.objectRow)(in.x.Row(uint64(name.ID), string(name.Key)))
	case Uploads:
		return visitFound(in.uploadRow)(in.x.Upload(name.Upload))
	case Parts:
		return visitFound(in.partRow)(in.x.Part(name.Upload, int(name.Number)))
	}
	return visitFound(in.bodyRow)(in.x.Body(uint64(name.ID)))
}

func visitFound[T any](visit func(*T, bool) (RowName, error)) func(T, bool, error) (bool, error) {
	return func(row T, found bool, err error) (bool, error) {
		if err == nil && found {
			_, err = visit(&row, true)
		}
		return found, err
	}
}

// recordAt reads the record of a defect where it was, or where it is now.
func (in *inspection) recordAt(d Defect) (r *journal.Record, loc journal.Location, err error) {
	if !in.counts(d.Segment) {
		return in.recordOf(d.Sequence)
	}
	_, err = in.s.journal.Scan(in.ctx, d.Segment, d.At, func(sc journal.Scanned) error {
		if sc.Record != nil && sc.Location.Sequence == d.Sequence {
			r, loc = sc.Record, sc.Location
		}
		return errEnough
	})
	if r != nil {
		return r, loc, nil
	}
	if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, journal.ErrGone) {
		return nil, loc, err
	}
	return in.recordOf(d.Sequence)
}

// recordOf searches the segment that must have a record. It returns nil when
// there is none.
func (in *inspection) recordOf(sequence uint64) (r *journal.Record, loc journal.Location, err error) {
	seg, ok := in.segment(func(s journal.Segment) bool { return s.First <= sequence && sequence <= s.Last })
	if !ok {
		return nil, loc, nil
	}
	_, err = in.s.journal.Scan(in.ctx, seg.Number, 0, func(sc journal.Scanned) error {
		if sc.Record != nil && sc.Location.Sequence == sequence {
			r, loc = sc.Record, sc.Location
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, journal.ErrGone) {
		err = nil
	}
	return r, loc, err
}

// errMoved says that something was stored between a look and the change that
// rests on it.
var errMoved = errors.New("the store has moved on")

// healTries is how often a change of the index is tried against a store in use.
const healTries = 8

// HealRow makes a row of the index again from its record, after Recheck has
// confirmed d. It tells whether the row is right now. Rows of buckets and bodies
// hold counts that stand in no record: they are left to RebuildLater, but for
// whether the version of a body stands.
func (s *Store) HealRow(ctx context.Context, d Defect) (bool, error) {
	for range healTries {
		healed, err := s.healRowOf(ctx, d)
		switch fault.CodeOf(err) {
		case fault.Corrupt, fault.NoSpace, fault.ReadOnly: // the index takes no row now
			return false, nil
		}
		if !errors.Is(err, errMoved) {
			return healed, err
		}
	}
	return false, nil
}

// RebuildLater lets the index be made again from the journal at the next start.
func (s *Store) RebuildLater() {
	if x, ok := s.index.(inspectable); ok {
		x.MarkDamaged()
	}
}

func (s *Store) healRowOf(ctx context.Context, d Defect) (bool, error) {
	if d.Segment == 0 {
		return false, nil
	}
	switch d.Row.Table {
	case Objects, Uploads, Parts, Bodies:
	default:
		return false, nil
	}
	at := s.index.Applied()
	in := &inspection{s: s, ctx: ctx, x: s.index}
	r, _, err := in.recordAt(d)
	if err != nil || r == nil || r.Kind == journal.Delete {
		return false, err
	}
	if d.Row.Table == Bodies {
		ended, err := in.endedSince(r, r.Sequence)
		if err != nil {
			return false, err
		}
		return s.healWitness(r, !ended)
	}
	if now, err := in.rowSequence(d.Row); err != nil && fault.CodeOf(err) != fault.Corrupt {
		return false, err
	} else if now != r.Sequence { // then it must be made sure that nothing ended it
		if ended, err := in.endedSince(r, max(d.Checked, r.Sequence)); err != nil || ended {
			return false, err
		}
	}
	moved := false
	err = s.alterIndex(func(tx viewTx) ([]rowUpdate, error) {
		if moved = s.index.Applied() != at; moved {
			return nil, nil
		}
		return putRowOf(tx, r)
	})
	if err == nil && moved {
		err = errMoved
	}
	return err == nil, err
}

// putRowOf writes the row of a record. What an object's row remembers of older
// versions is kept, or set to the most careful value: it delays the dropping
// of tombstones, never the other way.
func putRowOf(tx viewTx, r *journal.Record) ([]rowUpdate, error) {
	switch r.Kind {
	case journal.UploadCreate:
		return nil, tx.PutUpload(index.Upload{
			ID: r.Upload, Bucket: r.Bucket, Key: r.Key, Created: r.Time, Sequence: r.Sequence, Meta: metaOf(r),
		})
	case journal.Part:
		return nil, tx.PutPart(index.Part{
			Upload: r.Upload, Number: r.Part, Sequence: r.Sequence, Size: r.Size, Modified: r.Time, ETag: r.ETag, Meta: metaOf(r),
		})
	}
	m := *r
	m.Since = 1
	if old, found, err := tx.Row(r.Bucket, r.Key); err == nil && found {
		if kept, err := journal.DecodeMeta(old.Meta); err == nil {
			m.Since = max(kept.Since, 1)
		}
	}
	row := rowOf(&m)
	return []rowUpdate{{bucket: r.Bucket, key: r.Key, row: &row}}, tx.PutRow(row)
}

// healWitness lets the body of a record say whether its version, or its part,
// stands, as journal and row tell. Where they do not tell the same it is the row
// that is wrong, an old one perhaps of what was deleted, and nothing is done in its
// favour. What else the body says is not touched.
func (s *Store) healWitness(r *journal.Record, truly bool) (healed bool, err error) {
	err = s.indexOnly(func(tx viewTx) error {
		stands, err := standsIn(tx, r)
		if err != nil || stands != truly {
			return err
		}
		body, found, err := tx.Body(r.Sequence)
		switch {
		case err != nil || !found && bringsBody(r):
			return err // where its bytes lie is another matter
		case !bringsBody(r) && found && body != index.Witness(r.Sequence):
			return nil
		case !bringsBody(r) && !stands:
			err = tx.DeleteBody(r.Sequence)
		case !bringsBody(r):
			err = tx.PutBody(index.Witness(r.Sequence))
		case body.Current == (stands && r.Kind == journal.Put):
			return nil
		default:
			body.Current = stands && r.Kind == journal.Put
			err = tx.PutBody(body)
		}
		healed = err == nil
		return err
	})
	return healed && err == nil, err
}

// standsIn tells whether a record made the row that is there.
func standsIn(tx viewTx, r *journal.Record) (bool, error) {
	if r.Kind == journal.Part {
		p, found, err := tx.Part(r.Upload, r.Part)
		return found && p.Sequence == r.Sequence, err
	}
	row, found, err := tx.Row(r.Bucket, r.Key)
	return found && row.Sequence == r.Sequence, err
}
