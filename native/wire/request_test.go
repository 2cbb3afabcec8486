package wire_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// ask is a request for an object, with some fields behind its name.
func ask(op wire.Op, fields ...[]byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(op))
	b = append(append(b, field(1, "b")...), field(3, "k")...)
	for _, f := range fields {
		b = append(b, f...)
	}
	return b
}

// TestRanges reads every combination of the fields of a range, in any order.
func TestRanges(t *testing.T) {
	t.Parallel()
	offset, length, suffix := field(17, "\x05"), field(19, "\x07"), field(23, "\x09")
	zero, nothing, none := field(17, "\x00"), field(19, "\x00"), field(23, "\x00")
	for name, c := range map[string]struct {
		fields [][]byte
		want   wire.Range
		broken bool
	}{
		"none":               {},
		"offset":             {fields: [][]byte{offset}, want: wire.Range{Form: wire.From, Offset: 5}},
		"offset 0":           {fields: [][]byte{zero}, want: wire.Range{Form: wire.From}},
		"offset, length":     {fields: [][]byte{offset, length}, want: wire.Range{Form: wire.Span, Offset: 5, Length: 7}},
		"length, offset":     {fields: [][]byte{length, offset}, want: wire.Range{Form: wire.Span, Offset: 5, Length: 7}},
		"length":             {fields: [][]byte{length}, want: wire.Range{Form: wire.Span, Length: 7}},
		"offset, length 0":   {fields: [][]byte{offset, nothing}, want: wire.Range{Form: wire.Span, Offset: 5}},
		"suffix":             {fields: [][]byte{suffix}, want: wire.Range{Form: wire.Suffix, Length: 9}},
		"suffix 0":           {fields: [][]byte{none}, want: wire.Range{Form: wire.Suffix}},
		"suffix, offset":     {fields: [][]byte{suffix, offset}, broken: true},
		"offset, suffix":     {fields: [][]byte{offset, suffix}, broken: true},
		"suffix, offset 0":   {fields: [][]byte{suffix, zero}, broken: true},
		"offset 0, suffix":   {fields: [][]byte{zero, suffix}, broken: true},
		"suffix, length":     {fields: [][]byte{suffix, length}, broken: true},
		"length, suffix":     {fields: [][]byte{length, suffix}, broken: true},
		"all":                {fields: [][]byte{offset, length, suffix}, broken: true},
		"suffix twice":       {fields: [][]byte{suffix, suffix}, broken: true},
		"suffix 0, suffix 9": {fields: [][]byte{none, suffix}, broken: true},
	} {
		r, err := wire.ParseRequest(ask(wire.OpGet, c.fields...))
		switch {
		case c.broken && fault.CodeOf(err) != fault.InvalidArgument:
			t.Errorf("%s: %+v, %v", name, r, err)
		case !c.broken && (err != nil || r.Range != c.want):
			t.Errorf("%s: %+v, %v, want %+v", name, r, err, c.want)
		}
	}
}

