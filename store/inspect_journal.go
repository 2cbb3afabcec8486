package store

import (
	"bytes"
	"errors"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// errEnough ends a scan of the journal where the step has enough.
var errEnough = errors.New("enough for one step")

// journal verifies the next records, and whatever each says that is live.
func (in *inspection) journal() error {
	c := &in.out.Next
	seg, ok := in.place(in.s.journal.Segments())
	if !ok {
		*c = Cursor{Stage: StageRows}
		return nil
	}
	in.seg = seg
	_, err := in.s.journal.Scan(in.ctx, seg.Number, c.Offset, in.scanned)
	in.close(seg.Last)
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return err
	}
	in.out.Segments++
	if seg.Head { // it may have grown, or been sealed, while it was read
		*c = Cursor{Stage: StageRows}
		return nil
	}
	in.out.Through = max(seg.Last, c.Sequence)
	*c = Cursor{Sequence: in.out.Through, Skim: c.Skim}
	return nil
}

// place finds the segment to go on in. A segment that was compacted meanwhile
// is no more: then what took its place is read from its start.
func (in *inspection) place(segments []journal.Segment) (journal.Segment, bool) {
	c := &in.out.Next
	for _, seg := range segments {
		if seg.Number == c.Segment {
			return seg, true
		}
	}
	c.Segment, c.Offset = 0, 0
	for _, seg := range segments {
		if seg.Last > c.Sequence || seg.Head {
			c.Segment = seg.Number
			return seg, true
		}
	}
	return journal.Segment{}, false
}

// scanned takes one record, or one broken piece. A scan begins with a record
// that was verified before, so that what follows is held against it.
func (in *inspection) scanned(sc journal.Scanned) error {
	c, loc := &in.out.Next, sc.Location
	if sc.Damage != nil {
		in.damaged(sc)
		in.out.Bytes += loc.Length
		return in.spoiled(sc)
	}
	in.close(loc.Sequence - 1)
	if loc.Sequence <= c.Sequence {
		return nil
	}
	if loc.Sequence > in.s.index.Applied().Sequence {
		*c = Cursor{Stage: StageRows} // stored while the inspection ran: the next one's
		return errEnough
	}
	if c.BlobOf != loc.Sequence {
		c.BlobOf, c.Blob = loc.Sequence, 0
		if err := in.record(sc.Record, loc); err != nil {
			return err
		}
		in.out.Bytes += loc.Length
	}
	done, err := in.blob(sc.Record, loc)
	if err != nil {
		return err
	}
	if !done {
		return errEnough
	}
	in.passed(loc)
	if in.out.Bytes >= inspectBytes {
		return errEnough
	}
	return nil
}

// passed moves the cursor behind a record.
func (in *inspection) passed(loc journal.Location) {
	c := &in.out.Next
	in.out.Records++
	in.out.Through = loc.Sequence
	c.Sequence, c.Segment, c.Offset, c.Blob, c.BlobOf = loc.Sequence, loc.Segment, loc.Offset, 0, 0
}

// damaged takes a broken piece. Where its frame is broken, which records it
// held is known once the next good one is found.
func (in *inspection) damaged(sc journal.Scanned) {
	loc := sc.Location
	d := Defect{
		Harm: HarmGarbage, Sequence: loc.Sequence, Last: loc.Sequence, File: sc.Damage.File, Offset: loc.Offset,
		Length: loc.Length, Reason: sc.Damage.Reason, Segment: loc.Segment, At: in.out.Next.Offset,
	}
	switch {
	case sc.Record != nil:
		in.close(loc.Sequence - 1)
		d.Body = true
		in.suffers(&d, sc.Record)
		in.defect(d)
	case loc.Offset == 0 && loc.Length <= maxSegmentHeader && loc.Length < in.seg.Size:
		d.Sequence, d.Last = 1, 0 // no record
		in.defect(d)
	case in.open != nil:
		in.open.Length = loc.Offset + loc.Length - in.open.Offset
	default:
		if d.Sequence == 0 {
			d.Sequence = max(in.out.Next.Sequence+1, in.seg.First)
		}
		in.open = &d
	}
}

// spoiled compares a record of which only the body is broken with its row.
func (in *inspection) spoiled(sc journal.Scanned) error {
	if sc.Record == nil || sc.Location.Sequence <= in.out.Next.Sequence {
		return nil
	}
	if err := in.record(sc.Record, sc.Location); err != nil {
		return err
	}
	in.passed(sc.Location)
	return nil
}

