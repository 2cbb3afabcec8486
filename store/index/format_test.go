package index_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// newestFormat is the number of the last migration.
const newestFormat = 3

// TestFormats opens a database of every format there has been and expects its
// rows back. testdata/format-N.sql was written by the Larder whose newest
// format was N, and never changes.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format := 1; format <= newestFormat; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(fmt.Sprintf("testdata/format-%d.sql", format))
			must(t, err)
			path := filepath.Join(t.TempDir(), "index.db")
			db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
			must(t, err)
			must(t, sqlitex.ExecuteScript(db, string(text), nil))
			must(t, db.Close())
			x := open(t, path)
			if got := readSome(t, x); !reflect.DeepEqual(got, allSome) {
				t.Errorf("got %+v", got)
			}
			if got, err := x.Segments(); err != nil || !slices.Equal(got, []uint64{1, 2}) {
				t.Errorf("segments are %v, %v", got, err)
			}
			if x.Applied() != somewhere {
				t.Errorf("applied is %+v", x.Applied())
			}
			must(t, x.Verify(t.Context()))
		})
	}
}

// TestFormatUnchanged compares what is written today, row checksums included,
// with the golden file of the newest format.
func TestFormatUnchanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	tx := begin(t, x)
	putSome(t, tx)
	must(t, tx.Commit())
	golden(t, fmt.Sprintf("testdata/format-%d.sql", newestFormat), dump(t, path))
}

// dump returns the SQL that makes the database anew.
func dump(tb testing.TB, path string) string {
	tb.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(tb, err)
	defer db.Close()
	var b strings.Builder
	lines := func(query, suffix string) {
		must(tb, sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			b.WriteString(s.ColumnText(0) + suffix)
			return nil
		}}))
	}
	lines(`SELECT 'PRAGMA application_id = ' || application_id FROM pragma_application_id`, ";\n")
	lines(`SELECT 'PRAGMA user_version = ' || user_version FROM pragma_user_version`, ";\n")
	lines(`SELECT sql FROM sqlite_schema WHERE type = 'table' ORDER BY name`, ";\n")
	lines(`SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`, ";\n")
	var inserts []string
	must(tb, sqlitex.ExecuteTransient(db, `SELECT 'SELECT ''INSERT INTO ' || t.name || ' VALUES (''||' ||
		group_concat('quote(' || c.name || ')', '||'',''||' ORDER BY c.cid) || '||'')'' FROM ' || t.name
		FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' GROUP BY t.name ORDER BY t.name`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			inserts = append(inserts, s.ColumnText(0))
			return nil
		}}))
	for _, q := range inserts {
		lines(q, ";\n")
	}
	return b.String()
}
