package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"larder/fault"
	"larder/native/wire"
)

var update = flag.Bool("update", false, "write the golden files anew; the bytes are the protocol, so look twice")

// golden is one file of testdata: a frame or a preface, its bytes as somebody
// reads them who has docs/native.md only.
type golden struct {
	name    string
	bytes   []byte      // what the package writes
	head    wire.Header // of a frame, without the length
	from    wire.Sender
	grammar grammar
	skip    int // bytes of the payload before the fields
	parse   func(payload []byte) (any, error)
	value   any
}

func goldens() []golden {
	list := append(prefaceGoldens(), loginGoldens()...)
	list = append(list, requestGoldens()...)
	list = append(list, answerGoldens()...)
	list = append(list, bodyGoldens()...)
	return append(list, connectionGoldens()...)
}

// of is a golden file of a subject's kind, with a value of its own.
func (s subject) of(name string, value any, bytes []byte, from wire.Sender, head wire.Header) golden {
	return golden{
		name: name, bytes: bytes, head: head, from: from, grammar: s.grammar, skip: s.head, parse: s.parse, value: value,
	}
}

func prefaceGoldens() (list []golden) {
	bound, refusal := clientPreface(), wire.Preface{Lowest: 2, Nonce: [32]byte(run(0x80, 32)), Program: "larder/9.0"}
	bound.Bound, refusal.Refusal = true, "This server speaks version 2 and newer."
	s := connectionSubjects()[0]
	for _, p := range []struct {
		name string
		wire.Preface
	}{
		{"preface-client", clientPreface()}, {"preface-client-tls", bound},
		{"preface-server", serverPreface()}, {"preface-refusal", refusal},
	} {
		list = append(list, s.of(p.name, p.Preface, p.Preface.Append(nil), 0, wire.Header{}))
	}
	return list
}

func loginGoldens() []golden {
	in, out := connectionSubjects()[1], connectionSubjects()[2]
	yes := wire.WelcomeMessage{Proof: run(0x40, 32), Caller: "backup"}
	no := wire.WelcomeMessage{Code: fault.BadSignature, Hint: "The key's secret is another one."}
	welcome := wire.Header{Type: wire.TypeWelcome}
	return []golden{
		in.of("login", login(), login().Append(nil), wire.FromClient, wire.Header{Type: wire.TypeLogin}),
		out.of("welcome", yes, yes.Append(nil), wire.FromServer, welcome),
		out.of("welcome-refused", no, no.Append(nil), wire.FromServer, welcome),
	}
}

func requestGoldens() (list []golden) {
	for _, r := range requests() {
		head := wire.Header{Type: wire.TypeRequest, Last: !r.Op.HasBody(), Stream: 1}
		b, at := wire.BeginFrame(nil, head.Type, head.Last, head.Stream)
		b = wire.EndFrame(r.Append(b), at)
		list = append(list, requestSubject(r).of("request-"+r.name, &r.Request, b, wire.FromClient, head))
	}
	return list
}

// answer is an ANSWER of code 0 around a message. Its golden file has the code
// before the fields.
func (s subject) answer(name string, value any, last bool) golden {
	head := wire.Header{Type: wire.TypeAnswer, Last: last, Stream: 0x01020304}
	b, at := wire.BeginAnswer(nil, head.Stream, last)
	b = wire.EndFrame(append(b, s.again(value)...), at)
	g := s.of(name, value, b, wire.FromServer, head)
	g.skip, g.parse = 2, func(p []byte) (any, error) {
		code, _, message := wire.Refusal(p)
		if code != fault.OK {
			return nil, fmt.Errorf("code %v", code)
		}
		return s.parse(message)
	}
	return g
}

func answerGoldens() (list []golden) {
	for _, s := range answerSubjects() {
		if s.name == "object" {
			list = append(list, s.answer("answer-head", objectAnswer{Object: object()}, true),
				s.answer("answer-get", objectAnswer{object(), 65536}, false),
				s.answer("answer-nothing", objectAnswer{}, true))
			continue
		}
		list = append(list, s.answer("answer-"+s.name, s.value, s.name != "position"))
	}
	return append(list, golden{
		name: "answer-refusal", bytes: wire.AppendRefusal(nil, 9, fault.NoSuchKey, "There is no such object."),
		head: wire.Header{Type: wire.TypeAnswer, Last: true, Stream: 9}, from: wire.FromServer,
		grammar: refusalGrammar(), skip: 2, value: refusal{fault.NoSuchKey, "There is no such object."},
		parse: func(p []byte) (any, error) {
			code, hint, _ := wire.Refusal(p)
			return refusal{code, hint}, nil
		},
	})
}

