package index_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"larder/store/index"

	"pgregory.net/rapid"
)

// put commits these keys into a bucket.
func put(tb testing.TB, x *index.Index, bucket uint64, keys ...string) {
	tb.Helper()
	tx := begin(tb, x)
	for i, k := range keys {
		must(tb, tx.PutRow(index.Row{Bucket: bucket, Key: k, Sequence: uint64(i + 1), ETag: "e", Meta: []byte(k)}))
	}
	must(tb, tx.Commit())
}

func names(entries []entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.name)
	}
	return out
}

func TestList(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "a/", "a/b", "a/b/c", "a0", "b", "b//c", "b//d", "b/e", "x-y", "x-y-z", "z\xff", "z\xff/1", "z\xff\xff", "\xff", "\xff\xff", "\xff\xff/a"}
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	put(t, x, 1, keys...)
	put(t, x, 2, "other")
	for _, c := range []struct {
		name string
		q    index.ListQuery
		want []string
		next string // "" = not truncated
	}{
		{"everything", index.ListQuery{Max: 100}, keys, ""},
		{"exactly as many as there are", index.ListQuery{Max: len(keys)}, keys, ""},
		{"first page", index.ListQuery{Max: 3}, []string{"a", "a/", "a/b"}, "a/b"},
		{"after a key", index.ListQuery{After: "a/b", Max: 2}, []string{"a/b/c", "a0"}, "a0"},
		{"after what is not there", index.ListQuery{After: "a/c", Max: 1}, []string{"a0"}, "a0"},
		{"max 0", index.ListQuery{Max: 0}, nil, ""},
		{"max below 0", index.ListQuery{Max: -1}, nil, ""},
		{"folders", index.ListQuery{Delimiter: "/", Max: 100},
			[]string{"a", "a/", "a0", "b", "b/", "x-y", "x-y-z", "z\xff", "z\xff/", "z\xff\xff", "\xff", "\xff\xff", "\xff\xff/"}, ""},
		{"a folder", index.ListQuery{Prefix: "a/", Delimiter: "/", Max: 100}, []string{"a/", "a/b", "a/b/"}, ""},
		{"after a folder skips it", index.ListQuery{Delimiter: "/", After: "a/", Max: 2}, []string{"a0", "b"}, "b"},
		{"after a key in a folder does not", index.ListQuery{Delimiter: "/", After: "a/b", Max: 1}, []string{"a/"}, "a/"},
		{"after the prefix itself", index.ListQuery{Prefix: "a/", Delimiter: "/", After: "a/", Max: 9}, []string{"a/b", "a/b/"}, ""},
		{"after beyond the prefix", index.ListQuery{Prefix: "a", After: "b", Max: 9}, nil, ""},
		{"after before the prefix", index.ListQuery{Prefix: "b", After: "a", Max: 1}, []string{"b"}, "b"},
		{"delimiter -", index.ListQuery{Prefix: "x", Delimiter: "-", Max: 9}, []string{"x-"}, ""},
		{"prefix with delimiter", index.ListQuery{Prefix: "x-y", Delimiter: "-", Max: 9}, []string{"x-y", "x-y-"}, ""},
		{"two bytes", index.ListQuery{Delimiter: "//", Prefix: "b", Max: 9}, []string{"b", "b//", "b/e"}, ""},
		{"delimiter 0xFF", index.ListQuery{Prefix: "z", Delimiter: "\xff", Max: 9}, []string{"z\xff"}, ""},
		{"prefix 0xFF", index.ListQuery{Prefix: "\xff", Max: 9}, []string{"\xff", "\xff\xff", "\xff\xff/a"}, ""},
		{"prefix 0xFF 0xFF", index.ListQuery{Prefix: "\xff\xff", Delimiter: "/", Max: 1}, []string{"\xff\xff"}, "\xff\xff"},
		{"common prefix of only 0xFF", index.ListQuery{Prefix: "\xff", Delimiter: "\xff", Max: 9}, []string{"\xff", "\xff\xff"}, ""},
		{"after that one", index.ListQuery{Prefix: "\xff", Delimiter: "\xff", After: "\xff\xff", Max: 9}, nil, ""},
		{"no such prefix", index.ListQuery{Prefix: "q", Delimiter: "/", Max: 9}, nil, ""},
		{"no such bucket", index.ListQuery{Bucket: 7, Max: 9}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.q.Bucket == 0 {
				c.q.Bucket = 1
			}
			page, err := x.List(c.q)
			must(t, err)
			got, err := merge(page.Rows, nil, page.Prefixes)
			must(t, err)
			if !slices.Equal(names(got), c.want) || page.Next != c.next || page.Truncated != (c.next != "") {
				t.Errorf("got %q, truncated %v, next %q; want %q, next %q", names(got), page.Truncated, page.Next, c.want, c.next)
			}
		})
	}
}

