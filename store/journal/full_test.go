package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// fullDisk is a Mem that has no room for new files while full is set.
func fullDisk() (m *vfs.Mem, full *atomic.Bool) {
	m, full = vfs.NewMem(), new(atomic.Bool)
	m.Inject(func(op vfs.Op) error {
		if full.Load() && op.Kind == vfs.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})
	return m, full
}

// TestFullDisk fills the disk: puts are refused and leave nothing, deletes go
// on, also after a start, and puts go on by themselves when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	m, full := fullDisk()
	j, _ := replay(t, config(m))
	full.Store(true)
	n := 0
	var err error
	for ; n < 100 && err == nil; n++ {
		_, err = j.Append([]*journal.Record{samplePut("k", 3000), samplePut("k", 3000)})
	}
	if fault.CodeOf(err) != fault.NoSpace || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("after %d batches: %v", n, err)
	}
	held := j.Position().Sequence
	// Nothing of the refused batch comes back, not even what fitted.
	for seed := range uint64(5) {
		crashed := m.CrashClone(rand.New(rand.NewPCG(seed, 1)), float64(seed)/4)
		if _, recs := replay(t, config(crashed)); uint64(len(recs)) > held {
			t.Fatalf("%d records are back, %d were taken", len(recs), held)
		}
	}

	deletes := func(from int) {
		for i := range 20 {
			put(t, j, &journal.Record{Kind: journal.Delete, Key: fmt.Sprint("d", from+i)})
			if _, err := j.Append([]*journal.Record{samplePut("no", 10)}); fault.CodeOf(err) != fault.NoSpace {
				t.Fatalf("a put on a full disk: %v", err)
			}
		}
	}
	deletes(0)
	j.Close()
	j, recs := replay(t, config(m))
	if uint64(len(recs)) != held+20 {
		t.Fatalf("%d records, want %d", len(recs), held+20)
	}
	deletes(20)

	full.Store(false)
	put(t, j, samplePut("room again", 3000))
	put(t, j, samplePut("more", 60_000))
	j.Close()
	_, recs = replay(t, config(m))
	if uint64(len(recs)) != held+42 || recs[held+40].rec.Key != "room again" {
		t.Fatalf("%d records, want %d", len(recs), held+42)
	}
}

// TestRefusedBatchOverSegments takes back a batch that had begun segments, and
// cuts the power at each step of that: no gap, and at the end nothing of it.
func TestRefusedBatchOverSegments(t *testing.T) {
	t.Parallel()
	var batch []*journal.Record
	for range 8 {
		batch = append(batch, samplePut("k", 9000))
	}
	for at := 0; ; at++ {
		m := vfs.NewMem()
		j, _ := replay(t, config(m))
		put(t, j, samplePut("first", 100))
		creates, cut := 0, &cutter{left: at}
		m.Inject(func(op vfs.Op) error {
			if op.Kind == vfs.OpCreate {
				if creates++; creates > 4 {
					return syscall.ENOSPC
				}
			}
			return cut.inject(op)
		})
		_, err := j.Append(batch)
		m.Inject(nil)
		low, high := 1, 9
		if fault.CodeOf(err) == fault.NoSpace {
			high = 1
		}
		for seed := range uint64(8) {
			crashed := m.CrashClone(rand.New(rand.NewPCG(seed, uint64(at))), float64(seed)/7)
			if _, recs := replay(t, config(crashed)); len(recs) < low || len(recs) > high {
				t.Fatalf("cut at %d: %d records", at, len(recs))
			}
		}
		if high == 1 {
			return
		}
	}
}

// TestReserveIsKeptOverStarts: a disk that is full at the start still has it.
func TestReserveIsKeptOverStarts(t *testing.T) {
	t.Parallel()
	m, full := fullDisk()
	j, _ := replay(t, config(m))
	var err error
	for err == nil {
		_, err = j.Append([]*journal.Record{samplePut("k", 3000)})
		full.Store(j.Position().Segment == 2)
	}
	j.Close()
	j, _ = replay(t, config(m))
	put(t, j, &journal.Record{Kind: journal.Abort, Upload: strings.Repeat("u", 1000)})
	if at := j.Position(); at.Segment != 3 {
		t.Errorf("position %+v: the reserve was not used", at)
	}
	if _, err := m.Stat("segments/reserve"); err == nil {
		t.Error("the reserve is still there")
	}
}

// TestTooManyOpenFiles is no reason to stop for good.
func TestTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	put(t, j, samplePut("a", 15_000))
	m.Inject(func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate {
			return syscall.EMFILE
		}
		return nil
	})
	if _, err := j.Append([]*journal.Record{samplePut("b", 9000)}); fault.CodeOf(err) != fault.Unavailable {
		t.Fatal(err)
	}
	m.Inject(nil)
	put(t, j, samplePut("c", 9000))
	j.Close()
	j, recs := replay(t, config(m))
	if len(recs) != 2 || recs[1].rec.Key != "c" {
		t.Fatalf("%d records", len(recs))
	}
	checkAll(t, j, recs)
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	before := j.Position()
	for name, c := range map[string]struct {
		change func(r *journal.Record)
		want   fault.Code
	}{
		"no kind":          {func(r *journal.Record) { r.Kind = 0 }, fault.InvalidArgument},
		"carrier":          {func(r *journal.Record) { r.Kind = journal.Body }, fault.InvalidArgument},
		"negative size":    {func(r *journal.Record) { r.Size = -1 }, fault.InvalidArgument},
		"negative part":    {func(r *journal.Record) { r.Part = -1 }, fault.InvalidArgument},
		"half an MD5":      {func(r *journal.Record) { r.MD5 = r.MD5[:8] }, fault.InvalidArgument},
		"half a SHA-256":   {func(r *journal.Record) { r.SHA256 = r.MD5 }, fault.InvalidArgument},
		"nameless sum":     {func(r *journal.Record) { r.Checksum.Value = r.MD5 }, fault.InvalidArgument},
		"two bodies":       {func(r *journal.Record) { r.Blob = "b" }, fault.InvalidArgument},
		"two other bodies": {func(r *journal.Record) { r.Body, r.Blob, r.Extents = nil, "b", make([]journal.Extent, 1) }, fault.InvalidArgument},
		"unsorted user":    {func(r *journal.Record) { r.User = []journal.Pair{{Name: "b"}, {Name: "a"}} }, fault.InvalidArgument},
		"a tag twice":      {func(r *journal.Record) { r.Tags = []journal.Pair{{Name: "a"}, {Name: "a"}} }, fault.InvalidArgument},
		"negative extent":  {func(r *journal.Record) { r.Body, r.Extents = nil, []journal.Extent{{Offset: -1}} }, fault.InvalidArgument},
		"negative parts":   {func(r *journal.Record) { r.PartSizes = []int64{-1} }, fault.InvalidArgument},
		"large body":       {func(r *journal.Record) { r.Body = make([]byte, journal.MaxBody+1) }, fault.EntityTooLarge},
		"large meta":       {func(r *journal.Record) { r.Key = strings.Repeat("k", journal.MaxMeta) }, fault.MetadataTooLarge},
	} {
		bad := samplePut("bad", 10)
		c.change(bad)
		_, err := j.Append([]*journal.Record{samplePut("good", 10), bad})
		if fault.CodeOf(err) != c.want || j.Err() != nil || j.Position() != before {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	put(t, j, samplePut("after", 10))
	j.Close()
	if _, recs := replay(t, config(m)); len(recs) != 1 || recs[0].rec.Sequence != 1 {
		t.Errorf("%d records", len(recs))
	}
}
