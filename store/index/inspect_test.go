package index_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"larder/store/index"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestInspectorSeesEveryRow walks tables page by page, and tells rows apart that
// cannot be trusted without stopping at them.
func TestInspectorSeesEveryRow(t *testing.T) {
	t.Parallel()
	x := inspected(t)
	i, err := x.Inspector()
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	objects := walk(t, 10, func(r *index.Row) ([]index.Checked[index.Row], error) {
		if r == nil {
			return i.Objects(index.First, "", 10)
		}
		return i.Objects(int64(r.Bucket), r.Key, 10)
	})
	bad := 0
	for _, o := range objects {
		if o.Err != nil {
			bad++
		}
	}
	bodies := walk(t, 10, func(b *index.Body) ([]index.Checked[index.Body], error) {
		if b == nil {
			return i.Bodies(index.First, 10)
		}
		return i.Bodies(int64(b.Sequence), 10)
	})
	parts := walk(t, 10, func(p *index.Part) ([]index.Checked[index.Part], error) {
		if p == nil {
			return i.Parts("", index.First, 10)
		}
		return i.Parts(p.Upload, int64(p.Number), 10)
	})
	uploads, err := i.Uploads(index.First, "", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	buckets, err := i.Buckets(index.First, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 25 || bad != 1 || len(bodies) != 25 || len(parts) != 25 || len(uploads) != 1 || len(buckets) != 1 {
		t.Errorf("%d objects, %d of them bad, %d bodies, %d parts, %d uploads, %d buckets",
			len(objects), bad, len(bodies), len(parts), len(uploads), len(buckets))
	}
}

// inspected opens an index with rows in every table, one of which is damaged.
func inspected(t *testing.T) *index.Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.db")
	x, err := index.Open(t.Context(), index.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	tx, err := x.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		tx.PutBucket(index.Bucket{ID: 1, Name: "b"}),
		tx.PutUpload(index.Upload{ID: "u", Bucket: 1, Key: "k", Sequence: 5}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 25 {
		key := "k" + strconv.Itoa(n)
		if err := tx.PutRow(index.Row{Bucket: 1, Key: key, Sequence: uint64(n)}); err != nil {
			t.Fatal(err)
		}
		if err := tx.PutBody(index.Body{Sequence: uint64(n), Blob: key, Refs: 1}); err != nil {
			t.Fatal(err)
		}
		if err := tx.PutPart(index.Part{Upload: "u", Number: n, Sequence: uint64(n)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	damage(t, path, `UPDATE objects SET etag = 'x' WHERE sequence = 7`)
	return x
}

// walk collects all pages.
func walk[T any](t *testing.T, page int, next func(*T) ([]index.Checked[T], error)) (all []index.Checked[T]) {
	t.Helper()
	var last *T
	for {
		rows, err := next(last)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
		if len(rows) < page {
			return all
		}
		last = &rows[len(rows)-1].Row
	}
}

func damage(t *testing.T, path, query string) {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.Execute(db, query, nil); err != nil {
		t.Fatal(err)
	}
}
