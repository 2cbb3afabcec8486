package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// TestSyncCounts holds the cost of a batch, whatever its size: one write and one
// sync in a segment, on the real system.
func TestSyncCounts(t *testing.T) {
	t.Parallel()
	osfs, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fsys := vfs.Counted(osfs)
	c := config(fsys)
	c.SegmentSize = 4 << 20
	j, _ := replay(t, c)
	before := fsys.Counts()
	for i := range 50 {
		var recs []*journal.Record
		for k := range 1 + i%7 {
			recs = append(recs, samplePut(fmt.Sprint(i, k), 1024*k))
		}
		put(t, j, recs...)
		if err := j.Sync(); err != nil { // nothing to do
			t.Fatal(err)
		}
	}
	got := fsys.Counts().Since(before)
	var want vfs.Counts
	want[vfs.OpWrite], want[vfs.OpSync] = 50, 50
	if got != want {
		t.Errorf("50 batches cost %v, want %v", got, want)
	}

	before = fsys.Counts()
	put(t, j, samplePut("a", 1<<20), samplePut("b", 1<<20), samplePut("c", 1<<20), samplePut("d", 1<<20))
	got, want = fsys.Counts().Since(before), vfs.Counts{}
	want[vfs.OpWrite] = 3 // two segments, and the new one's header
	want[vfs.OpSync] = 3  // the sealed segment, the new one's header, the batch
	want[vfs.OpSyncDir], want[vfs.OpCreate], want[vfs.OpPreallocate], want[vfs.OpTruncate] = 1, 1, 1, 1
	if got != want {
		t.Errorf("a roll-over costs %v, want %v", got, want)
	}
}

// TestReadsBesideAppends reads bodies of all segments, more than stay open, from
// many goroutines while records are appended and segments sealed.
func TestReadsBesideAppends(t *testing.T) {
	t.Parallel()
	osfs, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, _ := replay(t, config(osfs))
	type stored struct {
		key string
		loc journal.Location
	}
	var mu sync.Mutex
	var all []stored
	var stop atomic.Bool
	var readers sync.WaitGroup
	for r := range 4 {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r), 1))
			buf := make([]byte, 16<<10)
			for reads := 0; !stop.Load() || reads < 300; reads++ {
				mu.Lock()
				if len(all) == 0 {
					mu.Unlock()
					continue
				}
				s := all[rng.IntN(len(all))]
				mu.Unlock()
				body, err := j.ReadBody(s.loc, buf)
				if err != nil || !bytes.Equal(body, sampleBody(s.key, 5000)) {
					t.Errorf("%s: %v", s.key, err)
					return
				}
			}
		})
	}
	for i := range 70 { // three to a segment
		keys := []string{fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)}
		locs := put(t, j, samplePut(keys[0], 5000), samplePut(keys[1], 5000), samplePut(keys[2], 5000))
		mu.Lock()
		for k, loc := range locs {
			all = append(all, stored{keys[k], loc})
		}
		mu.Unlock()
	}
	stop.Store(true)
	readers.Wait()
	if n := j.OpenFilesForTest(); n > 64 {
		t.Errorf("%d files are open", n)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, recs := replay(t, config(osfs))
	if len(recs) != 210 {
		t.Errorf("%d records", len(recs))
	}
}

