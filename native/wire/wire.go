// Package wire is the byte layout of the native protocol, version 1, as
// docs/native.md defines it: prefaces, login proofs, frames, and the messages
// in them. It reads and writes no connection.
//
// Every decoder checks a length against what is there before it allocates, and
// copies what it keeps: the bytes it was given may be used again. What breaks
// the layout is fault.InvalidArgument; a field that has to be understood and is
// not known is fault.NotImplemented.
package wire

import "larder/fault"

// Limits of version 1.
const (
	Version = 1 // the only one there is

	MaxStreams       = 128     // requests in flight on a connection
	StreamCredit     = 1 << 20 // bytes of DATA on a stream, at its start
	ConnectionCredit = 8 << 20 // bytes of DATA on a connection, at its start
	MaxCredit        = 1<<31 - 1

	MaxPrefaceMessage = 512
	MaxLogin          = 512
	MaxWelcome        = 1 << 10
	MaxRequest        = 64 << 10
	MaxLongRequest    = 2 << 20 // of DeleteMany and CompleteUpload
	MaxAnswer         = 4 << 20
	MaxData           = 1 << 20
	MaxEnd            = 1 << 10
	MaxGoAway         = 1 << 10
	MaxEvent          = 4 << 10

	MaxDeletes = 1000
	MaxParts   = 10_000
)

func malformed(hint string) error {
	return fault.New("wire", fault.InvalidArgument, "", nil).WithHint(hint)
}

func unknown(hint string) error {
	return fault.New("wire", fault.NotImplemented, "", nil).WithHint(hint)
}
