package scrubber_test

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"larder/store"
	"larder/store/index"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// edit changes the index of a closed store by its own writer, so that every row
// has the checksum that it must have, and says something wrong.
func (f *folder) edit(change func(x *index.Index, tx *index.Tx)) {
	f.t.Helper()
	var id [16]byte
	_, text, _ := strings.Cut(string(f.read("VERSION")), "store ")
	if _, err := hex.Decode(id[:], []byte(strings.TrimSpace(text))); err != nil {
		f.t.Fatal(err)
	}
	x, err := index.Open(f.t.Context(), index.Config{Path: filepath.Join(f.dir, "index.db"), StoreID: id})
	if err != nil {
		f.t.Fatal(err)
	}
	tx, err := x.Begin()
	if err != nil {
		f.t.Fatal(err)
	}
	change(x, tx)
	if err := tx.Commit(); err != nil {
		f.t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		f.t.Fatal(err)
	}
}

// sql changes the index of a closed store behind its back.
func (f *folder) sql(query string) {
	f.t.Helper()
	db, err := sqlite.OpenConn(filepath.Join(f.dir, "index.db"), sqlite.OpenReadWrite)
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.Execute(db, query, nil); err != nil {
		f.t.Fatal(err)
	}
	if db.Changes() == 0 {
		f.t.Fatal("nothing was altered")
	}
}

// row changes the row of a key.
func row(key string, change func(*index.Row)) func(*folder) {
	return func(f *folder) {
		f.edit(func(x *index.Index, tx *index.Tx) {
			b, err := x.Buckets()
			if err != nil {
				f.t.Fatal(err)
			}
			r, found, err := x.Row(b[0].ID, key)
			if err != nil || !found {
				f.t.Fatal(key, err)
			}
			change(&r)
			if r.Sequence == 0 {
				err = tx.DeleteRow(r.Bucket, r.Key)
			} else {
				err = tx.PutRow(r)
			}
			if err != nil {
				f.t.Fatal(err)
			}
		})
	}
}

// body changes the row of the body that the version of a key brought.
func body(key string, change func(*index.Body)) func(*folder) {
	return func(f *folder) {
		var sequence uint64
		row(key, func(r *index.Row) { sequence = r.Sequence })(f)
		f.edit(func(x *index.Index, tx *index.Tx) {
			b, found, err := x.Body(sequence)
			if err != nil || !found {
				f.t.Fatal(key, err)
			}
			change(&b)
			if err := tx.PutBody(b); err != nil {
				f.t.Fatal(err)
			}
		})
	}
}

// indexDamages are ways in which the index may be wrong. Some are healed while
// the store runs, the others by the next start.
func indexDamages() map[string]func(*folder) {
	sql := func(query string) func(*folder) { return func(f *folder) { f.sql(query) } }
	return map[string]func(*folder){
		"row without its checksum":               sql(`UPDATE objects SET size = size + 1 WHERE key = CAST('small/05' AS BLOB)`),
		"row with another ETag":                  row("small/05", func(r *index.Row) { r.ETag = "other" }),
		"row with another size":                  row("small/06", func(r *index.Row) { r.Size-- }),
		"row with other metadata":                row("large/3", func(r *index.Row) { r.Meta = nil }),
		"row removed":                            sql(`DELETE FROM objects WHERE key = CAST('small/07' AS BLOB)`),
		"row of a copy removed":                  sql(`DELETE FROM objects WHERE key = CAST('copy/small/04' AS BLOB)`),
		"row of an empty one removed":            sql(`DELETE FROM objects WHERE key = CAST('empty' AS BLOB)`),
		"row of an older record":                 row("empty", func(r *index.Row) { r.Sequence -= 20 }),
		"row of a later record":                  row("empty", func(r *index.Row) { r.Sequence++ }),
		"row of no record":                       row("empty", func(r *index.Row) { r.Sequence = 1 << 40 }),
		"row of a deleted object":                row("empty", func(r *index.Row) { r.Key, r.Sequence = "small/03", 7 }),
		"row of another key":                     row("empty", func(r *index.Row) { r.Key = "never" }),
		"body elsewhere":                         body("small/08", func(b *index.Body) { b.Offset += 8 }),
		"body of another blob":                   body("large/3", func(b *index.Body) { b.Blob = strings.Repeat("ab", 16) }),
		"body with more references":              body("small/09", func(b *index.Body) { b.Refs++ }),
		"body without its checksum":              sql(`UPDATE bodies SET refs = refs + 1 WHERE blob IS NULL`),
		"body removed":                           sql(`DELETE FROM bodies WHERE blob IS NOT NULL`),
		"body of a version said to be gone":      body("small/08", func(b *index.Body) { b.Current = false }),
		"body of an older version said to stand": replaced,
		"bodies of those without bytes removed":  sql(`DELETE FROM bodies WHERE refs = 0`),
		"body of an empty one with a place":      body("empty", func(b *index.Body) { b.Segment, b.Length = 1, 64 }),
		"upload removed":                         sql(`DELETE FROM uploads`),
		"upload without its checksum":            sql(`UPDATE uploads SET created = created + 1`),
		"part removed":                           sql(`DELETE FROM parts`),
		"part without its checksum":              sql(`UPDATE parts SET size = size + 1`),
		"bucket's counters":                      counters,
	}
}

