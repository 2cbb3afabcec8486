package store

import (
	"context"
	"errors"

	"larder/store/index"
	"larder/store/journal"
)

// Harm says what damage means to those who read.
type Harm string

// The kinds of harm.
const (
	// HarmObject: bytes or the record of a version that is live now, or of a
	// part, an upload or a bucket. Reads of it fail.
	HarmObject Harm = "object"
	// HarmGarbage: a place in a segment that nothing live needs. Reads and
	// writes go on, but the index could not be made again from the journal
	// until the segment is compacted.
	HarmGarbage Harm = "garbage"
	// HarmIndex: a row of the index disagrees with the journal. It is healed
	// from there, at once or at the next start.
	HarmIndex Harm = "index"
)

// Stage is a part of an inspection. They come in this order.
type Stage uint8

// The stages. Their numbers are stored and never change.
const (
	StageJournal Stage = iota // records in order, each with its row, its body's row and its blob
	StageRows                 // rows of the index, table by table
	StageDone                 // nothing is left
)

// Cursor is where an inspection stands: all before it was verified. The zero
// Cursor is the very start. It may be stored and used by a later process.
type Cursor struct {
	Stage Stage `json:"stage"`

	// Of StageJournal: the records up to Sequence are done, the last of them
	// lies at Offset of Segment, where that still counts; 0 is the segment's
	// start. Of the blob of record BlobOf so many bytes are done too.
	Sequence uint64 `json:"sequence,omitempty"`
	Segment  uint64 `json:"segment,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
	BlobOf   uint64 `json:"blob_of,omitempty"`
	Blob     int64  `json:"blob,omitempty"`
	// Skim leaves blobs out: it is for those who are after the claims alone.
	Skim bool `json:"skim,omitempty"`

	// Of StageRows: the last row that is done, by its table and key.
	Row RowName `json:"row,omitzero"`
}

// Table names a table of the index.
type Table uint8

// The tables, in the order in which they are read. Their numbers are stored.
const (
	NoTable Table = iota
	Buckets
	Objects
	Uploads
	Parts
	Bodies
	tableEnd
)

// String is the table's name in the index.
func (t Table) String() string {
	return [tableEnd]string{"", "buckets", "objects", "uploads", "parts", "bodies"}[min(t, tableEnd-1)]
}

// RowName names a row of the index.
type RowName struct {
	Table  Table  `json:"table"`
	ID     int64  `json:"id,omitempty"`     // bucket, or sequence of a body
	Key    []byte `json:"key,omitempty"`    // of an object or upload
	Upload string `json:"upload,omitempty"` // of an upload or part
	Number int64  `json:"number,omitempty"` // of a part
}

// Inspected is what one step of an inspection has seen.
type Inspected struct {
	Next Cursor

	Segments, Records, Blobs, Rows int64 // that were finished in this step
	Bytes                          int64 // read and verified

	// Through is the last record that was met, 0 when none was.
	Through uint64
	// Quiet is the store's sequence, if nothing was stored during the step.
	Quiet uint64

	Defects []Defect
	Claims  []Claim
	Tally   Tally
}

// Defect is damage at one place, as a first look found it. It is no finding
// before Recheck has confirmed it.
type Defect struct {
	Harm   Harm   `json:"harm"`
	Bucket string `json:"bucket,omitempty"`
	Key    string `json:"key,omitempty"`

	// Sequence is that of the record; records Sequence to Last cannot be read
	// where a piece of the journal is broken.
	Sequence uint64 `json:"sequence"`
	Last     uint64 `json:"last,omitempty"`

	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Reason string `json:"reason"`

	Version uint64 `json:"version,omitempty"` // the version that suffers, by its record
	// Segment and At are where to read again: from the last good record before
	// what is broken, or the record that a row disagrees with.
	Segment uint64 `json:"segment,omitempty"`
	At      int64  `json:"at,omitempty"`
	Body    bool   `json:"body,omitempty"` // the record's frame is good, its body is not
	// Misplaced: a record stands there that is whole, and is not the one that the
	// row says.
	Misplaced bool    `json:"misplaced,omitempty"`
	Blob      string  `json:"blob,omitempty"` // id of the blob
	Row       RowName `json:"row,omitzero"`   // the row that suffers or is wrong

	// Checked is, for a record without a row, up to which record nothing was
	// found that would explain it.
	Checked uint64 `json:"checked,omitempty"`
}

// ClaimKind says what a Claim says.
type ClaimKind uint8

// The kinds of claims.
const (
	Agreed ClaimKind = iota // record and row say the same
	Absent                  // the record brings something and has no row (any more)
	Ended                   // the record ends what the name stands for
	Stands                  // the row is there
)

// Claim is half of a comparison that needs the other half, which an inspection
// comes to much later: records and rows lie in different orders.
type Claim struct {
	Kind     ClaimKind
	Name     uint64 // hash of what is named
	Sequence uint64 // of the record
	Twin     bool   // of the two rows that a record may have, that of its body
	Segment  uint64 // of Absent: the record's place
	Offset   int64
	Row      RowName // of Stands
}

// Tally adds up what belongs together in a store that does not change. All are
// sums modulo 2^64, so that steps can be added in any order.
type Tally struct {
	Held  uint64 // references that rows and parts make, each weighted by its body, and that they stand
	Refs  uint64 // references that bodies count, likewise, and what stands by them
	Found uint64 // objects, bytes and uploads of all buckets, weighted by the bucket
	Kept  uint64 // the same as the buckets' counters have it
}

// Add adds another step's sums.
func (t *Tally) Add(o Tally) {
	t.Held += o.Held
	t.Refs += o.Refs
	t.Found += o.Found
	t.Kept += o.Kept
}

// Fits tells whether references and counters are right, provided that nothing
// was changed while the rows were read.
func (t *Tally) Fits() bool { return t.Held == t.Refs && t.Found == t.Kept }

// weigh spreads a number over 64 bits, so that sums of them tell which numbers
// went in (the finalizer of splitmix64).
func weigh(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// inspectBytes and inspectRows are what one step takes on, about: it is short
// enough to be no burden and long enough to make headway.
const (
	inspectBytes = 4 << 20
	inspectRows  = 500
)

// lookups are what the index is asked: by way of its readers, or past their
// caches.
type lookups interface {
	Row(bucket uint64, key string) (index.Row, bool, error)
	Body(sequence uint64) (index.Body, bool, error)
	Bucket(id uint64) (index.Bucket, bool, error)
	Upload(id string) (index.Upload, bool, error)
	Part(upload string, number int) (index.Part, bool, error)
}

// inspection is one step.
type inspection struct {
	s     *Store
	ctx   context.Context
	x     lookups
	known []Defect
	out   Inspected
	seg   journal.Segment
	open  *Defect // a broken piece whose end is not known yet
}

// inspectable is what an index must give beyond view.
type inspectable interface {
	Inspector() (*index.Inspector, error)
	MarkDamaged()
}

// Inspect verifies the next piece behind from and says where to go on. It reads
// past the page cache and holds no lock and no transaction longer than one
// short read. known is damage that was confirmed before: rows that suffer from
// it become defects of their own.
//
// Damage is no error. Errors are fault.Canceled, fault.Unavailable when the
// store is being closed or files cannot be opened, or reads that failed for
// another reason.
func (s *Store) Inspect(ctx context.Context, from Cursor, known []Defect) (Inspected, error) {
	if s.closed.Load() {
		return Inspected{}, shuttingDown()
	}
	pinned := s.reclaimer.pin()
	defer s.reclaimer.unpin(pinned)
	in := &inspection{s: s, ctx: ctx, x: s.index, known: known}
	in.out.Next = from
	before, applied := s.journal.Position().Sequence, s.index.Applied().Sequence
	var err error
	switch from.Stage {
	case StageJournal:
		err = in.journal()
	case StageRows:
		err = in.rows()
	}
	if before == s.journal.Position().Sequence && applied == s.index.Applied().Sequence {
		in.out.Quiet = before
	}
	if errors.Is(err, journal.ErrGone) { // compacted meanwhile: the next step finds what took its place
		in.out.Next.Segment, err = 0, nil
	}
	return in.out, err
}

// claimName is what a claim calls something: FNV-1a over its kind, number and
// text, spread. Two names that meet can hide that a row is missing, and accuse
// nobody.
func claimName(kind byte, id uint64, text string) uint64 {
	const prime = 1099511628211
	h := (uint64(14695981039346656037) ^ uint64(kind)) * prime
	for i := range 8 {
		h = (h ^ id>>(8*i)&0xff) * prime
	}
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return weigh(h)
}

func objectClaim(bucket uint64, key string) uint64 { return claimName('o', bucket, key) }
func partClaim(upload string, number int) uint64   { return claimName('p', uint64(number), upload) }
func uploadClaim(id string) uint64                 { return claimName('u', 0, id) }
func bucketClaim(id uint64) uint64                 { return claimName('b', id, "") }
func bodyClaim(sequence uint64) uint64             { return claimName('y', sequence, "") }

func (in *inspection) claim(c Claim) { in.out.Claims = append(in.out.Claims, c) }

func (in *inspection) agreed(name, sequence uint64, twin bool) {
	in.claim(Claim{Kind: Agreed, Name: name, Sequence: sequence, Twin: twin})
}

func (in *inspection) absent(name uint64, loc journal.Location) {
	in.claim(Claim{Kind: Absent, Name: name, Sequence: loc.Sequence, Segment: loc.Segment, Offset: loc.Offset})
}

func (in *inspection) ended(name, sequence uint64) {
	in.claim(Claim{Kind: Ended, Name: name, Sequence: sequence})
}

func (in *inspection) defect(d Defect) { in.out.Defects = append(in.out.Defects, d) }
