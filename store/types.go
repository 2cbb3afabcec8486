package store

import (
	"io"
	"log/slog"
	"time"
)

// Limits of names, bodies and pages. They are AWS's, from the "Amazon S3
// general purpose bucket quotas" and "Multipart upload limits" pages.
const (
	MaxKeyBytes      = 1024
	MaxUserMetaBytes = 2048
	MaxPutBytes      = 5 << 30
	MaxObjectBytes   = 5 << 40
	MaxParts         = 10_000
	MinPartBytes     = 5 << 20 // every part but the last
	MaxPage          = 1000
)

// Config says where a store lives and how it behaves. Only Dir is required.
type Config struct {
	Dir         string // the data folder; must exist
	BlobDir     string // folder that holds blobs/, on another disk if wanted; "" = Dir
	InlineLimit int    // largest body in bytes that stands inside its record, up to 16 MiB; 0 = 128 KiB
	SegmentSize int64  // bytes of one journal segment; 0 = 64 MiB
	CacheRows   int    // decoded rows kept in memory; 0 = 20,000
	CompactRate int64  // bytes a second that compaction reads and writes; 0 = 50 MB/s, negative: there is none

	// UploadExpiry is how old a multipart upload grows before it is aborted;
	// 0 = 7 days, negative: it never is.
	UploadExpiry time.Duration

	Log *slog.Logger

	// Progress is told how many bytes of records were read while the index is
	// made again or catches up, at most once a second. A total of 0 is not
	// known; nil: nobody asks.
	Progress func(done, total int64)

	Now func() time.Time // stamps records; nil = time.Now
}

// Bucket is a bucket and its counters, which the committer keeps.
type Bucket struct {
	ID      uint64
	Name    string
	Created time.Time
	Objects int64 // current object versions
	Bytes   int64 // their sizes, added up
	Uploads int64 // multipart uploads in progress

	Settings BucketSettings
}

// Headers are the system headers that S3 keeps with an object and returns as
// they were given.
type Headers struct {
	ContentType        string
	CacheControl       string
	ContentDisposition string
	ContentEncoding    string // without aws-chunked
	ContentLanguage    string
	Expires            string
}

// Meta is what a client says about an object besides its bytes. User names are
// lower case and lack the x-amz-meta- prefix.
type Meta struct {
	Headers
	User map[string]string
	Tags map[string]string
}

// Algorithm is one of S3's additional checksum algorithms. The numbers are
// stored and never change.
type Algorithm uint8

// The algorithms, https://docs.aws.amazon.com/AmazonS3/latest/API/API_Checksum.html.
const (
	NoChecksum Algorithm = 0
	CRC32      Algorithm = 1
	CRC32C     Algorithm = 2
	CRC64NVME  Algorithm = 3
	SHA1       Algorithm = 4
	SHA256     Algorithm = 5
)

// ChecksumType tells a checksum over the whole object from one over the
// checksums of its parts.
type ChecksumType uint8

// The checksum types. The numbers are stored and never change.
const (
	Composite  ChecksumType = 1
	FullObject ChecksumType = 2
)

// Checksum is an object's or a part's additional checksum.
type Checksum struct {
	Algorithm Algorithm
	Type      ChecksumType
	Value     []byte // big-endian for the CRCs, as S3 encodes them
}

// Info describes one object version.
type Info struct {
	Bucket   string
	Key      string
	Sequence uint64 // orders all changes of the store
	Size     int64
	Modified time.Time
	ETag     string // without quotes
	Checksum Checksum
	Meta
	PartSizes []int64 // of an object made by multipart upload, else nil
	Owner     string  // id of the caller who stored it
}

// Digests are computed while a body is stored, over the decoded bytes.
type Digests struct {
	Size     int64
	MD5      []byte   // nil when the request skipped it
	SHA256   []byte   // nil when the request skipped it
	Checksum Checksum // of the algorithm that the request named
}

// Condition makes a write depend on what stands under the key at the moment
// of the commit: exactly one of many racing writers wins.
type Condition struct {
	IfNoneMatch bool   // If-None-Match: * — nothing may stand there
	IfMatch     string // an ETag without quotes, or "*" for anything
}

// PutRequest asks for an object to be stored.
type PutRequest struct {
	Bucket, Key string
	Body        io.Reader
	Size        int64 // bytes that Body will give, -1 when unknown
	Meta        Meta
	Checksum    Algorithm           // which to compute and keep; NoChecksum = CRC64NVME
	SkipMD5     bool                // no MD5: the ETag is one that is none, and ends in "-0"
	SkipSHA256  bool                // no SHA-256
	Verify      func(Digests) error // called after Body's end; an error stores nothing
	Cond        Condition
	Owner       string
}