// replaced lets bodies that only uploads refer to say that their versions stand.
func replaced(f *folder) {
	f.edit(func(x *index.Index, tx *index.Tx) {
		all, err := x.Bodies(0, 1000)
		for _, b := range all {
			if err == nil && !b.Current && b.Refs > 0 {
				b.Current = true
				err = tx.PutBody(b)
			}
		}
		if err != nil {
			f.t.Fatal(err)
		}
	})
}

func counters(f *folder) {
	f.edit(func(x *index.Index, tx *index.Tx) {
		b, err := x.Buckets()
		if err == nil {
			err = tx.AddBucket(b[0].ID, 1, 100, 0)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	})
}

// TestAWrongIndexIsFoundAndHeals alters the index in every way. One pass must
// find it, and after the next start at the latest all is as the journal says.
func TestAWrongIndexIsFoundAndHeals(t *testing.T) {
	t.Parallel()
	for name, alter := range indexDamages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			live := strings.HasPrefix(name, "body") // a start sweeps blobs that no row names
			if !live {
				alter(f)
			}
			s := open(t, f.dir)
			if live {
				alter(f)
			}
			r := pass(t, s)
			found := 0
			for _, x := range r.Findings {
				if x.Kind != store.HarmIndex {
					t.Errorf("the journal is accused: %+v", x)
				}
				found++
			}
			if found == 0 {
				t.Fatal("nothing was found")
			}
			if t.Failed() {
				return
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, f.dir)
			if r := pass(t, s); r.Damaged() {
				t.Errorf("after a restart: %+v", r.Findings)
			}
			for _, key := range []string{"small/05", "small/07", "small/08", "large/3", "empty", "copy/small/04"} {
				if _, err := tryRead(s, key); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
			if _, err := tryRead(s, "small/03"); err == nil {
				t.Error("a deleted object is back")
			}
		})
	}
}

// TestAWitnessHealsAtOnce takes what says that versions without bytes of their own
// stand, and lets one with bytes say that it does not.
func TestAWitnessHealsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := open(t, f.dir)
	f.sql(`DELETE FROM bodies WHERE refs = 0`)
	body("small/08", func(b *index.Body) { b.Current = false })(f)
	r := pass(t, s)
	if len(r.Findings) < 4 {
		t.Errorf("found only %+v", r.Findings)
	}
	for _, x := range r.Findings {
		if x.Kind != store.HarmIndex || x.Open() {
			t.Errorf("not healed: %+v", x)
		}
	}
	for _, key := range []string{"empty", "copy/small/04", "multi", "small/08"} {
		if _, err := tryRead(s, key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestLittleMemoryFindsAsMuch: where not all names can be remembered at once, the
// journal is read again for the others.
func TestLittleMemoryFindsAsMuch(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.sql(`DELETE FROM objects WHERE key IN (CAST('small/07' AS BLOB), CAST('small/12' AS BLOB), CAST('late/c' AS BLOB))`)
	row("empty", func(r *index.Row) { r.Key = "never" })(f)
	s := open(t, f.dir)
	sc := newScrubber(t, s)
	sc.Shrink(100)
	r, err := sc.Pass(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, x := range r.Findings {
		named[x.Key] = true
	}
	for _, key := range []string{"small/07", "small/12", "late/c", "never"} {
		if !named[key] {
			t.Errorf("%s is not named in %+v", key, r.Findings)
		}
	}
	sc = newScrubber(t, s)
	whole, err := sc.Pass(t.Context(), nil)
	if err != nil || r.Rows > whole.Rows || r.Rows < whole.Rows-3 || r.Records != whole.Records {
		t.Errorf("%d rows and %d records were counted, %d and %d are there: %v", r.Rows, r.Records, whole.Rows, whole.Records, err)
	}
}
