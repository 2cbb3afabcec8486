package index_test

import (
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"larder/store/index"

	"pgregory.net/rapid"
)

func TestUploads(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	for _, u := range []entry{{"a", "1", false}, {"a", "2", false}, {"a", "3", false}, {"b/", "0", false}, {"b/x", "4", false}, {"b/x", "44", false}, {"b/y", "5", false}, {"c", "6", false}} {
		must(t, tx.PutUpload(index.Upload{ID: u.id, Bucket: 1, Key: u.name, Created: 9, Sequence: 8, Meta: []byte("m")}))
	}
	must(t, tx.Commit())
	for _, c := range []struct {
		name          string
		q             index.UploadQuery
		want          []string // ids and common prefixes
		nextKey, next string
	}{
		{"all", index.UploadQuery{Max: 9}, []string{"1", "2", "3", "0", "4", "44", "5", "6"}, "", ""},
		{"page", index.UploadQuery{Max: 2}, []string{"1", "2"}, "a", "2"},
		{"next page", index.UploadQuery{KeyMarker: "a", UploadMarker: "2", Max: 2}, []string{"3", "0"}, "b/", "0"},
		{"key marker alone", index.UploadQuery{KeyMarker: "a", Max: 9}, []string{"0", "4", "44", "5", "6"}, "", ""},
		{"upload marker alone means nothing", index.UploadQuery{UploadMarker: "5", Max: 1}, []string{"1"}, "a", "1"},
		{"folders", index.UploadQuery{Delimiter: "/", KeyMarker: "a", UploadMarker: "2", Max: 2}, []string{"3", "b/"}, "b/", ""},
		{"after a folder", index.UploadQuery{Delimiter: "/", KeyMarker: "b/", Max: 2}, []string{"6"}, "", ""},
		{"folder marker with upload", index.UploadQuery{Delimiter: "/", KeyMarker: "b/", UploadMarker: "+", Max: 2}, []string{"6"}, "", ""},
		{"behind an upload in a folder", index.UploadQuery{Delimiter: "/", KeyMarker: "b/x", UploadMarker: "4", Max: 2}, []string{"b/", "6"}, "", ""},
		{"prefix", index.UploadQuery{Prefix: "b/", Delimiter: "/", Max: 1}, []string{"0"}, "b/", "0"},
		{"prefix, after itself", index.UploadQuery{Prefix: "b/", Delimiter: "/", KeyMarker: "b/", UploadMarker: "0", Max: 1}, []string{"4"}, "b/x", "4"},
		{"max 0", index.UploadQuery{}, nil, "", ""},
		{"max 0 with markers", index.UploadQuery{KeyMarker: "a", UploadMarker: "1"}, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Bucket = 1
			page, err := x.Uploads(c.q)
			must(t, err)
			entries, err := merge(nil, page.Uploads, page.Prefixes)
			must(t, err)
			var got []string
			for _, e := range entries {
				if e.common {
					e.id = e.name
				}
				got = append(got, e.id)
			}
			if !slices.Equal(got, c.want) || page.NextKey != c.nextKey || page.NextUpload != c.next || page.Truncated != (c.nextKey != "") {
				t.Errorf("got %q, next %q %q, truncated %v", got, page.NextKey, page.NextUpload, page.Truncated)
			}
		})
	}
}

func TestUploadsEqualModel(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	var buckets atomic.Uint64
	rapid.Check(t, func(t *rapid.T) {
		bucket := buckets.Add(1)
		prefixID := string(rune('A'+bucket%26)) + string(rune('A'+bucket/26%26)) + string(rune('A'+bucket/676))
		var all []entry
		keys := rapid.SliceOfN(genText(1, 4), 1, 8).Draw(t, "keys")
		for i := range rapid.IntRange(0, 30).Draw(t, "uploads") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			all = append(all, entry{name: key, id: prefixID + string(rune('0'+i))})
		}
		all = sortEntries(all)
		tx, err := x.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if err := tx.PutUpload(index.Upload{ID: e.id, Bucket: bucket, Key: e.name}); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		q := index.UploadQuery{
			Bucket: bucket, Prefix: genText(0, 2).Draw(t, "prefix"),
			Delimiter: genDelimiter().Draw(t, "delimiter"), Max: rapid.IntRange(1, 5).Draw(t, "max"),
		}
		q.KeyMarker = genMarker(all, q.Prefix, q.Delimiter).Draw(t, "marker")
		if len(all) > 0 && rapid.Bool().Draw(t, "with id") {
			e := rapid.SampledFrom(all).Draw(t, "marked")
			q.UploadMarker = e.id
			if rapid.Bool().Draw(t, "with its key") {
				q.KeyMarker = e.name
			}
		}
		want := modelUploads(all, q.Prefix, q.Delimiter, q.KeyMarker, q.UploadMarker)
		checkUploadPages(t, x, q, want)
	})
}

func checkUploadPages(t *rapid.T, x *index.Index, q index.UploadQuery, want []entry) {
	for {
		page, err := x.Uploads(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := merge(nil, page.Uploads, page.Prefixes)
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
		q.KeyMarker, q.UploadMarker = page.NextKey, page.NextUpload
	}
}