func TestReadsOfDamage(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	locs := put(t, j, samplePut("a", 3000), samplePut("b", 3000), samplePut("c", 0))
	file := readFile(t, m, segmentName(1))
	damage := func(what string, loc journal.Location, read func(journal.Location) error) {
		t.Helper()
		err := read(loc)
		var d *journal.Damage
		if fault.CodeOf(err) != fault.Corrupt || !errors.As(err, &d) || d.Segment != loc.Segment || d.Offset != loc.Offset {
			t.Errorf("%s: %v", what, err)
		}
	}
	body := func(l journal.Location) error { _, err := j.ReadBody(l, nil); return err }
	record := func(l journal.Location) error { _, err := j.ReadRecord(l); return err }

	for off := locs[0].Offset; off < end(locs[0]); off += 7 {
		broken := bytes.Clone(file)
		broken[off] ^= 4
		writeFile(t, m, segmentName(1), broken)
		damage(fmt.Sprint("flip at ", off), locs[0], body)
		if off < locs[0].Offset+locs[0].BodyOffset {
			damage(fmt.Sprint("flip at ", off), locs[0], record)
		}
	}
	writeFile(t, m, segmentName(1), file)
	for what, change := range map[string]func(l *journal.Location){
		"another record":   func(l *journal.Location) { l.Sequence++ },
		"another place":    func(l *journal.Location) { l.Offset += 8 },
		"odd place":        func(l *journal.Location) { l.Offset++ },
		"header":           func(l *journal.Location) { l.Offset = 0 },
		"beyond":           func(l *journal.Location) { l.Offset = 1 << 40 },
		"negative":         func(l *journal.Location) { l.Offset = -8 },
		"shorter":          func(l *journal.Location) { l.Length -= 8; l.BodyLength -= 8 },
		"longer":           func(l *journal.Location) { l.Length += 8; l.BodyLength += 8 },
		"impossibly long":  func(l *journal.Location) { l.BodyLength = 1 << 50; l.Length = 1 << 50 },
		"negative body":    func(l *journal.Location) { l.BodyLength = -8; l.Length -= 3008 },
		"other body":       func(l *journal.Location) { l.BodyOffset += 8; l.BodyLength -= 8 },
		"missing segment":  func(l *journal.Location) { l.Segment = 77 },
		"segment of zero":  func(l *journal.Location) { l.Segment = 0 },
		"length of zero":   func(l *journal.Location) { l.Length = 0 },
		"body before meta": func(l *journal.Location) { l.BodyOffset = 0; l.Length = 3000 },
	} {
		l := locs[0]
		change(&l)
		if err := body(l); fault.CodeOf(err) != fault.Corrupt {
			t.Errorf("%s: body: %v", what, err)
		}
		if err := record(l); fault.CodeOf(err) != fault.Corrupt {
			t.Errorf("%s: record: %v", what, err)
		}
	}
	for _, l := range locs {
		if err := errors.Join(body(l), record(l)); err != nil {
			t.Error(err)
		}
	}
}

func TestReadBodyUsesTheBuffer(t *testing.T) {
	t.Parallel()
	j, _ := replay(t, config(vfs.NewMem()))
	l := put(t, j, samplePut("a", 3000))[0]
	buf := make([]byte, l.Length)
	body, err := j.ReadBody(l, buf[:0])
	if err != nil || &body[0] != &buf[l.BodyOffset] {
		t.Errorf("the body is not in the buffer (%v)", err)
	}
	if body, err = j.ReadBody(l, make([]byte, 10)); err != nil || !bytes.Equal(body, sampleBody("a", 3000)) {
		t.Errorf("with too small a buffer: %v", err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	locs, err := j.Append([]*journal.Record{samplePut("a", 10)})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = j.Append([]*journal.Record{samplePut("b", 10)})
	_, rerr := j.ReadBody(locs[0], nil)
	for _, e := range []error{err, rerr, j.Sync()} {
		if fault.CodeOf(e) != fault.Unavailable {
			t.Errorf("after Close: %v", e)
		}
	}
	if err := j.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	// Close synced what was appended.
	if _, recs := replay(t, config(m.CrashClone(rand.New(rand.NewPCG(1, 1)), 0))); len(recs) != 1 {
		t.Errorf("%d records after Close and a power cut", len(recs))
	}
}

// TestUsedReserveIsReplaced: a reserve that holds a header already is not used
// again, as that might be taken for the header of a later segment.
func TestUsedReserveIsReplaced(t *testing.T) {
	t.Parallel()
	m := segments(t)
	used := append(journal.SegmentHeaderForTest(9, 1, 0, testID), make([]byte, testSegment-64)...)
	writeFile(t, m, "segments/reserve", used)
	replay(t, config(m))
	if b := readFile(t, m, "segments/reserve"); !bytes.Equal(b, make([]byte, testSegment)) {
		t.Error("the reserve is not all zeros")
	}
}
