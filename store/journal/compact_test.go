package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// TestCompact rewrites segments one by one, two at once, and outputs again, and
// after each step the same counts, before and after a start.
func TestCompact(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 80)
	before := j.Segments()
	for _, run := range []struct{ at, n int }{{1, 1}, {0, 1}, {2, 2}, {0, 2}, {0, 3}, {0, 1}} {
		segs := j.Segments()
		out := h.mustCompact(t, j, run.at, run.n)
		first, last := segs[run.at], segs[run.at+run.n-1]
		if out.First != first.First || out.Last != last.Last || !out.Compacted || out.Number <= segs[len(segs)-1].Number {
			t.Fatalf("segments %+v to %+v became %+v", first, last, out)
		}
		want := slices.Concat(segs[:run.at], []journal.Segment{out}, segs[run.at+run.n:])
		if got := j.Segments(); !slices.Equal(got, want) {
			t.Fatalf("segments %+v, want %+v", got, want)
		}
		h.check(t, m)
		h.append(t, j, 3)
		h.check(t, m)
	}
	after := j.Segments()
	if after[0].First != 1 || after[0].Last < before[4].Last || len(filesOf(t, m)) != len(after) {
		t.Errorf("%+v became %+v", before, after)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, recs := replay(t, config(m))
	h.checkRecords(t, j, recs)
	if got := j.Segments(); !slices.Equal(got, after) {
		t.Errorf("after a start the segments are %+v, were %+v", got, after)
	}
}

// TestCompactMoves: the output says where every kept record lies, Locate says the
// same, and the bodies can be read from both places at once.
func TestCompactMoves(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	segs := j.Segments()
	out, moves, err := h.compact(j, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(j.Segments(), segs) || len(j.Superseded()) > 0 {
		t.Error("the output counts before it was adopted")
	}
	var located []journal.Move
	if err := j.Locate(context.Background(), out.Number, func(mv journal.Move) error {
		located = append(located, mv)
		return nil
	}); err != nil || !slices.Equal(located, moves) || len(moves) == 0 {
		t.Errorf("located %v, moved %v, %v", located, moves, err)
	}
	for _, mv := range moves {
		r, err := j.ReadRecord(mv.To)
		if err != nil {
			t.Fatal(err)
		}
		h.checkRecord(t, j, logged{r, mv.To})
		if mv.To.Segment != out.Number {
			t.Fatalf("moved to %+v", mv.To)
		}
	}
	j.Adopt(out.Number + 7) // waits for nothing
	j.Adopt(out.Number)
	j.Adopt(out.Number)
	want := []journal.Superseded{{Number: segs[0].Number, By: out.Number}, {Number: segs[1].Number, By: out.Number}, {Number: segs[2].Number, By: out.Number}}
	if got := j.Superseded(); !slices.Equal(got, want) {
		t.Errorf("superseded %v, want %v", got, want)
	}
}

// TestCarrier: of a dead record whose body is shared, the body stays.
func TestCarrier(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	shared := samplePut("shared", 70_000)
	blob := samplePut("blob", 0)
	blob.Body, blob.Size, blob.Blob, blob.SumsCRC = nil, 1<<30, "000102030405060708090a0b0c0d0e0f", 5
	put(t, j, shared, blob, &journal.Record{Kind: journal.Put, Key: "copy", Extents: []journal.Extent{{Body: 1, Length: 9}}})
	put(t, j, samplePut("b", 16_000), samplePut("c", 16_000))
	body := sampleBody("shared", 70_000)
	verdicts := map[uint64]journal.Verdict{1: journal.KeepBody, 2: journal.KeepBody}
	compact := func() (journal.Segment, []journal.Move, error) {
		inputs := slices.DeleteFunc(j.Segments(), func(s journal.Segment) bool { return s.Last > 3 })
		return j.Compact(context.Background(), journal.Compaction{
			Inputs: numbersOf(inputs), AsOf: 5,
			Keep: func(r *journal.Record, _ journal.Location) (journal.Verdict, error) { return verdicts[r.Sequence], nil },
		})
	}
	for range 2 { // a carrier is carried on as it is
		out, moves, err := compact()
		if err != nil || len(moves) != 2 {
			t.Fatalf("%v, %v", moves, err)
		}
		r, err := j.ReadRecord(moves[0].To)
		if err != nil || r.Kind != journal.Body || r.Key != "" || r.Size != 70_000 || !bytes.Equal(r.MD5, shared.MD5) || r.Batch != 1 {
			t.Fatalf("carrier %+v, %v", r, err)
		}
		if got, err := j.ReadBody(moves[0].To, nil); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("its body: %v", err)
		}
		r, err = j.ReadRecord(moves[1].To)
		if err != nil || r.Kind != journal.Body || r.Blob != blob.Blob || r.SumsCRC != 5 || r.Size != 1<<30 || r.Owner != "" {
			t.Fatalf("carrier of a blob %+v, %v", r, err)
		}
		j.Adopt(out.Number)
	}
	j.Close()
	_, recs := replay(t, config(m))
	if len(recs) != 4 || recs[0].rec.Kind != journal.Body || recs[2].rec.Key != "b" {
		t.Errorf("%d records", len(recs))
	}
}

