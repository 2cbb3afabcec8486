package admin_test

import (
	"context"
	"net/http"
	"net/netip"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/gate"
	"larder/store"
)

// fixture is a control plane over a real store and a real identity store.
type fixture struct {
	*admin.Service
	auth *auth.Auth
	gate *gate.Gate
}

func open(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	a, err := auth.Open(t.Context(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: make([]byte, 32), BcryptCost: bcrypt.MinCost,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{
		Service: admin.New(admin.Config{
			Auth: a, Store: s, Version: "1.2.3", Started: time.Now().Add(-time.Hour), Requests: func() int64 { return 42 },
		}),
		auth: a,
		gate: gate.New(gate.Config{Store: s, Guard: a.Guard()}),
	}
}

// user makes a user and logs in.
func (f *fixture) user(t *testing.T, name, role string) auth.Caller {
	t.Helper()
	if _, err := f.auth.CreateUser(t.Context(), name, "password of it", role); err != nil {
		t.Fatal(err)
	}
	_, c, err := f.auth.Login(t.Context(), name, "password of it", netip.MustParseAddr("192.0.2.1"), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// key makes an access key and verifies it.
func (f *fixture) key(t *testing.T, g auth.Grant) auth.Caller {
	t.Helper()
	k, secret, err := f.auth.CreateKey(t.Context(), auth.KeySpec{Grants: []auth.Grant{g}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.auth.Bearer(t.Context(), k.ID, secret, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantCode(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Fatalf("got %v (%v), want %v", got, err, want)
	}
}

// TestEveryMethodDenies calls every method of the door as nobody, and as a key
// that may everything with objects but nothing here.
func TestEveryMethodDenies(t *testing.T) {
	t.Parallel()
	f := open(t)
	powerless := map[string]auth.Caller{
		"nobody": {},
		"a key":  f.key(t, auth.Grant{Bucket: "b", Rights: auth.Full}),
	}
	service := reflect.TypeOf(f.Service)
	called := 0
	for m := range service.Methods() {
		if m.Name == "Handler" { // a constructor; its routes are tested one by one
			continue
		}
		called++
		for name, c := range powerless {
			out := m.Func.Call(arguments(t, f.Service, m, c))
			err, _ := out[len(out)-1].Interface().(error)
			if fault.CodeOf(err) != fault.Denied {
				t.Errorf("%s as %s: %v", m.Name, name, err)
			}
			for i, v := range out[:len(out)-1] {
				if !v.IsZero() {
					t.Errorf("%s as %s gives away result %d", m.Name, name, i)
				}
			}
		}
	}
	if called < 10 {
		t.Errorf("%d methods", called)
	}
}

// arguments makes zero values for all but the context and the caller.
func arguments(t *testing.T, s *admin.Service, m reflect.Method, c auth.Caller) []reflect.Value {
	t.Helper()
	args := []reflect.Value{reflect.ValueOf(s)}
	for i := 1; i < m.Type.NumIn(); i++ {
		switch in := m.Type.In(i); in {
		case reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(t.Context()))
		case reflect.TypeFor[auth.Caller]():
			args = append(args, reflect.ValueOf(c))
		default:
			args = append(args, reflect.Zero(in))
		}
	}
	return args
}

func TestSummary(t *testing.T) {
	t.Parallel()
	f := open(t)
	if _, err := f.gate.CreateBucket(t.Context(), f.auth.Local(), "bucket"); err != nil {
		t.Fatal(err)
	}
	s, err := f.Summary(t.Context(), f.auth.Local())
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != "1.2.3" || s.Buckets != 1 || s.Requests != 42 || s.Uptime < time.Hour || s.TotalBytes <= 0 || s.ReadOnly != "" || s.Sequence == 0 {
		t.Errorf("%+v", s)
	}
	for name, c := range map[string]auth.Caller{
		"viewer": f.user(t, "eve", auth.RoleViewer), "full key": f.key(t, auth.Grant{Bucket: "*", Rights: auth.Full}),
	} {
		if _, err := f.Summary(t.Context(), c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysAndUsers(t *testing.T) {
	t.Parallel()
	f := open(t)
	boss := f.user(t, "boss", auth.RoleAdmin)
	k, secret, err := f.CreateKey(t.Context(), boss, auth.KeySpec{Name: "nas", Grants: []auth.Grant{{Bucket: "b", Rights: auth.List}}})
	if err != nil || secret == "" {
		t.Fatal(err)
	}
	if got, err := f.Key(t.Context(), boss, k.ID); err != nil || got.Name != "nas" {
		t.Error(got, err)
	}
	if err := f.SetKeyDisabled(t.Context(), boss, k.ID, true); err != nil {
		t.Error(err)
	}
	if keys, err := f.Keys(t.Context(), boss); err != nil || len(keys) != 1 || !keys[0].Disabled {
		t.Error(keys, err)
	}
	if err := f.DeleteKey(t.Context(), boss, k.ID); err != nil {
		t.Error(err)
	}
	if _, err := f.CreateUser(t.Context(), boss, "ann", "password of it", auth.RoleViewer); err != nil {
		t.Error(err)
	}
	if users, err := f.Users(t.Context(), boss); err != nil || len(users) != 2 {
		t.Error(users, err)
	}
	if err := f.DeleteUser(t.Context(), boss, "ann"); err != nil {
		t.Error(err)
	}
	entries, err := f.auth.Audit(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	by := 0
	for _, e := range entries {
		if e.Actor == "boss" && e.Action != "Login" {
			by++
		}
	}
	if by != 5 {
		t.Errorf("%d changes by boss in the audit log", by)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	f := open(t)
	boss, ann := f.user(t, "boss", auth.RoleAdmin), f.user(t, "ann", auth.RoleViewer)
	change := func(c auth.Caller, user, current, next string) error {
		return f.ChangePassword(t.Context(), c, admin.PasswordChange{User: user, Current: auth.Secret(current), New: auth.Secret(next)})
	}
	wantCode(t, change(ann, "boss", "password of it", "new password"), fault.Denied)
	wantCode(t, change(ann, "ann", "wrong password", "new password"), fault.Unauthenticated)
	wantCode(t, change(ann, "ann", "", "new password"), fault.Unauthenticated)
	wantCode(t, change(ann, "ann", "password of it", "short"), fault.WeakPassword)
	wantCode(t, change(boss, "boss", "", "new password"), fault.Unauthenticated) // a stolen session is not enough
	if err := change(ann, "ann", "password of it", "new password"); err != nil {
		t.Error(err)
	}
	if err := change(boss, "ann", "", "newer password"); err != nil {
		t.Error(err)
	}
	if _, _, err := f.auth.Login(t.Context(), "ann", "newer password", netip.MustParseAddr("192.0.2.9"), ""); err != nil {
		t.Error(err)
	}
}

// TestAnswersAreComplete walks every code: none is without an answer, and no two
// share a name.
func TestAnswersAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]fault.Code{}
	for _, code := range fault.Codes() {
		ans, ok := admin.AnswerFor(code)
		v := reflect.ValueOf(ans)
		status, name := v.Field(0).Int(), v.Field(1).String()
		if !ok || status < 300 || name == "" {
			t.Errorf("%v (%d): no answer", code, code)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("%v and %v are both %q", code, other, name)
		}
		seen[name] = code
	}
	if ans, _ := admin.AnswerFor(fault.Denied); reflect.ValueOf(ans).Field(0).Int() != http.StatusForbidden {
		t.Error("denied is not 403")
	}
}