// maxSegmentHeader is the longest header of a segment, in bytes.
const maxSegmentHeader = 128

// close ends a broken piece before the record that follows last.
func (in *inspection) close(last uint64) {
	if in.open == nil {
		return
	}
	d := *in.open
	in.open = nil
	d.Last = last
	if d.Last >= d.Sequence && in.anyBody(d.Sequence, d.Last) {
		d.Harm = HarmObject
	}
	in.defect(d)
}

// anyBody tells whether a body is known that one of these records brought.
func (in *inspection) anyBody(first, last uint64) bool {
	x, ok := in.s.index.(inspectable)
	if !ok {
		return false
	}
	i, err := x.Inspector()
	if err != nil {
		return false
	}
	defer i.Close()
	rows, err := i.Bodies(int64(first)-1, 1)
	return err == nil && len(rows) == 1 && rows[0].Row.Sequence <= last
}

// suffers says who needs a record whose body is broken.
func (in *inspection) suffers(d *Defect, r *journal.Record) {
	if _, found, err := in.x.Body(r.Sequence); err != nil || found {
		d.Harm = HarmObject
	}
	switch r.Kind {
	case journal.Put, journal.Part:
		row, ok := in.rowOfRecord(r)
		if ok {
			d.Harm, d.Bucket, d.Key, d.Row, d.Version = HarmObject, r.BucketName, r.Key, row, r.Sequence
		}
	}
}

// rowOfRecord names the row that a record brought, when it is the current one.
func (in *inspection) rowOfRecord(r *journal.Record) (RowName, bool) {
	if r.Kind == journal.Part {
		p, found, err := in.x.Part(r.Upload, r.Part)
		return partRow(r.Upload, r.Part), err == nil && found && p.Sequence == r.Sequence
	}
	row, found, err := in.x.Row(r.Bucket, r.Key)
	return objectRow(r.Bucket, r.Key), err == nil && found && row.Sequence == r.Sequence
}

func objectRow(bucket uint64, key string) RowName {
	return RowName{Table: Objects, ID: int64(bucket), Key: []byte(key)}
}

func partRow(upload string, number int) RowName {
	return RowName{Table: Parts, Upload: upload, Number: int64(number)}
}

// blob verifies more of the blob that a record brought, if it is live, and
// tells whether all of it is done.
func (in *inspection) blob(r *journal.Record, loc journal.Location) (done bool, err error) {
	c := &in.out.Next
	if r.Blob == "" || c.Skim {
		return true, nil
	}
	body, found, err := in.x.Body(r.Sequence)
	if fault.CodeOf(err) == fault.Corrupt {
		return true, nil // its row is a matter of its own
	}
	if err != nil {
		return false, err
	}
	if !found || body.Blob != r.Blob {
		return true, nil // it died, or its row is wrong
	}
	n, done, err := in.s.checkBlob(r, c.Blob, inspectBytes)
	in.out.Bytes += n
	c.Blob += n
	if broken := blobDamage(err, r.Size); broken != nil {
		in.brokenBlob(r, loc, broken)
		return true, nil
	}
	if err == nil && done {
		in.out.Blobs++
	}
	return done, err
}

func (in *inspection) brokenBlob(r *journal.Record, loc journal.Location, dmg *pieceDamage) {
	d := Defect{
		Harm: HarmObject, Sequence: r.Sequence, Last: r.Sequence, File: dmg.file, Offset: dmg.offset, Length: dmg.length,
		Reason: dmg.reason, Segment: loc.Segment, Blob: r.Blob, Body: true,
	}
	if row, ok := in.rowOfRecord(r); ok {
		d.Bucket, d.Key, d.Row, d.Version = r.BucketName, r.Key, row, r.Sequence
	}
	in.defect(d)
}

// record compares a record with what the index makes of it.
func (in *inspection) record(r *journal.Record, loc journal.Location) error {
	if err := in.bodyOf(r, loc); err != nil {
		return err
	}
	switch r.Kind {
	case journal.Put:
		return in.versionOf(r, loc)
	case journal.Complete:
		in.ended(uploadClaim(r.Upload), r.Sequence)
		return in.versionOf(r, loc)
	case journal.Delete:
		in.ended(objectClaim(r.Bucket, r.Key), r.Sequence)
		return in.deletionOf(r, loc)
	case journal.BucketCreate:
		return in.bucketOf(r, loc)
	case journal.BucketDelete:
		in.ended(bucketClaim(r.Bucket), r.Sequence)
	case journal.UploadCreate:
		return in.uploadOf(r, loc)
	case journal.Part:
		return in.partOf(r, loc)
	case journal.Abort:
		in.ended(uploadClaim(r.Upload), r.Sequence)
	}
	return nil
}

