package store

import (
	"strings"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// rows verifies the next rows of a table.
func (in *inspection) rows() error {
	c := &in.out.Next
	x, ok := in.s.index.(inspectable)
	if !ok || c.Row.Table >= tableEnd {
		*c = Cursor{Stage: StageDone}
		return nil
	}
	if c.Row.Table == NoTable {
		if err := in.s.uncacheIndex(); err != nil {
			return err
		}
		in.nextTable()
		return nil
	}
	i, err := x.Inspector()
	if err != nil {
		return in.hidden(err)
	}
	defer i.Close()
	n, err := in.table(i)
	if err != nil {
		return in.hidden(err)
	}
	in.out.Rows += int64(n)
	if n < inspectRows {
		in.nextTable()
	}
	return nil
}

// nextTable goes to the start of the next table.
func (in *inspection) nextTable() {
	c := &in.out.Next
	*c = Cursor{Stage: StageRows, Row: RowName{Table: c.Row.Table + 1, ID: index.First, Number: index.First}}
	if c.Row.Table == tableEnd {
		*c = Cursor{Stage: StageDone}
	}
}

// hidden reports a page of the index that is damaged, and with it rows that
// cannot be found any more, and goes on with the next table.
func (in *inspection) hidden(err error) error {
	if fault.CodeOf(err) != fault.Corrupt {
		return err
	}
	c := &in.out.Next
	in.defect(Defect{
		Harm: HarmIndex, File: indexFile, Offset: -1, Length: -1, Row: RowName{Table: c.Row.Table, ID: index.First},
		Reason: "a page of table " + c.Row.Table.String() + " is damaged",
	})
	in.nextTable()
	return nil
}

func (in *inspection) table(i *index.Inspector) (int, error) {
	at := in.out.Next.Row
	switch at.Table {
	case Buckets:
		rows, err := i.Buckets(at.ID, inspectRows)
		return eachRow(in, rows, err, in.bucketRow)
	case Objects:
		rows, err := i.Objects(at.ID, string(at.Key), inspectRows)
		return eachRow(in, rows, err, in.objectRow)
	case Uploads:
		rows, err := i.Uploads(at.ID, string(at.Key), at.Upload, inspectRows)
		return eachRow(in, rows, err, in.uploadRow)
	case Parts:
		rows, err := i.Parts(at.Upload, at.Number, inspectRows)
		return eachRow(in, rows, err, in.partRow)
	}
	rows, err := i.Bodies(at.ID, inspectRows)
	return eachRow(in, rows, err, in.bodyRow)
}

// eachRow visits the rows of a page. visit names the row, and looks into it
// when it can be trusted. The walk goes on behind the last row whose name is
// where it belongs: that of a damaged one may be anything.
func eachRow[T any](in *inspection, rows []index.Checked[T], err error, visit func(*T, bool) (RowName, error)) (int, error) {
	if err != nil {
		return 0, err
	}
	before, moved := in.out.Next.Row, false
	for n := range rows {
		name, err := visit(&rows[n].Row, rows[n].Err == nil)
		if err != nil {
			return 0, err
		}
		if rows[n].Err == nil {
			in.out.Next.Row, moved = name, true
			continue
		}
		in.untrusted(name, rows[n].Err)
	}
	if len(rows) == inspectRows && !moved {
		in.out.Next.Row = before
		return 0, nil // nothing but damaged rows: the rest of the table cannot be told
	}
	return len(rows), nil
}

func (in *inspection) untrusted(row RowName, err error) {
	d := Defect{Harm: HarmIndex, Key: string(row.Key), File: indexFile, Offset: -1, Length: -1, Row: row,
		Reason: "a row of table " + row.Table.String() + ": " + err.Error()}
	if row.Table == Objects || row.Table == Uploads {
		d.Bucket = in.bucketOfID(uint64(row.ID))
	}
	in.defect(d)
}

// bucketOfID is a bucket's name, "" when there is none with the id.
func (in *inspection) bucketOfID(id uint64) string {
	for _, b := range in.s.buckets.all() {
		if b.ID == id {
			return b.Name
		}
	}
	return ""
}

func (in *inspection) stands(name, sequence uint64, twin bool, row RowName) {
	if sequence > in.s.journal.Position().Sequence {
		d := Defect{Harm: HarmIndex, Sequence: sequence, Last: sequence, Version: sequence, Key: string(row.Key), Row: row}
		d.File, d.Offset, d.Length, d.Reason = indexFile, -1, -1, "the row is newer than the journal"
		in.defect(d)
	}
	in.claim(Claim{Kind: Stands, Name: name, Sequence: sequence, Twin: twin, Row: row})
}

func (in *inspection) bucketRow(b *index.Bucket, good bool) (RowName, error) {
	row := RowName{Table: Buckets, ID: int64(b.ID)}
	if !good {
		return row, nil
	}
	in.stands(bucketClaim(b.ID), b.ID, false, row)
	in.needs(b.ID, nil, Defect{Bucket: b.Name, Sequence: b.ID, Row: row})
	in.counted(&in.out.Tally.Kept, b.ID, b.Objects, b.Bytes, b.Uploads)
	in.out.Bytes += rowBytesOf(len(b.Name), len(b.Meta))
	return row, nil
}

// counted adds to what a bucket holds.
func (in *inspection) counted(sum *uint64, bucket uint64, objects, bytes, uploads int64) {
	*sum += weigh(bucket<<2)*uint64(objects) + weigh(bucket<<2|1)*uint64(bytes) + weigh(bucket<<2|2)*uint64(uploads)
}

// rowBytesOf is about what a row takes in the index.
func rowBytesOf(name, meta int) int64 { return 64 + int64(name+meta) }

func (in *inspection) objectRow(r *index.Row, good bool) (RowName, error) {
	row := objectRow(r.Bucket, r.Key)
	if !good {
		return row, nil
	}
	in.stands(objectClaim(r.Bucket, r.Key), r.Sequence, false, row)
	in.counted(&in.out.Tally.Found, r.Bucket, 1, r.Size, 0)
	in.out.Bytes += rowBytesOf(len(r.Key), len(r.Meta))
	d := Defect{Key: r.Key, Sequence: r.Sequence, Version: r.Sequence, Row: row}
	return row, in.content(d, r.Bucket, r.Size, r.Meta, func() (uint64, error) {
		now, found, err := in.x.Row(r.Bucket, r.Key)
		return sequenceOf(now.Sequence, found), err
	})
}

func (in *inspection) uploadRow(u *index.Upload, good bool) (RowName, error) {
	row := RowName{Table: Uploads, ID: int64(u.Bucket), Key: []byte(u.Key), Upload: u.ID}
	if !good {
		return row, nil
	}
	in.stands(uploadClaim(u.ID), u.Sequence, false, row)
	in.counted(&in.out.Tally.Found, u.Bucket, 0, 0, 1)
	in.needs(u.Sequence, nil, Defect{Bucket: in.bucketOfID(u.Bucket), Key: u.Key, Sequence: u.Sequence, Row: row})
	in.out.Bytes += rowBytesOf(len(u.Key), len(u.Meta))
	return row, nil
}

func (in *inspection) partRow(p *index.Part, good bool) (RowName, error) {
	row := partRow(p.Upload, p.Number)
	if !good {
		return row, nil
	}
	in.stands(partClaim(p.Upload, p.Number), p.Sequence, false, row)
	in.out.Bytes += rowBytesOf(len(p.Upload), len(p.Meta))
	d := Defect{Sequence: p.Sequence, Version: p.Sequence, Row: row}
	var bucket uint64
	if u, found, err := in.x.Upload(p.Upload); err == nil && found {
		bucket, d.Key = u.Bucket, u.Key
	}
	return row, in.content(d, bucket, p.Size, p.Meta, func() (uint64, error) {
		now, found, err := in.x.Part(p.Upload, p.Number)
		return sequenceOf(now.Sequence, found), err
	})
}

func sequenceOf(sequence uint64, found bool) uint64 {
	if !found {
		return 0
	}
	return sequence
}

func (in *inspection) bodyRow(b *index.Body, good bool) (RowName, error) {
	row := RowName{Table: Bodies, ID: int64(b.Sequence)}
	if !good {
		return row, nil
	}
	in.stands(bodyClaim(b.Sequence), b.Sequence, true, row)
	in.out.Tally.Refs += weigh(b.Sequence) * uint64(b.Refs)
	if b.Current {
		in.out.Tally.Refs += weighStanding(b.Sequence)
	}
	in.out.Bytes += rowBytesOf(len(b.Blob), 0)
	return row, nil
}

// content looks at the bodies of a version or part, d: all must be known and
// long enough. current tells which version stands now, for one that was
// replaced meanwhile is not accused.
func (in *inspection) content(d Defect, bucket uint64, size int64, meta []byte, current func() (uint64, error)) error {
	d.Bucket = in.bucketOfID(bucket)
	r, err := journal.DecodeMeta(meta)
	if err != nil {
		d.Harm, d.File, d.Offset, d.Length, d.Reason = HarmIndex, indexFile, -1, -1, "the row's metadata: "+err.Error()
		in.defect(d)
		return nil
	}
	extents := extentsOf(r.Extents, d.Sequence, size)
	in.needs(d.Sequence, extents, d)
	var total int64
	for _, e := range extents {
		in.out.Tally.Held += weigh(e.Body)
		total += e.Length
	}
	why, err := in.bodies(extents)
	if err != nil {
		return err
	}
	if version := d.Row.Table == Objects; version || !ownBody(r.Extents, size) {
		in.out.Tally.Held += weighStanding(d.Sequence)
		if why == "" {
			if why, err = in.unvouched(d.Sequence); err != nil {
				return err
			}
		}
	}
	if why == "" && total != size {
		why = "the extents are not as long as the object"
	}
	if why == "" {
		return nil
	}
	now, err := current()
	if err == nil && now == d.Sequence {
		d.Harm, d.File, d.Offset, d.Length, d.Reason = HarmIndex, indexFile, -1, -1, why
		in.defect(d)
	}
	return err
}

// weighStanding is the weight of a record that stands.
func weighStanding(sequence uint64) uint64 { return weigh(^sequence) }

// unvouched says what is wrong when no body says that a record stands.
func (in *inspection) unvouched(sequence uint64) (why string, err error) {
	b, found, err := in.x.Body(sequence)
	switch {
	case fault.CodeOf(err) == fault.Corrupt:
		return "the row of its body is damaged", nil
	case err == nil && (!found || !b.Current):
		return "nothing says that it stands: a page of the index is an old one", nil
	}
	return "", err
}

// bodies says what is wrong with the rows of some bodies.
func (in *inspection) bodies(extents []journal.Extent) (why string, err error) {
	var last index.Body
	for _, e := range extents {
		if last.Sequence != e.Body {
			b, found, err := in.x.Body(e.Body)
			switch {
			case fault.CodeOf(err) == fault.Corrupt:
				return "the row of its body is damaged", nil
			case err != nil:
				return "", err
			case !found:
				return "the index does not know where its body is", nil
			}
			last = b
		}
		if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > last.BodyLength {
			return "its body is shorter than it", nil
		}
	}
	return "", nil
}

// needs adds a defect for a row whose record, or one of whose bodies, lies where
// damage was confirmed.
func (in *inspection) needs(sequence uint64, extents []journal.Extent, d Defect) {
	for n := range in.known {
		k := &in.known[n]
		if k.Harm == HarmIndex || k.Row.Table != NoTable && sameRowName(k.Row, d.Row) && k.Version == sequence {
			continue
		}
		hit := !k.Body && k.covers(sequence)
		for _, e := range extents {
			hit = hit || k.covers(e.Body) && k.touches(e)
		}
		if !hit {
			continue
		}
		suffers := *k
		suffers.Harm, suffers.Version = HarmObject, sequence
		suffers.Bucket, suffers.Key, suffers.Row = d.Bucket, d.Key, d.Row
		in.defect(suffers)
	}
}

func (d *Defect) covers(sequence uint64) bool { return sequence >= d.Sequence && sequence <= d.Last }

// touches tells whether an extent of a body needs what is damaged of it: of a
// blob whose bytes are damaged, not all of it may be lost.
func (d *Defect) touches(e journal.Extent) bool {
	if d.Blob == "" || d.Offset < 0 || d.Length < 0 {
		return true
	}
	return e.Offset < d.Offset+d.Length && d.Offset < e.Offset+e.Length
}

func sameRowName(a, b RowName) bool {
	return a.Table == b.Table && a.ID == b.ID && string(a.Key) == string(b.Key) && a.Upload == b.Upload && a.Number == b.Number
}

// String names a row for people.
func (r RowName) String() string {
	var b strings.Builder
	b.WriteString(r.Table.String())
	if len(r.Key) > 0 {
		b.WriteString(" " + string(r.Key))
	}
	if r.Upload != "" {
		b.WriteString(" of upload " + r.Upload)
	}
	return b.String()
}