// ReadCondition is the condition headers of a read or of a copy's source,
// evaluated in the order of RFC 9110 section 13.2.2.
type ReadCondition struct {
	IfMatch, IfNoneMatch           []string // ETags without quotes, or "*"
	ModifiedSince, UnmodifiedSince time.Time
}

// CopyRequest asks for an object to be stored again under another name. The
// body is shared, no bytes move.
type CopyRequest struct {
	SourceBucket, SourceKey string
	SourceCond              ReadCondition
	Bucket, Key             string
	Meta                    *Meta             // nil keeps the source's
	Tags                    map[string]string // replaces the source's tags when ReplaceTags is set
	ReplaceTags             bool
	Checksum                Algorithm // NoChecksum keeps the source's; another one is computed by reading
	Cond                    Condition
	Owner                   string
}

// DeleteRequest asks for an object to be removed. Removing what is not there
// succeeds, unless IfMatch is set.
type DeleteRequest struct {
	Bucket, Key string
	IfMatch     string // an ETag without quotes, "*", or ""
}

// ListRequest asks for a page of keys in byte order.
type ListRequest struct {
	Bucket    string
	Prefix    string
	Delimiter string // any string; "" lists flat
	After     string // keys after this one; a common prefix is skipped whole
	Max       int    // keys and common prefixes together; at most MaxPage are given
}

// ListPage is one page. Objects and Prefixes are each in byte order.
type ListPage struct {
	Objects   []Info // without user metadata
	Prefixes  []string
	Truncated bool
	Next      string // the After of the next page; set when Truncated
}

// UploadRequest starts a multipart upload.
type UploadRequest struct {
	Bucket, Key  string
	Meta         Meta
	Checksum     Algorithm    // NoChecksum = CRC64NVME kept without being asked for
	ChecksumType ChecksumType // 0 = the algorithm's default
	Owner        string
}

// Upload is a multipart upload in progress.
type Upload struct {
	ID           string
	Bucket, Key  string
	Started      time.Time
	Checksum     Algorithm
	ChecksumType ChecksumType
	Owner        string
}

// PartRequest stores one part. A part with the same number is replaced.
type PartRequest struct {
	Bucket, Key, UploadID string
	Number                int // 1..MaxParts
	Body                  io.Reader
	Size                  int64
	Checksum              Algorithm // NoChecksum = the upload's
	SkipMD5, SkipSHA256   bool      // as in PutRequest; the object gets no MD5 either
	Verify                func(Digests) error
}

// CopyPartRequest makes a part out of a stored object's bytes.
type CopyPartRequest struct {
	Bucket, Key, UploadID   string
	Number                  int
	SourceBucket, SourceKey string
	SourceCond              ReadCondition
	Offset, Length          int64 // Length -1 = to the end
}

// Part is a stored part.
type Part struct {
	Number   int
	Size     int64
	Modified time.Time
	ETag     string // without quotes
	Checksum Checksum
}

// CompletePart names a part in CompleteRequest.
type CompletePart struct {
	Number   int
	ETag     string // without quotes
	Checksum []byte // nil when the client sent none
}

// CompleteRequest turns the listed parts into an object.
type CompleteRequest struct {
	Bucket, Key, UploadID string
	Parts                 []CompletePart
	Cond                  Condition
	Checksum              []byte       // of the whole object; nil when the client sent none
	ChecksumType          ChecksumType // 0 = the upload's
	Size                  int64        // what the client believes the size to be; -1 = it said nothing
}

// PartsPage is a page of an upload's parts in ascending order.
type PartsPage struct {
	Upload    Upload
	Parts     []Part
	Truncated bool
	Next      int // the marker of the next page
}

// UploadsRequest asks for a page of uploads, ordered by key, then id.
type UploadsRequest struct {
	Bucket, Prefix, Delimiter string
	KeyMarker, UploadMarker   string
	Max                       int
}

// UploadsPage is one page of uploads in progress.
type UploadsPage struct {
	Uploads             []Upload
	Prefixes            []string
	Truncated           bool
	NextKey, NextUpload string
}

// Stats are the store's numbers at one moment.
type Stats struct {
	Buckets    int
	Objects    int64
	Bytes      int64 // sizes of all objects; shared bodies count as often as they are named
	FreeBytes  int64 // on the file system of the data folder
	TotalBytes int64
	Sequence   uint64 // of the last change
	ReadOnly   string // why no writes are taken, "" when they are
	Full       string // why no bodies are taken, though deletions are; "" when there is room

	Segments       int
	SegmentBytes   int64 // of the segments' files, without what is reserved in the newest
	DeadBytes      int64 // about; of them no longer needed, and not in the newest
	CompactedBytes int64 // that compaction has given back since Open
}
