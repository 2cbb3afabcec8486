package index_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"larder/fault"
	"larder/store/index"
)

var update = flag.Bool("update", false, "write the golden files anew")

var storeID = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// wantCode fails unless err carries the code.
func wantCode(tb testing.TB, err error, want fault.Code) {
	tb.Helper()
	if got := fault.CodeOf(err); got != want {
		tb.Errorf("got %v (%v), want %v", got, err, want)
	}
}

func openAs(path string, id [16]byte) (*index.Index, error) {
	return index.Open(context.Background(), index.Config{Path: path, StoreID: id, Readers: 2})
}

func open(tb testing.TB, path string) *index.Index {
	tb.Helper()
	x, err := openAs(path, storeID)
	must(tb, err)
	tb.Cleanup(func() { must(tb, x.Close()) })
	return x
}

func begin(tb testing.TB, x *index.Index) *index.Tx {
	tb.Helper()
	tx, err := x.Begin()
	must(tb, err)
	return tx
}

// The things that the tests store: one of each kind.
var (
	someRow    = index.Row{Bucket: 1, Key: "k\x00\xff", Sequence: 5, Size: 10, Modified: -3, ETag: "etag", Meta: []byte("meta")}
	someBody   = index.Body{Sequence: 5, Segment: 2, Offset: 64, Length: 512, BodyOffset: 200, BodyLength: 10, Refs: 1, Current: true}
	someBlob   = index.Body{Sequence: 6, Segment: 2, Offset: 576, Length: 256, Blob: "00112233445566778899aabbccddeeff", Refs: 2}
	someBucket = index.Bucket{ID: 1, Name: "first", Created: 7, Objects: 1, Bytes: 10, Uploads: 1, Meta: []byte("b")}
	someUpload = index.Upload{ID: "u1", Bucket: 1, Key: "big", Created: 8, Sequence: 4, Meta: []byte("u")}
	somePart   = index.Part{Upload: "u1", Number: 3, Sequence: 6, Size: 11, Modified: 9, ETag: "p", Meta: []byte("pm")}
	somewhere  = index.Position{Sequence: 6, Segment: 2, Offset: 832}
)

// putSome writes one of each kind.
func putSome(tb testing.TB, tx *index.Tx) {
	tb.Helper()
	must(tb, tx.PutBucket(someBucket))
	must(tb, tx.PutRow(someRow))
	must(tb, tx.PutBody(someBody))
	must(tb, tx.PutBody(someBlob))
	must(tb, tx.PutUpload(someUpload))
	must(tb, tx.PutPart(somePart))
	must(tb, tx.AddSegment(1))
	must(tb, tx.AddSegment(somewhere.Segment))
	tx.SetApplied(somewhere)
}

// reader is what an Index and a Tx have in common.
type reader interface {
	Row(bucket uint64, key string) (index.Row, bool, error)
	Body(sequence uint64) (index.Body, bool, error)
	Bucket(id uint64) (index.Bucket, bool, error)
	Upload(id string) (index.Upload, bool, error)
	Part(upload string, number int) (index.Part, bool, error)
	Parts(upload string, after, max int) ([]index.Part, error)
}

// readSome reads what putSome has put and returns the things found.
func readSome(tb testing.TB, r reader) []any {
	tb.Helper()
	var out []any
	add := func(v any, found bool, err error) {
		tb.Helper()
		must(tb, err)
		if found {
			out = append(out, v)
		}
	}
	row, found, err := r.Row(1, someRow.Key)
	add(row, found, err)
	body, found, err := r.Body(5)
	add(body, found, err)
	blob, found, err := r.Body(6)
	add(blob, found, err)
	bucket, found, err := r.Bucket(1)
	add(bucket, found, err)
	upload, found, err := r.Upload("u1")
	add(upload, found, err)
	part, found, err := r.Part("u1", 3)
	add(part, found, err)
	parts, err := r.Parts("u1", 0, 10)
	add(parts, len(parts) > 0, err)
	return out
}

var allSome = []any{someRow, someBody, someBlob, someBucket, someUpload, somePart, []index.Part{somePart}}

func TestReadBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x, err := openAs(path, storeID)
	must(t, err)
	if x.Applied() != (index.Position{}) {
		t.Errorf("a new index has applied %+v", x.Applied())
	}
	tx := begin(t, x)
	putSome(t, tx)
	if got := readSome(t, tx); !reflect.DeepEqual(got, allSome) {
		t.Errorf("the transaction sees %+v", got)
	}
	if got := readSome(t, x); got != nil || x.Applied() != (index.Position{}) {
		t.Errorf("before the commit others see %+v", got)
	}
	must(t, tx.Commit())
	for range 2 { // as committed, and after a restart
		if got := readSome(t, x); !reflect.DeepEqual(got, allSome) {
			t.Errorf("got %+v", got)
		}
		if x.Applied() != somewhere {
			t.Errorf("applied is %+v", x.Applied())
		}
		must(t, x.Verify(t.Context()))
		must(t, x.Close())
		x, err = openAs(path, storeID)
		must(t, err)
	}
	must(t, x.Close())
	must(t, x.Close())
}

