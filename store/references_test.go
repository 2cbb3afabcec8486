package store_test

import (
	"io/fs"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/store"
	"larder/store/journal"
)

// bodyState is a body as the index has it, and the references that its rows and
// parts add up to.
type bodyState struct {
	blob         string
	length, refs int64
	counted      int64
	current      bool // the version of its record stands
	stands       bool // likewise, by the row
}

// checkReferences compares the references that the index keeps with those that
// its rows and parts add up to, and the blob files with the bodies that name
// them.
func checkReferences(t reporter, s *store.Store) {
	t.Helper()
	data, blobs := s.Dirs()
	bodies := readReferences(t, data)
	named := map[string]bool{}
	for sequence, b := range bodies {
		if b.refs != b.counted || b.refs < 1 && !b.current {
			t.Errorf("body %d has %d references, its rows and parts are %d", sequence, b.refs, b.counted)
		}
		if b.current != b.stands {
			t.Errorf("body %d says %v of whether its version stands, which is %v", sequence, b.current, b.stands)
		}
		if b.blob != "" {
			named[b.blob] = true
		}
	}
	for id := range named {
		if !blobNames(t, blobs)[id] {
			t.Errorf("the blob %s is gone", id)
		}
	}
	if s.KeepsOrphans() {
		return
	}
	eventually(t, "no blob file without a name that a sweep may remove", func() bool {
		for id := range blobNames(t, blobs) {
			if !named[id] && s.Sweepable(id) {
				return false
			}
		}
		return true
	})
}

// readReferences reads all bodies and counts who refers to them, in one
// transaction.
func readReferences(t reporter, dir string) map[int64]*bodyState {
	t.Helper()
	db, err := sqlite.OpenConn(filepath.Join(dir, "index.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	end := sqlitex.Transaction(db)
	defer end(&err)
	bodies := map[int64]*bodyState{}
	err = sqlitex.Execute(db, `SELECT sequence, body_length, refs, blob, current FROM bodies`, &sqlitex.ExecOptions{
		ResultFunc: func(row *sqlite.Stmt) error {
			bodies[row.ColumnInt64(0)] = &bodyState{length: row.ColumnInt64(1), refs: row.ColumnInt64(2), blob: row.ColumnText(3), current: row.ColumnBool(4)}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`SELECT sequence, size, meta, 1 FROM objects`, `SELECT sequence, size, meta, 0 FROM parts`} {
		err = sqlitex.Execute(db, query, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
			countReferences(t, bodies, row)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return bodies
}

func countReferences(t reporter, bodies map[int64]*bodyState, row *sqlite.Stmt) {
	t.Helper()
	sequence, size := row.ColumnInt64(0), row.ColumnInt64(1)
	meta := make([]byte, row.ColumnLen(2))
	row.ColumnBytes(2, meta)
	r, err := journal.DecodeMeta(meta)
	if err != nil {
		t.Fatal(err)
	}
	own := r.Extents == nil && size > 0
	if b := bodies[sequence]; b == nil {
		t.Errorf("nothing says that version %d stands", sequence)
	} else {
		b.stands = !own || row.ColumnBool(3)
	}
	if own {
		r.Extents = []journal.Extent{{Body: uint64(sequence), Length: size}}
	}
	var total int64
	for _, e := range r.Extents {
		b := bodies[int64(e.Body)]
		if b == nil {
			t.Errorf("version %d names the body %d, which is gone", sequence, e.Body)
			continue
		}
		if e.Length <= 0 || e.Offset+e.Length > b.length {
			t.Errorf("version %d names bytes that body %d does not have: %+v", sequence, e.Body, e)
		}
		b.counted++
		total += e.Length
	}
	if total != size {
		t.Errorf("version %d has %d bytes, its extents %d", sequence, size, total)
	}
}

// blobNames lists the blob files.
func blobNames(t reporter, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(d.Name()) == 32 {
			names[d.Name()] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
