package wire_test

import (
	"bytes"
	"fmt"
	"testing"

	"larder/fault"
	"larder/native/wire"
)

// frameRule is a line of the table of frames in docs/native.md.
type frameRule struct {
	client, server bool
	least, most    uint32
	zero, other    bool // may be of stream 0, may be of another
	last           bool
}

func frameRules() map[byte]frameRule {
	return map[byte]frameRule{
		1:  {client: true, least: 0, most: 512, zero: true},
		2:  {server: true, least: 2, most: 1 << 10, zero: true},
		3:  {client: true, least: 2, most: 2 << 20, other: true, last: true},
		4:  {server: true, least: 2, most: 4 << 20, other: true, last: true},
		5:  {client: true, server: true, least: 1, most: 1 << 20, other: true},
		6:  {client: true, server: true, least: 2, most: 1 << 10, other: true},
		7:  {client: true, server: true, least: 2, most: 2, other: true},
		8:  {client: true, server: true, least: 4, most: 4, zero: true, other: true},
		9:  {client: true, server: true, least: 8, most: 8, zero: true},
		10: {client: true, server: true, least: 8, most: 8, zero: true},
		11: {server: true, least: 6, most: 1 << 10, zero: true},
		12: {server: true, least: 0, most: 4 << 10, other: true},
	}
}

// allows is the table, read the long way.
func (r frameRule) allows(from wire.Sender, flags byte, reserved uint16, stream, length uint32) bool {
	switch {
	case from == wire.FromClient && !r.client, from == wire.FromServer && !r.server:
		return false
	case flags > 1, flags == 1 && !r.last, reserved != 0:
		return false
	case stream == 0 && !r.zero, stream != 0 && !r.other:
		return false
	}
	return r.least <= length && length <= r.most
}

func headerBytes(kind, flags byte, reserved uint16, stream, length uint32) []byte {
	return []byte{
		kind, flags, byte(reserved >> 8), byte(reserved),
		byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream),
		byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length),
	}
}

// TestParseHeader goes through the whole table: each of the 256 types from each
// side, with streams, lengths around its limits, and the bits that are reserved.
func TestParseHeader(t *testing.T) {
	t.Parallel()
	for kind := range 256 {
		r, known := frameRules()[byte(kind)]
		lengths := map[uint32]bool{0: true, 1: true, r.least: true, r.least - 1: true, r.most: true, r.most + 1: true, 1<<32 - 1: true}
		for length := range lengths {
			for _, stream := range []uint32{0, 1, 1<<32 - 1} {
				for _, rest := range []uint32{0, 1 << 16, 2 << 16, 3 << 16, 0x80 << 16, 1, 0x100, 0x8000, 1<<16 | 1} {
					for _, from := range []wire.Sender{wire.FromClient, wire.FromServer} {
						flags, reserved := byte(rest>>16), uint16(rest)
						checkHeader(t, headerBytes(byte(kind), flags, reserved, stream, length), from,
							known && r.allows(from, flags, reserved, stream, length))
					}
				}
			}
		}
	}
}

// checkHeader reads one header. What is allowed is written again as it was.
func checkHeader(t *testing.T, b []byte, from wire.Sender, allowed bool) {
	t.Helper()
	h, err := wire.ParseHeader(b, from)
	switch {
	case allowed && err != nil:
		t.Errorf("%x from %d: %v", b, from, err)
	case !allowed && fault.CodeOf(err) != fault.InvalidArgument:
		t.Errorf("%x from %d is read as %+v, %v", b, from, h, err)
	case allowed && !bytes.Equal(h.Append(nil), b):
		t.Errorf("%x is written as %x", b, h.Append(nil))
	}
}

// TestLimits holds the numbers of docs/native.md against the constants.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"version", wire.Version, 1},
		{"requests in flight", wire.MaxStreams, 128},
		{"credit of a stream", wire.StreamCredit, 1 << 20},
		{"credit of a connection", wire.ConnectionCredit, 8 << 20},
		{"credit at most", wire.MaxCredit, 1<<31 - 1},
		{"deletes", wire.MaxDeletes, 1000},
		{"parts", wire.MaxParts, 10_000},
		{"header", wire.HeaderSize, 12},
		{"nonce", wire.NonceSize, 32},
		{"first part of a preface", wire.PrefaceSize, 8},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}

// TestShortPayloads: the few bytes before a message are missed, not read beyond.
func TestShortPayloads(t *testing.T) {
	t.Parallel()
	for n := range wire.HeaderSize {
		if _, err := wire.ParseHeader(make([]byte, n), wire.FromClient); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("a header of %d bytes: %v", n, err)
		}
	}
	for n := range wire.PrefaceSize {
		if _, err := wire.PrefaceRest([]byte("LRDR\x01\x01\x00\x00")[:n]); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("a preface of %d bytes: %v", n, err)
		}
	}
	for n := range 4 {
		if _, err := wire.ParseCredit(make([]byte, n)); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("a credit of %d bytes: %v", n, err)
		}
	}
	for n := range 2 {
		if code := wire.ParseCode(make([]byte, n)); code == fault.OK {
			t.Errorf("a code of %d bytes is read as ok", n)
		}
		if code, _, _ := wire.Refusal(make([]byte, n)); code == fault.OK {
			t.Errorf("an answer of %d bytes is read as ok", n)
		}
		if wire.ParseOp(make([]byte, n)).Known() {
			t.Errorf("an operation of %d bytes is known", n)
		}
	}
}

