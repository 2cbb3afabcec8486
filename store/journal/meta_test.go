package journal_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"larder/store/journal"
)

// metaOnly is what the meta part keeps of a record.
func metaOnly(r *journal.Record) *journal.Record {
	c := *r
	c.Kind, c.Sequence, c.Batch, c.Body = 0, 0, 0, nil
	return &c
}

func TestMetaRoundTrip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70_000)
	parts := &journal.Record{}
	for i := range 10_000 {
		parts.Extents = append(parts.Extents, journal.Extent{Body: uint64(i), Offset: int64(i) << 30, Length: math.MaxInt64})
		parts.PartSizes = append(parts.PartSizes, int64(i))
	}
	for name, r := range map[string]*journal.Record{
		"empty": {}, "full": metaOnly(fullRecord()), "parts": parts,
		"negative time": {Time: -1}, "largest": {Size: math.MaxInt64, Bucket: math.MaxUint64, Origin: math.MaxUint64, Part: 10_000},
		"long":        {Key: long, User: []journal.Pair{{Name: "", Value: long}, {Name: long, Value: ""}}},
		"not UTF-8":   {Key: "\xff\xfe\x00"},
		"bare hold":   {Lock: journal.Lock{Hold: true}},
		"bare lock":   {Lock: journal.Lock{Mode: 2, Until: -5}},
		"no checksum": {Checksum: journal.Checksum{Algorithm: 1}},
		"zero extent": {Extents: []journal.Extent{{}}, PartSizes: []int64{0}},
	} {
		prefix := []byte("before")
		b := r.AppendMeta(prefix)
		if !bytes.HasPrefix(b, prefix) {
			t.Fatalf("%s: AppendMeta does not append", name)
		}
		got, err := journal.DecodeMeta(b[len(prefix):])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%s: got %+v, want %+v", name, got, r)
		}
	}
}

func TestMetaDoesNotAliasItsInput(t *testing.T) {
	t.Parallel()
	b := metaOnly(fullRecord()).AppendMeta(nil)
	r, err := journal.DecodeMeta(b)
	if err != nil {
		t.Fatal(err)
	}
	want := r.AppendMeta(nil)
	clear(b)
	if !bytes.Equal(r.AppendMeta(nil), want) {
		t.Error("the record changed with the bytes it was read from")
	}
}

// TestMetaRefuses: there is one encoding of a record and no other.
func TestMetaRefuses(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"unknown tag":           {32, 1, 0},
		"tag zero":              {0, 1, 0},
		"huge tag":              {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1, 0},
		"overflowing tag":       {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0},
		"tag alone":             {4},
		"half a number":         {0x84},
		"long form of a tag":    {0x84, 0x00, 1, 'k'},
		"long form of a length": {4, 0x81, 0x00, 'k'},
		"empty value":           {4, 0},
		"too long":              {4, 3, 'k', 'e'},
		"length near overflow":  {4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'k'},
		"twice":                 {4, 1, 'a', 4, 1, 'b'},
		"descending":            {4, 1, 'a', 3, 1, 'b'},
		"short time":            {1, 7, 1, 2, 3, 4, 5, 6, 7},
		"zero time":             {1, 8, 0, 0, 0, 0, 0, 0, 0, 0},
		"zero number":           {2, 1, 0},
		"two numbers":           {2, 2, 1, 1},
		"negative size":         {6, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"short MD5":             {8, 2, 1, 2},
		"long SHA-256":          append([]byte{9, 33}, make([]byte, 33)...),
		"half a checksum":       {10, 1, 1},
		"checksum of nothing":   {10, 2, 0, 1},
		"half a pair":           {17, 2, 1, 'a'},
		"pairs out of order":    {17, 8, 1, 'b', 1, 'x', 1, 'a', 1, 'x'},
		"a name twice":          {17, 8, 1, 'a', 1, 'x', 1, 'a', 1, 'y'},
		"zero lock":             {19, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"hold of two":           {19, 10, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0},
		"half an extent":        {20, 2, 1, 1},
		"negative extent":       {20, 12, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1},
		"half a sum":            {27, 3, 1, 2, 3},
		"zero sums checksum":    {28, 4, 0, 0, 0, 0},
	} {
		if r, err := journal.DecodeMeta(b); err == nil {
			t.Errorf("%s: accepted as %+v", name, r)
		}
	}
	if _, err := journal.DecodeMeta(make([]byte, journal.MaxMeta+1)); err == nil {
		t.Error("meta over the limit: accepted")
	}
}
