package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"larder/store/journal"
	"larder/store/vfs"
)

// TestScanFindsMisplaced puts a record over another one of its length, and
// exchanges two, at any distance: only what lies at the two places is told of.
// In a compacted segment, whose sequences have gaps, one that is too high fits by
// itself, and must not condemn all that lies behind it.
func TestScanFindsMisplaced(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j := alike(t, m)
	pairs := 0
	for _, s := range j.Segments()[:2] {
		name, moves := segmentName(int(s.Number)), movesOf(t, j, s.Number)
		file := readFile(t, m, name)
		for i, a := range moves {
			for k, b := range moves[i+1:] {
				if a.To.Length != b.To.Length {
					continue
				}
				pairs++
				for what, broken := range misplaced(file, a.To, b.To) {
					writeFile(t, m, name, broken)
					got := scan(t, j, s.Number, 0)
					lost := 2
					accused := func(d journal.Scanned) bool { return within(d.Location, a.To) || within(d.Location, b.To) }
					if k < 2 { // with one between them, all three stand in the wrong order
						lost += k
						accused = func(d journal.Scanned) bool { return within(d.Location, span(a.To, b.To)) }
					}
					if told := slices.DeleteFunc(slices.Clone(got.damage), accused); len(got.damage) == 0 || len(told) > 0 || len(got.records) < len(moves)-lost {
						t.Fatalf("segment %+v, %s, %d and %d: %+v", s, what, a.Sequence, b.Sequence, got)
					}
				}
			}
		}
		writeFile(t, m, name, file)
	}
	if pairs < 100 {
		t.Errorf("only %d pairs of records have the same length", pairs)
	}
}

// misplaced puts the one of two records over the other, and exchanges them.
func misplaced(file []byte, a, b journal.Location) map[string][]byte {
	first, second := file[a.Offset:end(a)], file[b.Offset:end(b)]
	early, late, both := bytes.Clone(file), bytes.Clone(file), bytes.Clone(file)
	copy(early[a.Offset:], second)
	copy(late[b.Offset:], first)
	copy(both[a.Offset:], second)
	copy(both[b.Offset:], first)
	return map[string][]byte{"early": early, "late": late, "swapped": both}
}

// alike is a journal of records of one length, whose first segment was
// compacted and has gaps.
func alike(tb testing.TB, m *vfs.Mem) *journal.Journal {
	tb.Helper()
	c := config(m)
	c.SegmentSize = 4 << 10
	j, _ := replay(tb, c)
	h := newHistory()
	for i := range 60 {
		r := samplePut(fmt.Sprintf("key-%02d", i*7%40), 100)
		put(tb, j, r)
		h.note(r)
	}
	h.mustCompact(tb, j, 0, 3)
	return j
}

func movesOf(tb testing.TB, j *journal.Journal, number uint64) (moves []journal.Move) {
	tb.Helper()
	if err := j.Locate(context.Background(), number, func(mv journal.Move) error {
		moves = append(moves, mv)
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return moves
}

// TestScanFindsSwapsNearTheEnd exchanges the two records before the last one of
// the head: the last one is good, whether or not there is one behind it.
func TestScanFindsSwapsNearTheEnd(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	for _, n := range []int{100, 200, 300, 400} {
		put(t, j, samplePut("key", n))
	}
	moves := movesOf(t, j, 1)
	a, b, last := moves[1].To, moves[2].To, moves[3]
	file := readFile(t, m, segmentName(1))
	swapped := slices.Concat(file[:a.Offset], file[b.Offset:end(b)], file[a.Offset:end(a)], file[end(b):])
	writeFile(t, m, segmentName(1), swapped)
	got := scan(t, j, 1, 0)
	if len(got.damage) == 0 || got.records[len(got.records)-1] != last.Sequence {
		t.Errorf("%+v", got)
	}
	for _, d := range got.damage {
		if !within(d.Location, span(a, b)) {
			t.Errorf("%+v is told of", d)
		}
	}
}

func within(l, in journal.Location) bool { return l.Offset >= in.Offset && end(l) <= end(in) }

func span(a, b journal.Location) journal.Location {
	return journal.Location{Offset: a.Offset, Length: end(b) - a.Offset}
}
