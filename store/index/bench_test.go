package index_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"larder/store/index"
)

// benchKeys is how many rows the benchmarks look among.
const benchKeys = 20_000

func benchKey(i int) string {
	return fmt.Sprintf("backup/data/%02x/%064x", i%256, uint64(i)*0x9e3779b97f4a7c15)
}

func benchRow(i int) index.Row {
	return index.Row{
		Bucket: 2, Key: benchKey(i), Sequence: uint64(i + 10), Size: 4096, Modified: 1_700_000_000_000_000_000,
		ETag: "d41d8cd98f00b204e9800998ecf8427e", Meta: make([]byte, 180),
	}
}

func benchBody(i int) index.Body {
	return index.Body{
		Sequence: uint64(i + 10), Segment: 7, Offset: int64(i) * 4608, Length: 4608,
		BodyOffset: 512, BodyLength: 4096, Refs: 1, Current: true,
	}
}

// putOne applies what the put of a new object changes.
func putOne(tx *index.Tx, i int) error {
	if err := tx.PutRow(benchRow(i)); err != nil {
		return err
	}
	if err := tx.PutBody(benchBody(i)); err != nil {
		return err
	}
	return tx.AddBucket(2, 1, 4096, 0)
}

func fill(tb testing.TB, x *index.Index, n int) {
	tb.Helper()
	tx := begin(tb, x)
	must(tb, tx.PutBucket(index.Bucket{ID: 2, Name: "bench"}))
	for i := range n {
		must(tb, putOne(tx, i))
		if i%1000 == 999 {
			must(tb, tx.Commit())
			tx = begin(tb, x)
		}
	}
	must(tb, tx.Commit())
	must(tb, x.Checkpoint(index.Truncate))
}

func benchIndex(b *testing.B) (*index.Index, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "index.db")
	x := open(b, path)
	fill(b, x, benchKeys)
	return x, path
}

func BenchmarkRow(b *testing.B) {
	x, _ := benchIndex(b)
	for i := 0; b.Loop(); i++ {
		if _, found, err := x.Row(2, benchKey(i%benchKeys)); !found || err != nil {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	x, _ := benchIndex(b)
	for b.Loop() {
		page, err := x.List(index.ListQuery{Bucket: 2, Prefix: "backup/", Max: 1000})
		if err != nil || len(page.Rows) != 1000 {
			b.Fatal(len(page.Rows), err)
		}
	}
}

// BenchmarkListFolders lists 256 common prefixes.
func BenchmarkListFolders(b *testing.B) {
	x, _ := benchIndex(b)
	for b.Loop() {
		page, err := x.List(index.ListQuery{Bucket: 2, Prefix: "backup/data/", Delimiter: "/", Max: 1000})
		if err != nil || len(page.Prefixes) != 256 {
			b.Fatal(len(page.Prefixes), err)
		}
	}
}

// BenchmarkListTwoBuckets lists one row of two buckets in turns, one of them
// with the number 1: it shows whether SQLite plans the statement anew.
func BenchmarkListTwoBuckets(b *testing.B) {
	x, _ := benchIndex(b)
	for _, other := range []uint64{3, 1} {
		b.Run(fmt.Sprint("other=", other), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := x.List(index.ListQuery{Bucket: []uint64{2, other}[i%2], Max: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) { benchApply(b, batch, false) })
		b.Run(fmt.Sprint("overwrite/batch=", batch), func(b *testing.B) { benchApply(b, batch, true) })
	}
}

func benchApply(b *testing.B, batch int, overwrite bool) {
	x, _ := benchIndex(b)
	rows := 0
	for b.Loop() {
		tx := begin(b, x)
		for range batch {
			if overwrite {
				must(b, replaceOne(tx, rows%benchKeys))
			} else {
				must(b, putOne(tx, benchKeys+rows))
			}
			rows++
		}
		tx.SetApplied(index.Position{Sequence: uint64(rows)})
		must(b, tx.Commit())
		if n, err := x.WALSize(); err != nil || n > 16<<20 {
			must(b, x.Checkpoint(index.Passive))
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// replaceOne applies what the overwrite of an object changes.
func replaceOne(tx *index.Tx, i int) error {
	if _, _, err := tx.Row(2, benchKey(i)); err != nil {
		return err
	}
	if left, _, err := tx.AddRef(uint64(i+10), -1, true); left != 0 || err != nil {
		return fmt.Errorf("%d left, %w", left, err)
	}
	if err := tx.DeleteBody(uint64(i + 10)); err != nil {
		return err
	}
	if err := tx.AddBucket(2, -1, -4096, 0); err != nil {
		return err
	}
	return putOne(tx, i)
}
