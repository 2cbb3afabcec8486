package index_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"larder/fault"
	"larder/store/index"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// alter runs SQL on the database behind the index's back.
func alter(tb testing.TB, path, sql string) {
	tb.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(tb, err)
	defer db.Close()
	must(tb, sqlitex.ExecuteTransient(db, sql, nil))
}

// TestRowsAltered changes every column of every table once, and expects the
// next read of the row to notice.
func TestRowsAltered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		table   string
		columns map[string]string // column and its new value
		read    func(x *index.Index) error
	}{
		{"objects", map[string]string{"key": "x'41'", "sequence": "6", "size": "11", "modified": "0", "etag": "'x'", "sum": "1", "meta": "x'00'"},
			func(x *index.Index) error { _, err := x.List(index.ListQuery{Bucket: 1, Max: 5}); return err }},
		{"objects", map[string]string{"sequence": "6", "size": "11", "modified": "0", "etag": "'x'", "sum": "1", "meta": "x''"},
			func(x *index.Index) error { _, _, err := x.Row(1, someRow.Key); return err }},
		{"objects", map[string]string{"bucket": "3"},
			func(x *index.Index) error { _, err := x.List(index.ListQuery{Bucket: 3, Max: 5}); return err }},
		{"bodies", map[string]string{"segment": "9", "offset": "9", "length": "9", "body_offset": "9", "body_length": "9", "refs": "9", "blob": "'9'", "sum": "9"},
			func(x *index.Index) error { _, _, err := x.Body(5); return err }},
		{"buckets", map[string]string{"id": "9", "name": "'x'", "created": "9", "objects": "9", "bytes": "9", "uploads": "9", "meta": "x'09'", "sum": "9"},
			func(x *index.Index) error { _, err := x.Buckets(); return err }},
		{"uploads", map[string]string{"key": "x'00'", "created": "9", "sequence": "9", "sum": "9", "meta": "x'09'"},
			func(x *index.Index) error { _, _, err := x.Upload("u1"); return err }},
		{"uploads", map[string]string{"id": "'u2'", "key": "x'00'", "created": "9", "sequence": "9", "sum": "9", "meta": "x'09'"},
			func(x *index.Index) error { _, err := x.Uploads(index.UploadQuery{Bucket: 1, Max: 5}); return err }},
		{"parts", map[string]string{"number": "4", "sequence": "9", "size": "9", "modified": "99", "etag": "'9'", "sum": "9", "meta": "x'09'"},
			func(x *index.Index) error { _, err := x.Parts("u1", 0, 9); return err }},
		{"segments", map[string]string{"number": "number + 5", "sum": "9"},
			func(x *index.Index) error { _, err := x.Segments(); return err }},
		{"state", map[string]string{"format": "0", "store": "zeroblob(16)", "sequence": "9", "segment": "9", "offset": "9", "sum": "9"},
			func(x *index.Index) error { return x.Verify(context.Background()) }},
	} {
		for column, value := range c.columns {
			t.Run(c.table+"."+column, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "index.db")
				x := open(t, path)
				tx := begin(t, x)
				putSome(t, tx)
				must(t, tx.Commit())
				must(t, c.read(x))
				alter(t, path, fmt.Sprintf("UPDATE %s SET %s = %s", c.table, column, value))
				wantCode(t, c.read(x), fault.Corrupt)
				wantCode(t, x.Verify(t.Context()), fault.Corrupt)
				if !x.Damaged() {
					t.Error("damage is forgotten")
				}
			})
		}
	}
}

// TestVerifyCounts finds counters and rows that do not fit, although each row
// is right.
func TestVerifyCounts(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"object gone": "DELETE FROM objects", "upload gone": "DELETE FROM uploads", "bucket gone": "DELETE FROM buckets",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "index.db")
			x := open(t, path)
			tx := begin(t, x)
			putSome(t, tx)
			must(t, tx.Commit())
			alter(t, path, sql)
			wantCode(t, x.Verify(t.Context()), fault.Corrupt)
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, open(t, filepath.Join(t.TempDir(), "index.db")).Verify(ctx), fault.Canceled)
	})
}

