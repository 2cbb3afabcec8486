package auth_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"larder/auth"
	"larder/fault"
)

// fixture is an identity store in a folder of its own.
type fixture struct {
	*auth.Auth
	path  string
	clock *clock
}

// clock is the injected time for what is stored.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) Advance(d time.Duration) { c.ns.Add(int64(d)) }

func secretKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// open makes an identity store; each set may change its configuration.
func open(t testing.TB, set ...func(*auth.Config)) *fixture {
	t.Helper()
	f := &fixture{clock: newClock(), path: filepath.Join(t.TempDir(), "system.db")}
	f.Auth = f.openAgain(t, set...)
	return f
}

// openAgain opens the same file, after Close.
func (f *fixture) openAgain(t testing.TB, set ...func(*auth.Config)) *auth.Auth {
	t.Helper()
	cfg := auth.Config{Path: f.path, SecretKey: secretKey(7), BcryptCost: bcrypt.MinCost, Now: f.clock.Now}
	for _, s := range set {
		s(&cfg)
	}
	a, err := auth.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func (f *fixture) key(t testing.TB, grants ...auth.Grant) (auth.Key, auth.Secret) {
	t.Helper()
	if grants == nil {
		grants = []auth.Grant{{Bucket: "*", Rights: auth.Full}}
	}
	k, s, err := f.CreateKey(context.Background(), auth.KeySpec{Name: "test", Grants: grants})
	if err != nil {
		t.Fatal(err)
	}
	return k, s
}

func (f *fixture) user(t testing.TB, name, role string) auth.Secret {
	t.Helper()
	password := auth.Secret("password of " + name)
	if _, err := f.CreateUser(context.Background(), name, password, role); err != nil {
		t.Fatal(err)
	}
	return password
}

// checks counts bcrypt comparisons from now on.
func (f *fixture) checks() *atomic.Int64 {
	n := &atomic.Int64{}
	f.OnCheck(func() { n.Add(1) })
	return n
}

// sql runs a script on the file through a connection of its own.
func (f *fixture) sql(t testing.TB, script string) {
	t.Helper()
	conn, err := sqlite.OpenConn(f.path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
}

// addr is a different IPv4 address for each n.
func addr(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

func wantCode(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Fatalf("got %v (%v), want %v", got, err, want)
	}
}

// eventually polls until ok, for at most ten seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never happened: " + what)
		}
	}
}

func TestKeysAndUsersSurviveARestart(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t, auth.Grant{Bucket: "b-*", Prefix: "p/", Rights: auth.AppendOnly})
	password := f.user(t, "ann", auth.RoleViewer)
	if _, err := f.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := f.openAgain(t)
	got, err := again.KeyByID(t.Context(), k.ID)
	if err != nil {
		t.Fatal(err)
	}
	k.LastUsed, k.LastAddr = f.clock.Now().UTC(), addr(1).String()
	if fmt.Sprint(got) != fmt.Sprint(k) {
		t.Errorf("got %v\nwant %v", got, k)
	}
	if _, err := again.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
		t.Error(err)
	}
	if _, _, err := again.Login(t.Context(), "ann", password, addr(1), ""); err != nil {
		t.Error(err)
	}
}

func TestCloseTwiceAndUseAfterwards(t *testing.T) {
	t.Parallel()
	f := open(t)
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := f.CreateKey(t.Context(), auth.KeySpec{Grants: []auth.Grant{{Bucket: "b", Rights: auth.Read}}})
	wantCode(t, err, fault.Unavailable)
	_, err = f.VerifyAudit(t.Context())
	wantCode(t, err, fault.Unavailable)
}

// TestWrongSecretKey: a wrong or missing secret.key fails closed, with a message.
func TestWrongSecretKey(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.key(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		key  []byte
		code fault.Code
	}{
		"another key": {secretKey(8), fault.ForeignStore},
		"short":       {secretKey(7)[:31], fault.InvalidArgument},
		"long":        {append(secretKey(7), 7), fault.InvalidArgument},
		"none":        {nil, fault.InvalidArgument},
	} {
		_, err := auth.Open(t.Context(), auth.Config{Path: f.path, SecretKey: tt.key, BcryptCost: bcrypt.MinCost})
		wantCode(t, err, tt.code)
		if fault.HintOf(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	f.openAgain(t)
}

// TestSwappedRows: the secret of one key put into the row of another does not
// open there.
func TestSwappedRows(t *testing.T) {
	t.Parallel()
	f := open(t)
	a, _ := f.key(t)
	b, secret := f.key(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.sql(t, fmt.Sprintf("UPDATE keys SET sealed = (SELECT sealed FROM keys WHERE id = '%s') WHERE id = '%s'", b.ID, a.ID))
	again := f.openAgain(t)
	req := sign(a.ID, secret, "GET /")
	_, _, err := again.VerifySignature(t.Context(), req, addr(1))
	wantCode(t, err, fault.Corrupt)
}
