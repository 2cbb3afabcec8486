package wire

import (
	"encoding/binary"
	"math"
	"time"
)

// Field is one field of a message. Value is a part of the message's bytes.
type Field struct {
	Tag   uint64
	Value []byte
}

// Fields walks over a message.
type Fields struct {
	rest  []byte
	err   error
	seen  [2]uint64 // tags below 128, as bits
	twice bool      // the last field has stood there before, and may not
}

// behind walks over the message behind the first n bytes of a payload.
func behind(p []byte, n int) Fields {
	if len(p) < n {
		return Fields{err: malformed("A payload that is too short.")}
	}
	return Fields{rest: p[n:]}
}

// Next returns the next field; none is left, or the message is broken, when ok
// is false.
//
// A field of an odd tag that nobody has asked for is not passed over by Next:
// whoever reads a message says so with Unknown. A field that was known and may
// stand there once only is refused by the call behind its second time.
func (f *Fields) Next() (field Field, ok bool) {
	if f.twice {
		f.fail(malformed("A field that is given twice."))
	}
	if f.err != nil || len(f.rest) == 0 {
		return Field{}, false
	}
	tag, n := uvarint(f.rest)
	if n == 0 {
		return f.broken()
	}
	rest := f.rest[n:]
	length, n := uvarint(rest)
	if n == 0 || length > uint64(len(rest)-n) {
		return f.broken()
	}
	rest = rest[n:]
	f.rest, f.twice = rest[length:], f.again(tag)
	return Field{Tag: tag, Value: rest[:length]}, true
}

// again tells whether a tag that may stand there once has been there before.
func (f *Fields) again(tag uint64) bool {
	if tag >= 128 || repeats(tag) {
		return false
	}
	word, bit := &f.seen[tag/64], uint64(1)<<(tag%64)
	before := *word&bit != 0
	*word |= bit
	return before
}

// repeats tells whether a field of a tag may stand in a message more than once.
// Where the same tag may only once, as the if-match of writes, who reads it
// counts.
func repeats(tag uint64) bool {
	switch tag {
	case tagIfMatch, tagUnlike, tagUser, tagTags, tagHeader, tagDelete, tagComplete,
		tagBucketEntry, tagPartSize, tagOwnUser, tagOwnTags, tagOwnHeader,
		tagResult, tagEntry, tagCommon, tagUploadEntry, tagPartEntry:
		return true
	}
	return false
}

func (f *Fields) broken() (Field, bool) {
	f.fail(malformed("A message whose fields do not fit into it."))
	return Field{}, false
}

func (f *Fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// Err tells why Next stopped before the message's end.
func (f *Fields) Err() error { return f.err }

// Unknown says that nobody knows the field: an even tag is passed over, an odd
// one breaks the message off with fault.NotImplemented.
func (f *Fields) Unknown(field Field) {
	f.twice = false // who knows how often it may stand there
	if field.Tag%2 == 1 {
		f.fail(unknown("A field that this program does not know, and that it would have to."))
	}
}

// uvarint reads a uvarint in its shortest form; n is 0 when there is none.
func uvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}

// Text is the value as a string of its own.
func (f Field) Text() string { return string(f.Value) }

// etag reads the ETag of a condition. An empty one is refused: further on it
// would stand for no condition.
func (f Field) etag(fields *Fields) string {
	if len(f.Value) == 0 {
		fields.fail(malformed("A condition without an ETag."))
	}
	return f.Text()
}

// uint reads a value that is one uvarint of at most most.
func (f Field) uint(fields *Fields, most uint64) uint64 {
	v, n := uvarint(f.Value)
	if n == 0 || n != len(f.Value) || v > most {
		fields.fail(malformed("A number that is none, or is too large."))
		return 0
	}
	return v
}

// size reads a number of bytes or things.
func (f Field) size(fields *Fields) int64 { return int64(f.uint(fields, math.MaxInt64)) }