// TestConditions: a condition is never lost on the way. An empty ETag, which
// would be none further on, and a second one of a write are refused.
func TestConditions(t *testing.T) {
	t.Parallel()
	put := func(op wire.Op, fields ...[]byte) []byte { return ask(op, fields...) }
	source := [][]byte{field(9, "b"), field(11, "k")}
	entry := func(fields ...[]byte) []byte {
		all := field(3, "k")
		for _, f := range fields {
			all = append(all, f...)
		}
		return append([]byte{0, 36, 1, 1, 'b'}, field(41, string(all))...)
	}
	done := [][]byte{field(5, "u"), field(55, "\x07\x01\x01")}
	for name, b := range map[string][]byte{
		"an empty if-match of Put":        put(wire.OpPut, field(21, "")),
		"two if-match of Put":             put(wire.OpPut, field(21, "a"), field(21, "b")),
		"two if-match of Delete":          put(wire.OpDelete, field(21, "a"), field(21, "a")),
		"an empty if-match of Delete":     put(wire.OpDelete, field(21, "")),
		"two if-match of Copy":            put(wire.OpCopy, append(source, field(21, "a"), field(21, "b"))...),
		"an empty ETag of a source":       put(wire.OpCopy, append(source, field(13, ""))...),
		"two if-match of CompleteUpload":  put(wire.OpCompleteUpload, append(done, field(21, "a"), field(21, "b"))...),
		"an empty if-match of Get":        put(wire.OpGet, field(21, "")),
		"an empty if-none-match of Head":  put(wire.OpHead, field(21, "a"), field(29, "")),
		"an empty if-match of DeleteMany": entry(field(21, "")),
		"two if-match of DeleteMany":      entry(field(21, "a"), field(21, "b")),
		"if-match of DeleteMany, alone":   put(wire.OpDeleteMany, field(21, "a")),
	} {
		if r, err := wire.ParseRequest(b); err == nil {
			t.Errorf("%s: read as %+v", name, r)
		} else if code := fault.CodeOf(err); code != fault.InvalidArgument && code != fault.NotImplemented {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range [][]byte{
		put(wire.OpPut, field(21, "a")), put(wire.OpCopy, source...), put(wire.OpGet, field(21, "a"), field(21, "b")),
		put(wire.OpCompleteUpload, done...), entry(field(21, "a")), entry(),
	} {
		if _, err := wire.ParseRequest(b); err != nil {
			t.Errorf("%x: %v", b, err)
		}
	}
}

// TestNumbersOfParts are 1 to 10,000.
func TestNumbersOfParts(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{0, 1, 10_000, 10_001, math.MaxUint64} {
		valid := n > 0 && n <= 10_000
		for name, b := range map[string][]byte{
			"PutPart":        ask(wire.OpPutPart, field(5, "u"), field(7, uvarint(n))),
			"CompleteUpload": ask(wire.OpCompleteUpload, field(5, "u"), field(55, string(field(7, uvarint(n))))),
		} {
			if _, err := wire.ParseRequest(b); valid != (err == nil) || !valid && fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("%s of part %d: %v", name, n, err)
			}
		}
	}
}

// TestNothingMoreThanAsked: what is zero in a request is not sent.
func TestNothingMoreThanAsked(t *testing.T) {
	t.Parallel()
	for _, r := range requests() {
		least := wire.Request{Op: r.Op, Bucket: r.Bucket, Key: r.Key, Upload: r.Upload, Part: r.Part, Source: r.Source, Size: -1}
		least.Source.ETag, least.Deletes, least.Parts = "", r.Deletes, r.Parts
		s := requestSubject(namedRequest{r.name, least})
		for _, n := range s.fields(t) {
			if rule, _ := s.grammar.find(n.path); !rule.must {
				t.Errorf("%s: field %s, %s, is sent", r.name, n.path, rule.name)
			}
		}
		s.accepts(t, s.full, &least, "at its least")
	}
}

// TestSizeOfBody tells an empty body from one of unknown length.
func TestSizeOfBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{-1, 0, 1, math.MaxInt64} {
		r := wire.Request{Op: wire.OpPut, Bucket: "b", Key: "k", Size: size}
		if got, err := wire.ParseRequest(r.Append(nil)); err != nil || got.Size != size {
			t.Errorf("%d is read as %+v, %v", size, got, err)
		}
	}
	for op := range wire.Op(100) {
		if body := op == wire.OpPut || op == wire.OpPutPart; op.HasBody() != body {
			t.Errorf("%v has a body: %t", op, op.HasBody())
		}
	}
}

// TestTimes goes to both ends of what eight bytes can say. A time that is not
// known is left out, and stays unknown.
func TestTimes(t *testing.T) {
	t.Parallel()
	s := named(t, "buckets")
	for _, ns := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		when := time.Unix(0, ns).UTC()
		list := []wire.Bucket{{Name: "b", Created: when}}
		b := list[0].Append(nil)
		s.accepts(t, b, list, when.String())
		want := binary.BigEndian.AppendUint64(nil, uint64(ns))
		if got := string(b[len(b)-8:]); got != string(want) {
			t.Errorf("%v is sent as %x, want %x", when, got, want)
		}
	}
	zone := time.FixedZone("somewhere", 3600)
	local := wire.Bucket{Name: "b", Created: noon().In(zone)}
	s.accepts(t, local.Append(nil), []wire.Bucket{{Name: "b", Created: noon()}}, "of another zone")
	unknown := []wire.Bucket{{Name: "b"}}
	s.accepts(t, unknown[0].Append(nil), unknown, "without a time")
	up := wire.ServerInfo{Uptime: 90*time.Second + 999*time.Millisecond}
	named(t, "info").accepts(t, up.Append(nil), wire.ServerInfo{Uptime: 90 * time.Second}, "up for less than a second more")
}

// TestMetadata: names and values are bytes, of which only the pair's name must
// be another one each.
func TestMetadata(t *testing.T) {
	t.Parallel()
	r := wire.Request{Op: wire.OpPut, Bucket: "b", Key: "k", Size: -1}
	r.Meta.User = map[string]string{"": "no name", "a": "", "\xff": "\x00", strings.Repeat("n", 200): strings.Repeat("v", 2000)}
	r.Meta.Tags = map[string]string{"a": "the same name"}
	got, err := wire.ParseRequest(r.Append(nil))
	if err != nil || !reflect.DeepEqual(got, &r) {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range 20 { // maps have no order, bytes have
		if again := r.Append(nil); string(again) != string(got.Append(nil)) {
			t.Fatalf("attempt %d: %x", i, again)
		}
	}
}

// TestOperationNames are for logs.
func TestOperationNames(t *testing.T) {
	t.Parallel()
	names := map[string]wire.Op{}
	for op := range wire.Op(1 << 10) {
		name := op.String()
		if before, twice := names[name]; twice {
			t.Errorf("%d and %d are both %s", before, op, name)
		}
		names[name] = op
		if strings.HasPrefix(name, "operation ") == op.Known() {
			t.Errorf("%d is %q", op, name)
		}
	}
	if names["CompleteUpload"] != 51 || names["operation 2"] != 2 {
		t.Errorf("CompleteUpload is %d, operation 2 is %d", names["CompleteUpload"], names["operation 2"])
	}
}
