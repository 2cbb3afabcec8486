package auth_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/auth"
	"larder/fault"
)

// query returns the rows of a query, one a line.
func (f *fixture) query(t *testing.T, q string) string {
	t.Helper()
	conn, err := sqlite.OpenConn(f.path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var b strings.Builder
	err = sqlitex.ExecuteTransient(conn, q, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		fmt.Fprintln(&b, s.ColumnText(0))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSchema holds the schema, which a release must not change without a
// migration.
func TestSchema(t *testing.T) {
	t.Parallel()
	f := open(t)
	got := f.query(t, `SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	golden(t, "schema.sql", got)
	if v := f.query(t, "PRAGMA user_version"); v != "1\n" {
		t.Errorf("user_version %s", v)
	}
	if v := f.query(t, "PRAGMA application_id"); v != fmt.Sprintln(0x4C415359) {
		t.Errorf("application_id %s", v)
	}
	if v := f.query(t, "PRAGMA journal_mode"); v != "wal\n" {
		t.Errorf("journal_mode %s", v)
	}
	if v := f.query(t, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE '%STRICT%'"); v != "0\n" {
		t.Errorf("%s tables are not STRICT", v)
	}
}

// TestSchemaOfTheFirstRelease opens a database as the first schema wrote it.
func TestSchemaOfTheFirstRelease(t *testing.T) {
	t.Parallel()
	f := open(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "testdata/system-v1.db", f.path)
	a := f.openAgain(t)
	keys, err := a.Keys(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ID != "v1-key" || keys[0].Grants[0].Rights != auth.AppendOnly {
		t.Fatal(keys, err)
	}
	if _, err := a.Bearer(t.Context(), "v1-key", "v1-secret", addr(1)); err != nil {
		t.Error(err)
	}
	if _, _, err := a.VerifySignature(t.Context(), sign("v1-key", "v1-secret", "x"), addr(1)); err != nil {
		t.Error(err)
	}
	if _, _, err := a.Login(t.Context(), "admin", "v1-password", addr(1), ""); err != nil {
		t.Error(err)
	}
	if _, err := a.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWriteFirstRelease made testdata/system-v1.db and makes it no more.
func TestWriteFirstRelease(t *testing.T) {
	const path = "testdata/system-v1.db"
	if _, err := os.Stat(path); err == nil || !*update {
		t.Skip("the file is there and stays as it is")
	}
	f := open(t)
	grants := []auth.Grant{{Bucket: "backups", Prefix: "nas/", Rights: auth.AppendOnly}}
	if _, _, err := f.ImportKey(t.Context(), "v1-key", "v1-secret", "first", grants); err != nil {
		t.Fatal(err)
	}
	if _, err := f.SetAdminPassword(t.Context(), "v1-password"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	copyFile(t, f.path, path)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from) // a test's own file
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to) // a test's own file
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, f *fixture)
		code  fault.Code
	}{
		"newer":   {func(t *testing.T, f *fixture) { f.sql(t, "PRAGMA user_version = 99") }, fault.NewerFormat},
		"foreign": {func(t *testing.T, f *fixture) { f.sql(t, "PRAGMA application_id = 1") }, fault.ForeignStore},
		"no database": {func(t *testing.T, f *fixture) {
			if err := os.WriteFile(f.path, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, fault.Corrupt},
		"a folder": {func(t *testing.T, f *fixture) {
			if err := os.Remove(f.path); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(f.path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, fault.Internal},
		"broken page": {func(t *testing.T, f *fixture) {
			file, err := os.OpenFile(f.path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			if _, err := file.WriteAt([]byte(strings.Repeat("\xff", 4096)), 4096); err != nil {
				t.Fatal(err)
			}
		}, fault.Corrupt},
	} {
		f := open(t)
		f.key(t)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		tt.spoil(t, f)
		_, err := auth.Open(t.Context(), auth.Config{Path: f.path, SecretKey: secretKey(7), BcryptCost: bcrypt.MinCost})
		if fault.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
		if tt.code != fault.Internal && fault.HintOf(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	_, err := auth.Open(t.Context(), auth.Config{Path: t.TempDir() + "/none/system.db", SecretKey: secretKey(7), BcryptCost: bcrypt.MinCost})
	wantCode(t, err, fault.Internal)
}

// TestWithoutClose: what a method answered is there after the process was
// killed, of which a copy of the files is the picture.
func TestWithoutClose(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	gone, goneSecret := f.key(t)
	if err := f.DeleteKey(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	if err := f.SetKeyDisabled(t.Context(), k.ID, true); err != nil {
		t.Fatal(err)
	}
	killed := &fixture{path: t.TempDir() + "/system.db", clock: f.clock}
	for _, suffix := range []string{"", "-wal"} {
		copyFile(t, f.path+suffix, killed.path+suffix)
	}
	a := killed.openAgain(t)
	_, err := a.Bearer(t.Context(), k.ID, secret, addr(1))
	wantCode(t, err, fault.Denied)
	_, err = a.Bearer(t.Context(), gone.ID, goneSecret, addr(2))
	wantCode(t, err, fault.Unauthenticated)
	if _, err := a.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestManyAtOnce mixes checks and changes; the race detector watches.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	password := f.user(t, "ann", auth.RoleAdmin)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				c, err := f.Bearer(t.Context(), k.ID, secret, addr(i))
				if err != nil && fault.CodeOf(err) != fault.Unauthenticated && fault.CodeOf(err) != fault.RateLimited {
					t.Error(err) // unauthenticated when it changed during the check
				}
				_ = f.Guard().Check(t.Context(), c, auth.GetObject, auth.Resource{Bucket: "b", Key: "k"})
				_, _, _ = f.VerifySignature(t.Context(), sign(k.ID, secret, "x"), addr(i))
				f.Flush(false)
			}
		})
		wg.Go(func() {
			other, _ := f.key(t)
			_ = f.SetKeyDisabled(t.Context(), other.ID, true)
			_ = f.SetKeyDisabled(t.Context(), k.ID, false)
			_ = f.DeleteKey(t.Context(), other.ID)
			if token, _, err := f.Login(t.Context(), "ann", password, addr(100+i), ""); err == nil {
				_, _ = f.Session(t.Context(), token, addr(100+i))
				_ = f.Logout(t.Context(), token)
			}
		})
	}
	wg.Wait()
	if _, err := f.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	if keys, _ := f.Keys(t.Context()); len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
}
