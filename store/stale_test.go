package store_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/fault"
	"larder/store"
)

// staleStore is a closed store in which everything was changed once, with its
// index of before, and what it holds.
type staleStore struct {
	dir    string
	before string // index.db when it held the earlier versions
	now    map[string]store.Info
	bodies map[string][]byte
	upload store.Upload // in progress, its parts were replaced
	parts  []store.Part
	whole  []byte // of the parts
}

func fillStale(t *testing.T) *staleStore {
	t.Helper()
	f := &staleStore{dir: t.TempDir(), now: map[string]store.Info{}, bodies: map[string][]byte{}}
	s := openSmall(t, f.dir)
	makeBucket(t, s, "bucket")
	for key, n := range map[string]int{"one": 50, "two": 300, "three": 300, "over": 40, "blob": 400, "meta": 200, "gone-over": 200, "gone-blob": 400, "back": 30} {
		put(t, s, "bucket", key, noise(uint64(n), n))
	}
	for _, key := range []string{"empty", "gone-empty", "filled"} {
		put(t, s, "bucket", key, nil)
	}
	for to, from := range map[string]string{"copied": "two", "keeps-over": "over", "keeps-blob": "blob", "gone-copy": "one", "keeps-gone": "gone-over", "keeps-meta": "meta"} {
		copyOver(t, s, to, from, nil)
	}
	upload(t, s, "bucket", "multi", noise(1, 70), noise(2, 80))
	upload(t, s, "bucket", "gone-multi", noise(1, 70))
	f.upload = startUpload(t, s, "bucket", "parts")
	f.changeParts(t, s)
	f.stop(t, s)
	f.before = filepath.Join(t.TempDir(), "index.db")
	if err := copyFile(filepath.Join(f.dir, "index.db"), f.before); err != nil {
		t.Fatal(err)
	}
	s = openSmall(t, f.dir)
	f.change(t, s)
	for _, info := range list(t, s, "bucket") {
		head, err := s.Head(t.Context(), "bucket", info.Key)
		if err != nil {
			t.Fatal(err)
		}
		f.now[info.Key], f.bodies[info.Key] = head, read(t, s, "bucket", info.Key)
	}
	f.stop(t, s)
	return f
}

// change makes a later version of everything, and deletes what is called so.
func (f *staleStore) change(t *testing.T, s *store.Store) {
	t.Helper()
	second := &store.Meta{User: map[string]string{"version": "2"}}
	if _, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "empty", Body: bytes.NewReader(nil), Meta: *second}); err != nil {
		t.Fatal(err)
	}
	copyOver(t, s, "copied", "three", nil)
	copyOver(t, s, "meta", "meta", second)
	put(t, s, "bucket", "over", noise(7, 45))
	put(t, s, "bucket", "blob", noise(8, 500))
	put(t, s, "bucket", "filled", noise(9, 20))
	upload(t, s, "bucket", "multi", noise(3, 90))
	for key := range f.gone() {
		remove(t, s, "bucket", key)
	}
	remove(t, s, "bucket", "back")
	put(t, s, "bucket", "back", nil)
	f.changeParts(t, s)
	if err := s.SetBucketSettings(t.Context(), "bucket", store.BucketSettings{UnverifiedReads: true}); err != nil {
		t.Fatal(err)
	}
}

func (f *staleStore) gone() map[string]bool {
	return map[string]bool{"gone-empty": true, "gone-copy": true, "gone-over": true, "gone-blob": true, "gone-multi": true}
}

// changeParts stores the same parts once more: a repeated request does so.
func (f *staleStore) changeParts(t *testing.T, s *store.Store) {
	t.Helper()
	own := noise(11, 150)
	f.parts = []store.Part{
		putPart(t, s, f.upload, 1, own), copyPart(t, s, f.upload, 2, "one", 10, 30), putPart(t, s, f.upload, 3, nil),
	}
	f.whole = append(bytes.Clone(own), noise(50, 50)[10:40]...)
}

func (f *staleStore) stop(t *testing.T, s *store.Store) {
	t.Helper()
	check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyOver(t *testing.T, s *store.Store, key, source string, meta *store.Meta) {
	t.Helper()
	_, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: source, Bucket: "bucket", Key: key, Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
}

// copied is a copy of the stopped store, whose index the caller alters.
func (f *staleStore) copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAStalePageNeverGivesAnEarlierVersion puts one page of the index back as it
// was before everything was changed, each in turn.
func TestAStalePageNeverGivesAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := fillStale(t)
	old, err := os.ReadFile(f.before)
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(filepath.Join(f.dir, "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	n := 0
	for at := 0; at < min(len(old), len(now)); at += page {
		if bytes.Equal(old[at:at+page], now[at:at+page]) {
			continue
		}
		n++
		dir := f.copied(t)
		stale := bytes.Clone(now)
		copy(stale[at:at+page], old[at:at+page])
		if err := os.WriteFile(filepath.Join(dir, "index.db"), stale, 0o600); err != nil {
			t.Fatal(err)
		}
		f.neverEarlier(t, fmt.Sprint("page ", at/page+1), dir)
	}
	if n < 5 {
		t.Errorf("only %d pages were changed", n)
	}
}

// staleTables are the tables with the columns that name a row.
var staleTables = map[string]string{
	"objects": "bucket, key", "bodies": "sequence", "uploads": "id", "parts": "upload, number", "buckets": "id", "state": "id",
}

// TestAStaleRowNeverGivesAnEarlierVersion puts one row back as it was: an earlier
// one, one that was removed, or none in the place of one that was added.
func TestAStaleRowNeverGivesAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := fillStale(t)
	total := 0
	for _, table := range slices.Sorted(maps.Keys(staleTables)) {
		names := f.changedRows(t, table)
		for _, name := range names {
			dir := f.copied(t)
			f.putRowBack(t, dir, table, name)
			f.neverEarlier(t, table+" "+name, dir)
		}
		total += len(names)
		if len(names) == 0 && table != "uploads" {
			t.Errorf("no row of %s was changed", table)
		}
	}
	t.Logf("%d rows", total)
}

// changedRows are the conditions that name the rows of a table which differ.
func (f *staleStore) changedRows(t *testing.T, table string) (names []string) {
	t.Helper()
	f.attach(t, f.dir, func(db *sqlite.Conn) error {
		keys := strings.Split(staleTables[table], ", ")
		for i, k := range keys {
			keys[i] = "'" + k + " = '||quote(" + k + ")"
		}
		name := strings.Join(keys, "||' AND '||")
		query := fmt.Sprintf(`SELECT %[1]s FROM (SELECT * FROM old.%[2]s EXCEPT SELECT * FROM main.%[2]s)
			UNION SELECT %[1]s FROM (SELECT * FROM main.%[2]s EXCEPT SELECT * FROM old.%[2]s)`, name, table)
		return sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
			names = append(names, row.ColumnText(0))
			return nil
		}})
	})
	return names
}

