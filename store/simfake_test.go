package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"larder/fault"
	"larder/store"
	"larder/store/index"
)

// TestSimIndexIsLikeSQLite gives the simulated index and the real one the same
// transactions and asks both the same questions: what the simulation proves is
// worth no more than that they agree.
func TestSimIndexIsLikeSQLite(t *testing.T) {
	t.Parallel()
	real, err := store.OpenSQLView(t.Context(), index.Config{Path: filepath.Join(t.TempDir(), "index.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	fake := newSimIndex().view()
	dice := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		commands := make([]func(store.ViewTx) string, 1+dice.IntN(6))
		for i := range commands {
			commands[i] = drawChange(dice)
		}
		commit := dice.IntN(5) > 0
		a, b := runTx(t, real, commands, commit, n), runTx(t, fake, commands, commit, n)
		if a != b {
			t.Fatalf("transaction %d: SQLite says %s, the simulated index %s", n, a, b)
		}
		if a, b := readAll(real), readAll(fake); a != b {
			t.Fatalf("after transaction %d SQLite has\n%s\nthe simulated index\n%s", n, a, b)
		}
	}
}

// runTx runs one transaction and tells what all of it answered.
func runTx(t *testing.T, v store.View, commands []func(store.ViewTx) string, commit bool, n int) (answers string) {
	t.Helper()
	tx, err := v.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		answers += c(tx) + "; "
	}
	if !commit {
		tx.Rollback()
		return answers
	}
	tx.SetApplied(index.Position{Sequence: uint64(n)})
	if err := tx.Commit(); err != nil {
		answers += "refused"
	}
	return answers
}

// drawChange is a change of a small index and what it answers.
func drawChange(dice *rand.Rand) func(store.ViewTx) string {
	id, key, n := 1+dice.Uint64N(3), fmt.Sprint("k", dice.IntN(3)), int64(dice.IntN(5)-2)
	upload := fmt.Sprint("u", id)
	code := func(name string, err error) string {
		return fmt.Sprint(name, " ", fault.CodeOf(err))
	}
	kinds := []func(tx store.ViewTx) string{
		func(tx store.ViewTx) string {
			return code("PutBucket", tx.PutBucket(index.Bucket{ID: id, Name: fmt.Sprint("b", n)}))
		},
		func(tx store.ViewTx) string { return code("DeleteBucket", tx.DeleteBucket(id)) },
		func(tx store.ViewTx) string { return code("AddBucket", tx.AddBucket(id, n, n, n)) },
		func(tx store.ViewTx) string {
			return code("PutRow", tx.PutRow(index.Row{Bucket: id, Key: key, Sequence: id, Size: n, ETag: "e", Meta: []byte(key)}))
		},
		func(tx store.ViewTx) string { return code("DeleteRow", tx.DeleteRow(id, key)) },
		func(tx store.ViewTx) string {
			return code("PutBody", tx.PutBody(index.Body{Sequence: id, Segment: 1, Offset: n, Blob: key + upload, Refs: 1, Current: n > 0}))
		},
		func(tx store.ViewTx) string {
			refs, b, err := tx.AddRef(id, n, n < -1)
			return code(fmt.Sprint("AddRef", refs, b), err)
		},
		func(tx store.ViewTx) string { return code("Witness", tx.PutBody(index.Witness(id))) },
		func(tx store.ViewTx) string { return code("DropWitness", tx.DropWitness(id)) },
		func(tx store.ViewTx) string { return code("DeleteBody", tx.DeleteBody(id)) },
		func(tx store.ViewTx) string {
			return code("PutUpload", tx.PutUpload(index.Upload{ID: upload, Bucket: id, Key: key, Meta: []byte(key)}))
		},
		func(tx store.ViewTx) string { return code("DeleteUpload", tx.DeleteUpload(upload)) },
		func(tx store.ViewTx) string {
			return code("PutPart", tx.PutPart(index.Part{Upload: upload, Number: int(n + 3), Sequence: id, Meta: []byte(key)}))
		},
		func(tx store.ViewTx) string { return code("DeleteParts", tx.DeleteParts(upload)) },
		func(tx store.ViewTx) string {
			row, found, err := tx.Row(id, key)
			return code(fmt.Sprintf("Row %+v %v", row, found), err)
		},
		func(tx store.ViewTx) string {
			parts, err := tx.Parts(upload, 1, 2)
			if err != nil {
				parts = nil
			}
			return code(fmt.Sprintf("Parts %+v", parts), err)
		},
	}
	return kinds[dice.IntN(len(kinds))]
}

// readAll asks for everything.
func readAll(v store.View) (text string) {
	say := func(answers ...any) {
		for _, a := range answers {
			if r := reflect.ValueOf(a); a != nil && r.Kind() == reflect.Slice && r.Len() == 0 {
				a = "none"
			}
			text += fmt.Sprintf("%+v ", a)
		}
		text += "\n"
	}
	buckets, err := v.Buckets()
	say(buckets, err, v.Applied())
	for id := range uint64(4) {
		upload := fmt.Sprint("u", id)
		for k := range 3 {
			key := fmt.Sprint("k", k)
			row, found, err := v.Row(id, key)
			say(row, found, err)
			row, body, found, err := v.Current(id, key)
			say(row, body, found, fault.CodeOf(err))
			named, err := v.HasBlob(key + upload)
			say(named, err)
		}
		body, found, err := v.Body(id)
		say(body, found, err)
		u, found, err := v.Upload(upload)
		say(u, found, err)
		parts, err := v.Parts(upload, 0, 10)
		if err != nil {
			parts = nil
		}
		say(parts, fault.CodeOf(err))
		page, err := v.List(index.ListQuery{Bucket: id, Prefix: "k", Max: 2})
		say(page.Rows, page.Truncated, page.Next, err)
		uploads, err := v.Uploads(index.UploadQuery{Bucket: id, Max: 10})
		say(uploads.Uploads, err)
	}
	if err := v.Verify(context.Background()); err != nil {
		say("counters do not fit")
	}
	return text
}
