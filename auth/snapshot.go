package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/fault"
)

// Snapshot writes a consistent copy of system.db to an empty file at path and
// checks it. Changes and logins go on meanwhile. The copy is not durable on
// return: the caller syncs the file and its folder.
func (a *Auth) Snapshot(ctx context.Context, path string) error {
	const op = "auth.Snapshot"
	conn, err := sqlite.OpenConn(a.db.path, sqlite.OpenReadOnly)
	if err != nil {
		return openError(op, a.db.path, err)
	}
	conn.SetInterrupt(ctx.Done())
	err = sqlitex.ExecuteTransient(conn, copyDatabase, &sqlitex.ExecOptions{Args: []any{path}})
	if cerr := conn.Close(); err == nil {
		err = cerr
	}
	if ctx.Err() != nil {
		return fault.New(op, fault.Canceled, path, ctx.Err())
	}
	if err != nil {
		return openError(op, path, err)
	}
	_, err = ReadIdentities(ctx, path)
	return err
}

// Generation rises with every change of keys and users in the life of the
// process.
func (a *Auth) Generation() uint64 { return a.state.Load().generation }

// Identities are the keys and users of a system.db that nobody has open: a
// snapshot, or that of a stopped server. They are for comparing, and let nobody
// in.
type Identities struct{ state *state }

// ReadIdentities reads a file of the form of system.db without secret.key.
// fault.Corrupt when it is damaged, fault.ForeignStore and fault.NewerFormat as
// Open.
func ReadIdentities(ctx context.Context, path string) (*Identities, error) {
	var out *Identities
	err := readFile(ctx, path, func(conn *sqlite.Conn) error {
		st, err := loadState(conn, slog.New(slog.DiscardHandler))
		out = &Identities{st}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CheckSnapshot tells whether the file at path is whole and belongs to the
// secret key, with the errors of ReadIdentities.
func CheckSnapshot(ctx context.Context, path string, secretKey []byte) error {
	keys, err := newKeyring(secretKey)
	if err != nil {
		return err
	}
	return readFile(ctx, path, func(conn *sqlite.Conn) error {
		stored, err := one(conn, selectSetting, settingKeyCheck)
		if err == nil && !keys.matches(stored) {
			err = fault.New("auth.CheckSnapshot", fault.ForeignStore, path, nil).
				WithHint("The file was written under another secret.key.")
		}
		return err
	})
}

// readFile opens a database for reading, checks it wholly and hands it to f.
func readFile(ctx context.Context, path string, f func(*sqlite.Conn) error) error {
	const op = "auth.ReadIdentities"
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return openError(op, path, err)
	}
	defer conn.Close()
	conn.SetInterrupt(ctx.Done())
	if err := checkFile(conn, path); err != nil {
		return openError(op, path, err)
	}
	if err := f(conn); err != nil {
		return openError(op, path, err)
	}
	return nil
}

// checkFile refuses what is not a whole system.db of a version that is known.
func checkFile(conn *sqlite.Conn, path string) error {
	db := &database{conn: conn, path: path}
	newest, err := newestSchema()
	if err != nil {
		return err
	}
	v, err := db.version(newest)
	if err != nil {
		return err
	}
	if v == 0 {
		return fault.New("auth.ReadIdentities", fault.Corrupt, path, errors.New("an empty database")).
			WithHint("The file holds no users and keys.")
	}
	return db.checkWhole()
}

// checkWhole is check with every index compared with its table.
func (db *database) checkWhole() error {
	var found []string
	err := sqlitex.ExecuteTransient(db.conn, "PRAGMA integrity_check(3)", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error { found = append(found, s.ColumnText(0)); return nil },
	})
	if err == nil && (len(found) != 1 || found[0] != "ok") {
		err = fault.New("auth.ReadIdentities", fault.Corrupt, db.path, fmt.Errorf("%s", strings.Join(found, "; "))).
			WithHint("The database of users and keys is damaged.")
	}
	return err
}

// Counts are how many keys and users there are.
func (i *Identities) Counts() (keys, users int) { return len(i.state.keys), len(i.state.users) }