type refusal struct {
	code fault.Code
	hint string
}

func bodyGoldens() []golden {
	data := wire.Header{Type: wire.TypeData, Stream: 3, Length: 5}
	end, broken := trailer(), wire.Trailer{Code: fault.Corrupt, Length: 65536}
	s := connectionSubjects()[3]
	head := wire.Header{Type: wire.TypeEnd, Stream: 3}
	return []golden{
		{
			name: "data", bytes: append(data.Append(nil), "hello"...), head: data, from: wire.FromClient, skip: 5,
			value: "hello", parse: func(p []byte) (any, error) { return string(p), nil },
		},
		s.of("end", end, end.Append(nil, 3), wire.FromServer, head),
		s.of("end-no-crc", broken, broken.Append(nil, 3), wire.FromServer, head),
	}
}

func connectionGoldens() []golden {
	bye, event := connectionSubjects()[4], connectionSubjects()[5]
	stored := wire.Event{Sequence: 300, Key: "2026/été.jpg", Kind: wire.Stored}
	removed := wire.Event{Sequence: 301, Key: "2026/été.jpg", Kind: wire.Removed}
	gap := wire.Event{Sequence: 302, Gap: true}
	echo, on := [8]byte(run(1, 8)), wire.Header{Type: wire.TypeEvent, Stream: 5}
	list := []golden{
		bye.of("goaway", farewell(), farewell().Append(nil), wire.FromServer, wire.Header{Type: wire.TypeGoAway}),
		event.of("event-stored", stored, stored.Append(nil, 5), wire.FromServer, on),
		event.of("event-removed", removed, removed.Append(nil, 5), wire.FromServer, on),
		event.of("event-gap", gap, gap.Append(nil, 5), wire.FromServer, on),
		{
			name: "cancel", bytes: wire.AppendCancel(nil, 3, fault.Canceled), head: wire.Header{Type: wire.TypeCancel, Stream: 3},
			from: wire.FromClient, skip: 2, value: fault.Canceled,
			parse: func(p []byte) (any, error) { return wire.ParseCode(p), nil },
		},
	}
	for name, stream := range map[string]uint32{"credit-connection": 0, "credit-stream": 3} {
		list = append(list, golden{
			name: name, bytes: wire.AppendCredit(nil, stream, 0x40000), head: wire.Header{Type: wire.TypeCredit, Stream: stream},
			from: wire.FromServer, skip: 4, value: uint32(0x40000),
			parse: func(p []byte) (any, error) { return wire.ParseCredit(p) },
		})
	}
	for name, kind := range map[string]wire.Type{"ping": wire.TypePing, "pong": wire.TypePong} {
		list = append(list, golden{
			name: name, bytes: wire.AppendPing(nil, kind, echo), head: wire.Header{Type: kind}, from: wire.FromServer,
			skip: 8, value: echo, parse: func(p []byte) (any, error) { return [8]byte(p), nil },
		})
	}
	return list
}

// preface tells that there is no frame around the message.
func (g golden) preface() bool { return g.head.Type == 0 }

// TestGoldenBytes: what is written is what the files hold, and what the files
// hold is read as the value.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", g.name+".hex")
			if *update {
				if err := os.WriteFile(path, []byte(dump(t, g)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b := undump(t, string(file))
			if !bytes.Equal(b, g.bytes) {
				t.Fatalf("written\n%s, the file has\n%s", dump(t, g), file)
			}
			if string(file) != dump(t, g) {
				t.Errorf("the file's comments should be\n%s", dump(t, g))
			}
			g.check(t, b)
		})
	}
}