func (f *staleStore) putRowBack(t *testing.T, dir, table, name string) {
	t.Helper()
	f.attach(t, dir, func(db *sqlite.Conn) error {
		return sqlitex.ExecuteScript(db, fmt.Sprintf(`DELETE FROM main.%[1]s WHERE %[2]s;
			INSERT INTO main.%[1]s SELECT * FROM old.%[1]s WHERE %[2]s;`, table, name), nil)
	})
}

// attach opens the index of a folder together with that of before.
func (f *staleStore) attach(t *testing.T, dir string, do func(*sqlite.Conn) error) {
	t.Helper()
	db, err := sqlite.OpenConn(filepath.Join(dir, "index.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.ExecuteTransient(db, `ATTACH '`+f.before+`' AS old`, nil); err != nil {
		t.Fatal(err)
	}
	if err := do(db); err != nil {
		t.Fatal(err)
	}
}

// neverEarlier asks a store whose index is partly of before for everything, also
// by the changes that read it: what it answers is right, or an error. After a
// restart all is there.
func (f *staleStore) neverEarlier(t *testing.T, what, dir string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 64 << 10, InlineLimit: 64})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	s.AllowSmallParts()
	defer s.Close()
	if wrong := f.readAll(s); wrong != "" {
		t.Errorf("%s: %s", what, wrong)
	}
	done := f.completeParts(s)
	f.replaceAll(s)
	if err := s.Close(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	removeIndex(t, dir)
	s = openSmall(t, dir)
	if got, err := tryRead(s, "bucket", "parts"); done && (err != nil || !bytes.Equal(got, f.whole)) {
		t.Errorf("%s: a completed upload is read as %d bytes, %v", what, len(got), err)
	}
	for _, key := range []string{"one", "two", "three", "keeps-over", "keeps-blob", "keeps-gone", "keeps-meta"} {
		if got, err := tryRead(s, "bucket", key); err != nil || !bytes.Equal(got, f.bodies[key]) {
			t.Errorf("%s: afterwards %s is read as %d bytes, %v", what, key, len(got), err)
		}
	}
}

// readAll returns what is answered wrongly.
func (f *staleStore) readAll(s *store.Store) string {
	ctx := context.Background()
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(f.now)), slices.Sorted(maps.Keys(f.gone()))) {
		want, there := f.now[key]
		if head, err := s.Head(ctx, "bucket", key); err == nil && (!there || head.Sequence != want.Sequence) {
			return fmt.Sprintf("Head of %s is that of version %d, want %d", key, head.Sequence, want.Sequence)
		}
		if got, err := tryRead(s, "bucket", key); err == nil && (!there || !bytes.Equal(got, f.bodies[key])) {
			return fmt.Sprintf("%s is read as %d bytes, want %d", key, len(got), len(f.bodies[key]))
		}
		info, err := s.Copy(ctx, store.CopyRequest{SourceBucket: "bucket", SourceKey: key, Bucket: "bucket", Key: "to"})
		if err == nil && (!there || info.ETag != want.ETag) {
			return fmt.Sprintf("a copy of %s has the ETag %s, want %s", key, info.ETag, want.ETag)
		}
	}
	return ""
}

// completeParts tells whether the upload could be completed.
func (f *staleStore) completeParts(s *store.Store) bool {
	req := store.CompleteRequest{Bucket: "bucket", Key: "parts", UploadID: f.upload.ID, Size: -1}
	for _, p := range f.parts {
		req.Parts = append(req.Parts, store.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	_, err := s.CompleteUpload(context.Background(), req)
	return err == nil
}

// replaceAll stores all again that shares bodies with what the test reads
// afterwards. A store may refuse it.
func (f *staleStore) replaceAll(s *store.Store) {
	for _, key := range []string{"copied", "meta", "gone-copy", "over", "blob", "empty", "multi", "gone-multi"} {
		_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: key, Body: strings.NewReader("new"), Size: 3})
		if fault.CodeOf(err) == fault.ReadOnly {
			return
		}
	}
}