func TestMoreReads(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	putSome(t, tx)
	must(t, tx.PutBucket(index.Bucket{ID: 9, Name: "another"}))
	must(t, tx.Commit())

	buckets, err := x.Buckets()
	if want := []index.Bucket{{ID: 9, Name: "another"}, someBucket}; err != nil || !reflect.DeepEqual(buckets, want) {
		t.Errorf("buckets: %+v, %v", buckets, err)
	}
	for id, want := range map[string]bool{someBlob.Blob: true, "ff": false, "": false} {
		if got, err := x.HasBlob(id); got != want || err != nil {
			t.Errorf("blob %q: %v, %v", id, got, err)
		}
	}
	if !x.Idle() {
		t.Error("a read has left something open")
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	for n := 1; n <= 10_000; n++ {
		must(t, tx.PutPart(index.Part{Upload: "u", Number: n, Sequence: uint64(n)}))
		must(t, tx.PutBody(index.Witness(uint64(n))))
	}
	must(t, tx.PutPart(index.Part{Upload: "v", Number: 1}))
	must(t, tx.Commit())
	if _, err := x.Parts("v", 0, 1); fault.CodeOf(err) != fault.Corrupt {
		t.Errorf("a part without a body: %v", err)
	}
	for _, c := range []struct{ after, max, first, count int }{
		{0, 3, 1, 3}, {9_998, 10, 9_999, 2}, {0, 20_000, 1, 10_000}, {0, 1000, 1, 1000}, {10_000, 5, 0, 0}, {0, 0, 0, 0}, {0, -1, 0, 0},
	} {
		parts, err := x.Parts("u", c.after, c.max)
		if err != nil || len(parts) != c.count || (c.count > 0 && parts[0].Number != c.first) {
			t.Errorf("after %d, max %d: %d parts, %v", c.after, c.max, len(parts), err)
		}
	}
}

func TestBucketsPageByPage(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	for i := range uint64(2000) {
		must(t, tx.PutBucket(index.Bucket{ID: i, Name: strings.Repeat("n", int(i%50)) + string(rune('0'+i/50))}))
	}
	must(t, tx.Commit())
	buckets, err := x.Buckets()
	if err != nil || len(buckets) != 2000 {
		t.Errorf("%d buckets, %v", len(buckets), err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	x, err := openAs(filepath.Join(t.TempDir(), "index.db"), storeID)
	must(t, err)
	must(t, x.Close())
	_, _, err = x.Row(1, "k")
	wantCode(t, err, fault.Unavailable)
	_, err = x.List(index.ListQuery{Max: 1})
	wantCode(t, err, fault.Unavailable)
	_, err = x.Begin()
	wantCode(t, err, fault.Unavailable)
	wantCode(t, x.Checkpoint(index.Passive), fault.Unavailable)
}

// TestReadersSeeCommits runs readers beside a writer that always changes two
// rows at once: nobody may ever see them differ, or an older state later.
func TestReadersSeeCommits(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	write := func(n int64) {
		tx := begin(t, x)
		must(t, tx.PutRow(index.Row{Bucket: 1, Key: "a", Size: n}))
		must(t, tx.PutRow(index.Row{Bucket: 1, Key: "b/b", Size: n}))
		must(t, tx.PutRow(index.Row{Bucket: 1, Key: "c", Size: n}))
		must(t, tx.Commit())
	}
	write(0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for last := int64(0); ; {
				select {
				case <-done:
					return
				default:
				}
				page, err := x.List(index.ListQuery{Bucket: 1, Delimiter: "/", Max: 10})
				if err != nil || len(page.Rows) != 2 || page.Rows[0].Size != page.Rows[1].Size || page.Rows[0].Size < last {
					t.Errorf("%+v, %v, after %d", page.Rows, err, last)
					return
				}
				last = page.Rows[0].Size
			}
		})
	}
	for n := range int64(300) {
		write(n)
		if n%50 == 0 {
			must(t, x.Checkpoint(index.CheckpointMode(n/50%2)))
		}
	}
	close(done)
	wg.Wait()
}

func TestSchema(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	got, err := x.Schema()
	must(t, err)
	golden(t, "testdata/schema.sql", got)
}

// golden compares text with a file, or writes the file with -update.
func golden(tb testing.TB, name, got string) {
	tb.Helper()
	if *update {
		must(tb, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	must(tb, err)
	if got != string(want) {
		tb.Errorf("%s differs; got\n%s", name, got)
	}
}

// TestPlans holds how SQLite finds the rows of every statement: by searching
// for all columns that the statement names, without walking or sorting.
func TestPlans(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	plans, err := x.Plans()
	must(t, err)
	var b strings.Builder
	for _, query := range slices.Sorted(maps.Keys(plans)) {
		fmt.Fprintln(&b, strings.Join(strings.Fields(query), " "))
		for _, step := range plans[query] {
			fmt.Fprintln(&b, "\t"+step)
			if !strings.HasPrefix(step, "SEARCH ") {
				t.Errorf("%s: %s", query, step)
			}
		}
	}
	golden(t, "testdata/plans.txt", b.String())
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	for name, want := range map[string][2]string{ // of the writer, of a reader
		"journal_mode": {"wal", "wal"}, "synchronous": {"1", "1"}, "wal_autocheckpoint": {"0", "0"},
		"foreign_keys": {"1", "1"}, "mmap_size": {"0", "0"}, "query_only": {"0", "1"},
		"cell_size_check": {"1", "1"}, "application_id": {"1282565234", "1282565234"}, "user_version": {"3", "3"},
	} {
		for i, writer := range []bool{true, false} {
			got, err := x.Pragma(writer, name)
			if err != nil || got != want[i] && !(name == "mmap_size" && got == "") {
				t.Errorf("%s is %q (writer %v), %v", name, got, writer, err)
			}
		}
	}
}
