package auth_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"larder/auth"
	"larder/fault"
)

func (f *fixture) login(t *testing.T, name string, password auth.Secret) string {
	t.Helper()
	token, c, err := f.Login(t.Context(), name, password, addr(1), "a browser")
	if err != nil {
		t.Fatal(err)
	}
	if c.ID() != name || c.Kind() != auth.KindUser {
		t.Errorf("caller %+v", c)
	}
	return token
}

func (f *fixture) alive(t *testing.T, token string) bool {
	t.Helper()
	_, err := f.Session(t.Context(), token, addr(2))
	if err != nil {
		wantCode(t, err, fault.Unauthenticated)
	}
	return err == nil
}

func TestSessionIdle(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.login(t, "ann", f.user(t, "ann", auth.RoleViewer))
	for range 3 {
		f.clock.Advance(auth.SessionIdle - time.Second)
		if !f.alive(t, token) {
			t.Fatal("ended though it was used")
		}
	}
	f.clock.Advance(auth.SessionIdle)
	if f.alive(t, token) {
		t.Error("lives on though it was idle")
	}
	f.clock.Advance(-time.Hour) // the clock was set back
	f.Flush(false)
}

func TestSessionLifetime(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.login(t, "ann", f.user(t, "ann", auth.RoleViewer))
	for used := time.Duration(0); used+time.Hour < auth.SessionLifetime; used += time.Hour {
		f.clock.Advance(time.Hour)
		if !f.alive(t, token) {
			t.Fatalf("ended after %v", used)
		}
	}
	f.clock.Advance(time.Hour)
	if f.alive(t, token) {
		t.Error("lives for ever")
	}
}

// TestSessionsEnd: what ends a session ends it at once.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, token string) error{
		"logout": func(f *fixture, token string) error { return f.Logout(t.Context(), token) },
		"password": func(f *fixture, _ string) error {
			return f.ChangePassword(t.Context(), "ann", "another password")
		},
		"deleted": func(f *fixture, _ string) error { return f.DeleteUser(t.Context(), "ann") },
	} {
		f := open(t)
		f.user(t, "root", auth.RoleAdmin)
		password := f.user(t, "ann", auth.RoleViewer)
		token, other := f.login(t, "ann", password), f.login(t, "ann", password)
		if token == other || !f.alive(t, token) || !f.alive(t, other) {
			t.Fatal("two logins are not two sessions")
		}
		if err := end(f, token); err != nil {
			t.Fatal(err)
		}
		if f.alive(t, token) {
			t.Errorf("%s: lives on", name)
		}
		if got := f.alive(t, other); got != (name == "logout") {
			t.Errorf("%s: the other session: %v", name, got)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f.Auth = f.openAgain(t)
		if f.alive(t, token) {
			t.Errorf("%s: revived by a restart", name)
		}
	}
}