// flag reads a field that says what it says by being there.
func (f Field) flag(fields *Fields) bool {
	if len(f.Value) != 0 {
		fields.fail(malformed("A flag with a value."))
	}
	return true
}

// time reads a moment.
func (f Field) time(fields *Fields) time.Time {
	if len(f.Value) != 8 {
		fields.fail(malformed("A time that is not 8 bytes long."))
		return time.Time{}
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(f.Value))).UTC()
}

// pair reads a name and its value.
func (f Field) pair(fields *Fields) (name, value string) {
	length, n := uvarint(f.Value)
	if n == 0 || length > uint64(len(f.Value)-n) {
		fields.fail(malformed("A pair whose name does not fit into it."))
		return "", ""
	}
	rest := f.Value[n:]
	return string(rest[:length]), string(rest[length:])
}

// maxPairs bounds each kind of pairs. It is above what the 2,048 bytes of user
// metadata have room for.
const maxPairs = 2048

// addPair puts a pair into a map that is made when it is needed. A name may
// stand there once.
func (f Field) addPair(fields *Fields, to *map[string]string) {
	name, value := f.pair(fields)
	if *to == nil {
		*to = make(map[string]string)
	}
	_, twice := (*to)[name]
	switch {
	case twice:
		fields.fail(malformed("A name that is given twice."))
	case len(*to) == maxPairs:
		fields.fail(malformed("More metadata than an object can have."))
	default:
		(*to)[name] = value
	}
}

func appendHead(b []byte, tag uint64, length int) []byte {
	b = binary.AppendUvarint(b, tag)
	return binary.AppendUvarint(b, uint64(length))
}

func appendUint(b []byte, tag, v uint64) []byte {
	var buf [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(buf[:], v)
	b = appendHead(b, tag, n)
	return append(b, buf[:n]...)
}

func appendText(b []byte, tag uint64, s string) []byte {
	b = appendHead(b, tag, len(s))
	return append(b, s...)
}

func appendBytes(b []byte, tag uint64, p []byte) []byte {
	b = appendHead(b, tag, len(p))
	return append(b, p...)
}

// appendTime leaves out the zero time, which the bytes of a time cannot say.
func appendTime(b []byte, tag uint64, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = appendHead(b, tag, 8)
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano()))
}

func appendFlag(b []byte, tag uint64, set bool) []byte {
	if set {
		b = appendHead(b, tag, 0)
	}
	return b
}

// appendPositive and appendSome leave out what says nothing.
func appendPositive(b []byte, tag uint64, v int64) []byte {
	if v > 0 {
		b = appendUint(b, tag, uint64(v))
	}
	return b
}

func appendSome(b []byte, tag uint64, s string) []byte {
	if s != "" {
		b = appendText(b, tag, s)
	}
	return b
}

func appendPair(b []byte, tag uint64, name, value string) []byte {
	var buf [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(buf[:], uint64(len(name)))
	b = appendHead(b, tag, n+len(name)+len(value))
	b = append(b, buf[:n]...)
	b = append(b, name...)
	return append(b, value...)
}

// beginMessage appends the head of a message within a message, with one byte
// for its length, which endMessage puts right.
func beginMessage(b []byte, tag uint64) (out []byte, at int) {
	b = binary.AppendUvarint(b, tag)
	return append(b, 0), len(b)
}

func endMessage(b []byte, at int) []byte {
	var buf [binary.MaxVarintLen64]byte
	length := len(b) - at - 1
	n := binary.PutUvarint(buf[:], uint64(length))
	if n > 1 {
		b = append(b, buf[1:n]...) // room for the longer number
		copy(b[at+n:], b[at+1:at+1+length])
	}
	copy(b[at:], buf[:n])
	return b
}

// maxHint bounds what is said to people, in bytes.
const maxHint = 512

func appendHint(b []byte, tag uint64, hint string) []byte {
	return appendSome(b, tag, hint[:min(len(hint), maxHint)])
}