// listProperty: any page equals the model's, and the pages together equal the
// whole. Each call uses a bucket of its own.
func listProperty(x *index.Index, buckets *atomic.Uint64) func(t *rapid.T) {
	return func(t *rapid.T) {
		bucket := buckets.Add(1)
		var all []entry
		for _, k := range rapid.SliceOfN(genText(1, 6), 0, 40).Draw(t, "keys") {
			all = append(all, entry{name: k})
		}
		all = sortEntries(all)
		tx, err := x.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range all {
			if err := tx.PutRow(index.Row{Bucket: bucket, Key: e.name, Sequence: uint64(i), Meta: []byte(e.name)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		q := index.ListQuery{
			Bucket: bucket, Prefix: genText(0, 2).Draw(t, "prefix"),
			Delimiter: genDelimiter().Draw(t, "delimiter"), Max: rapid.IntRange(1, 6).Draw(t, "max"),
		}
		q.After = genMarker(all, q.Prefix, q.Delimiter).Draw(t, "after")
		checkPages(t, x, q, modelUploads(all, q.Prefix, q.Delimiter, q.After, ""))
	}
}

func checkPages(t *rapid.T, x *index.Index, q index.ListQuery, want []entry) {
	for {
		page, err := x.List(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := merge(page.Rows, nil, page.Prefixes)
		if err != nil {
			t.Fatal(err)
		}
		n := min(q.Max, len(want))
		if !slices.Equal(got, want[:n]) || page.Truncated != (len(want) > n) {
			t.Fatalf("%+v: got %q, truncated %v; want %q of %d", q, got, page.Truncated, want[:n], len(want))
		}
		if want = want[n:]; !page.Truncated {
			return
		}
		if page.Next != got[n-1].name {
			t.Fatalf("next is %q after %q", page.Next, got)
		}
		q.After = page.Next
	}
}

func TestListEqualsModel(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	rapid.Check(t, listProperty(x, new(atomic.Uint64)))
	if !x.Idle() {
		t.Error("a listing has left something open")
	}
}

func FuzzList(f *testing.F) {
	x := open(f, filepath.Join(f.TempDir(), "index.db"))
	f.Add([]byte("\x01\x02\x03\x04\x05\x06\x07\x08 some bytes to draw keys from"))
	f.Fuzz(rapid.MakeFuzz(listProperty(x, new(atomic.Uint64))))
}

// TestListSeeks holds the cost of a listing: one run of a statement for each
// common prefix and one for the end, and no more work for a bucket of 100,000
// keys than for one of 100.
func TestListSeeks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("fills 100,000 rows")
	}
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	for bucket, n := range map[uint64]int{1: 100, 2: 100_000} {
		tx := begin(t, x)
		for i := range n {
			must(t, tx.PutRow(index.Row{Bucket: bucket, Key: fmt.Sprintf("p/%06d", i), Sequence: uint64(i)}))
		}
		must(t, tx.PutRow(index.Row{Bucket: bucket, Key: "z"}))
		must(t, tx.Commit())
	}
	var cost [3][3]int
	for bucket := uint64(1); bucket <= 2; bucket++ {
		cost[bucket][0] = runs(x, func() {
			page, err := x.List(index.ListQuery{Bucket: bucket, Delimiter: "/", Max: 1000})
			if err != nil || !slices.Equal(page.Prefixes, []string{"p/"}) || len(page.Rows) != 1 || page.Truncated {
				t.Errorf("%q, %d rows, %v", page.Prefixes, len(page.Rows), err)
			}
		})
		cost[bucket][1] = runs(x, func() {
			_, found, err := x.Row(bucket, "p/000050")
			if !found || err != nil {
				t.Error(found, err)
			}
		})
		cost[bucket][2] = runs(x, func() {
			page, err := x.List(index.ListQuery{Bucket: bucket, Prefix: "p/", After: "p/000010", Max: 50})
			if err != nil || len(page.Rows) != 50 || !page.Truncated {
				t.Error(len(page.Rows), page.Truncated, err)
			}
		})
	}
	if want := [3]int{2, 1, 1}; cost[1] != want || cost[2] != want {
		t.Errorf("statement runs of list, row, page: %v for 100 keys, %v for 100,000, want %v", cost[1], cost[2], want)
	}
}

// runs returns how many statements f runs on the read connections.
func runs(x *index.Index, f func()) int {
	before := x.Runs()
	f()
	return x.Runs() - before
}

// TestListBoundsMemory lists rows with long metadata: pages end early, and
// nothing is lost between them.
func TestListBoundsMemory(t *testing.T) {
	t.Parallel()
	const rows, size = 60, 200 << 10
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	var want []string
	for i := range rows {
		key := fmt.Sprintf("%03d", i)
		want = append(want, key)
		must(t, tx.PutRow(index.Row{Bucket: 1, Key: key, Meta: make([]byte, size)}))
	}
	must(t, tx.Commit())
	var got []string
	for q := (index.ListQuery{Bucket: 1, Max: 1000}); ; {
		page, err := x.List(q)
		must(t, err)
		if len(page.Rows)*size > index.MaxPageBytes+size {
			t.Fatalf("a page of %d rows of %d bytes", len(page.Rows), size)
		}
		for _, r := range page.Rows {
			got = append(got, r.Key)
		}
		if q.After = page.Next; !page.Truncated {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestListMax holds the bound of a page.
func TestListMax(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	var keys []string
	for i := range index.MaxPage + 1 {
		keys = append(keys, fmt.Sprintf("%05d", i))
	}
	put(t, x, 1, keys...)
	page, err := x.List(index.ListQuery{Bucket: 1, Max: 1 << 30})
	must(t, err)
	if len(page.Rows) != index.MaxPage || !page.Truncated || page.Next != keys[index.MaxPage-1] {
		t.Errorf("%d rows, truncated %v, next %q", len(page.Rows), page.Truncated, page.Next)
	}
	want := index.Row{Bucket: 1, Key: keys[0], Sequence: 1, ETag: "e", Meta: []byte(keys[0])}
	if !reflect.DeepEqual(page.Rows[0], want) {
		t.Errorf("got %+v", page.Rows[0])
	}
}

func TestSuccessor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\xfe\xff\xff": "a\xff", "\xff\xff": "", "": ""} {
		got, ok := index.Successor(in)
		if got != want || ok != (want != "") {
			t.Errorf("successor(%q) = %q, %v", in, got, ok)
		}
	}
}
