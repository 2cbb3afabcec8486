package index_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"larder/fault"
	"larder/store/index"
)

func TestSegmentsComeAndGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	tx := begin(t, x)
	for _, n := range []uint64{9, 3, 3, 1 << 40} {
		must(t, tx.AddSegment(n))
	}
	must(t, tx.DropSegment(9))
	must(t, tx.DropSegment(77))
	must(t, tx.Commit())
	if got, err := x.Segments(); err != nil || !slices.Equal(got, []uint64{3, 1 << 40}) {
		t.Errorf("got %v, %v", got, err)
	}
	must(t, x.Verify(t.Context()))
}

func TestBodiesMove(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	putSome(t, tx)
	found, err := tx.MoveBody(someBlob.Sequence, 12, 128, 192, 140)
	must(t, err)
	gone, err := tx.MoveBody(77, 12, 128, 192, 140)
	must(t, err)
	must(t, tx.Commit())
	if !found || gone {
		t.Errorf("moved %v, what is not there %v", found, gone)
	}
	moved := someBlob
	moved.Segment, moved.Offset, moved.Length, moved.BodyOffset = 12, 128, 192, 140
	all, err := x.Bodies(0, 10)
	must(t, err)
	if want := []index.Body{someBody, moved}; !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %+v", all, want)
	}
	rest, err := x.Bodies(someBody.Sequence, 1)
	must(t, err)
	if !reflect.DeepEqual(rest, []index.Body{moved}) {
		t.Errorf("behind the first: %+v", rest)
	}
}

func TestUnreferencedBodiesAreFound(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	for i := range uint64(20) {
		must(t, tx.PutBody(index.Body{Sequence: i + 1, Segment: 1, Refs: int64(i % 4)}))
	}
	_, _, err := tx.AddRef(2, -1, false)
	must(t, err)
	_, _, err = tx.AddRef(5, 1, false)
	must(t, err)
	must(t, tx.PutBody(index.Witness(10))) // stands without
	got, err := tx.Unreferenced(4)
	must(t, err)
	if want := []uint64{1, 2, 9, 13}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	must(t, tx.Commit())
}

// TestSyncAtAnyTime can only see that the log is there and that Sync
// may be called at any time; the simulated disk and power cuts see the rest.
func TestSyncAtAnyTime(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	must(t, x.Sync())
	tx := begin(t, x)
	putSome(t, tx)
	must(t, x.Sync())
	must(t, tx.Commit())
	must(t, x.Sync())
	must(t, x.Checkpoint(index.Truncate))
	must(t, x.Sync())
}

// TestVacuumShrinksTheFile deletes nearly all and gives the pages back step by
// step.
func TestVacuumShrinksTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	const n = 10_000
	fill(t, x, n)
	before := fileSize(t, path)
	tx := begin(t, x)
	_, err := x.Vacuum(64)
	wantCode(t, err, fault.Conflict)
	for i := range n - 100 {
		must(t, tx.DeleteRow(2, benchKey(i)))
		must(t, tx.DeleteBody(uint64(i+10)))
		must(t, tx.AddBucket(2, -1, -4096, 0))
	}
	must(t, tx.Commit())
	steps := 0
	for more := true; more; steps++ {
		if more, err = x.Vacuum(64); err != nil {
			t.Fatal(err)
		}
	}
	must(t, x.Checkpoint(index.Truncate))
	after := fileSize(t, path)
	t.Logf("%d bytes, then %d in %d steps", before, after, steps)
	if after > before/2 || steps < 3 {
		t.Errorf("%d bytes of %d are left after %d steps", after, before, steps)
	}
	must(t, x.Verify(t.Context()))
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}
