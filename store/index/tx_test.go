package index_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"larder/fault"
	"larder/store/index"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	putSome(t, tx)
	must(t, tx.Commit())
	tx = begin(t, x)
	must(t, tx.DeleteRow(1, someRow.Key))
	must(t, tx.DeleteBody(5))
	must(t, tx.DeleteBody(6))
	must(t, tx.DeleteUpload("u1"))
	must(t, tx.DeleteBucket(1))
	must(t, tx.DeleteRow(1, "never was"))
	must(t, tx.DeleteBody(77))
	must(t, tx.DeleteUpload("never was"))
	must(t, tx.DeleteParts("never was"))
	must(t, tx.DeleteBucket(77))
	if got := readSome(t, tx); got != nil {
		t.Errorf("the transaction sees %+v", got)
	}
	must(t, tx.Commit())
	if got := readSome(t, x); got != nil {
		t.Errorf("left is %+v", got)
	}
	must(t, x.Verify(t.Context()))
}

func TestRollback(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	putSome(t, tx)
	tx.Rollback()
	tx.Rollback()
	if got := readSome(t, x); got != nil || x.Applied() != (index.Position{}) {
		t.Errorf("left is %+v", got)
	}
	wantCode(t, tx.PutRow(someRow), fault.Internal)
	wantCode(t, tx.AddBucket(1, 1, 1, 1), fault.Internal)
	wantCode(t, tx.Commit(), fault.Internal)
	_, _, err := tx.Row(1, "k")
	wantCode(t, err, fault.Internal)
}

func TestOneWriter(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	_, err := x.Begin()
	wantCode(t, err, fault.Conflict)
	wantCode(t, x.Checkpoint(index.Passive), fault.Conflict)
	must(t, tx.Commit())
	must(t, x.Checkpoint(index.Truncate))
	begin(t, x).Rollback()
}

func TestAddRef(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	putSome(t, tx)
	left, body, err := tx.AddRef(6, 3, false)
	want := someBlob
	want.Refs = 5
	if left != 5 || err != nil || !reflect.DeepEqual(body, want) {
		t.Errorf("%d, %+v, %v", left, body, err)
	}
	left, body, err = tx.AddRef(6, -5, false)
	if left != 0 || err != nil || body.Blob != want.Blob {
		t.Errorf("%d, %+v, %v", left, body, err)
	}
	must(t, tx.Commit())
	if body, found, err := x.Body(6); !found || body.Refs != 0 || err != nil {
		t.Errorf("%+v, %v, %v: a body stays until it is deleted", body, found, err)
	}
}

