package wire

import (
	"encoding/binary"
	"math"
)

// NonceSize is the length of a nonce in bytes.
const NonceSize = 32

const (
	magic           = "LRDR"
	prefaceFixed    = 8
	maxProgramBytes = 64

	tagNonce        = 1
	tagProgram      = 2
	tagBound        = 3
	tagMaxStreams   = 4
	tagConnCredit   = 6
	tagStreamCredit = 8
	tagRefusal      = 10
)

// Preface is the first that a side says. The client's Version is the highest
// that it speaks; the server's the one that is spoken, 0 for none.
type Preface struct {
	Version uint8
	Lowest  uint8 // the lowest version that the side speaks
	Nonce   [NonceSize]byte
	Program string // name and version, for logs; at most 64 bytes are sent

	Bound bool // client: the proof covers the TLS session

	Streams          int64  // server: requests in flight, at most
	ConnectionCredit int64  // server: in bytes, for both directions
	StreamCredit     int64  // server: in bytes, for both directions
	Refusal          string // server: why Version is 0
}

// Append writes the preface.
func (p Preface) Append(b []byte) []byte {
	b = append(b, magic...)
	b = append(b, p.Version, p.Lowest, 0, 0)
	at := len(b)
	b = appendBytes(b, tagNonce, p.Nonce[:])
	b = appendSome(b, tagProgram, p.Program[:min(len(p.Program), maxProgramBytes)])
	b = appendFlag(b, tagBound, p.Bound)
	b = appendPositive(b, tagMaxStreams, p.Streams)
	b = appendPositive(b, tagConnCredit, p.ConnectionCredit)
	b = appendPositive(b, tagStreamCredit, p.StreamCredit)
	b = appendSome(b, tagRefusal, p.Refusal[:min(len(p.Refusal), 256)])
	binary.BigEndian.PutUint16(b[at-2:], uint16(len(b)-at))
	return b
}

// PrefaceSize is the length in bytes of the first part of a preface, behind
// which PrefaceRest bytes follow.
const PrefaceSize = prefaceFixed

// PrefaceRest tells from the first PrefaceSize bytes how many follow.
func PrefaceRest(b []byte) (int, error) {
	if len(b) < PrefaceSize || string(b[:4]) != magic {
		return 0, malformed("This is not the native protocol.")
	}
	n := int(binary.BigEndian.Uint16(b[6:]))
	if n > MaxPrefaceMessage {
		return 0, malformed("A preface that is too long.")
	}
	return n, nil
}

// ParsePreface reads a whole preface.
func ParsePreface(b []byte) (Preface, error) {
	n, err := PrefaceRest(b)
	if err != nil {
		return Preface{}, err
	}
	if len(b) != prefaceFixed+n {
		return Preface{}, malformed("A preface of another length than it says.")
	}
	p := Preface{Version: b[4], Lowest: b[5]}
	nonces := 0
	fields := Fields{rest: b[prefaceFixed:]}
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		switch f.Tag {
		case tagNonce:
			if len(f.Value) == NonceSize {
				nonces++
			}
			copy(p.Nonce[:], f.Value)
		case tagProgram:
			p.Program = f.Text()
		case tagBound:
			p.Bound = f.flag(&fields)
		case tagMaxStreams:
			p.Streams = int64(f.uint(&fields, math.MaxInt32))
		case tagConnCredit:
			p.ConnectionCredit = int64(f.uint(&fields, MaxCredit))
		case tagStreamCredit:
			p.StreamCredit = int64(f.uint(&fields, MaxCredit))
		case tagRefusal:
			p.Refusal = f.Text()
		default:
			fields.Unknown(f)
		}
	}
	if fields.Err() == nil && nonces != 1 {
		return p, malformed("A preface without a nonce of 32 bytes.")
	}
	return p, fields.Err()
}

// Choose answers the version that is spoken with a client: the highest that
// both know, or 0.
func (p Preface) Choose() uint8 {
	if p.Version >= Version && p.Lowest <= Version {
		return Version
	}
	return 0
}
