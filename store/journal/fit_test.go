package journal_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// packed is a compacted segment with puts of these sequences.
func packed(number, first, last uint64, sequences ...uint64) []byte {
	var body []byte
	for _, seq := range sequences {
		r := samplePut("k", 50)
		r.Sequence, r.Batch = seq, seq
		body = append(body, journal.EncodeForTest(r, testID)...)
	}
	h := journal.CompactedHeaderForTest(number, first, last, last, uint64(len(sequences)), 128+int64(len(body)), 0, testID)
	return append(h, body...)
}

// raw is a segment that was not compacted.
func raw(number, first uint64, records int) []byte {
	b := journal.SegmentHeaderForTest(number, first, 0, testID)
	for i := range uint64(records) {
		r := samplePut("k", 50)
		r.Sequence, r.Batch = first+i, first+i
		b = append(b, journal.EncodeForTest(r, testID)...)
	}
	return b
}

func diskOf(tb testing.TB, files map[uint64][]byte) *vfs.Mem {
	m := segments(tb)
	for n, b := range files {
		writeFile(tb, m, journal.FileNameForTest(n), b)
	}
	return m
}

// TestSegmentsThatFit: which of overlapping segments count.
func TestSegmentsThatFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files   map[uint64][]byte
		want    []uint64 // sequences
		winners int
	}{
		"an output alone":      {map[uint64][]byte{4: packed(4, 1, 9, 2, 5), 3: raw(3, 10, 1)}, []uint64{2, 5, 10}, 2},
		"before the head":      {map[uint64][]byte{1: raw(1, 1, 4), 4: packed(4, 5, 9, 7), 3: raw(3, 10, 1)}, []uint64{1, 2, 3, 4, 7, 10}, 3},
		"with its input":       {map[uint64][]byte{1: raw(1, 1, 9), 4: packed(4, 1, 9, 2, 5), 3: raw(3, 10, 1)}, []uint64{2, 5, 10}, 2},
		"with a later input":   {map[uint64][]byte{2: raw(2, 5, 5), 4: packed(4, 1, 9, 2), 3: raw(3, 10, 1)}, []uint64{2, 10}, 2},
		"with an earlier one":  {map[uint64][]byte{1: raw(1, 1, 3), 4: packed(4, 1, 9, 2), 3: raw(3, 10, 1)}, []uint64{2, 10}, 2},
		"of an output":         {map[uint64][]byte{4: packed(4, 1, 5, 2), 6: packed(6, 1, 9), 5: packed(5, 6, 9, 8), 3: raw(3, 10, 1)}, []uint64{10}, 2},
		"of the same range":    {map[uint64][]byte{4: packed(4, 1, 9, 2, 3), 6: packed(6, 1, 9, 3), 3: raw(3, 10, 1)}, []uint64{3, 10}, 2},
		"next to each other":   {map[uint64][]byte{4: packed(4, 1, 5, 2), 5: packed(5, 6, 9, 8), 3: raw(3, 10, 1)}, []uint64{2, 8, 10}, 3},
		"an empty head":        {map[uint64][]byte{4: packed(4, 1, 5), 3: raw(3, 6, 0)}, nil, 2},
		"an empty raw one":     {map[uint64][]byte{1: raw(1, 1, 0), 2: raw(2, 1, 3), 3: raw(3, 4, 1)}, []uint64{1, 2, 3, 4}, 3},
		"an empty one's range": {map[uint64][]byte{1: raw(1, 1, 0), 4: packed(4, 1, 3, 2), 3: raw(3, 4, 1)}, []uint64{2, 4}, 2},
		"an unborn head":       {map[uint64][]byte{1: raw(1, 1, 2), 4: packed(4, 3, 3), 3: raw(3, 4, 1), 5: make([]byte, 500)}, []uint64{1, 2, 4}, 3},
		"unborn before output": {map[uint64][]byte{1: raw(1, 1, 2), 5: packed(5, 3, 3), 3: raw(3, 4, 1), 4: make([]byte, 500)}, []uint64{1, 2, 4}, 3},
	} {
		m := diskOf(t, c.files)
		writeFile(t, m, "segments/0000000099.seg.new", []byte("left over"))
		j, recs, err := tryReplay(config(m), journal.Position{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []uint64
		for _, l := range recs {
			got = append(got, l.rec.Sequence)
		}
		if !bytes.Equal(sequences(got), sequences(c.want)) || len(j.Segments()) != c.winners {
			t.Errorf("%s: records %v of %+v, want %v", name, got, j.Segments(), c.want)
		}
		locs := put(t, j, samplePut("big", 20_000))
		if locs[0].Segment <= 99 || locs[0].Sequence != j.Position().Sequence {
			t.Errorf("%s: the next segment is %d", name, locs[0].Segment)
		}
		if _, err := m.Stat("segments/0000000099.seg.new"); err == nil {
			t.Errorf("%s: the left-over is still there", name)
		}
		j.Close()
	}
}

func sequences(in []uint64) (out []byte) {
	for _, n := range in {
		out = append(out, byte(n))
	}
	return out
}

// TestSegmentsThatDoNotFit: holes, overlaps, and outputs that are not what their
// headers say stop a start with a message that names the segment and the offset
// and says what to do, and change nothing.
func TestSegmentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	whole := packed(4, 1, 9, 2, 5, 9)
	more := bytes.Clone(whole)
	more[80] = 4 // records
	journal.FixHeaderForTest(more)
	carrier := journal.EncodeForTest(&journal.Record{Kind: journal.Body, Sequence: 2, Batch: 2, Body: []byte("b"), Size: 1}, testID)
	bare := journal.EncodeForTest(&journal.Record{Kind: journal.Body, Sequence: 2, Batch: 2, Size: 1}, testID)
	length := int64(len(whole))
	for name, c := range map[string]struct {
		files   map[uint64][]byte
		segment uint64
		offset  int64
		hint    string
	}{
		"a hole behind an output":  {map[uint64][]byte{4: whole, 3: raw(3, 12, 1)}, 4, length, "missing"},
		"a hole before all":        {map[uint64][]byte{4: packed(4, 3, 9, 5), 3: raw(3, 10, 1)}, 4, 0, "missing"},
		"no head":                  {map[uint64][]byte{4: whole}, 4, length, "missing"},
		"a hole behind a raw one":  {map[uint64][]byte{1: raw(1, 1, 2), 4: packed(4, 5, 9, 7), 3: raw(3, 10, 1)}, 1, int64(len(raw(1, 1, 2))), "missing"},
		"partial overlap":          {map[uint64][]byte{4: packed(4, 1, 9, 2), 5: packed(5, 5, 12, 11), 3: raw(3, 13, 1)}, 5, 0, "same records"},
		"partial overlap, older":   {map[uint64][]byte{5: packed(5, 1, 9, 2), 4: packed(4, 5, 12, 11), 3: raw(3, 13, 1)}, 4, 0, "same records"},
		"a newer one within":       {map[uint64][]byte{4: whole, 6: packed(6, 2, 5), 3: raw(3, 10, 1)}, 6, 0, "same records"},
		"a newer raw one within":   {map[uint64][]byte{4: whole, 6: raw(6, 2, 3), 3: raw(3, 10, 1)}, 6, 0, "same records"},
		"an output over the head":  {map[uint64][]byte{4: packed(4, 1, 12, 2), 3: raw(3, 10, 1)}, 3, 0, "same records"},
		"raw ones out of order":    {map[uint64][]byte{2: raw(2, 1, 4), 1: raw(1, 5, 4), 3: raw(3, 9, 1)}, 1, 0, "same records"},
		"cut":                      {map[uint64][]byte{4: whole[:length-8], 3: raw(3, 10, 1)}, 4, length - 8, "backup"},
		"cut at a border":          {map[uint64][]byte{4: whole[:128], 3: raw(3, 10, 1)}, 4, 128, "backup"},
		"cut in the header":        {map[uint64][]byte{4: whole[:100], 3: raw(3, 10, 1)}, 4, 0, "backup"},
		"zeroed behind 64":         {map[uint64][]byte{4: append(bytes.Clone(whole[:64]), make([]byte, length-64)...), 3: raw(3, 10, 1)}, 4, 0, "backup"},
		"longer":                   {map[uint64][]byte{4: append(bytes.Clone(whole), 0), 3: raw(3, 10, 1)}, 4, length, "backup"},
		"a record less":            {map[uint64][]byte{4: more, 3: raw(3, 10, 1)}, 4, length, "backup"},
		"records out of order":     {map[uint64][]byte{4: packed(4, 1, 9, 2, 5, 4), 3: raw(3, 10, 1)}, 4, 128 + (length-128)/3*2, "backup"},
		"a record twice":           {map[uint64][]byte{4: packed(4, 1, 9, 2, 2), 3: raw(3, 10, 1)}, 4, 128 + (length-128)/3, "backup"},
		"a record of another":      {map[uint64][]byte{4: packed(4, 1, 9, 2, 10), 3: raw(3, 10, 1)}, 4, 128 + (length-128)/3, "backup"},
		"a record before its own":  {map[uint64][]byte{2: raw(2, 1, 2), 4: packed(4, 3, 9, 2), 3: raw(3, 10, 1)}, 4, 128, "backup"},
		"a carrier in a raw one":   {map[uint64][]byte{2: append(raw(2, 1, 1), carrier...), 3: raw(3, 3, 1)}, 2, int64(len(raw(2, 1, 1))), "backup"},
		"a carrier without a body": {map[uint64][]byte{4: append(journal.CompactedHeaderForTest(4, 1, 9, 9, 1, 128+int64(len(bare)), 0, testID), bare...), 3: raw(3, 10, 1)}, 4, 128, "backup"},
	} {
		m := diskOf(t, c.files)
		_, _, err := tryReplay(config(m), journal.Position{})
		t.Run(name, func(t *testing.T) {
			wantDamage(t, err, c.segment, c.offset)
			if !strings.Contains(fault.HintOf(err), c.hint) {
				t.Errorf("the hint of %v does not say %q", err, c.hint)
			}
		})
		left := map[uint64][]byte{}
		for n := range c.files {
			left[n] = readFile(t, m, journal.FileNameForTest(n))
		}
		if !maps.EqualFunc(left, c.files, bytes.Equal) || len(filesOf(t, m)) != len(c.files) {
			t.Errorf("%s: a refused start changed files", name)
		}
	}
}

// TestFlipsInACompactedSegment: no bit of one changes unseen by a start.
func TestFlipsInACompactedSegment(t *testing.T) {
	t.Parallel()
	whole := packed(4, 1, 9, 2, 5, 9)
	for off := range whole {
		broken := bytes.Clone(whole)
		broken[off] ^= 1 << (off % 8)
		_, _, err := tryReplay(config(diskOf(t, map[uint64][]byte{4: broken, 3: raw(3, 10, 1)})), journal.Position{})
		if fault.CodeOf(err) != fault.Corrupt {
			t.Fatalf("flip at %d: %v", off, err)
		}
	}
	newer := bytes.Clone(whole)
	newer[100] = 1 // reserved
	journal.FixHeaderForTest(newer)
	_, _, err := tryReplay(config(diskOf(t, map[uint64][]byte{4: newer, 3: raw(3, 10, 1)})), journal.Position{})
	if fault.CodeOf(err) != fault.NewerFormat {
		t.Errorf("a newer header: %v", err)
	}
}