// row settles what a look-up of a record's row means: whether there is a row to
// compare. A row that cannot be trusted counts as none. A row that is older
// than its record does too, since rows only move forward.
func (in *inspection) compare(name uint64, loc journal.Location, sequence uint64, found bool, err error) (bool, error) {
	switch {
	case err != nil && fault.CodeOf(err) != fault.Corrupt:
		return false, err
	case err != nil || !found || sequence < loc.Sequence:
		in.absent(name, loc)
		return false, nil
	}
	return sequence == loc.Sequence, nil
}

// settle claims that a row agrees with its record, or reports that it does not.
func (in *inspection) settle(name uint64, loc journal.Location, row RowName, r *journal.Record, same bool) {
	if same {
		in.agreed(name, loc.Sequence, false)
		return
	}
	in.defect(rowDefect(row, r.BucketName, r.Key, loc, "the row does not say what its record says"))
}

func rowDefect(row RowName, bucket, key string, loc journal.Location, reason string) Defect {
	return Defect{
		Harm: HarmIndex, Bucket: bucket, Key: key, Sequence: loc.Sequence, Last: loc.Sequence,
		File: indexFile, Offset: -1, Length: -1, Reason: reason, Segment: loc.Segment, At: loc.Offset, Row: row, Version: loc.Sequence,
	}
}

func (in *inspection) versionOf(r *journal.Record, loc journal.Location) error {
	row, found, err := in.x.Row(r.Bucket, r.Key)
	name := objectClaim(r.Bucket, r.Key)
	current, err := in.compare(name, loc, row.Sequence, found, err)
	if current {
		in.settle(name, loc, objectRow(r.Bucket, r.Key), r, sameRow(row, rowOf(r)))
	}
	if err == nil && (current || found && row.Sequence > r.Sequence) {
		err = in.witnessOf(r, loc, current)
	}
	return err
}

// witnessOf: what says that a version or part stands goes and comes with its row,
// which was looked up before. When it stood then, it may have been replaced since.
func (in *inspection) witnessOf(r *journal.Record, loc journal.Location, stood bool) error {
	b, found, err := in.x.Body(r.Sequence)
	if fault.CodeOf(err) == fault.Corrupt {
		return nil // met again among the rows
	}
	vouched := found && b.Current
	if err != nil || vouched == stood {
		return err
	}
	reason := "the row says that a version stands which was replaced"
	if stood {
		name := objectRow(r.Bucket, r.Key)
		if r.Kind == journal.Part {
			name = partRow(r.Upload, r.Part)
		}
		if now, err := in.rowSequence(name); err != nil || now != r.Sequence {
			return err
		}
		reason = "nothing says that the version stands"
	}
	in.defect(rowDefect(bodyRow(r.Sequence), r.BucketName, r.Key, loc, reason))
	return nil
}

func bodyRow(sequence uint64) RowName { return RowName{Table: Bodies, ID: int64(sequence)} }

// sameRow compares the row that stands with the one that its record makes. What
// the row remembers of older versions is its own.
func sameRow(row, made index.Row) bool {
	return row.Size == made.Size && row.Modified == made.Modified && row.ETag == made.ETag && sameMeta(row.Meta, made.Meta)
}

func sameMeta(row, made []byte) bool {
	if bytes.Equal(row, made) {
		return true
	}
	r, err := journal.DecodeMeta(row)
	if err != nil {
		return false
	}
	r.Since, r.Prev = 0, 0
	m, err := journal.DecodeMeta(made)
	if err != nil {
		return false
	}
	m.Since, m.Prev = 0, 0
	return bytes.Equal(r.AppendMeta(nil), m.AppendMeta(nil))
}

// deletionOf: what was deleted must not stand.
func (in *inspection) deletionOf(r *journal.Record, loc journal.Location) error {
	row, found, err := in.x.Row(r.Bucket, r.Key)
	if fault.CodeOf(err) == fault.Corrupt {
		return nil // met again among the rows
	}
	if err == nil && found && row.Sequence < r.Sequence {
		in.defect(rowDefect(objectRow(r.Bucket, r.Key), r.BucketName, r.Key, loc, "the row stands, though its object was deleted"))
	}
	return err
}

