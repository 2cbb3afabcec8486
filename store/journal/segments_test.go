package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// filled makes a journal of several segments and returns where its records lie
// and the positions between them, the first of which is the start.
func filled(tb testing.TB, m *vfs.Mem, records int) (locs []journal.Location, at []journal.Position) {
	tb.Helper()
	j, _ := replay(tb, config(m))
	at = append(at, j.Position())
	for i := range records {
		locs = append(locs, put(tb, j, samplePut(fmt.Sprintf("key-%03d", i), i*37%3000))...)
		at = append(at, j.Position())
	}
	if err := j.Close(); err != nil {
		tb.Fatal(err)
	}
	if n := locs[len(locs)-1].Segment; n < 3 {
		tb.Fatalf("only %d segments", n)
	}
	return locs, at
}

func copyOf(tb testing.TB, m *vfs.Mem, n int) [][]byte {
	var files [][]byte
	for i := range n {
		files = append(files, readFile(tb, m, segmentName(i+1)))
	}
	return files
}

func TestReplayFromEveryPosition(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	locs, at := filled(t, m, 40)
	for i, from := range at {
		j, recs, err := tryReplay(config(m), from)
		if err != nil {
			t.Fatalf("from %+v: %v", from, err)
		}
		if len(recs) != len(locs)-i {
			t.Fatalf("from %+v: %d records, want %d", from, len(recs), len(locs)-i)
		}
		for k, l := range recs {
			if l.loc != locs[i+k] || l.rec.Sequence != uint64(i+k+1) || l.rec.Batch != l.rec.Sequence || l.rec.Body != nil {
				t.Fatalf("from %+v: record %+v at %+v, want %+v", from, l.rec, l.loc, locs[i+k])
			}
		}
		if got, want := j.Position(), at[len(at)-1]; got != want {
			t.Fatalf("position %+v, want %+v", got, want)
		}
		j.Close()
	}
}

func TestSealedSegmentsAreCut(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	locs, _ := filled(t, m, 40)
	for i, l := range locs[:len(locs)-1] {
		if locs[i+1].Segment == l.Segment {
			continue
		}
		e, err := m.Stat(segmentName(int(l.Segment)))
		if err != nil || e.Size != end(l) {
			t.Errorf("segment %d has %d bytes, its records end at %d (%v)", l.Segment, e.Size, end(l), err)
		}
		if locs[i+1].Offset != 64 {
			t.Errorf("segment %d begins at %d", locs[i+1].Segment, locs[i+1].Offset)
		}
	}
}

// TestBatchOverSegments: one batch may span many segments, and a record may be
// larger than one.
func TestBatchOverSegments(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	var recs []*journal.Record
	for i := range 30 {
		recs = append(recs, samplePut(fmt.Sprintf("k%d", i), 2500))
	}
	recs = append(recs, samplePut("large", 100_000), samplePut("small", 10))
	locs := put(t, j, recs...)
	if locs[31].Segment < 6 {
		t.Fatalf("only %d segments", locs[31].Segment)
	}
	j.Close()
	j, got := replay(t, config(m))
	if len(got) != len(recs) {
		t.Fatalf("%d records", len(got))
	}
	for _, l := range got {
		if l.rec.Batch != 1 {
			t.Fatalf("record %d is of batch %d", l.rec.Sequence, l.rec.Batch)
		}
	}
	checkAll(t, j, got)
}

// TestAppendsWithoutSync count as one batch: any of them may be torn.
func TestAppendsWithoutSync(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	put(t, j, samplePut("a", 10))
	b, _ := j.Append([]*journal.Record{samplePut("b", 10)})
	c := put(t, j, samplePut("c", 10))
	j.Close()
	file := readFile(t, m, segmentName(1))
	clear(file[b[0].Offset : b[0].Offset+8])
	j, recs, err := tryReplay(config(segments(t, file[:end(c[0])])), journal.Position{})
	if err != nil || len(recs) != 1 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	j.Close()
}

