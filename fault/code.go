package fault

import "strconv"

// Code classifies an error. Append only: the numbers are part of the native
// protocol.
type Code uint16

// The codes, by what they mean to the caller.
const (
	OK       Code = 0 // no error
	Internal Code = 1 // anything that should not happen

	// What was named is not there, or is there already.
	NoSuchBucket    Code = 2
	NoSuchKey       Code = 3
	NoSuchVersion   Code = 4
	NoSuchUpload    Code = 5
	NoSuchUser      Code = 6
	NoSuchAccessKey Code = 7
	BucketExists    Code = 8
	BucketNotEmpty  Code = 9
	UserExists      Code = 10
	AccessKeyExists Code = 11

	// The request cannot be carried out as it stands.
	InvalidArgument   Code = 20
	InvalidBucketName Code = 21
	InvalidKey        Code = 22
	KeyTooLong        Code = 23
	MetadataTooLarge  Code = 24
	EntityTooLarge    Code = 25
	EntityTooSmall    Code = 26
	InvalidRange      Code = 27
	InvalidPart       Code = 28
	InvalidPartOrder  Code = 29
	BadDigest         Code = 30
	IncompleteBody    Code = 31
	Precondition      Code = 32
	Conflict          Code = 33
	NotImplemented    Code = 34
	WeakPassword      Code = 35
	NotModified       Code = 36

	// Who asks.
	Unauthenticated Code = 50 // no or wrong credentials
	BadSignature    Code = 51
	Denied          Code = 52
	RateLimited     Code = 53
	Expired         Code = 54
	ClockSkew       Code = 55
	SetupDone       Code = 56

	// The state of the store.
	NoSpace      Code = 70
	ReadOnly     Code = 71 // after a failed sync, until a restart
	Corrupt      Code = 72 // stored bytes are not what was stored
	Unavailable  Code = 73 // shutting down, or too busy: try again
	Canceled     Code = 74 // the client went away
	ForeignStore Code = 75 // the files belong to another store
	NewerFormat  Code = 76 // written by a newer Larder
	IndexAhead   Code = 77 // the index knows more than the journal
	Locked       Code = 78 // another process holds the data folder
	IndexStale   Code = 79 // the index relies on segments that compaction replaced: make it anew
)

// names holds the text of every code, and so the list of all of them. It is
// never written to.
var names = map[Code]string{
	OK: "ok", Internal: "internal error",
	NoSuchBucket: "no such bucket", NoSuchKey: "no such key", NoSuchVersion: "no such version",
	NoSuchUpload: "no such multipart upload", NoSuchUser: "no such user", NoSuchAccessKey: "no such access key",
	BucketExists: "bucket exists", BucketNotEmpty: "bucket not empty",
	UserExists: "user exists", AccessKeyExists: "access key exists",
	InvalidArgument: "invalid argument", InvalidBucketName: "invalid bucket name", InvalidKey: "invalid key",
	KeyTooLong: "key too long", MetadataTooLarge: "metadata too large", EntityTooLarge: "entity too large",
	EntityTooSmall: "entity too small", InvalidRange: "invalid range", InvalidPart: "invalid part",
	InvalidPartOrder: "invalid part order", BadDigest: "bad digest", IncompleteBody: "incomplete body",
	Precondition: "precondition failed", Conflict: "conflict", NotImplemented: "not implemented",
	WeakPassword: "weak password", NotModified: "not modified",
	Unauthenticated: "unauthenticated", BadSignature: "bad signature", Denied: "denied",
	RateLimited: "rate limited", Expired: "expired", ClockSkew: "clock skew", SetupDone: "set-up already done",
	NoSpace: "no space", ReadOnly: "read-only", Corrupt: "corrupt", Unavailable: "unavailable",
	Canceled: "canceled", ForeignStore: "foreign store", NewerFormat: "newer format",
	IndexAhead: "index ahead of journal", Locked: "locked by another process", IndexStale: "index out of date",
}

// String returns the code's text in lower case, without a full stop.
func (c Code) String() string {
	if s, ok := names[c]; ok {
		return s
	}
	return "code " + strconv.Itoa(int(c))
}

// Codes returns every defined code but OK, in ascending order. Front ends test
// their tables against it.
func Codes() []Code {
	var out []Code
	for c := Code(1); c < 1000; c++ {
		if _, ok := names[c]; ok {
			out = append(out, c)
		}
	}
	return out
}