func (in *inspection) bucketOf(r *journal.Record, loc journal.Location) error {
	b, found, err := in.x.Bucket(r.Sequence)
	name := bucketClaim(r.Sequence)
	current, err := in.compare(name, loc, r.Sequence, found, err)
	if current {
		row := RowName{Table: Buckets, ID: int64(r.Sequence)}
		in.settle(name, loc, row, r, b.Name == r.BucketName && b.Created == r.Time)
	}
	return err
}

func (in *inspection) uploadOf(r *journal.Record, loc journal.Location) error {
	u, found, err := in.x.Upload(r.Upload)
	name := uploadClaim(r.Upload)
	current, err := in.compare(name, loc, u.Sequence, found, err)
	if current {
		row := RowName{Table: Uploads, ID: int64(r.Bucket), Key: []byte(r.Key), Upload: r.Upload}
		same := u.Bucket == r.Bucket && u.Key == r.Key && u.Created == r.Time && sameMeta(u.Meta, metaOf(r))
		in.settle(name, loc, row, r, same)
	}
	return err
}

// partOf: a part without a row is only missed while its upload stands. Its
// upload is looked up after the part, since both go at once.
func (in *inspection) partOf(r *journal.Record, loc journal.Location) error {
	p, found, err := in.x.Part(r.Upload, r.Part)
	if err == nil && found && p.Sequence >= r.Sequence {
		if p.Sequence == r.Sequence {
			same := p.Size == r.Size && p.Modified == r.Time && p.ETag == r.ETag && sameMeta(p.Meta, metaOf(r))
			in.settle(partClaim(r.Upload, r.Part), loc, partRow(r.Upload, r.Part), r, same)
			if !bringsBody(r) {
				return in.witnessOf(r, loc, true)
			}
		}
		return nil
	}
	if err != nil && fault.CodeOf(err) != fault.Corrupt {
		return err
	}
	_, stands, err := in.x.Upload(r.Upload)
	if fault.CodeOf(err) == fault.Corrupt {
		return nil
	}
	if err == nil && stands {
		in.absent(uploadClaim(r.Upload), loc)
	}
	return err
}

// bodyOf compares a record with the row of the body that it brought. One that
// brought none has a witness while it stands.
func (in *inspection) bodyOf(r *journal.Record, loc journal.Location) error {
	switch r.Kind {
	case journal.Put, journal.Complete, journal.Part, journal.Body:
	default:
		return nil
	}
	b, found, err := in.x.Body(r.Sequence)
	switch {
	case fault.CodeOf(err) == fault.Corrupt:
		return nil // met again among the rows
	case err != nil || !found:
		return err
	}
	same := b == index.Witness(r.Sequence)
	if bringsBody(r) {
		same = b.Blob == r.Blob && b.BodyLength == r.Size && in.s.liesThere(b, loc)
	}
	if same {
		in.agreed(bodyClaim(r.Sequence), r.Sequence, true)
		return nil
	}
	if k := in.brokenAt(b.Segment, b.Offset); k != nil { // it stood there, and was moved
		d := *k
		d.Sequence, d.Last, d.Body = r.Sequence, r.Sequence, true
		in.suffers(&d, r)
		in.defect(d)
		in.agreed(bodyClaim(r.Sequence), r.Sequence, true)
		return nil
	}
	in.defect(rowDefect(bodyRow(r.Sequence), r.BucketName, r.Key, loc, "the row does not say where the body lies"))
	return nil
}

// brokenAt returns the damage of the journal at a place, or nil.
func (in *inspection) brokenAt(segment uint64, offset int64) *Defect {
	for _, list := range [][]Defect{in.out.Defects, in.known} {
		for n := range list {
			d := &list[n]
			if d.Blob == "" && d.Segment == segment && d.Offset <= offset && offset < d.Offset+d.Length {
				return d
			}
		}
	}
	return nil
}

// liesThere tells whether a body's row names the place of a record, or another
// one where the same record stands: compaction may just have moved it.
func (s *Store) liesThere(b index.Body, loc journal.Location) bool {
	at := locationOf(b)
	if at.Segment == loc.Segment && at.Offset == loc.Offset || b.Blob != "" {
		at.BodyLength = loc.BodyLength
	}
	if at == loc {
		return true
	}
	r, err := s.journal.ReadRecord(at)
	return err == nil && r.Sequence == b.Sequence && at.Segment != loc.Segment
}