// TestEnder: of a dead Complete only the end of its upload stays.
func TestEnder(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	complete := samplePut("object", 0)
	complete.Kind, complete.Upload, complete.Since, complete.Prev = journal.Complete, "upload-1", 1, 1
	complete.Extents = []journal.Extent{{Body: 1, Length: 9}}
	put(t, j, &journal.Record{Kind: journal.UploadCreate, Key: "object", Upload: "upload-1"}, complete, samplePut("b", 9000))
	put(t, j, samplePut("c", 9000))
	verdict := journal.KeepEnd
	keep := func(r *journal.Record, _ journal.Location) (journal.Verdict, error) {
		if r.Sequence == 2 {
			return verdict, nil
		}
		return journal.Drop, nil
	}
	for range 2 { // what took its place stays as it is
		out, moves, err := j.Compact(context.Background(), journal.Compaction{Inputs: numbersOf(j.Segments()[:1]), AsOf: 4, Keep: keep})
		if err != nil || len(moves) != 1 {
			t.Fatalf("%v, %v", moves, err)
		}
		r, err := j.ReadRecord(moves[0].To)
		want := &journal.Record{
			Kind: journal.Abort, Sequence: 2, Batch: 1, Time: complete.Time, Bucket: 7, BucketName: "photos",
			Key: "object", Upload: "upload-1", Since: 1, Prev: 1,
		}
		if err != nil || !reflect.DeepEqual(r, want) {
			t.Fatalf("%+v, %v", r, err)
		}
		j.Adopt(out.Number)
	}
	verdict = journal.KeepBody
	if _, _, err := j.Compact(context.Background(), journal.Compaction{Inputs: numbersOf(j.Segments()[:1]), AsOf: 4, Keep: keep}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("the body of an abort: %v", err)
	}
}

func TestCarrierNeedsABody(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	segs := j.Segments()
	_, _, err := j.Compact(context.Background(), journal.Compaction{
		Inputs: []uint64{segs[0].Number}, AsOf: 60,
		Keep: func(r *journal.Record, _ journal.Location) (journal.Verdict, error) { return journal.KeepBody, nil },
	})
	if fault.CodeOf(err) != fault.InvalidArgument || j.Err() != nil {
		t.Errorf("a carrier for a delete: %v", err)
	}
	h.check(t, m)
}

