package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// scanned is what one Scan told.
type scanned struct {
	records []uint64
	damage  []journal.Scanned
	next    int64
}

func scan(tb testing.TB, j *journal.Journal, number uint64, from int64) (s scanned) {
	tb.Helper()
	next, err := j.Scan(context.Background(), number, from, func(it journal.Scanned) error {
		if it.Damage != nil {
			s.damage = append(s.damage, it)
		} else {
			s.records = append(s.records, it.Record.Sequence)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	s.next = next
	return s
}

// compacted is a journal whose first segment is a compacted one, with all its
// segments' records.
func compacted(tb testing.TB, m *vfs.Mem) (*journal.Journal, map[uint64][]journal.Move) {
	tb.Helper()
	j, h := old(tb, m, 60)
	h.mustCompact(tb, j, 0, 3)
	at := map[uint64][]journal.Move{}
	for _, s := range j.Segments() {
		if err := j.Locate(context.Background(), s.Number, func(mv journal.Move) error {
			at[s.Number] = append(at[s.Number], mv)
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
	}
	return j, at
}

// TestScan reads every segment of a whole journal, from every record on, before
// and after a start.
func TestScan(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, at := compacted(t, m)
	for range 2 {
		for _, s := range j.Segments() {
			var want []uint64
			for _, mv := range at[s.Number] {
				want = append(want, mv.Sequence)
			}
			got := scan(t, j, s.Number, 0)
			if !slices.Equal(got.records, want) || len(got.damage) > 0 || got.next != s.Size {
				t.Fatalf("segment %+v: %+v, want %v", s, got, want)
			}
			for i, mv := range at[s.Number] {
				if got := scan(t, j, s.Number, mv.To.Offset); !slices.Equal(got.records, want[i:]) || len(got.damage) > 0 {
					t.Fatalf("segment %+v from %d: %+v", s, mv.To.Offset, got)
				}
			}
			if got := scan(t, j, s.Number, s.Size); len(got.records)+len(got.damage) > 0 || got.next != s.Size {
				t.Fatalf("segment %+v from its end: %+v", s, got)
			}
		}
		j.Close()
		c := config(m)
		c.SegmentSize = 4 << 10
		j, _ = replay(t, c)
	}
	if _, err := j.Scan(context.Background(), 999, 0, nil); !errors.Is(err, journal.ErrGone) {
		t.Errorf("a segment that is gone: %v", err)
	}
}

// TestScanStops at what visit returns, behind what it was told last.
func TestScanStops(t *testing.T) {
	t.Parallel()
	j, at := compacted(t, vfs.NewMem())
	stop := errors.New("stop")
	for _, s := range j.Segments() {
		var got []uint64
		next := int64(0)
		for range at[s.Number] {
			var err error
			next, err = j.Scan(context.Background(), s.Number, next, func(it journal.Scanned) error {
				got = append(got, it.Record.Sequence)
				return stop
			})
			if !errors.Is(err, stop) || next != end(at[s.Number][len(got)-1].To) {
				t.Fatalf("stopped at %d, %v", next, err)
			}
		}
		if len(got) != len(at[s.Number]) || next != s.Size {
			t.Errorf("segment %+v: %v, next %d", s, got, next)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := j.Scan(ctx, j.Segments()[0].Number, 0, nil); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestScanFindsFlips flips a bit of every few bytes of every segment: it is told
// at the right record, and all others are verified.
func TestScanFindsFlips(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, at := compacted(t, m)
	segs := j.Segments()
	for _, s := range []journal.Segment{segs[0], segs[1], segs[len(segs)-1]} {
		name := segmentName(int(s.Number))
		file := readFile(t, m, name)
		for off := int64(0); off < s.Size; off += 1 + off%29 {
			broken := bytes.Clone(file)
			broken[off] ^= 1 << (off % 8)
			writeFile(t, m, name, broken)
			created := off >= 48 && off < 56
			got := scan(t, j, s.Number, 0)
			if len(got.damage) != 1 && !created {
				t.Fatalf("segment %d, flip at %d: %+v", s.Number, off, got)
			}
			checkFlip(t, at[s.Number], off, got)
			start := at[s.Number][0].To.Offset
			if from := off - off%8; off >= start { // from the record itself on
				i := slices.IndexFunc(at[s.Number], func(mv journal.Move) bool { return end(mv.To) > from })
				if got := scan(t, j, s.Number, at[s.Number][i].To.Offset); len(got.damage) != 1 || len(got.records) != len(at[s.Number])-i-1 {
					t.Fatalf("segment %d, flip at %d, from the record: %+v", s.Number, off, got)
				}
			}
		}
		writeFile(t, m, name, file)
	}
}

func checkFlip(t *testing.T, moves []journal.Move, off int64, got scanned) {
	t.Helper()
	for i, mv := range moves {
		if off < mv.To.Offset || off >= end(mv.To) {
			continue
		}
		d := got.damage[0]
		if d.Location.Offset != mv.To.Offset || end(d.Location) != end(mv.To) || d.Damage.Offset != mv.To.Offset || len(got.records) != len(moves)-1 {
			t.Fatalf("flip at %d, in record %d: %+v, %d records", off, mv.Sequence, d, len(got.records))
		}
		body := off >= mv.To.Offset+mv.To.BodyOffset
		if body != (d.Record != nil) || body && d.Location != mv.To || !body && i > 0 && d.Location.Sequence != moves[i-1].Sequence+1 {
			t.Fatalf("flip at %d, in record %d: %+v", off, mv.Sequence, d)
		}
		return
	}
	if got.damage != nil && got.damage[0].Location.Offset != 0 || len(got.records) != len(moves) {
		t.Fatalf("flip at %d, in the header: %+v", off, got)
	}
}

// TestScanFindsWrongFiles: cut, lengthened, exchanged, missing.
func TestScanFindsWrongFiles(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, at := compacted(t, m)
	segs := j.Segments()
	for _, s := range []journal.Segment{segs[0], segs[1], segs[len(segs)-1]} {
		name, moves := segmentName(int(s.Number)), at[s.Number]
		file := readFile(t, m, name)
		last := moves[len(moves)-1].To
		zeroed := bytes.Clone(file)
		clear(zeroed[last.Offset:])
		holed := bytes.Clone(file)
		clear(holed[moves[0].To.Offset:moves[1].To.Offset])
		changes := map[string][]byte{
			"cut in the last record": file[:last.Offset+10], "cut behind it": file[:last.Offset], "cut to nothing": {},
			"last record zeroed": zeroed, "a record zeroed": holed, "another segment": readFile(t, m, segmentName(int(segs[2].Number))),
		}
		if !s.Head {
			changes["one byte more"] = append(bytes.Clone(file), 1)
		}
		if s.Compacted {
			changes["one zero more"] = append(bytes.Clone(file), 0)
		}
		for what, b := range changes {
			writeFile(t, m, name, b)
			if got := scan(t, j, s.Number, 0); len(got.damage) == 0 || got.next != s.Size {
				t.Errorf("segment %+v, %s: %+v", s, what, got)
			}
		}
		if err := m.Remove(name); err != nil {
			t.Fatal(err)
		}
		if got := scan(t, j, s.Number, 0); len(got.damage) != 1 || got.damage[0].Location.Length != s.Size {
			t.Errorf("segment %+v, missing: %+v", s, got)
		}
		writeFile(t, m, name, file)
		if got := scan(t, j, s.Number, 0); len(got.damage) != 0 {
			t.Errorf("segment %+v, mended: %+v", s, got)
		}
	}
}

// TestScanFindsSwaps exchanges two neighbours: both are told of, the record
// behind them is not, and all others are verified.
func TestScanFindsSwaps(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, at := compacted(t, m)
	for _, s := range j.Segments() {
		name, moves := segmentName(int(s.Number)), at[s.Number]
		file := readFile(t, m, name)
		for i := range len(moves) - 1 {
			a, b := moves[i], moves[i+1]
			first, second := file[a.To.Offset:end(a.To)], file[b.To.Offset:end(b.To)]
			swapped := bytes.Clone(file)
			copy(swapped[a.To.Offset:], slices.Concat(second, first))
			writeFile(t, m, name, swapped)
			got := scan(t, j, s.Number, 0)
			if len(got.damage) == 0 || len(got.records) < len(moves)-2 {
				t.Fatalf("segment %+v, %d and %d swapped: %+v", s, a.Sequence, b.Sequence, got)
			}
			for _, d := range got.damage {
				if d.Location.Offset < a.To.Offset || end(d.Location) > end(b.To) {
					t.Fatalf("segment %+v, %d and %d swapped: %+v is told of", s, a.Sequence, b.Sequence, d)
				}
			}
		}
		writeFile(t, m, name, file)
	}
}

// TestScanOverBrokenSectors: what cannot be read is damage where it lies, and
// nothing beside it is.
func TestScanOverBrokenSectors(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, at := compacted(t, m)
	seg := j.Segments()[0]
	moves := at[seg.Number]
	for i, mv := range moves {
		for _, in := range []int64{0, 60, mv.To.BodyOffset + 1} {
			if in >= mv.To.BodyOffset+mv.To.BodyLength {
				continue
			}
			bad := mv.To.Offset + in
			m.Inject(func(op vfs.Op) error {
				if op.Kind == vfs.OpRead && op.Offset <= bad && op.Offset+int64(op.Length) > bad {
					return syscall.EIO
				}
				return nil
			})
			got := scan(t, j, seg.Number, 0)
			m.Inject(nil)
			lost := len(got.damage)
			if lost != 1 || got.damage[0].Location.Offset != mv.To.Offset {
				t.Fatalf("record %d of %d, byte %d: %+v", i, len(moves), in, got)
			}
			if in > 60 && len(got.records) != len(moves)-1 || len(got.records) < len(moves)-20 {
				t.Fatalf("record %d, byte %d: only %d of %d", i, in, len(got.records), len(moves))
			}
		}
	}
	m.Inject(func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen {
			return syscall.EMFILE
		}
		return nil
	})
	if _, err := j.Scan(context.Background(), seg.Number, 0, nil); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("too many open files: %v", err)
	}
}

// TestScanOfTheHead ends at what is durable.
func TestScanOfTheHead(t *testing.T) {
	t.Parallel()
	j, _ := replay(t, config(vfs.NewMem()))
	put(t, j, samplePut("a", 100))
	at := j.Position().Offset
	if _, err := j.Append([]*journal.Record{samplePut("b", 100)}); err != nil {
		t.Fatal(err)
	}
	if got := scan(t, j, 1, 0); len(got.records) != 1 || got.next != at {
		t.Errorf("%+v, durable up to %d", got, at)
	}
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := scan(t, j, 1, at); !slices.Equal(got.records, []uint64{2}) || got.next != j.Position().Offset {
		t.Errorf("%+v", got)
	}
	for i := range 8 {
		put(t, j, samplePut(fmt.Sprint(i), 5000))
	}
	if got := scan(t, j, 1, at); got.records[0] != 2 || len(got.damage) > 0 {
		t.Errorf("sealed meanwhile: %+v", got)
	}
}

// TestScanOfABodyThatHoldsASegment: when a record is broken that holds a copy of
// older ones, they are not taken for records.
func TestScanOfABodyThatHoldsASegment(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	c := config(m)
	c.SegmentSize = 1 << 20
	j, _ := replay(t, c)
	put(t, j, samplePut("a", 1000), samplePut("b", 1000))
	inner := readFile(t, m, segmentName(1))[64:j.Position().Offset]
	outer := put(t, j, &journal.Record{Kind: journal.Put, Key: "copy", Body: append(make([]byte, 8), inner...)}, samplePut("c", 10))
	file := readFile(t, m, segmentName(1))
	file[outer[0].Offset+8] ^= 1
	writeFile(t, m, segmentName(1), file)
	for _, from := range []int64{0, outer[0].Offset} {
		got := scan(t, j, 1, from)
		if len(got.damage) != 1 || end(got.damage[0].Location) != outer[1].Offset || got.damage[0].Location.Sequence != 3 {
			t.Errorf("from %d: %+v", from, got)
		}
	}
}