func TestDamagedSegments(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	locs, _ := filled(t, m, 40)
	last := int(locs[39].Segment)
	lastOf := func(segment uint64) (l journal.Location) {
		for _, c := range locs {
			if c.Segment == segment {
				l = c
			}
		}
		return l
	}
	for name, c := range map[string]struct {
		change  func(files [][]byte) [][]byte
		segment uint64
		offset  int64
	}{
		"missing first":     {func(f [][]byte) [][]byte { f[0] = nil; return f }, 2, 0},
		"missing middle":    {func(f [][]byte) [][]byte { f[1] = nil; return f }, 1, end(lastOf(1))},
		"exchanged":         {func(f [][]byte) [][]byte { f[0], f[1] = f[1], f[0]; return f }, 2, 0},
		"cut within":        {func(f [][]byte) [][]byte { f[0] = f[0][:lastOf(1).Offset+9]; return f }, 1, lastOf(1).Offset},
		"cut at a border":   {func(f [][]byte) [][]byte { f[0] = f[0][:lastOf(1).Offset]; return f }, 1, lastOf(1).Offset},
		"longer":            {func(f [][]byte) [][]byte { f[0] = append(f[0], 1); return f }, 1, end(lastOf(1))},
		"empty":             {func(f [][]byte) [][]byte { f[0] = []byte{}; return f }, 1, 0},
		"zeros":             {func(f [][]byte) [][]byte { clear(f[1]); return f }, 2, 0},
		"records zeroed":    {func(f [][]byte) [][]byte { clear(f[1][64:]); return f }, 2, 64},
		"last record, torn": {func(f [][]byte) [][]byte { f[1][lastOf(2).Offset] ^= 1; return f }, 2, lastOf(2).Offset},
		"head's header":     {func(f [][]byte) [][]byte { clear(f[last-1][:64]); return f }, uint64(last), 0},
	} {
		files := c.change(copyOf(t, m, last))
		d := segments(t)
		for i, b := range files {
			if b != nil {
				writeFile(t, d, segmentName(i+1), b)
			}
		}
		_, _, err := tryReplay(config(d), journal.Position{})
		t.Run(name, func(t *testing.T) { wantDamage(t, err, c.segment, c.offset) })
	}

	zeros := copyOf(t, m, last)
	zeros[0] = append(zeros[0], make([]byte, 500)...) // the cut was not durable, the records were
	j, recs, err := tryReplay(config(segments(t, zeros...)), journal.Position{})
	if err != nil || len(recs) != 40 {
		t.Errorf("zeros behind a sealed segment: %d records, %v", len(recs), err)
	} else {
		j.Close()
	}
}

func TestPositionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	_, at := filled(t, m, 40)
	last := at[40]
	for name, c := range map[string]struct {
		from journal.Position
		want fault.Code
	}{
		"later sequence":   {journal.Position{Sequence: 41, Segment: last.Segment, Offset: last.Offset + 200}, fault.IndexAhead},
		"later segment":    {journal.Position{Sequence: 99, Segment: last.Segment + 1, Offset: 64}, fault.IndexAhead},
		"no segment":       {journal.Position{Sequence: 3}, fault.IndexAhead},
		"other offset":     {journal.Position{Sequence: 40, Segment: last.Segment, Offset: last.Offset + 8}, fault.Corrupt},
		"other sequence":   {journal.Position{Sequence: 39, Segment: last.Segment, Offset: last.Offset}, fault.Corrupt},
		"earlier segment":  {journal.Position{Sequence: at[3].Sequence, Segment: 2, Offset: 64}, fault.Corrupt},
		"within a record":  {journal.Position{Sequence: at[3].Sequence, Segment: 1, Offset: at[3].Offset - 8}, fault.Corrupt},
		"sequence too big": {journal.Position{Sequence: 40, Segment: 1, Offset: 1 << 20}, fault.Corrupt},
		"lower, in a gap":  {journal.Position{Sequence: 1, Segment: last.Segment, Offset: 65}, fault.Corrupt},
	} {
		if _, _, err := tryReplay(config(m), c.from); fault.CodeOf(err) != c.want || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want %v with a hint", name, err, c.want)
		}
	}
	for _, empty := range []*vfs.Mem{vfs.NewMem(), segments(t)} {
		if _, _, err := tryReplay(config(empty), at[1]); fault.CodeOf(err) != fault.IndexAhead {
			t.Errorf("no journal at all: %v", err)
		}
		if entries, _ := empty.List("segments"); len(entries) > 0 {
			t.Errorf("a refused start made %v", entries)
		}
	}
}

