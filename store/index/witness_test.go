package index_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/fault"
	"larder/store/index"
)

// TestCurrentNeedsItsWitness asks for versions whose bodies say that they stand,
// or do not, or are not there.
func TestCurrentNeedsItsWitness(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	kept := index.Body{Sequence: 7, Segment: 1, Length: 64, BodyLength: 3, Refs: 1}
	tx := begin(t, x)
	for _, b := range []index.Body{someBody, index.Witness(6), kept} {
		must(t, tx.PutBody(b))
	}
	keys := map[string]uint64{"own": 5, "empty": 6, "replaced": 7, "lost": 8}
	for key, sequence := range keys {
		must(t, tx.PutRow(index.Row{Bucket: 1, Key: key, Sequence: sequence}))
	}
	must(t, tx.Commit())
	before := x.Runs()
	for key, want := range map[string]fault.Code{"own": fault.OK, "empty": fault.OK, "replaced": fault.Corrupt, "lost": fault.Corrupt, "never": fault.OK} {
		row, body, found, err := x.Current(1, key)
		if fault.CodeOf(err) != want || found != (want == fault.OK && key != "never") {
			t.Errorf("%s: found %v, %v", key, found, err)
		}
		if found && (row.Sequence != keys[key] || body.Sequence != keys[key] || !body.Current) {
			t.Errorf("%s: %+v, %+v", key, row, body)
		}
	}
	if n := x.Runs() - before; n != 5 {
		t.Errorf("5 look-ups ran %d statements", n)
	}
	if !x.Damaged() {
		t.Error("the damage was not noted")
	}
}

// TestWitnessesStay goes through what may happen to a body while its version
// stands, and to a witness.
func TestWitnessesStay(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	tx := begin(t, x)
	must(t, tx.PutBody(someBody))
	must(t, tx.PutBody(index.Witness(6)))
	if moved, err := tx.MoveBody(6, 9, 64, 64, 32); moved || err != nil {
		t.Errorf("a witness was moved: %v, %v", moved, err)
	}
	_, err := tx.MoveBody(someBody.Sequence, 9, 64, 64, 32)
	must(t, err)
	_, b, err := tx.AddRef(someBody.Sequence, 1, false)
	must(t, err)
	if !b.Current || b.Refs != 2 {
		t.Errorf("one more reference: %+v", b)
	}
	_, b, err = tx.AddRef(someBody.Sequence, -1, true)
	must(t, err)
	if b.Current || b.Refs != 1 {
		t.Errorf("its version ended: %+v", b)
	}
	must(t, tx.DropWitness(6))
	if _, found, err := tx.Body(6); found || err != nil {
		t.Errorf("a witness is left: %v, %v", found, err)
	}
	must(t, tx.Commit())
}

// TestWitnessesOfBefore opens a database of format 2 that has a version and a
// part which brought no bytes: from now on they have witnesses.
func TestWitnessesOfBefore(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "index.db")
	x := open(t, made)
	tx := begin(t, x)
	must(t, tx.PutRow(index.Row{Bucket: 1, Key: "empty", Sequence: 9}))
	must(t, tx.PutPart(index.Part{Upload: "u1", Number: 4, Sequence: 10}))
	must(t, tx.Commit())
	script, err := os.ReadFile("testdata/format-2.sql")
	must(t, err)
	for line := range strings.Lines(dump(t, made)) {
		if strings.HasPrefix(line, "INSERT INTO objects") || strings.HasPrefix(line, "INSERT INTO parts") {
			script = append(script, line...)
		}
	}
	path := filepath.Join(t.TempDir(), "index.db")
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	must(t, err)
	must(t, sqlitex.ExecuteScript(db, string(script), nil))
	must(t, db.Close())
	x = open(t, path)
	for key, want := range map[string]index.Body{"empty": index.Witness(9), someRow.Key: someBody} {
		if _, body, found, err := x.Current(1, key); body != want || !found || err != nil {
			t.Errorf("%s: %+v, %v, %v", key, body, found, err)
		}
	}
	if parts, err := x.Parts("u1", 0, 10); len(parts) != 2 || err != nil {
		t.Errorf("parts: %+v, %v", parts, err)
	}
}
