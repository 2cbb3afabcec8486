package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"larder/fault"
	"larder/native/wire"
)

// fuzz feeds one Parse function: it never panics, it refuses with one of two
// codes, what it accepts does not change with the bytes it came from, and is
// read from what it is sent as as the same value.
func fuzz(f *testing.F, names ...string) {
	f.Helper()
	var s subject
	for _, name := range names {
		s = named(f, name)
		f.Add(s.full)
		s.everyMessage(f, func(_ string, fields []node) []node {
			return append(fields[:len(fields):len(fields)], node{tag: 1000, value: []byte("new")})
		}, func(b []byte) { f.Add(b) })
		f.Add(s.full[:s.head])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > s.limit {
			return
		}
		b = bytes.Clone(b)
		v, err := s.parse(b)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.InvalidArgument && code != fault.NotImplemented {
				t.Fatal(err)
			}
			return
		}
		clear(b)
		sent := s.again(v)
		again, err := s.parse(sent)
		if err != nil || !reflect.DeepEqual(shorten(again), shorten(v)) {
			t.Fatalf("accepted\n%+v, which is sent as\n%x, and read as\n%+v, %v", v, sent, again, err)
		}
	})
}

// shorten cuts what senders cut.
func shorten(v any) any {
	cut := func(s string, n int) string { return s[:min(len(s), n)] }
	switch v := v.(type) {
	case wire.Preface:
		v.Program, v.Refusal = cut(v.Program, 64), cut(v.Refusal, 256)
		return v
	case wire.WelcomeMessage:
		v.Caller, v.Hint = cut(v.Caller, 256), cut(v.Hint, 512)
		return v
	case wire.Farewell:
		v.Hint = cut(v.Hint, 512)
		return v
	case []wire.Result:
		for i := range v {
			v[i].Hint = cut(v[i].Hint, 512)
		}
	}
	return v
}

func FuzzParsePreface(f *testing.F)    { fuzz(f, "preface") }
func FuzzParseLogin(f *testing.F)      { fuzz(f, "login") }
func FuzzParseWelcome(f *testing.F)    { fuzz(f, "welcome") }
func FuzzParseTrailer(f *testing.F)    { fuzz(f, "end") }
func FuzzParseFarewell(f *testing.F)   { fuzz(f, "goaway") }
func FuzzParseEvent(f *testing.F)      { fuzz(f, "event") }
func FuzzParseObject(f *testing.F)     { fuzz(f, "object") }
func FuzzParseBuckets(f *testing.F)    { fuzz(f, "buckets") }
func FuzzParsePage(f *testing.F)       { fuzz(f, "page") }
func FuzzParseResults(f *testing.F)    { fuzz(f, "results") }
func FuzzParseUpload(f *testing.F)     { fuzz(f, "upload") }
func FuzzParsePart(f *testing.F)       { fuzz(f, "part") }
func FuzzParsePartPage(f *testing.F)   { fuzz(f, "parts") }
func FuzzParseUploadPage(f *testing.F) { fuzz(f, "uploads") }
func FuzzParsePosition(f *testing.F)   { fuzz(f, "position") }
func FuzzParseServerInfo(f *testing.F) { fuzz(f, "info") }

// FuzzParseRequest begins with a request of every operation.
func FuzzParseRequest(f *testing.F) {
	names := []string{}
	for _, r := range requests() {
		names = append(names, "request-"+r.name)
	}
	fuzz(f, append(names, "request-completeupload")...) // whose limit is the largest
}

// FuzzParseHeader: what is accepted is written as it was read.
func FuzzParseHeader(f *testing.F) {
	for _, g := range goldens() {
		f.Add(g.bytes[:wire.HeaderSize], true)
		f.Add(g.bytes[:wire.HeaderSize], false)
	}
	f.Fuzz(func(t *testing.T, b []byte, server bool) {
		from := wire.FromClient
		if server {
			from = wire.FromServer
		}
		h, err := wire.ParseHeader(b, from)
		if err == nil && !bytes.Equal(h.Append(nil), b[:wire.HeaderSize]) {
			t.Fatalf("%x is written as %x", b, h.Append(nil))
		}
		if err != nil && fault.CodeOf(err) != fault.InvalidArgument {
			t.Fatal(err)
		}
	})
}

// FuzzRefusal reads answers: a refusal never has a message, an answer's is what
// stands behind its code.
func FuzzRefusal(f *testing.F) {
	f.Add(payload(wire.AppendRefusal(nil, 1, fault.Denied, "No.")))
	f.Add([]byte{0, 0, 50, 1, 'u'})
	f.Fuzz(func(t *testing.T, b []byte) {
		code, hint, message := wire.Refusal(b)
		switch {
		case code == fault.OK && (hint != "" || !bytes.Equal(message, b[2:])):
			t.Fatalf("%x: hint %q, message %x", b, hint, message)
		case code != fault.OK && message != nil:
			t.Fatalf("%x: %v with message %x", b, code, message)
		}
	})
}

// FuzzParseCredit and the codes that stand alone.
func FuzzParseCredit(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := wire.ParseCredit(b)
		if err == nil && (n == 0 || n > wire.MaxCredit || !bytes.Equal(payload(wire.AppendCredit(nil, 1, n)), b[:4])) {
			t.Fatalf("%x is read as %d", b, n)
		}
		wire.ParseCode(b)
		wire.ParseOp(b)
		if rest, err := wire.PrefaceRest(b); err == nil && (rest < 0 || rest > wire.MaxPrefaceMessage) {
			t.Fatalf("%x is followed by %d bytes", b, rest)
		}
	})
}
