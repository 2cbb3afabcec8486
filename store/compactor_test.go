package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/store"
	"larder/store/journal"
)

// openManual opens a store of tiny segments that are compacted only when a test
// says so.
func openManual(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 4 << 10, InlineLimit: 600, CompactRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	s.AllowSmallParts()
	t.Cleanup(func() { s.Close() })
	return s
}

// compactAll rewrites everything sealed in runs of up to n segments, and waits
// until the inputs are gone.
func compactAll(t testing.TB, s *store.Store, n int) {
	t.Helper()
	if err := s.CompactRuns(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	s.Settle()
}

// rows is the whole index as text, row by row, but for what compaction may make
// different: how far back a key's history goes.
func rows(t testing.TB, dir string) string {
	t.Helper()
	db, err := sqlite.OpenConn(filepath.Join(dir, "index.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, query := range []string{
		`SELECT 'state', sequence, segment, offset, '' FROM state`,
		`SELECT 'segment', number, '', '', '' FROM segments ORDER BY number`,
		`SELECT 'bucket', id || ' ' || name, created, objects || ' ' || bytes || ' ' || uploads, hex(meta) FROM buckets ORDER BY id`,
		`SELECT 'body', sequence || ' ' || refs, segment || ' ' || offset || ' ' || length, body_offset || ' ' || body_length, blob FROM bodies ORDER BY sequence`,
		`SELECT 'upload', bucket || ' ' || hex(key) || ' ' || id, created, sequence, hex(meta) FROM uploads ORDER BY id`,
		`SELECT 'part', upload || ' ' || number, sequence || ' ' || size, modified || etag, hex(meta) FROM parts ORDER BY upload, number`,
		`SELECT 'object', bucket || ' ' || hex(key), sequence || ' ' || size, modified || etag, meta FROM objects ORDER BY bucket, key`,
	} {
		err := sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
			last := row.ColumnText(4)
			if row.ColumnText(0) == "object" {
				last = timeless(t, row)
			}
			fmt.Fprintln(&b, row.ColumnText(0), row.ColumnText(1), row.ColumnText(2), row.ColumnText(3), last)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// timeless is the Meta of an object's row without Since.
func timeless(t testing.TB, row *sqlite.Stmt) string {
	t.Helper()
	meta := make([]byte, row.ColumnLen(4))
	row.ColumnBytes(4, meta)
	r, err := journal.DecodeMeta(meta)
	if err != nil {
		t.Fatal(err)
	}
	if r.Since == 0 {
		t.Errorf("a row does not say since when its key stands: %+v", r)
	}
	r.Since = 0
	return fmt.Sprintf("%x", r.AppendMeta(nil))
}

// TestCompactionChangesNothingThatIsRead goes through every kind of history,
// compacts everything twice, and expects of the result: the same answers, right
// references, an index made from scratch equal row by row, also when the
// segments of before lie beside the new ones, and with the index of before.
func TestCompactionChangesNothingThatIsRead(t *testing.T) {
	t.Parallel()
	for name, history := range histories() {
		for _, run := range []int{2, 1000} {
			t.Run(fmt.Sprint(name, "/", run), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := openManual(t, dir)
				history(t, s)
				fillSegment(t, s)
				want := state(t, s)
				s.Settle()
				before := crash(t, dir)
				for range 2 {
					compactAll(t, s, run)
					if got := state(t, s); got != want {
						t.Fatalf("now\n%s\nwant\n%s", got, want)
					}
				}
				check(t, s)
				sameWhenMadeAgain(t, dir, want)
				sameBesideOld(t, before, dir, want)
			})
		}
	}
}

// TestSegmentsMayBeCompactedInAnyOrder compacts one segment after the other, the
// newest first and in random order, and makes the index again in between: there
// are always segments in which the dead still stand as they did when they lived.
func TestSegmentsMayBeCompactedInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, history := range histories() {
		for _, seed := range []uint64{0, 7} {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := openManual(t, dir)
				history(t, s)
				fillSegment(t, s)
				want := state(t, s)
				order := rand.New(rand.NewPCG(seed, 2)).Perm(len(s.Sealed()))
				if seed == 0 {
					slices.Sort(order)
					slices.Reverse(order)
				}
				for i, at := range order {
					if err := s.CompactAt(t.Context(), at); err != nil {
						t.Fatal(err)
					}
					if i%4 == 1 {
						s.Settle()
						sameWhenMadeAgain(t, dir, want)
					}
					if t.Failed() {
						t.Fatalf("after the %d-th of %v", i, order)
					}
				}
			})
		}
	}
}

// fillSegment makes sure that what was done lies in sealed segments.
func fillSegment(t testing.TB, s *store.Store) {
	t.Helper()
	makeBucket(t, s, "filler")
	for i := range 10 {
		put(t, s, "filler", fmt.Sprint(i), noise(uint64(i), 590))
	}
}

// sameWhenMadeAgain makes the index of a copy again and compares the rows.
func sameWhenMadeAgain(t *testing.T, dir, want string) {
	t.Helper()
	again := crash(t, dir)
	removeIndex(t, again)
	s := openManual(t, again)
	s.Settle()
	if got := state(t, s); got != want {
		t.Errorf("made again\n%s\nwant\n%s", got, want)
	}
	checkReferences(t, s)
	if live, anew := rows(t, dir), rows(t, again); live != anew {
		t.Errorf("the index is\n%s\nmade again it is\n%s", live, anew)
	}
	s.Close()
}

// sameBesideOld puts the segments of before beside those of now: with the index
// of now, without one, and with the index of before, also without the old
// segments.
func sameBesideOld(t *testing.T, before, now, want string) {
	t.Helper()
	for _, c := range []struct {
		name                 string
		segments, index, old bool
	}{
		{"old segments, index of now", true, true, false},
		{"old segments, no index", true, false, false},
		{"old segments, old index", true, true, true},
		{"old index", false, true, true},
	} {
		dir := crash(t, now)
		if c.segments {
			putBack(t, filepath.Join(before, "segments"), filepath.Join(dir, "segments"))
		}
		if c.old || !c.index {
			removeIndex(t, dir)
		}
		if c.old {
			for _, suffix := range []string{"", "-wal"} {
				takeFile(t, filepath.Join(before, "index.db"+suffix), filepath.Join(dir, "index.db"+suffix))
			}
		}
		s := openManual(t, dir)
		s.Settle()
		if got := state(t, s); got != want {
			t.Errorf("%s: it is\n%s\nwant\n%s", c.name, got, want)
		}
		check(t, s)
		s.Close()
	}
}

// putBack copies files that are not there (any more).
func putBack(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(to, e.Name())); err != nil {
			takeFile(t, filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
}

func takeFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