// check reads the bytes of a file.
func (g golden) check(t *testing.T, b []byte) {
	t.Helper()
	if !g.preface() {
		h, err := wire.ParseHeader(b[:wire.HeaderSize], g.from)
		want := g.head
		want.Length = uint32(len(b) - wire.HeaderSize)
		if err != nil || h != want {
			t.Errorf("header %+v, %v, want %+v", h, err, want)
		}
		b = payload(b)
	}
	if got, err := g.parse(b); err != nil || !reflect.DeepEqual(got, g.value) {
		t.Errorf("read as\n%+v, %v, want\n%+v", got, err, g.value)
	}
	ascending(t, split(t, g.grammar, "", b[g.skip:]))
}

// ascending holds that tags do not descend, in no message of a tree. Two fields
// are written apart from the rest: where a body begins (30), and where the next
// page of uploads does (46).
func ascending(t *testing.T, nodes []node) {
	t.Helper()
	before := uint64(0)
	for _, n := range nodes {
		ascending(t, n.kids)
		if n.tag == 30 || n.tag == 46 {
			continue
		}
		if n.tag < before {
			t.Errorf("tag %d stands behind tag %d", n.tag, before)
		}
		before = n.tag
	}
}

// TestNoGoldenFileIsForgotten wants a test behind each file.
func TestNoGoldenFileIsForgotten(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, g := range goldens() {
		have[g.name+".hex"] = true
	}
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !have[filepath.Base(f)] {
			t.Errorf("%s: nothing writes this", f)
		}
	}
	if len(files) != len(have) {
		t.Errorf("%d files for %d messages", len(files), len(have))
	}
}

// undump is the bytes of a file: what stands before the # of each line.
func undump(t *testing.T, file string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(file) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dump is a file's text.
func dump(t *testing.T, g golden) string {
	t.Helper()
	var out strings.Builder
	b := g.bytes
	if !g.preface() {
		fmt.Fprintf(&out, "%x %x %x # type %d, flags %d\n", b[:1], b[1:2], b[2:4], b[0], b[1])
		fmt.Fprintf(&out, "%x # stream %d\n", b[4:8], binary.BigEndian.Uint32(b[4:]))
		fmt.Fprintf(&out, "%x # %d bytes\n", b[8:12], binary.BigEndian.Uint32(b[8:]))
		b = payload(b)
	}
	if g.skip > 0 {
		fmt.Fprintf(&out, "%x #%s\n", b[:g.skip], g.comment(b))
	}
	dumpFields(&out, g.grammar, split(t, g.grammar, "", b[g.skip:]), "")
	return out.String()
}

// comment tells what stands before the fields.
func (g golden) comment(b []byte) string {
	switch {
	case g.preface():
		return fmt.Sprintf(" %q, version %d, lowest %d, %d bytes", b[:4], b[4], b[5], binary.BigEndian.Uint16(b[6:]))
	case g.head.Type == wire.TypeRequest:
		return fmt.Sprintf(" operation %d, %s", wire.ParseOp(b), wire.ParseOp(b))
	case g.head.Type == wire.TypeGoAway:
		return fmt.Sprintf(" code %d, last stream %d", binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:]))
	case g.skip == 2:
		return fmt.Sprintf(" code %d", binary.BigEndian.Uint16(b))
	}
	return ""
}

func dumpFields(out *strings.Builder, g grammar, nodes []node, indent string) {
	for _, n := range nodes {
		r, _ := g.find(n.path)
		head := n.append(nil)
		head = head[:len(head)-len(n.bytes())]
		if n.deep {
			fmt.Fprintf(out, "%s%x # %d %s, message of %d bytes\n", indent, head, n.tag, r.name, len(n.bytes()))
			dumpFields(out, g, n.kids, indent+"  ")
			continue
		}
		fmt.Fprintf(out, "%s%x %x # %d %s%s\n", indent, head, n.value, n.tag, r.name, r.show(n.value))
	}
}

// show is a value for people.
func (r rule) show(b []byte) string {
	switch r.kind {
	case text:
		return fmt.Sprintf(" %q", b)
	case number:
		v, _ := binary.Uvarint(b)
		return fmt.Sprintf(" %d", v)
	case moment:
		return " " + time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC().Format(time.RFC3339Nano)
	case pair, header:
		length, n := binary.Uvarint(b)
		return fmt.Sprintf(" %q = %q", b[n:n+int(length)], b[n+int(length):])
	}
	return ""
}