func TestSessionsSurviveARestart(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.login(t, "ann", f.user(t, "ann", auth.RoleViewer))
	f.clock.Advance(auth.SessionIdle - time.Hour)
	if !f.alive(t, token) {
		t.Fatal("ended")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(auth.SessionIdle - time.Hour) // since it was last seen
	f.Auth = f.openAgain(t)
	if !f.alive(t, token) {
		t.Error("ended by a restart")
	}
}

// TestSessionStoredAsHash: neither the token nor its bytes are in the file, the
// SHA-256 is.
func TestSessionStoredAsHash(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.login(t, "ann", f.user(t, "ann", auth.RoleViewer))
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 32 {
		t.Fatalf("token %q: %v", token, err)
	}
	files := f.bytes(t)
	hash := sha256.Sum256([]byte(token))
	if !bytes.Contains(files, hash[:]) {
		t.Error("no hash of the token")
	}
	if bytes.Contains(files, []byte(token)) || bytes.Contains(files, raw) {
		t.Error("the token is in the file")
	}
}

func TestUnknownTokens(t *testing.T) {
	t.Parallel()
	f := open(t)
	good := f.login(t, "ann", f.user(t, "ann", auth.RoleViewer))
	limited := false
	for i := range 100 {
		_, err := f.Session(t.Context(), fmt.Sprint(i), addr(2))
		limited = limited || fault.CodeOf(err) == fault.RateLimited
	}
	if !limited {
		t.Error("a hundred unknown tokens were not limited")
	}
	if !f.alive(t, good) { // from the same address
		t.Error("a good session is locked out")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	f := open(t)
	password := f.user(t, "ann", auth.RoleViewer)
	var tokens []string
	for range 40 {
		tokens = append(tokens, f.login(t, "ann", password))
		f.clock.Advance(time.Second)
	}
	for i, token := range tokens {
		if i%4 != 3 { // not all, so as not to meet the limiter
			continue
		}
		if got := f.alive(t, token); got != (i >= 8) {
			t.Errorf("session %d: %v", i, got)
		}
	}
}

// TestLoginRefuses: the same answer and the same bcrypt for an unknown
// user and for a wrong password.
func TestLoginRefuses(t *testing.T) {
	t.Parallel()
	f := open(t)
	password := f.user(t, "ann", auth.RoleAdmin)
	n := f.checks()
	var answers []string
	for i, tt := range [][2]string{{"ann", "wrong"}, {"bob", "wrong"}, {"ann", ""}, {"Ann", password.Reveal()}, {"", ""}, {"ann ", password.Reveal()}} {
		token, c, err := f.Login(t.Context(), tt[0], auth.Secret(tt[1]), addr(i), "")
		if token != "" || !c.IsZero() {
			t.Errorf("%q: let in", tt)
		}
		answers = append(answers, fmt.Sprint(err))
		if n.Load() != int64(i+1) {
			t.Errorf("%q: %d runs of bcrypt", tt, n.Load()-int64(i))
		}
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("%q differs from %q", a, answers[0])
		}
	}
}

// TestPasswordChangedDuringLogin: a login that was under way when the password
// changed lets nobody in.
func TestPasswordChangedDuringLogin(t *testing.T) {
	t.Parallel()
	f := open(t)
	password := f.user(t, "ann", auth.RoleAdmin)
	f.SetPlaces(2) // the change hashes while the login is being checked
	f.OnCheck(func() {
		if err := f.ChangePassword(t.Context(), "ann", "another password"); err != nil {
			t.Error(err)
		}
	})
	_, _, err := f.Login(t.Context(), "ann", password, addr(1), "")
	wantCode(t, err, fault.Unauthenticated)
}

// TestRehash: a login under another cost stores the password anew and ends no
// session.
func TestRehash(t *testing.T) {
	t.Parallel()
	f := open(t)
	password := f.user(t, "ann", auth.RoleAdmin)
	before := f.login(t, "ann", password)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Auth = f.openAgain(t, func(c *auth.Config) { c.BcryptCost = bcrypt.MinCost + 1 })
	f.login(t, "ann", password)
	if cost, err := bcrypt.Cost(f.UserHash("ann")); err != nil || cost != bcrypt.MinCost+1 {
		t.Errorf("cost %d, %v", cost, err)
	}
	if !f.alive(t, before) {
		t.Error("a session ended")
	}
	f.login(t, "ann", password)
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	f := open(t)
	password := f.user(t, "ann", auth.RoleViewer)
	_, c, err := f.Login(t.Context(), "ann", password, netip.MustParseAddr("::ffff:192.0.2.1"), strings.Repeat("u", 5000))
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr() != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("address %v", c.Addr())
	}
	if err := f.Confirm(t.Context(), c, password); err != nil {
		t.Error(err)
	}
	wantCode(t, f.Confirm(t.Context(), c, "wrong password"), fault.Unauthenticated)
	wantCode(t, f.Confirm(t.Context(), auth.Caller{}, ""), fault.Unauthenticated)
}
