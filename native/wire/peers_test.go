package wire_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"larder/fault"
	"larder/native/wire"
)

// refuses wants an error of a code, and one that a person can read.
func (s subject) refuses(tb testing.TB, b []byte, code fault.Code, why string) {
	tb.Helper()
	v, err := s.parse(b)
	if got := fault.CodeOf(err); got != code {
		tb.Errorf("%s, %s: %v (%v), want %v; read as %+v\n%x", s.name, why, got, err, code, v, b)
	} else if err != nil && fault.HintOf(err) == "" {
		tb.Errorf("%s, %s: no hint: %v", s.name, why, err)
	}
}

// everyMessage calls use with the subject's bytes, changed in one message after
// the other, at every depth.
func (s subject) everyMessage(tb testing.TB, f func(at string, fields []node) []node, use func([]byte)) {
	tb.Helper()
	change(s.fields(tb), "", f, func(all []node) { use(s.with(join(all))) })
}

// unknownTags are tags that stand nowhere in the tables, and those of other
// messages, near 2⁶⁴ too.
func (s subject) unknownTags(at string) (even, odd []uint64) {
	all := []uint64{0, 98, 99, 126, 127, 128, 129, 1000, 1001, 1<<64 - 2, 1<<64 - 1}
	for tag := uint64(1); tag < 72; tag++ {
		all = append(all, tag)
	}
	for _, tag := range all {
		if _, known := s.grammar.find(at + string(appendDecimal(tag))); known {
			continue
		}
		if tag%2 == 0 {
			even = append(even, tag)
		} else {
			odd = append(odd, tag)
		}
	}
	return even, odd
}

// TestSubjectsAreFull holds that the samples have every field of the tables, so
// that what holds for the samples holds for all fields.
func TestSubjectsAreFull(t *testing.T) {
	t.Parallel()
	seen, inAll := map[string]bool{}, map[wire.Op]grammar{}
	var note func(op wire.Op, nodes []node)
	note = func(op wire.Op, nodes []node) {
		for _, n := range nodes {
			seen[op.String()+" "+n.path] = true
			note(op, n.kids)
		}
	}
	for i, s := range subjects() {
		op := wire.Op(60_000 + i) // not a request
		if r, ok := s.value.(*wire.Request); ok {
			op = r.Op
		}
		inAll[op] = s.grammar
		note(op, s.fields(t))
		s.accepts(t, s.full, s.value, "as it is sent")
	}
	for op, g := range inAll {
		for _, r := range g {
			if !seen[op.String()+" "+r.path] {
				t.Errorf("%v: no sample has the field %s, %s", op, r.path, r.name)
			}
		}
	}
	for op := range wire.Op(200) {
		if _, have := inAll[op]; have != op.Known() {
			t.Errorf("%v: known is %t, and there is a sample: %t", op, op.Known(), have)
		}
	}
}

// TestNewerPeers: an unknown field with an even tag is passed over wherever it
// stands and as often as it likes; one with an odd tag is not.
func TestNewerPeers(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			insert := func(tag uint64, value string, where func(int) int) func(string, []node) []node {
				return func(_ string, fields []node) []node {
					n := node{tag: tag, value: []byte(value)}
					return slices.Insert(slices.Clone(fields), where(len(fields)), n, n)
				}
			}
			first, last := func(int) int { return 0 }, func(n int) int { return n }
			s.everyMessage(t, insert(1000, "", first), func(b []byte) { s.accepts(t, b, s.value, "an even tag") })
			s.everyMessage(t, insert(1000, "\xff", last), func(b []byte) { s.accepts(t, b, s.value, "an even tag") })
			s.everyMessage(t, insert(1001, "", first), func(b []byte) { s.refuses(t, b, fault.NotImplemented, "an odd tag") })
			s.everyMessage(t, insert(1001, "\xff", last), func(b []byte) { s.refuses(t, b, fault.NotImplemented, "an odd tag") })
		})
	}
}

// TestForeignFields holds that each message takes the fields of its own table
// and no other: those of other messages are as unknown as any.
func TestForeignFields(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			even, odd := s.unknownTags("")
			for _, tag := range even {
				twice := append(field(tag, "\x01x"), field(tag, "\x01x")...)
				s.accepts(t, s.with(append(twice, s.full[s.head:]...)), s.value, "a foreign even tag, twice")
			}
			for _, tag := range odd {
				s.refuses(t, s.with(append(field(tag, "\x01x"), s.full[s.head:]...)), fault.NotImplemented, "a foreign odd tag")
			}
		})
	}
}

// TestUnknownOperation is refused, whatever stands behind it.
func TestUnknownOperation(t *testing.T) {
	t.Parallel()
	for op := range wire.Op(1 << 10) {
		p := []byte{byte(op >> 8), byte(op), 1, 1, 'b', 3, 1, 'k'}
		if _, err := wire.ParseRequest(p); !op.Known() && fault.CodeOf(err) != fault.NotImplemented {
			t.Errorf("%v: %v", op, err)
		}
		if wire.ParseOp(p) != op {
			t.Errorf("operation %d is read as %d", op, wire.ParseOp(p))
		}
	}
}

// TestValuesAreCopies scribbles over what was read.
func TestValuesAreCopies(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		b := bytes.Clone(s.full)
		v, err := s.parse(b)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		for i := range b {
			b[i] = '!'
		}
		if !reflect.DeepEqual(v, s.value) {
			t.Errorf("%s: the value has changed with its bytes:\n%+v, want\n%+v", s.name, v, s.value)
		}
	}
	refused := payload(wire.AppendRefusal(nil, 1, fault.Denied, "No."))
	_, hint, _ := wire.Refusal(refused)
	clear(refused)
	if hint != "No." {
		t.Errorf("the hint has changed with its bytes: %q", hint)
	}
}

// TestAppendBehind holds that every encoder leaves alone what stands before it.
func TestAppendBehind(t *testing.T) {
	t.Parallel()
	before := []byte("before")
	b := bytes.Clone(before)
	o, p, r := fullObject(), part(1), &requests()[0].Request
	b = r.Append(wire.AppendEntry(p.Append(o.Append(b)), &o))
	b = fullEvent().Append(farewell().Append(trailer().Append(b, 1)), 1)
	b = fullWelcome().Append(login().Append(fullPreface().Append(b)))
	b, at := wire.BeginAnswer(b, 1, true)
	b = wire.EndFrame(buckets()[0].Append(b), at)
	if !bytes.HasPrefix(b, before) {
		t.Errorf("what stood before is now %q", b[:len(before)])
	}
	want := payload(appendFrame(buckets()[0].Append(nil)))
	if !bytes.HasSuffix(b, want) {
		t.Errorf("the last frame ends in\n%x, want\n%x", b[at:], want)
	}
}

// appendFrame is an answer around a message.
func appendFrame(message []byte) []byte {
	b, at := wire.BeginAnswer(nil, 1, true)
	return wire.EndFrame(append(b, message...), at)
}
