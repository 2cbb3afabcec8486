package index

import (
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// busyTimeout bounds every wait for a lock. In WAL mode a reader waits only
// while another connection recovers the log, and the writer only while
// Checkpoint waits for readers, which are short.
const busyTimeout = 2 * time.Second

// conn is one SQLite connection with its prepared statements. One goroutine
// may use it at a time.
//
// Its bindings are never cleared: SQLite would plan the statement anew.
type conn struct {
	db    *sqlite.Conn
	stmts [allStatements]*sqlite.Stmt
	runs  [allStatements]int // how often each was run, for tests
	sums  digest
	in    []byte // key on its way to SQLite
	out   []byte // key on its way from SQLite
}

// connect opens a connection and sets what holds for it alone.
func connect(path string, flags sqlite.OpenFlags, pragmas ...string) (*conn, error) {
	db, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	db.SetBusyTimeout(busyTimeout)
	c := &conn{db: db}
	for _, p := range pragmas {
		if _, err := c.pragma(p); err != nil {
			db.Close()
			return nil, err
		}
	}
	return c, nil
}

// pragma runs a pragma and returns the first column of its first row, if any.
func (c *conn) pragma(text string) (string, error) {
	s, _, err := c.db.PrepareTransient("PRAGMA " + text)
	if err != nil {
		return "", err
	}
	defer s.Finalize()
	row, err := s.Step()
	if err != nil || !row {
		return "", err
	}
	value := s.ColumnText(0)
	for row && err == nil {
		row, err = s.Step()
	}
	return value, err
}

// script runs statements one after the other, each to its first row.
func (c *conn) script(text string) error {
	for strings.TrimSpace(text) != "" {
		s, rest, err := c.db.PrepareTransient(text)
		if err != nil {
			return err
		}
		if s.BindParamCount() > 0 {
			s.Finalize()
			return fmt.Errorf("script has parameters")
		}
		_, err = s.Step()
		s.Finalize()
		if err != nil {
			return err
		}
		text = text[len(text)-rest:]
	}
	return nil
}

// prepare prepares the statements below limit.
func (c *conn) prepare(limit statement) error {
	for i, q := range queries() {
		if statement(i) >= limit {
			return nil
		}
		s, err := c.db.Prepare(q)
		if err != nil {
			return err
		}
		c.stmts[i] = s
	}
	return nil
}

// use returns a prepared statement about to be run.
func (c *conn) use(st statement) *sqlite.Stmt {
	c.runs[st]++
	return c.stmts[st]
}

// run runs a statement that returns no rows.
func (c *conn) run(st statement) error {
	return exec(c.use(st))
}

// exec steps a bound statement that returns no rows and resets it.
func exec(s *sqlite.Stmt) error {
	_, err := s.Step()
	if r := s.Reset(); err == nil {
		err = r
	}
	return err
}

// bindKey binds a key as BLOB.
func (c *conn) bindKey(s *sqlite.Stmt, param int, key string) {
	c.in = append(c.in[:0], key...)
	s.BindBytes(param, c.in)
}

// bytesAt returns a copy of a BLOB column, nil when it is empty.
func bytesAt(s *sqlite.Stmt, col int) []byte {
	n := s.ColumnLen(col)
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	return b[:s.ColumnBytes(col, b)]
}

// keyAt returns a BLOB column as a string.
func (c *conn) keyAt(s *sqlite.Stmt, col int) string {
	n := s.ColumnLen(col)
	if n > cap(c.out) {
		c.out = make([]byte, max(n, 2048))
	}
	return string(c.out[:s.ColumnBytes(col, c.out[:n])])
}

func (c *conn) close() error { return c.db.Close() }
