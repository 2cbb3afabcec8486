package wire

import (
	"encoding/binary"

	"larder/fault"
)

// Type is the type of a frame.
type Type uint8

// The types of frames.
const (
	TypeLogin   Type = 1
	TypeWelcome Type = 2
	TypeRequest Type = 3
	TypeAnswer  Type = 4
	TypeData    Type = 5
	TypeEnd     Type = 6
	TypeCancel  Type = 7
	TypeCredit  Type = 8
	TypePing    Type = 9
	TypePong    Type = 10
	TypeGoAway  Type = 11
	TypeEvent   Type = 12
)

// HeaderSize is the length of a frame's header in bytes.
const HeaderSize = 12

// flagLast is the only flag: no body follows.
const flagLast = 1

// Sender is who sends a frame.
type Sender uint8

// The two senders.
const (
	FromClient Sender = 1 << iota
	FromServer
)

// Header stands before a frame's payload.
type Header struct {
	Type   Type
	Last   bool   // at a REQUEST or an ANSWER: no body follows
	Stream uint32 // 0: the connection itself
	Length uint32 // of the payload, in bytes
}

// Append writes the header.
func (h Header) Append(b []byte) []byte {
	flags := byte(0)
	if h.Last {
		flags = flagLast
	}
	b = append(b, byte(h.Type), flags, 0, 0)
	b = binary.BigEndian.AppendUint32(b, h.Stream)
	return binary.BigEndian.AppendUint32(b, h.Length)
}

// rule is one line of the table of frames.
type rule struct {
	from        Sender
	least, most uint32 // bytes of payload
	stream      bool   // never of stream 0
	connection  bool   // of stream 0 only
}

// rules is the table of frames; a type that is not in it is not known.
func rules(t Type) (r rule, known bool) {
	switch t {
	case TypeLogin:
		return rule{from: FromClient, most: MaxLogin, connection: true}, true
	case TypeWelcome:
		return rule{from: FromServer, least: 2, most: MaxWelcome, connection: true}, true
	case TypeRequest:
		return rule{from: FromClient, least: 2, most: MaxLongRequest, stream: true}, true
	case TypeAnswer:
		return rule{from: FromServer, least: 2, most: MaxAnswer, stream: true}, true
	case TypeData:
		return rule{from: FromClient | FromServer, least: 1, most: MaxData, stream: true}, true
	case TypeEnd:
		return rule{from: FromClient | FromServer, least: 2, most: MaxEnd, stream: true}, true
	case TypeCancel:
		return rule{from: FromClient | FromServer, least: 2, most: 2, stream: true}, true
	case TypeCredit:
		return rule{from: FromClient | FromServer, least: 4, most: 4}, true
	case TypePing, TypePong:
		return rule{from: FromClient | FromServer, least: 8, most: 8, connection: true}, true
	case TypeGoAway:
		return rule{from: FromServer, least: 6, most: MaxGoAway, connection: true}, true
	case TypeEvent:
		return rule{from: FromServer, most: MaxEvent, stream: true}, true
	}
	return rule{}, false
}

// ParseHeader reads HeaderSize bytes that came from one side and refuses what
// the table of frames does not allow. The connection must end then.
func ParseHeader(b []byte, from Sender) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, malformed("A frame without a whole header.")
	}
	h := Header{
		Type: Type(b[0]), Last: b[1] == flagLast,
		Stream: binary.BigEndian.Uint32(b[4:]), Length: binary.BigEndian.Uint32(b[8:]),
	}
	r, known := rules(h.Type)
	switch {
	case !known || r.from&from == 0:
		return h, malformed("A frame of a type that may not be sent here.")
	case b[1]&^flagLast != 0 || b[2] != 0 || b[3] != 0:
		return h, malformed("A frame with reserved bits.")
	case h.Last && h.Type != TypeRequest && h.Type != TypeAnswer:
		return h, malformed("A frame that cannot be the last.")
	case h.Length < r.least || h.Length > r.most:
		return h, malformed("A frame of a length that is not allowed.")
	case r.stream && h.Stream == 0, r.connection && h.Stream != 0:
		return h, malformed("A frame of a stream that it cannot belong to.")
	}
	return h, nil
}

// BeginFrame appends a header whose length EndFrame fills in, so that a payload
// of unknown length can be appended between them. at is EndFrame's.
func BeginFrame(b []byte, t Type, last bool, stream uint32) (out []byte, at int) {
	return Header{Type: t, Last: last, Stream: stream}.Append(b), len(b)
}