func TestCredit(t *testing.T) {
	t.Parallel()
	for _, n := range []uint32{1, 1 << 20, 1<<31 - 1} {
		frame := wire.AppendCredit(nil, 7, n)
		if got, err := wire.ParseCredit(payload(frame)); got != n || err != nil {
			t.Errorf("%d is read as %d, %v", n, got, err)
		}
	}
	for _, n := range []uint32{0, 1 << 31, 1<<32 - 1} {
		if got, err := wire.ParseCredit(payload(wire.AppendCredit(nil, 7, n))); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%d is read as %d, %v", n, got, err)
		}
	}
}

// TestTrailerForms: a CRC is of four bytes, and an END tells the length even
// where it says why there is no more.
func TestTrailerForms(t *testing.T) {
	t.Parallel()
	s := named(t, "end")
	length := field(2, "\x05")
	for n := range 10 {
		b := s.with(append(length, field(4, string(run(0xf0, n)))...))
		if n == 4 {
			s.accepts(t, b, wire.Trailer{Length: 5, CRC: 0xf0f1f2f3, HasCRC: true}, "a CRC")
			continue
		}
		s.refuses(t, b, fault.InvalidArgument, fmt.Sprint("a CRC of ", n, " bytes"))
	}
	s.accepts(t, s.with(length), wire.Trailer{Length: 5}, "no CRC")
	s.refuses(t, []byte{0, byte(fault.Corrupt)}, fault.InvalidArgument, "a code alone")
}

// TestRefusal reads answers that are errors: the code always, the hint if it can
// be read, and no message behind them.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, code := range append(fault.Codes(), 999, 65535) {
		p := payload(wire.AppendRefusal(nil, 1, code, "Because."))
		if got, hint, message := wire.Refusal(p); got != code || hint != "Because." || message != nil {
			t.Errorf("%v is read as %v, %q, %x", code, got, hint, message)
		}
		for _, rest := range []string{"", "\x04", "\x04\x09x", "\xff\xff"} {
			if got, hint, message := wire.Refusal([]byte(string(p[:2]) + rest)); got != code || hint != "" || message != nil {
				t.Errorf("%v with %q is read as %v, %q, %x", code, rest, got, hint, message)
			}
		}
	}
	p := append(payload(wire.AppendRefusal(nil, 1, 32, "Because.")), field(1000, "new")...)
	if _, hint, _ := wire.Refusal(p); hint != "Because." {
		t.Errorf("with an unknown field the hint is %q", hint)
	}
}

// TestLongTexts: what is said to people is cut to what the frame allows.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	endless := string(bytes.Repeat([]byte("long"), 1000))
	p := wire.Preface{Version: 1, Lowest: 1, Program: endless, Bound: true, Refusal: endless}
	p.Streams, p.ConnectionCredit, p.StreamCredit = wire.MaxStreams, wire.MaxCredit, wire.MaxCredit
	if _, err := wire.ParsePreface(p.Append(nil)); err != nil {
		t.Error(err)
	}
	for name, frame := range map[string][]byte{
		"welcome": wire.WelcomeMessage{Code: 1, Proof: run(0, 32), Caller: endless, Hint: endless}.Append(nil),
		"refusal": wire.AppendRefusal(nil, 1, 1, endless),
		"goaway":  wire.Farewell{Code: 1, Hint: endless}.Append(nil),
	} {
		if h, err := wire.ParseHeader(frame, wire.FromServer); err != nil || int(h.Length) != len(payload(frame)) || h.Length < 256 {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	if b := (wire.Result{Code: 1, Hint: endless}).Append(nil); len(b) > 600 {
		t.Errorf("a result of %d bytes", len(b))
	}
}

// TestLengthsOfMessages: the length of a message within a message takes one,
// two or three bytes.
func TestLengthsOfMessages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 125, 126, 127, 128, 129, 16378, 16379, 16380, 16381, 16384, 1 << 20} {
		want := []wire.Bucket{{Name: string(bytes.Repeat([]byte("n"), n+1)), Created: noon(), Objects: 1}}
		b := want[0].Append(nil)
		s := named(t, "buckets")
		s.accepts(t, b, want, fmt.Sprint(n))
		if again := join(split(t, s.grammar, "", b)); !bytes.Equal(again, b) {
			t.Errorf("a name of %d bytes is not written in its shortest form", n+1)
		}
	}
}
