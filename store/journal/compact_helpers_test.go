package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"larder/store/journal"
	"larder/store/vfs"
)

// history is what was written to a journal, and so what must count of it: for
// each key the last put, unless a delete follows.
type history struct {
	live  map[string]uint64 // key to sequence
	recs  map[uint64]*journal.Record
	order []uint64
}

func newHistory() *history {
	return &history{live: map[string]uint64{}, recs: map[uint64]*journal.Record{}}
}

// append writes puts and deletes of a few keys over each other, and syncs.
func (h *history) append(tb testing.TB, j *journal.Journal, n int) {
	tb.Helper()
	for range n {
		i := len(h.order)
		key := fmt.Sprintf("key-%d", i*7%23)
		if i%3 == 0 {
			key = fmt.Sprintf("own-%d", i)
		}
		r := samplePut(key, i*37%900)
		if i%5 == 4 {
			r = &journal.Record{Kind: journal.Delete, Bucket: 7, Key: r.Key, Prev: h.live[r.Key]}
		}
		put(tb, j, r)
		h.note(r)
	}
}

func (h *history) note(r *journal.Record) {
	if r.Kind == journal.Delete {
		delete(h.live, r.Key)
	} else {
		h.live[r.Key] = r.Sequence
	}
	h.recs[r.Sequence] = r
	h.order = append(h.order, r.Sequence)
}

// isLive reports whether a put still counts.
func (h *history) isLive(sequence uint64) bool {
	r := h.recs[sequence]
	return r.Kind == journal.Put && h.live[r.Key] == sequence
}

// keep keeps what counts, and deletes unless the run begins with the first
// record: then nothing older is left that could come back.
func (h *history) keep(fromStart bool) func(*journal.Record, journal.Location) (journal.Verdict, error) {
	return func(r *journal.Record, _ journal.Location) (journal.Verdict, error) {
		if r.Kind == journal.Delete && !fromStart || h.isLive(r.Sequence) {
			return journal.Keep, nil
		}
		return journal.Drop, nil
	}
}

// compact rewrites n winners from the i-th on.
func (h *history) compact(j *journal.Journal, i, n int) (journal.Segment, []journal.Move, error) {
	segs := j.Segments()
	var inputs []uint64
	for _, s := range segs[i : i+n] {
		inputs = append(inputs, s.Number)
	}
	return j.Compact(context.Background(), journal.Compaction{
		Inputs: inputs, AsOf: uint64(len(h.order)), Keep: h.keep(segs[i].First == 1),
	})
}

// mustCompact also adopts the output and removes the inputs.
func (h *history) mustCompact(tb testing.TB, j *journal.Journal, i, n int) journal.Segment {
	tb.Helper()
	out, _, err := h.compact(j, i, n)
	if err != nil {
		tb.Fatal(err)
	}
	j.Adopt(out.Number)
	for _, s := range j.Superseded() {
		if err := j.Remove(s.Number); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// check replays what a disk holds and expects the same to count as before.
func (h *history) check(tb testing.TB, fsys vfs.FS) {
	tb.Helper()
	j, recs, err := tryReplay(config(fsys), journal.Position{})
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Close()
	h.checkRecords(tb, j, recs)
}

// checkAborts is check for a journal with aborts behind the history.
func (h *history) checkAborts(tb testing.TB, fsys vfs.FS) {
	tb.Helper()
	j, recs, err := tryReplay(config(fsys), journal.Position{})
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Close()
	h.checkRecords(tb, j, slices.DeleteFunc(recs, func(l logged) bool { return l.rec.Kind == journal.Abort }))
}

func (h *history) checkRecords(tb testing.TB, j *journal.Journal, recs []logged) {
	tb.Helper()
	live, last := map[string]uint64{}, uint64(0)
	for _, l := range recs {
		if l.rec.Sequence <= last {
			tb.Fatalf("record %d stands behind record %d", l.rec.Sequence, last)
		}
		last = l.rec.Sequence
		h.checkRecord(tb, j, l)
		switch l.rec.Kind {
		case journal.Put:
			live[l.rec.Key] = l.rec.Sequence
		case journal.Delete:
			delete(live, l.rec.Key)
		}
	}
	if !maps.Equal(live, h.live) {
		tb.Fatalf("what counts is\n%v, want\n%v", live, h.live)
	}
}

// checkRecord expects a record, or its body at least, to be as it was written.
func (h *history) checkRecord(tb testing.TB, j *journal.Journal, l logged) {
	tb.Helper()
	want := h.recs[l.rec.Sequence]
	body, err := j.ReadBody(l.loc, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if want == nil || !bytes.Equal(body, want.Body) {
		tb.Fatalf("the body of record %d is another", l.rec.Sequence)
	}
	if l.rec.Kind != journal.Body && (l.rec.Kind != want.Kind || l.rec.Batch != want.Batch || !bytes.Equal(l.rec.AppendMeta(nil), want.AppendMeta(nil))) {
		tb.Fatalf("record %d is %+v, want %+v", l.rec.Sequence, l.rec, want)
	}
}

// old is a journal of several sealed segments and its history.
func old(tb testing.TB, fsys vfs.FS, records int) (*journal.Journal, *history) {
	tb.Helper()
	c := config(fsys)
	c.SegmentSize = 4 << 10
	j, _ := replay(tb, c)
	h := newHistory()
	h.append(tb, j, records)
	if n := len(j.Segments()); n < 5 {
		tb.Fatalf("only %d segments", n)
	}
	return j, h
}

func numbersOf(segs []journal.Segment) (out []uint64) {
	for _, s := range segs {
		out = append(out, s.Number)
	}
	return out
}

// filesOf lists the files in the journal's folder, the reserve apart.
func filesOf(tb testing.TB, fsys vfs.FS) (out []string) {
	tb.Helper()
	entries, err := fsys.List("segments")
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if e.Name != "reserve" {
			out = append(out, e.Name)
		}
	}
	return slices.Sorted(slices.Values(out))
}
