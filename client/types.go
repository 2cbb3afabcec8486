package client

import "larder/native/wire"

// What the server tells, and what it is told. The fields are those of the
// protocol's messages.
type (
	Object       = wire.Object       // an object version
	Meta         = wire.Meta         // what is said about an object besides its bytes
	Headers      = wire.Headers      // the system headers in Meta
	Checksum     = wire.Checksum     // an additional checksum of an object or a part
	Bucket       = wire.Bucket       // a bucket and its counters
	ServerInfo   = wire.ServerInfo   // what Info answers
	Page         = wire.Page         // a page of a list
	Part         = wire.Part         // a part of an upload
	Upload       = wire.Upload       // an upload in progress
	CompletePart = wire.CompletePart // a part of an upload that becomes an object
	DeleteEntry  = wire.DeleteEntry  // a key to delete
	Result       = wire.Result       // what became of a key to delete
	Source       = wire.Source       // what a copy is made of
	Range        = wire.Range        // a part of an object; its zero value is all of it
	Event        = wire.Event        // what happened to a key
	EventKind    = wire.EventKind    // stored or removed
)

// The kinds of events.
const (
	Stored  = wire.Stored
	Removed = wire.Removed
)

// Any is the ETag of a condition that any object meets.
const Any = "*"

// Algorithm is an additional checksum that the server computes of an upload's
// parts and of the object.
type Algorithm uint8

// The algorithms.
const (
	DefaultChecksum Algorithm = 0 // the server's choice
	CRC32           Algorithm = 1
	CRC32C          Algorithm = 2
	CRC64NVME       Algorithm = 3
	SHA1            Algorithm = 4
	SHA256          Algorithm = 5
)

// From is the part of an object from a byte to the end.
func From(offset int64) Range { return Range{Form: wire.From, Offset: offset} }

// Span is length bytes of an object from one on, or as many as there are.
func Span(offset, length int64) Range {
	return Range{Form: wire.Span, Offset: offset, Length: length}
}

// Suffix is the last bytes of an object.
func Suffix(length int64) Range { return Range{Form: wire.Suffix, Length: length} }

// conditions put what must hold for a write into a request.
func conditions(req *wire.Request, ifMatch string, ifAbsent bool) {
	if ifMatch != "" {
		req.IfMatch = []string{ifMatch}
	}
	req.IfAbsent = ifAbsent
}