// EndFrame fills in the length of the frame that BeginFrame began at at.
func EndFrame(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at+8:], uint32(len(b)-at-HeaderSize))
	return b
}

// AppendCancel writes a whole CANCEL frame.
func AppendCancel(b []byte, stream uint32, code fault.Code) []byte {
	b = Header{Type: TypeCancel, Stream: stream, Length: 2}.Append(b)
	return binary.BigEndian.AppendUint16(b, uint16(code))
}

// AppendCredit writes a whole CREDIT frame of n bytes, not 0. Stream 0 is the
// connection.
func AppendCredit(b []byte, stream, n uint32) []byte {
	b = Header{Type: TypeCredit, Stream: stream, Length: 4}.Append(b)
	return binary.BigEndian.AppendUint32(b, n)
}

// ParseCredit reads the payload of CREDIT.
func ParseCredit(p []byte) (uint32, error) {
	if len(p) != 4 {
		return 0, malformed("A credit that is not 4 bytes long.")
	}
	n := binary.BigEndian.Uint32(p)
	if n == 0 || n > MaxCredit {
		return 0, malformed("A credit of no bytes, or of too many.")
	}
	return n, nil
}

// AppendPing writes a whole PING, or the PONG to one, which repeats its bytes.
func AppendPing(b []byte, t Type, echo [8]byte) []byte {
	b = Header{Type: t, Length: 8}.Append(b)
	return append(b, echo[:]...)
}

// Farewell is the payload of GOAWAY.
type Farewell struct {
	Code fault.Code // OK: nobody did anything wrong
	Last uint32     // the last stream that is served
	Hint string
}

// Append writes a whole GOAWAY frame.
func (f Farewell) Append(b []byte) []byte {
	b, at := BeginFrame(b, TypeGoAway, false, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(f.Code))
	b = binary.BigEndian.AppendUint32(b, f.Last)
	b = appendHint(b, tagSecondHint, f.Hint)
	return EndFrame(b, at)
}

// ParseFarewell reads the payload of GOAWAY.
func ParseFarewell(p []byte) (Farewell, error) {
	var f Farewell
	fields := behind(p, 6)
	if fields.Err() == nil {
		f.Code, f.Last = ParseCode(p), binary.BigEndian.Uint32(p[2:])
	}
	for field, ok := fields.Next(); ok; field, ok = fields.Next() {
		if field.Tag != tagSecondHint {
			fields.Unknown(field)
			continue
		}
		f.Hint = field.Text()
	}
	return f, fields.Err()
}

// ParseCode reads the code at the beginning of a payload. One that is too short
// for a code is fault.InvalidArgument.
func ParseCode(p []byte) fault.Code {
	if len(p) < 2 {
		return fault.InvalidArgument
	}
	return fault.Code(binary.BigEndian.Uint16(p))
}

// Trailer is the payload of END.
type Trailer struct {
	Code   fault.Code // why there is no more of the body; OK: it is whole
	Length int64      // of the body, in bytes
	CRC    uint32     // CRC32C of the body
	HasCRC bool
}

const (
	tagLength = 2
	tagCRC    = 4
)

// Append writes a whole END frame.
func (t Trailer) Append(b []byte, stream uint32) []byte {
	b, at := BeginFrame(b, TypeEnd, false, stream)
	b = binary.BigEndian.AppendUint16(b, uint16(t.Code))
	b = appendUint(b, tagLength, uint64(t.Length))
	if t.HasCRC {
		b = appendHead(b, tagCRC, 4)
		b = binary.BigEndian.AppendUint32(b, t.CRC)
	}
	return EndFrame(b, at)
}

// ParseTrailer reads the payload of END.
func ParseTrailer(p []byte) (Trailer, error) {
	t := Trailer{Code: ParseCode(p), Length: -1}
	fields := behind(p, 2)
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		switch f.Tag {
		case tagLength:
			t.Length = f.size(&fields)
		case tagCRC:
			if len(f.Value) != 4 {
				fields.fail(malformed("A checksum of a wrong length."))
				break
			}
			t.CRC, t.HasCRC = binary.BigEndian.Uint32(f.Value), true
		default:
			fields.Unknown(f)
		}
	}
	if fields.Err() == nil && t.Length < 0 {
		return t, malformed("An END that does not say how long the body was.")
	}
	return t, fields.Err()
}