func TestForeignAndNewer(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	put(t, j, samplePut("a", 10))
	j.Close()
	c := config(m)
	c.StoreID[0]++
	if _, _, err := tryReplay(c, journal.Position{}); fault.CodeOf(err) != fault.ForeignStore {
		t.Errorf("another store's segments: %v", err)
	}

	newer := journal.SegmentHeaderForTest(1, 1, 0, testID)
	newer[8] = 2
	journal.FixHeaderForTest(newer)
	if _, _, err := tryReplay(config(segments(t, newer)), journal.Position{}); fault.CodeOf(err) != fault.NewerFormat {
		t.Errorf("a newer segment: %v", err)
	}
	for name, change := range map[string]func(b []byte){
		"format": func(b []byte) { b[4]++ }, "kind": func(b []byte) { b[5] = 99 },
		"reserved kind": func(b []byte) { b[5] = byte(journal.Meta) }, "flags": func(b []byte) { b[6] = 1 },
		"tag": func(b []byte) { b[52] = 99 },
	} {
		rec := journal.EncodeForTest(&journal.Record{Kind: journal.Put, Sequence: 1, Batch: 1, Time: 1}, testID)
		change(rec)
		journal.FixRecordForTest(rec)
		file := append(journal.SegmentHeaderForTest(1, 1, 0, testID), rec...)
		if _, _, err := tryReplay(config(segments(t, file)), journal.Position{}); fault.CodeOf(err) != fault.NewerFormat {
			t.Errorf("a newer %s: %v", name, err)
		}
	}
}

// TestUnfinishedSegment: a crash while a segment is made leaves any part of its
// header, or none. Up to then no record was written to it.
func TestUnfinishedSegment(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	locs, at := filled(t, m, 40)
	last := int(locs[39].Segment)
	header := journal.SegmentHeaderForTest(uint64(last+1), 41, 5, testID)
	for cut := range 64 {
		for _, size := range []int{cut, testSegment} {
			files := copyOf(t, m, last)
			files[last-1] = files[last-1][:end(locs[39])]
			unborn := append(bytes.Clone(header[:cut]), make([]byte, size-cut)...)
			d := segments(t, append(files, unborn)...)
			j, recs, err := tryReplay(config(d), at[20])
			if err != nil || len(recs) != 20 {
				t.Fatalf("%d bytes of header: %d records, %v", cut, len(recs), err)
			}
			put(t, j, samplePut("more", 100))
			j.Close()
			if _, recs = replay(t, config(d)); len(recs) != 41 {
				t.Fatalf("%d bytes of header: %d records after one more", cut, len(recs))
			}
		}
	}
	if _, _, err := tryReplay(config(segments(t, header[:30])), journal.Position{}); err != nil {
		t.Errorf("an unfinished first segment: %v", err)
	}
}

func TestApplyErrorStopsOpen(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	filled(t, m, 40)
	stop := errors.New("stop")
	n := 0
	_, err := journal.Open(context.Background(), config(m), journal.Position{}, func(*journal.Record, journal.Location) error {
		n++
		if n == 5 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 5 {
		t.Errorf("%v after %d records", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := journal.Open(ctx, config(m), journal.Position{}, nil); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("a cancelled start: %v", err)
	}
}