// TestFailurePoisons: after a failure nothing of the transaction gets through.
func TestFailurePoisons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code fault.Code
		do   func(tx *index.Tx) error
	}{
		{"reference to nothing", fault.Corrupt, func(tx *index.Tx) error { _, _, err := tx.AddRef(99, 1, false); return err }},
		{"references below 0", fault.Corrupt, func(tx *index.Tx) error { _, _, err := tx.AddRef(6, -3, false); return err }},
		{"end of a version that does not stand", fault.Corrupt, func(tx *index.Tx) error { _, _, err := tx.AddRef(6, -1, true); return err }},
		{"witness that is not there", fault.Corrupt, func(tx *index.Tx) error { return tx.DropWitness(99) }},
		{"witness with bytes", fault.Corrupt, func(tx *index.Tx) error { return tx.DropWitness(5) }},
		{"counter below 0", fault.Corrupt, func(tx *index.Tx) error { return tx.AddBucket(1, 0, -11, 0) }},
		{"counter of nothing", fault.NoSuchBucket, func(tx *index.Tx) error { return tx.AddBucket(99, 1, 1, 0) }},
		{"bucket's name taken", fault.BucketExists, func(tx *index.Tx) error {
			return tx.PutBucket(index.Bucket{ID: 2, Name: someBucket.Name})
		}},
		{"bucket with objects", fault.BucketNotEmpty, func(tx *index.Tx) error { return tx.DeleteBucket(1) }},
		{"bucket with uploads", fault.BucketNotEmpty, func(tx *index.Tx) error {
			if err := tx.DeleteRow(1, someRow.Key); err != nil {
				return err
			}
			return tx.DeleteBucket(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := open(t, filepath.Join(t.TempDir(), "index.db"))
			tx := begin(t, x)
			putSome(t, tx)
			must(t, tx.Commit())
			tx = begin(t, x)
			must(t, tx.PutRow(index.Row{Bucket: 1, Key: "new"}))
			tx.SetApplied(index.Position{Sequence: 99})
			wantCode(t, c.do(tx), c.code)
			wantCode(t, tx.PutRow(index.Row{Bucket: 1, Key: "later"}), c.code)
			wantCode(t, tx.Commit(), c.code)
			if _, found, err := x.Row(1, "new"); found || err != nil || x.Applied() != somewhere {
				t.Errorf("found %v, %v, applied %+v", found, err, x.Applied())
			}
			if got := readSome(t, x); !reflect.DeepEqual(got, allSome) {
				t.Errorf("got %+v", got)
			}
			if x.Damaged() != (c.code == fault.Corrupt) {
				t.Errorf("damaged is %v", x.Damaged())
			}
			begin(t, x).Rollback()
		})
	}
}

// TestCounters adds up in one transaction and over several.
func TestCounters(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	must(t, tx.PutBucket(index.Bucket{ID: 1, Name: "one"}))
	must(t, tx.PutBucket(index.Bucket{ID: 2, Name: "two"}))
	for range 3 {
		must(t, tx.AddBucket(1, 1, 10, 0))
		must(t, tx.AddBucket(2, 0, 0, 1))
	}
	if b, _, err := tx.Bucket(1); b.Objects != 3 || b.Bytes != 30 || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
	must(t, tx.Commit())
	tx = begin(t, x)
	must(t, tx.AddBucket(1, -1, -10, 2))
	must(t, tx.Commit())
	buckets, err := x.Buckets()
	want := []index.Bucket{{ID: 1, Name: "one", Objects: 2, Bytes: 20, Uploads: 2}, {ID: 2, Name: "two", Uploads: 3}}
	if err != nil || !reflect.DeepEqual(buckets, want) {
		t.Errorf("%+v, %v", buckets, err)
	}
}

// TestPutIsCheap counts the statements of a transaction that puts one new
// object, and of one that puts 64.
func TestPutIsCheap(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	fill(t, x, 100)
	next := 100
	for batch, want := range map[int]int{1: 7, 64: 2*64 + 5} {
		before := x.WriterRuns()
		tx := begin(t, x)
		for range batch {
			must(t, putOne(tx, next))
			next++
		}
		tx.SetApplied(index.Position{Sequence: uint64(next)})
		must(t, tx.Commit())
		if got := x.WriterRuns() - before; got != want {
			t.Errorf("%d puts took %d statements, want %d", batch, got, want)
		}
	}
	must(t, x.Verify(t.Context()))
}

// TestNoSpace fills the database to its limit: the transaction fails as
// NoSpace, what was committed stays, and there is room again later.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	fill(t, x, 100)
	_, err := x.Pragma(true, "max_page_count = 60")
	must(t, err)
	tx := begin(t, x)
	for i := 100; err == nil && i < 10_000; i++ {
		err = putOne(tx, i)
	}
	wantCode(t, err, fault.NoSpace)
	wantCode(t, tx.Commit(), fault.NoSpace)
	must(t, x.Verify(t.Context()))
	_, err = x.Pragma(true, "max_page_count = 100000")
	must(t, err)
	tx = begin(t, x)
	must(t, putOne(tx, 100))
	must(t, tx.Commit())
	must(t, x.Verify(t.Context()))
}