// TestIdentity opens files that are somebody else's, or look like it.
func TestIdentity(t *testing.T) {
	t.Parallel()
	other := [16]byte{9}
	for _, c := range []struct {
		name, sql string
		id        [16]byte
		want      fault.Code
	}{
		{"ours", "", storeID, fault.OK},
		{"another store", "", other, fault.ForeignStore},
		{"newer format", "PRAGMA user_version = 99; DROP TABLE state", storeID, fault.NewerFormat},
		{"another program", "PRAGMA application_id = 5; DROP TABLE state", storeID, fault.ForeignStore},
		{"no program", "PRAGMA application_id = 0; PRAGMA user_version = 0; DROP TABLE state", storeID, fault.ForeignStore},
		{"damaged application id", "PRAGMA application_id = 5", storeID, fault.Corrupt},
		{"damaged version", "PRAGMA user_version = 99", storeID, fault.Corrupt},
		{"version 0", "PRAGMA user_version = 0", storeID, fault.Corrupt},
		{"missing table", "DROP TABLE parts", storeID, fault.Corrupt},
		{"missing index", "DROP INDEX uploads_id", storeID, fault.Corrupt},
		{"more than there should be", "CREATE TABLE more (a)", storeID, fault.Corrupt},
		{"no state", "DELETE FROM state", storeID, fault.Corrupt},
		{"damaged state", "UPDATE state SET sequence = 7", storeID, fault.Corrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := somewhereFilled(t)
			db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
			must(t, err)
			must(t, sqlitex.ExecuteScript(db, c.sql, nil))
			must(t, db.Close())
			x, err := openAs(path, c.id)
			wantCode(t, err, c.want)
			if c.want != fault.OK && c.want != fault.Corrupt && fault.HintOf(err) == "" {
				t.Error("nobody says what to do")
			}
			if x != nil {
				must(t, x.Close())
			}
		})
	}
}

// somewhereFilled returns the path of a closed database with some hundred rows.
func somewhereFilled(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "index.db")
	x, err := openAs(path, storeID)
	must(tb, err)
	fill(tb, x, 300)
	must(tb, x.Close())
	return path
}

// TestTruncated cuts the file at every page and in between: the damage is
// found at Open. A file of no bytes is a new index.
func TestTruncated(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(somewhereFilled(t))
	must(t, err)
	for size := 0; size < len(whole); size += 2048 {
		path := filepath.Join(t.TempDir(), "index.db")
		must(t, os.WriteFile(path, whole[:size], 0o600))
		x, err := openAs(path, storeID)
		if size > 0 {
			if fault.CodeOf(err) != fault.Corrupt {
				t.Fatalf("cut to %d of %d bytes: %v", size, len(whole), err)
			}
			continue
		}
		must(t, err)
		if x.Applied() != (index.Position{}) {
			t.Error("an empty file is a new index")
		}
		must(t, x.Close())
	}
}

// TestNotADatabase opens what never was one.
func TestNotADatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	must(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600))
	_, err := openAs(path, storeID)
	wantCode(t, err, fault.Corrupt)
	_, err = openAs(t.TempDir(), storeID)
	wantCode(t, err, fault.Internal)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = index.Open(ctx, index.Config{Path: filepath.Join(t.TempDir(), "index.db")})
	wantCode(t, err, fault.Canceled)
}

// TestFlippedBytes damages one byte or one page at a time. Whatever is hit, no
// read may return a wrong row: it is right, missing or an error; and unless
// nothing that counts was hit, Open or Verify says so.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(somewhereFilled(t))
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	const tries = 60
	for n := range tries {
		damaged := bytes.Clone(whole)
		if at := rng.IntN(len(damaged)); n%5 == 0 {
			clear(damaged[at&^4095 : at&^4095+4096])
		} else {
			damaged[at] ^= byte(1 + rng.IntN(255))
		}
		if noticed(t, damaged) {
			found++
		}
	}
	if found < tries/2 { // the rest hit free space between the rows
		t.Errorf("only %d of %d damages were noticed", found, tries)
	}
}

// noticed opens a damaged database, reads all of it and tells whether the
// damage was found.
func noticed(t *testing.T, file []byte) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.db")
	must(t, os.WriteFile(path, file, 0o600))
	x, err := openAs(path, storeID)
	if err != nil {
		wantCode(t, err, fault.Corrupt)
		return true
	}
	defer x.Close()
	for i := range 300 {
		row, found, err := x.Row(2, benchKey(i))
		if err == nil && found && !reflect.DeepEqual(row, benchRow(i)) {
			t.Errorf("a damaged row was returned: %+v", row)
		}
		body, found, err := x.Body(uint64(i + 10))
		if err == nil && found && body != benchBody(i) {
			t.Errorf("a damaged body was returned: %+v", body)
		}
	}
	err = x.Verify(t.Context())
	if err != nil {
		wantCode(t, err, fault.Corrupt)
	}
	return err != nil
}

// TestDeleteAndBuildAnew is what the store does after fault.Corrupt.
func TestDeleteAndBuildAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x, err := openAs(path, storeID)
	must(t, err)
	fill(t, x, 50)
	tx := begin(t, x)
	must(t, putOne(tx, 50))
	must(t, tx.Commit())
	log, err := os.ReadFile(path + "-wal")
	must(t, err)
	must(t, x.Close())
	must(t, os.WriteFile(path+"-wal", log, 0o600)) // as a crash would leave it
	for i, name := range index.Files(path) {
		if err := os.Remove(name); i == 0 {
			must(t, err)
			y := open(t, path) // a crash after the first file: the old log must not come back
			if _, found, err := y.Row(2, benchKey(50)); found || err != nil {
				t.Error(found, err)
			}
			must(t, y.Close())
		}
	}
	x = open(t, path)
	if x.Applied() != (index.Position{}) {
		t.Errorf("applied is %+v", x.Applied())
	}
	must(t, x.Verify(t.Context()))
}
