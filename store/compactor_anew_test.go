package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"larder/store"
)

// TestAReplayCutOffKnowsEmptyOutputs compacts a segment to nothing, and with it
// the tombstone elsewhere that ended what it held. Its inputs are still there when
// the index is made again, which is cut off: nothing may come back, at the next
// start and when the index is made again once more.
func TestAReplayCutOffKnowsEmptyOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openManual(t, dir)
	makeBucket(t, s, "bucket")
	for _, key := range []string{"dead", "kept"} {
		for i := range 14 {
			put(t, s, "bucket", key, noise(uint64(i), 590))
		}
	}
	remove(t, s, "bucket", "dead")
	for i := range 1400 {
		put(t, s, "bucket", fmt.Sprint(i), nil)
	}
	want := state(t, s)
	s.Settle()
	before := crash(t, dir)
	for range 2 {
		for i := range 6 {
			if err := s.CompactAt(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Settle()
	s.Close()
	removeIndex(t, dir)
	putBack(t, filepath.Join(before, "segments"), filepath.Join(dir, "segments"))
	cut := cutReplay(t, dir, 1100)
	for _, again := range []bool{false, true} {
		if again {
			removeIndex(t, cut)
		}
		s := openManual(t, cut)
		s.Settle()
		if got := state(t, s); got != want {
			t.Errorf("made again: %v, it is\n%s\nwant\n%s", again, got, want)
		}
		check(t, s)
		s.Close()
	}
}

// cutReplay opens a store that has no index and returns the folder as a killed
// process would leave it after about so many records.
func cutReplay(t *testing.T, dir string, records int) (cut string) {
	t.Helper()
	asked, live := 0, crash(t, dir)
	s, err := store.Open(t.Context(), store.Config{
		Dir: live, SegmentSize: 4 << 10, InlineLimit: 600, CompactRate: -1, Progress: func(int64, int64) {},
		Now: func() time.Time {
			if asked++; asked == records/64+1 {
				cut = crash(t, live)
			}
			return time.Now()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	return cut
}
