package index

import (
	"embed"
	"fmt"
	"strconv"
	"strings"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// applicationID marks the file as an index of Larder: "Lrdr" in ASCII.
const applicationID = 0x4c726472

// migrations holds migrations/NNNN_title.sql. The file with number N brings a
// database of format N-1 to format N; a released one is never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// state is the only row of its table: whose index it is and how far it is.
type state struct {
	format  int // number of the last migration
	store   [16]byte
	applied Position
}

// scripts returns the migrations in order.
func scripts() ([]string, error) {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var out []string
	for i, e := range entries {
		if !strings.HasPrefix(e.Name(), fmt.Sprintf("%04d_", i+1)) {
			return nil, fmt.Errorf("migration %s is not number %d", e.Name(), i+1)
		}
		text, err := migrations.ReadFile("migrations/" + e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

// migrate checks that the database is ours and whole as far as a few pages
// tell, brings it to the newest format and returns its state.
func (c *conn) migrate(store [16]byte) (state, error) {
	const op = "index.Open"
	scripts, err := scripts()
	if err != nil {
		return state{}, err
	}
	format, err := c.identify(len(scripts))
	if err != nil {
		return state{}, err
	}
	for ; format < len(scripts); format++ {
		if err := c.upgrade(format+1, scripts[format], store); err != nil {
			return state{}, err
		}
	}
	if err := c.checkSchema(scripts); err != nil {
		return state{}, err
	}
	st, err := c.readState()
	if err != nil {
		return state{}, err
	}
	if st.store != store {
		return state{}, fault.New(op, fault.ForeignStore, fmt.Sprintf("%x", st.store), errOtherID).
			WithHint("The index database belongs to another store. Put back the one that belongs to this data folder.")
	}
	if st.format != format {
		return state{}, corrupt(op, "", errIdentity)
	}
	return st, c.probe()
}

// identify returns the format of the database, 0 for an empty one. The header
// of the file has no checksum: where it says that the file is not ours, but
// the state row says that it is, the header is damaged.
func (c *conn) identify(newest int) (int, error) {
	const op = "index.Open"
	id, err := c.pragmaInt("application_id")
	if err != nil {
		return 0, err
	}
	format, err := c.pragmaInt("user_version")
	if err != nil {
		return 0, err
	}
	if id == applicationID && format >= 1 && format <= newest {
		return format, nil
	}
	empty, err := c.isEmpty()
	if err != nil || empty {
		return 0, err
	}
	if st, err := c.readState(); err == nil && st.format <= newest {
		return 0, corrupt(op, "", errIdentity)
	}
	if id == applicationID && format > newest {
		return 0, fault.New(op, fault.NewerFormat, strconv.Itoa(format), errNewer).
			WithHint("The index database was written by a newer Larder. Start that one, or delete index.db and let it be built anew.")
	}
	return 0, fault.New(op, fault.ForeignStore, "", errForeign).
		WithHint("The file in the place of the index database is not Larder's. Move it away.")
}

func (c *conn) pragmaInt(name string) (int, error) {
	text, err := c.pragma(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func (c *conn) isEmpty() (bool, error) {
	text, err := c.schema()
	return text == "", err
}

// upgrade runs one migration. It is atomic: a crash leaves the old format or
// the new one.
func (c *conn) upgrade(format int, script string, store [16]byte) error {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.migrateTo(format, script, store)
	if err == nil {
		err = c.script("COMMIT")
	}
	if err != nil && !c.db.AutocommitEnabled() {
		c.script("ROLLBACK")
	}
	return err
}

func (c *conn) migrateTo(format int, script string, store [16]byte) error {
	st := state{store: store}
	if format > 1 {
		var err error
		if st, err = c.readState(); err != nil {
			return err
		}
	}
	if err := c.script(script); err != nil {
		return err
	}
	if _, err := c.pragma(fmt.Sprintf("application_id = %d", applicationID)); err != nil {
		return err
	}
	if _, err := c.pragma(fmt.Sprintf("user_version = %d", format)); err != nil {
		return err
	}
	if format == segmentsFormat {
		if err := c.fillSegments(st.applied.Segment); err != nil {
			return err
		}
	}
	if format == witnessFormat {
		if err := c.fillWitnesses(); err != nil {
			return err
		}
	}
	st.format = format
	s, err := c.db.Prepare(queries()[putState])
	if err != nil {
		return err
	}
	return c.putState(s, &st)
}

// readState reads the state row.
func (c *conn) readState() (state, error) {
	s, _, err := c.db.PrepareTransient(`SELECT format, store, sequence, segment, offset, sum FROM state WHERE id = 1`)
	if err != nil {
		return state{}, err
	}
	defer s.Finalize()
	st, found, err := first("index.Open", "state", s, func(s *sqlite.Stmt) (state, error) {
		st := state{format: s.ColumnInt(0), applied: Position{
			Sequence: uint64(s.ColumnInt64(2)), Segment: uint64(s.ColumnInt64(3)), Offset: s.ColumnInt64(4),
		}}
		s.ColumnBytes(1, st.store[:])
		return st, check(s.ColumnInt64(5), c.sums.state(&st))
	})
	if err == nil && !found {
		err = corrupt("index.Open", "state", errNoState)
	}
	return st, err
}

// putState binds and runs the statement that replaces the state row.
func (c *conn) putState(s *sqlite.Stmt, st *state) error {
	s.BindInt64(1, int64(st.format))
	s.BindBytes(2, st.store[:])
	s.BindInt64(3, int64(st.applied.Sequence))
	s.BindInt64(4, int64(st.applied.Segment))
	s.BindInt64(5, st.applied.Offset)
	s.BindInt64(6, c.sums.state(st))
	return exec(s)
}

// schema returns the text of everything in the schema, "" for an empty
// database.
func (c *conn) schema() (string, error) {
	s, _, err := c.db.PrepareTransient(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name`)
	if err != nil {
		return "", err
	}
	defer s.Finalize()
	var b strings.Builder
	decode := func(s *sqlite.Stmt) (string, error) { return s.ColumnText(0), nil }
	_, err = each("index.Open", s, decode, func(text string) { b.WriteString(text + ";\n") })
	return b.String(), err
}

// checkSchema compares the schema with that of a new database.
func (c *conn) checkSchema(scripts []string) error {
	want, err := newSchema(scripts)
	if err != nil {
		return err
	}
	got, err := c.schema()
	if err == nil && got != want {
		err = corrupt("index.Open", "", errSchema)
	}
	return err
}

// probe reads the first and the last row of every table, which notices damage
// to the pages that all others hang on.
func (c *conn) probe() error {
	for _, q := range []string{
		"SELECT sum FROM buckets LIMIT 1", "SELECT sum FROM buckets ORDER BY id DESC LIMIT 1",
		"SELECT sum FROM objects LIMIT 1", "SELECT sum FROM objects ORDER BY bucket DESC, key DESC LIMIT 1",
		"SELECT sum FROM bodies LIMIT 1", "SELECT sum FROM bodies ORDER BY sequence DESC LIMIT 1",
		"SELECT sum FROM uploads LIMIT 1", "SELECT sum FROM uploads ORDER BY bucket DESC, key DESC, id DESC LIMIT 1",
		"SELECT sum FROM parts LIMIT 1", "SELECT sum FROM parts ORDER BY upload DESC, number DESC LIMIT 1",
		"SELECT sum FROM segments LIMIT 1", "SELECT sum FROM segments ORDER BY number DESC LIMIT 1",
	} {
		if err := c.script(q); err != nil {
			return err
		}
	}
	return nil
}

// newSchema returns the schema that the migrations make.
func newSchema(scripts []string) (string, error) {
	c, err := connect(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenMemory)
	if err != nil {
		return "", err
	}
	defer c.close()
	for _, text := range scripts {
		if err := c.script(text); err != nil {
			return "", err
		}
	}
	return c.schema()
}
