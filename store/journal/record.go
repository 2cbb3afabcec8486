package journal

// Kind says what a record does. The numbers are part of the format.
type Kind uint8

// The kinds of format 1. Meta is reserved: its number stands, but neither Append
// nor replay accepts it yet.
const (
	BucketCreate Kind = 1  // makes a bucket
	BucketDelete Kind = 2  // removes an empty bucket
	BucketSet    Kind = 3  // changes a bucket's settings
	Put          Kind = 4  // an object version: its own body, or extents of others
	Delete       Kind = 5  // tombstone of a key or a version
	Meta         Kind = 6  // reserved: changes a version's metadata, not its body
	UploadCreate Kind = 7  // begins a multipart upload
	Part         Kind = 8  // one part of an upload
	Complete     Kind = 9  // an object version made of an upload's parts
	Abort        Kind = 10 // ends an upload and frees its parts
	Body         Kind = 11 // carrier: the body of a record that is itself gone; in compacted segments
)

// known reports whether this version of Larder reads and writes the kind.
func (k Kind) known() bool {
	switch k {
	case BucketCreate, BucketDelete, BucketSet, Put, Delete, UploadCreate, Part, Complete, Abort, Body:
		return true
	}
	return false
}

// frees reports whether a record of the kind only gives space back. Such
// records may use the room that is kept for a full disk.
func (k Kind) frees() bool {
	return k == BucketDelete || k == Delete || k == Abort
}

// Record is one change, self-describing: from records and blobs alone all
// buckets, keys, versions, metadata and deletions come back.
type Record struct {
	Kind     Kind
	Sequence uint64 // orders all records; assigned by Append, from 1, without gaps
	Batch    uint64 // sequence of the first record of its batch; assigned by Append

	Time       int64 // Unix nanoseconds; information only, never orders anything
	Bucket     uint64
	BucketName string
	Key        string
	Version    string // S3 version id; "" is the null version

	Size     int64 // of the object or part, in bytes
	ETag     string
	MD5      []byte // 16 bytes or none
	SHA256   []byte // 32 bytes or none
	Checksum Checksum

	ContentType        string
	CacheControl       string
	ContentDisposition string
	ContentEncoding    string
	ContentLanguage    string
	Expires            string

	User []Pair // user metadata, sorted by name, no name twice
	Tags []Pair // sorted by name, no name twice
	Lock Lock   // object lock; written only when set

	Extents   []Extent // where the body lies; none when the record brings its own
	PartSizes []int64  // of a completed multipart object, in part order

	Upload string // multipart upload id
	Part   int    // part number
	Owner  string // who did it: a key id or a user name

	Blob   string // id of the blob with the body this record brings; "" is inline or none
	Origin uint64 // sequence of the record this one is a moved copy of, or 0

	// Of a tombstone (Delete, Abort, Complete, BucketDelete): what it ended. It is
	// needed as long as a record between Since and Prev can come back.
	Since uint64 // the lowest sequence of what it ended, when not Prev
	Prev  uint64 // the highest

	Settings []Pair // of a bucket, sorted by name, no name twice

	Sums    []uint32 // CRC32C per chunk of Body; set by Append
	SumsCRC uint32   // CRC32C of the blob's table of chunk sums
	Body    []byte   // the inline body; Append writes it, replay leaves it nil
}

// Checksum is the S3 checksum that the client asked for.
type Checksum struct {
	Algorithm uint8 // 0 none; numbered by the store
	Type      uint8 // 1 composite, 2 full object
	Value     []byte
}

// Pair is one name and its value.
type Pair struct {
	Name, Value string
}

// Lock is the state of S3 object lock.
type Lock struct {
	Mode  uint8 // 0 none; numbered by the store
	Until int64 // Unix nanoseconds
	Hold  bool  // legal hold
}

// Extent is a piece of a body that an earlier record brought.
type Extent struct {
	Body   uint64 // sequence of that record
	Offset int64  // within that body
	Length int64
}

// Location says where a record lies. Offsets and lengths are in bytes.
type Location struct {
	Segment    uint64
	Offset     int64  // of the record in the segment
	Length     int64  // of the whole record, with padding
	BodyOffset int64  // from the record's start; there also without a body
	BodyLength int64  // of the inline body
	Sequence   uint64 // of the record; when not 0, reads check it
}

// Position is the border between two records: where the record after Sequence
// begins. The zero Position is the very start.
type Position struct {
	Sequence uint64
	Segment  uint64
	Offset   int64
}
