package journal_test

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// view stands for the index of a journal: which segments it knows, where the
// bodies of what counts lie, and up to where it has applied the records.
type view struct {
	known []uint64
	rows  map[uint64]journal.Location
	at    journal.Position
}

// viewOf makes a view of a journal anew.
func viewOf(tb testing.TB, h *history, j *journal.Journal) view {
	tb.Helper()
	v := view{known: numbersOf(j.Segments()), rows: map[uint64]journal.Location{}, at: j.Position()}
	for _, s := range j.Segments() {
		if err := j.Locate(context.Background(), s.Number, func(mv journal.Move) error {
			if h.isLive(mv.Sequence) {
				v.rows[mv.Sequence] = mv.To
			}
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

// swap returns the view while, and after, its bodies have moved to an output.
func (v view) swap(inputs []journal.Segment, out journal.Segment, moves []journal.Move) (both, after view) {
	both = view{known: append(slices.Clone(v.known), out.Number), rows: maps.Clone(v.rows), at: v.at}
	after = view{rows: maps.Clone(v.rows), at: v.at}
	for i, mv := range moves {
		if _, live := v.rows[mv.Sequence]; !live {
			continue
		}
		after.rows[mv.Sequence] = mv.To
		if i%2 == 0 {
			both.rows[mv.Sequence] = mv.To
		}
	}
	for _, n := range both.known {
		if !slices.ContainsFunc(inputs, func(s journal.Segment) bool { return s.Number == n }) {
			after.known = append(after.known, n)
		}
	}
	return both, after
}

// open opens the journal with the view and expects that nothing is left to apply
// and every row's body is there.
func (v view) open(tb testing.TB, h *history, fsys vfs.FS) *journal.Journal {
	tb.Helper()
	j, err := v.try(fsys)
	if err != nil {
		tb.Fatalf("%v with known %v", err, v.known)
	}
	tb.Cleanup(func() { j.Close() })
	v.read(tb, h, j)
	return j
}

func (v view) try(fsys vfs.FS) (*journal.Journal, error) {
	c := config(fsys)
	c.SegmentSize, c.Known = 4<<10, v.known
	j, recs, err := tryReplay(c, v.at)
	if err == nil && len(recs) > 0 {
		j.Close()
		return nil, fault.New("test", fault.Internal, "", nil).WithHint("records came again")
	}
	return j, err
}

func (v view) read(tb testing.TB, h *history, j *journal.Journal) {
	tb.Helper()
	for seq, loc := range v.rows {
		body, err := j.ReadBody(loc, nil)
		if err != nil || !bytes.Equal(body, h.recs[seq].Body) {
			tb.Fatalf("body %d at %+v: %v", seq, loc, err)
		}
	}
}

// swapped is a disk with an output and its inputs, and the views before, amid and
// after the swap.
func swapped(tb testing.TB) (m *vfs.Mem, h *history, before, both, after view, inputs []journal.Segment, out journal.Segment) {
	tb.Helper()
	m = vfs.NewMem()
	j, h := old(tb, m, 60)
	before = viewOf(tb, h, j)
	inputs = j.Segments()[1:4]
	out, moves, err := h.compact(j, 1, 3)
	if err != nil {
		tb.Fatal(err)
	}
	both, after = before.swap(inputs, out, moves)
	if err := j.Close(); err != nil {
		tb.Fatal(err)
	}
	return m, h, before, both, after, inputs, out
}

func has(segs []journal.Segment, number uint64) bool { return slices.Contains(numbersOf(segs), number) }

// TestUnfinishedSwap: what the index knows decides which of an output and its
// inputs count.
func TestUnfinishedSwap(t *testing.T) {
	t.Parallel()
	m, h, before, both, after, inputs, out := swapped(t)
	rng := rand.New(rand.NewPCG(1, 1))

	m1 := m.CrashClone(rng, 1)
	j := before.open(t, h, m1)
	if has(j.Segments(), out.Number) || len(j.Superseded()) > 0 || slices.Contains(filesOf(t, m1), out.FileName()) {
		t.Errorf("the swap had not begun: %+v, %v, %v", j.Segments(), j.Superseded(), filesOf(t, m1))
	}
	if again, _, err := h.compact(j, 1, 3); err != nil || again.Number <= out.Number {
		t.Errorf("the number %d is used again as %d, %v", out.Number, again.Number, err)
	}

	m2 := m.CrashClone(rng, 1)
	j = both.open(t, h, m2)
	sup := j.Superseded()
	if !has(j.Segments(), out.Number) || len(sup) != 3 || sup[0].By != out.Number || sup[0].Number != inputs[0].Number {
		t.Errorf("the swap was interrupted: %+v, %v", j.Segments(), sup)
	}
	j.Close()
	j = after.open(t, h, m2)
	if !has(j.Segments(), out.Number) || len(j.Superseded()) > 0 || len(filesOf(t, m2)) != len(j.Segments()) {
		t.Errorf("the swap was done: %+v, %v, %v", j.Segments(), j.Superseded(), filesOf(t, m2))
	}

	m3 := m.CrashClone(rng, 1)
	j, recs := replay(t, config(m3))
	h.checkRecords(t, j, recs)
	if !has(j.Segments(), out.Number) || len(j.Superseded()) != 3 {
		t.Errorf("without an index: %+v, %v", j.Segments(), j.Superseded())
	}
	for _, s := range j.Superseded() {
		if err := j.Remove(s.Number); err != nil {
			t.Fatal(err)
		}
	}
	after.read(t, h, j)
	j.Close()
	h.check(t, m3)
	// The inputs are gone now, and so is all that the older views rely on.
	for name, v := range map[string]view{"before": before, "amid": both} {
		if _, err := v.try(m3); fault.CodeOf(err) != fault.IndexStale || fault.HintOf(err) == "" {
			t.Errorf("%s the swap, without the inputs: %v", name, err)
		}
	}
}

// TestStaleOrDamaged: an index that knows a segment which is gone is out of date
// only when the journal is whole without it.
func TestStaleOrDamaged(t *testing.T) {
	t.Parallel()
	m, h, _, _, after, _, out := swapped(t)
	after.open(t, h, m).Close() // removes the inputs
	files := filesOf(t, m)
	for _, lost := range files[:len(files)-1] {
		d := m.CrashClone(rand.New(rand.NewPCG(1, 1)), 1)
		if err := d.Remove("segments/" + lost); err != nil {
			t.Fatal(err)
		}
		left := filesOf(t, d)
		_, err := after.try(d)
		want := fault.Corrupt
		if lost == files[len(files)-2] {
			want = fault.IndexAhead // the newest but the output: the head
		}
		if fault.CodeOf(err) != want || fault.HintOf(err) == "" {
			t.Errorf("%s lost: %v", lost, err)
		}
		if _, _, err := tryReplay(config(d), journal.Position{}); want == fault.Corrupt && fault.CodeOf(err) != want {
			t.Errorf("%s lost, without an index: %v", lost, err)
		}
		if !slices.Equal(filesOf(t, d), left) {
			t.Errorf("%s lost: a refused start removed files", lost)
		}
	}
	if err := m.Remove("segments/" + out.FileName()); err != nil {
		t.Fatal(err)
	}
	_, err := after.try(m)
	if fault.CodeOf(err) != fault.Corrupt || !strings.Contains(err.Error(), "the next one begins with record") {
		t.Errorf("the output lost: %v", err)
	}
}

// TestPositionOfACompactedSegment: the index may have applied just the last
// record of a segment that was compacted since.
func TestPositionOfACompactedSegment(t *testing.T) {
	t.Parallel()
	m, h, before, _, after, inputs, out := swapped(t)
	after.open(t, h, m).Close()
	rows := after.rows
	for _, s := range inputs {
		for seq := s.First; seq <= s.Last; seq++ {
			after.at = journal.Position{Sequence: seq, Segment: s.Number, Offset: 64}
			c := config(m)
			c.Known = after.known
			j, recs, err := tryReplay(c, after.at)
			if err != nil || recs[0].rec.Sequence != out.Last+1 {
				t.Fatalf("from record %d of segment %d: %d records, %v", seq, s.Number, len(recs), err)
			}
			j.Close()
			c.Known = []uint64{before.known[0], before.known[len(before.known)-1]}
			if _, _, err := tryReplay(c, after.at); fault.CodeOf(err) != fault.IndexStale {
				t.Fatalf("from record %d with an index that does not know the output: %v", seq, err)
			}
		}
	}
	after.rows = rows
	c := config(m)
	c.Known = after.known
	for name, from := range map[string]journal.Position{
		"a later segment": {Sequence: 61, Segment: 99, Offset: 64}, "no segment": {Sequence: 20},
	} {
		if _, _, err := tryReplay(c, from); fault.CodeOf(err) != fault.IndexAhead {
			t.Errorf("from %s: %v", name, err)
		}
	}
}

// TestAnOutputIsNotGivenUpForLess: of an output that the index does not know one
// input is gone and the others are there. It must count, and the index is stale.
func TestAnOutputIsNotGivenUpForLess(t *testing.T) {
	t.Parallel()
	m, h, before, _, _, inputs, out := swapped(t)
	for i, in := range inputs {
		d := m.CrashClone(rand.New(rand.NewPCG(1, 1)), 1)
		if err := d.Remove("segments/" + in.FileName()); err != nil {
			t.Fatal(err)
		}
		v := before
		v.known = before.known[len(before.known)-1:] // the head alone: all others are known by their files
		if _, err := v.try(d); fault.CodeOf(err) != fault.IndexStale {
			t.Errorf("input %d gone: %v", i, err)
		}
		if !slices.Contains(filesOf(t, d), out.FileName()) {
			t.Errorf("input %d gone: the output was removed", i)
		}
		h.check(t, d)
	}
}
