package auth

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS // read only

// applicationID marks system.db in its header: "LASY".
const applicationID = 0x4C415359

// minSQLite is the first release known to be free of the bug that can damage a
// database while its WAL is reset: https://sqlite.org/wal.html.
const minSQLite = 3_054_000

// database is system.db on its one connection. mu covers the connection and
// failed. Every committed change is on stable storage.
type database struct {
	mu     sync.Mutex
	conn   *sqlite.Conn
	path   string
	failed error // the first failed write to the file; set, no more changes are taken
	log    *slog.Logger
}

func openDatabase(ctx context.Context, path string, log *slog.Logger) (*database, error) {
	const op = "auth.Open"
	if sqlite.VersionNumber < minSQLite {
		return nil, fault.New(op, fault.Internal, "sqlite", fmt.Errorf("SQLite %s is too old", sqlite.Version))
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, openError(op, path, err)
	}
	db := &database{conn: conn, path: path, log: log}
	if err := db.prepare(ctx); err != nil {
		_ = conn.Close()
		return nil, openError(op, path, err)
	}
	return db, nil
}

const hintDamaged = "The database of users and keys is damaged."

func openError(op, path string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB, sqlite.ResultCorrupt:
		return fault.New(op, fault.Corrupt, path, err).
			WithHint(hintDamaged)
	case sqlite.ResultFull:
		return fault.New(op, fault.NoSpace, path, err)
	}
	return fault.New(op, fault.Internal, path, err)
}

// damagedSchema makes fault.Corrupt of SQLite's "no such column" and its like:
// the statements are right for the format that was found, so it is the schema that
// was damaged.
func damagedSchema(path string, err error) error {
	if fault.CodeOf(err) != fault.Internal || sqlite.ErrCode(err).ToPrimary() != sqlite.ResultError {
		return err
	}
	return fault.New("auth.Open", fault.Corrupt, path, err).WithHint(hintDamaged)
}

// prepare settles the connection and brings the schema up to date. The file is
// made private before anything is written to it; SQLite gives its WAL the same
// mode.
func (db *database) prepare(ctx context.Context) error {
	if err := os.Chmod(db.path, 0o600); err != nil {
		return err
	}
	pragmas := []string{
		"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + synchronous(), "PRAGMA secure_delete = ON",
		"PRAGMA foreign_keys = ON", "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON",
		"PRAGMA mmap_size = 0", "PRAGMA cache_size = -2048", "PRAGMA journal_size_limit = 4194304",
	}
	for _, p := range pragmas {
		if err := sqlitex.ExecuteTransient(db.conn, p, nil); err != nil {
			return err
		}
	}
	if err := db.migrate(ctx); err != nil {
		return err
	}
	return db.check()
}

func (db *database) check() error {
	var found []string
	err := sqlitex.ExecuteTransient(db.conn, "PRAGMA quick_check(3)", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { found = append(found, s.ColumnText(0)); return nil },
	})
	if err == nil && (len(found) != 1 || found[0] != "ok") {
		err = fault.New("auth.Open", fault.Corrupt, db.path, errors.New(strings.Join(found, "; "))).
			WithHint(hintDamaged)
	}
	return err
}

// migrate applies the embedded migrations that are newer than user_version,
// each in a transaction of its own.
func (db *database) migrate(ctx context.Context) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	version, err := db.version(len(files))
	if err != nil {
		return err
	}
	for i, name := range files[version:] {
		if err := ctx.Err(); err != nil {
			return fault.New("auth.Open", fault.Canceled, "", err)
		}
		if err := db.apply(name, version+i+1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// newestSchema is the number of the last embedded migration.
func newestSchema() (int, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	return len(files), err
}

// version returns user_version, and refuses foreign files and those of a newer
// Larder.
func (db *database) version(newest int) (int, error) {
	app, err := db.pragma("application_id")
	if err != nil {
		return 0, err
	}
	v, err := db.pragma("user_version")
	if err != nil {
		return 0, err
	}
	switch {
	case app == 0 && v == 0:
		return 0, nil
	case app != applicationID:
		return 0, fault.New("auth.Open", fault.ForeignStore, db.path, fmt.Errorf("application_id %#x", app)).
			WithHint("This file was not written by Larder.")
	case v > int64(newest):
		return 0, fault.New("auth.Open", fault.NewerFormat, db.path, fmt.Errorf("schema %d, newest known %d", v, newest)).
			WithHint("The data folder was written by a newer Larder; start that one.")
	}
	return int(v), nil
}

func (db *database) pragma(name string) (v int64, err error) {
	err = sqlitex.ExecuteTransient(db.conn, "PRAGMA "+name, &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { v = s.ColumnInt64(0); return nil },
	})
	return v, err
}

func (db *database) apply(name string, version int) (err error) {
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	end, err := sqlitex.ImmediateTransaction(db.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
	return sqlitex.ExecuteScript(db.conn, string(script)+"\n"+marks, nil)
}

// change runs f in a transaction. When it returns nil, everything f did is on
// stable storage; otherwise nothing of it happened, unless the write itself
// failed: then no further change is taken until a restart (fault.ReadOnly).
func (db *database) change(op string, f func(*sqlite.Conn) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.changeLocked(op, f)
}

func (db *database) changeLocked(op string, f func(*sqlite.Conn) error) error {
	if db.conn == nil {
		return fault.New(op, fault.Unavailable, "", errors.New("closed"))
	}
	if db.failed != nil {
		return readOnly(op, db.failed)
	}
	err := transact(db.conn, f)
	return db.judge(op, err)
}

func transact(conn *sqlite.Conn, f func(*sqlite.Conn) error) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	return f(conn)
}

// judge turns an error of SQLite into ours. An I/O error is final: whether the
// last commit reached the disk is unknown, and a second try could lie.
func (db *database) judge(op string, err error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		return fault.New(op, fault.NoSpace, "", err)
	case sqlite.ResultIOErr, sqlite.ResultCorrupt, sqlite.ResultReadOnly, sqlite.ResultCantOpen:
		db.failed = err
		db.log.Error("system.db failed; no changes to users and keys until a restart", "op", op, "err", err)
		return readOnly(op, err)
	}
	return fault.New(op, fault.Internal, "", err)
}

func readOnly(op string, err error) error {
	return fault.New(op, fault.ReadOnly, "", err).
		WithHint("Users and keys cannot be changed since a write to the disk failed; restart Larder.")
}

// read runs f outside a transaction. f must be short: it holds up changes.
func (db *database) read(op string, f func(*sqlite.Conn) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return fault.New(op, fault.Unavailable, "", errors.New("closed"))
	}
	return db.judge(op, f(db.conn))
}

// forget empties the WAL, so that what was deleted is in no file any more. It
// is a courtesy: a checkpoint that fails is left to the next one.
func (db *database) forget() {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil || db.failed != nil {
		return
	}
	if err := sqlitex.ExecuteTransient(db.conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil); err != nil {
		db.log.Warn("checkpoint of system.db failed", "err", err)
	}
}

func (db *database) close() error {
	db.forget()
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return nil
	}
	err := db.conn.Close()
	db.conn = nil
	return err
}

// exec runs one statement with positional arguments and no result.
func exec(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}

// rows runs one query and hands every row to f.
func rows(conn *sqlite.Conn, query string, f func(*sqlite.Stmt) error, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: f})
}

// blob copies a column of bytes.
func blob(s *sqlite.Stmt, col int) []byte {
	b := make([]byte, s.ColumnLen(col))
	s.ColumnBytes(col, b)
	return b
}