// TestCompactToNothing: a range of which nothing counts stays a segment.
func TestCompactToNothing(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	segs := j.Segments()
	out, moves, err := j.Compact(context.Background(), journal.Compaction{
		Inputs: numbersOf(segs[:2]), AsOf: 60,
		Keep: func(*journal.Record, journal.Location) (journal.Verdict, error) { return journal.Drop, nil },
	})
	if err != nil || len(moves) != 0 || out.Size != 128 {
		t.Fatalf("%+v, %v, %v", out, moves, err)
	}
	j.Adopt(out.Number)
	for _, s := range j.Superseded() {
		if err := j.Remove(s.Number); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	j, recs := replay(t, config(m))
	if recs[0].rec.Sequence != out.Last+1 || j.Position().Sequence != 60 {
		t.Errorf("the first record is %d, the position %+v", recs[0].rec.Sequence, j.Position())
	}
	h.live = map[string]uint64{} // the rest goes on
	h.mustCompact(t, j, 0, 2)
}

func TestCompactRefuses(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	segs := numbersOf(j.Segments())
	n := len(segs)
	try := func(asOf uint64, inputs ...uint64) fault.Code {
		_, _, err := j.Compact(context.Background(), journal.Compaction{Inputs: inputs, AsOf: asOf, Keep: h.keep(false)})
		return fault.CodeOf(err)
	}
	for name, code := range map[string]fault.Code{
		"none": try(60), "the head": try(60, segs[n-1]), "with the head": try(60, segs[n-2], segs[n-1]),
		"not neighbours": try(60, segs[0], segs[2]), "out of order": try(60, segs[1], segs[0]),
		"twice": try(60, segs[0], segs[0]), "unknown": try(60, 999), "not applied": try(2, segs[0]),
	} {
		if code != fault.InvalidArgument {
			t.Errorf("%s: %v", name, code)
		}
	}
	out, _, err := h.compact(j, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if code := try(60, segs[3]); code != fault.Conflict {
		t.Errorf("a second output: %v", code)
	}
	for name, err := range map[string]error{"a winner": j.Remove(segs[0]), "the head": j.Remove(segs[n-1])} {
		if fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("removing %s: %v", name, err)
		}
	}
	if err := j.Discard(segs[1]); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("discarding an input: %v", err)
	}
	if err := j.Discard(out.Number); err != nil {
		t.Fatal(err)
	}
	if got := filesOf(t, m); len(got) != n {
		t.Errorf("after Discard: %v", got)
	}
	h.mustCompact(t, j, 0, 2)
	if err := j.Remove(segs[0]); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
	h.check(t, m)
}

