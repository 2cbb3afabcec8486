package index

// Row is the current version of a key. The index orders keys by their bytes
// and knows no more of a version than this: Meta is the caller's and opaque.
type Row struct {
	Bucket   uint64
	Key      string // 0 to 1,024 bytes in practice; any bytes
	Sequence uint64 // of the record that made the version
	Size     int64  // bytes
	Modified int64  // Unix nanoseconds, information only
	ETag     string
	Meta     []byte
}

// Body says where the bytes that a record brought lie, how many rows and parts
// refer to them, and whether the record's own version stands. A version or part
// that brought no bytes has one as long as it stands: see Witness.
type Body struct {
	Sequence   uint64 // of the record that brought the body; the body's name
	Segment    uint64
	Offset     int64 // of the record in its segment
	Length     int64 // of the whole record, padding included
	BodyOffset int64 // of the body from the start of the record
	BodyLength int64
	Blob       string // id of the blob file, "" for a body inside its record
	Refs       int64
	Current    bool // the version that the record made stands under its key
}

// Bucket is a bucket with its counters, which the writer keeps up to date and
// nobody ever counts again.
type Bucket struct {
	ID      uint64
	Name    string // unique
	Created int64  // Unix nanoseconds
	Objects int64
	Bytes   int64
	Uploads int64
	Meta    []byte
}

// Upload is a multipart upload in progress.
type Upload struct {
	ID       string // unique in the whole store
	Bucket   uint64
	Key      string
	Created  int64 // Unix nanoseconds
	Sequence uint64
	Meta     []byte
}

// Part is an uploaded part of an Upload.
type Part struct {
	Upload   string
	Number   int
	Sequence uint64 // of the record that brought the part, and so of its body
	Size     int64
	Modified int64 // Unix nanoseconds
	ETag     string
	Meta     []byte
}

// Position is a place in the journal: everything up to the record Sequence has
// been applied, and the next record begins at Offset of Segment. The zero
// Position is the very start.
type Position struct {
	Sequence uint64
	Segment  uint64
	Offset   int64
}