// TestCompactOfDamage: a damaged record that is to be kept, or that cannot be
// told, ends the compaction and changes nothing; a damaged body that nobody needs
// does not.
func TestCompactOfDamage(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	first := j.Segments()[0]
	var moves []journal.Move
	if err := j.Locate(context.Background(), first.Number, func(mv journal.Move) error {
		moves = append(moves, mv)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	name := segmentName(int(first.Number))
	file := readFile(t, m, name)
	files := filesOf(t, m)
	for _, mv := range moves {
		for off := mv.To.Offset; off < end(mv.To); off += 5 {
			broken := bytes.Clone(file)
			broken[off] ^= 0x20
			writeFile(t, m, name, broken)
			out, _, err := h.compact(j, 0, 1)
			fatal := off < mv.To.Offset+mv.To.BodyOffset || h.isLive(mv.Sequence)
			if !fatal {
				if err != nil {
					t.Fatalf("flip at %d, in a body nobody needs: %v", off, err)
				}
				if err := j.Discard(out.Number); err != nil {
					t.Fatal(err)
				}
				continue
			}
			wantDamage(t, err, first.Number, mv.To.Offset)
			if got := filesOf(t, m); !slices.Equal(got, files) || j.Err() != nil {
				t.Fatalf("flip at %d: left %v, %v", off, got, j.Err())
			}
		}
	}
	for _, size := range []int{len(file) - 8, int(moves[3].To.Offset), 70} {
		writeFile(t, m, name, file[:size])
		if _, _, err := h.compact(j, 0, 1); fault.CodeOf(err) != fault.Corrupt {
			t.Errorf("cut at %d: %v", size, err)
		}
	}
	writeFile(t, m, name, file)
	h.mustCompact(t, j, 0, 1)
	h.check(t, m)
}

// TestCompactStops: with the context, with the verdict, with the throttle, with
// the journal.
func TestCompactStops(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	files, stop := filesOf(t, m), errors.New("stop")
	ctx, cancel := context.WithCancel(context.Background())
	c := journal.Compaction{Inputs: numbersOf(j.Segments()[:2]), AsOf: 60}
	c.Keep = func(r *journal.Record, _ journal.Location) (journal.Verdict, error) {
		if r.Sequence == 5 {
			cancel()
		}
		return journal.Keep, nil
	}
	_, _, err := j.Compact(ctx, c)
	if fault.CodeOf(err) != fault.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	c.Keep = func(r *journal.Record, _ journal.Location) (journal.Verdict, error) { return journal.Keep, stop }
	if _, _, err := j.Compact(context.Background(), c); !errors.Is(err, stop) {
		t.Errorf("stopped by the verdict: %v", err)
	}
	asked := 0
	c.Keep = h.keep(true)
	c.Throttle = func(_ context.Context, n int) error {
		if asked += n; asked > 5000 {
			return stop
		}
		return nil
	}
	if _, _, err := j.Compact(context.Background(), c); !errors.Is(err, stop) || asked <= 5000 {
		t.Errorf("stopped by the throttle after %d bytes: %v", asked, err)
	}
	if got := filesOf(t, m); !slices.Equal(got, files) || j.Err() != nil {
		t.Errorf("left %v, %v", got, j.Err())
	}
	closed := make(chan error)
	c.Throttle = func(ctx context.Context, _ int) error {
		go func() { closed <- j.Close() }()
		<-ctx.Done() // Close ends it
		return ctx.Err()
	}
	if _, _, err := j.Compact(context.Background(), c); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("closed: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{"Remove": j.Remove(1), "Discard": j.Discard(1)} {
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if got := filesOf(t, m); !slices.Equal(got, files) {
		t.Errorf("left %v", got)
	}
	h.check(t, m)
}

// TestCompactSyncCounts holds the cost of a compaction: one sync of the file for
// every 4 MiB, one more for the rest, and one of the folder; none in the head.
func TestCompactSyncCounts(t *testing.T) {
	t.Parallel()
	osfs, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fsys := vfs.Counted(osfs)
	c := config(fsys)
	c.SegmentSize = 12 << 20
	j, _ := replay(t, c)
	var recs []*journal.Record
	for i := range 20 {
		recs = append(recs, samplePut(fmt.Sprint(i), 1<<20))
	}
	put(t, j, recs...)
	keep := func(*journal.Record, journal.Location) (journal.Verdict, error) { return journal.Keep, nil }
	before := fsys.Counts()
	out, moves, err := j.Compact(context.Background(), journal.Compaction{Inputs: []uint64{1}, AsOf: 20, Keep: keep})
	if err != nil || len(moves) != 11 {
		t.Fatalf("%d moves, %v", len(moves), err)
	}
	got := fsys.Counts().Since(before)
	for kind, want := range map[vfs.OpKind]int64{
		vfs.OpSync: 3, vfs.OpSyncDir: 1, vfs.OpRename: 1, vfs.OpCreate: 1, vfs.OpWrite: 13, vfs.OpTruncate: 0, vfs.OpRemove: 0,
	} {
		if got.Of(kind) != want {
			t.Errorf("%d calls of %v, want %d", got.Of(kind), kind, want)
		}
	}
	before = fsys.Counts()
	j.Adopt(out.Number)
	if err := j.Remove(1); err != nil {
		t.Fatal(err)
	}
	if got := fsys.Counts().Since(before); got.Of(vfs.OpRemove) != 1 || got.Of(vfs.OpSyncDir) != 1 || got.Of(vfs.OpSync) != 0 {
		t.Errorf("Remove cost %v", got)
	}
}
