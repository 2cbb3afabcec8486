package auth_test

import (
	"strings"
	"sync"
	"testing"

	"larder/auth"
	"larder/fault"
)

const password = auth.Secret("correct horse")

// TestSetupOnce: of many racing set-ups exactly one succeeds.
func TestSetupOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	code := f.NewSetupCode()
	if !f.SetupNeeded(t.Context()) {
		t.Fatal("no set-up needed")
	}
	type result struct {
		token string
		err   error
	}
	results := make(chan result, 50)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 50 {
		wg.Go(func() {
			<-start
			token, _, err := f.Setup(t.Context(), code, password, addr(i), "")
			results <- result{token, err}
		})
	}
	close(start)
	wg.Wait()
	close(results)
	made := 0
	for r := range results {
		if r.err == nil {
			made++
			if !f.alive(t, r.token) {
				t.Error("no session")
			}
			continue
		}
		wantCode(t, r.err, fault.SetupDone)
	}
	if made != 1 || f.SetupNeeded(t.Context()) {
		t.Errorf("%d set-ups", made)
	}
	f.login(t, "admin", password)
	_, _, err := f.Setup(t.Context(), f.NewSetupCode(), password, addr(1), "")
	wantCode(t, err, fault.SetupDone)
	if users, _ := f.Users(t.Context()); len(users) != 1 || users[0].Role != auth.RoleAdmin {
		t.Errorf("users %v", users)
	}
}

func TestSetupCode(t *testing.T) {
	t.Parallel()
	f := open(t)
	_, _, err := f.Setup(t.Context(), "", password, addr(1), "") // none made yet
	wantCode(t, err, fault.Unauthenticated)
	old, code := f.NewSetupCode(), f.NewSetupCode()
	if old == code || len(code) != 11 {
		t.Errorf("codes %q, %q", old, code)
	}
	for i, wrong := range []string{"", old, code[:10], code + "0", strings.Repeat("0", 1<<20)} {
		_, _, err := f.Setup(t.Context(), wrong, password, addr(i), "")
		wantCode(t, err, fault.Unauthenticated)
	}
	_, _, err = f.Setup(t.Context(), code, "short", addr(1), "")
	wantCode(t, err, fault.WeakPassword)
	if _, _, err := f.Setup(t.Context(), " "+strings.ToLower(strings.ReplaceAll(code, "-", " "))+" ", password, addr(1), ""); err != nil {
		t.Error(err)
	}
}

// TestSetupCodeGuessing: guessing locks the address, and the owner elsewhere
// still gets in.
func TestSetupCodeGuessing(t *testing.T) {
	t.Parallel()
	f := open(t)
	code := f.NewSetupCode()
	var last error
	for range 50 {
		_, _, last = f.Setup(t.Context(), "00000-00000", password, addr(1), "")
	}
	wantCode(t, last, fault.RateLimited)
	if _, _, err := f.Setup(t.Context(), code, password, addr(2), ""); err != nil {
		t.Error(err)
	}
}

func TestSetAdminPassword(t *testing.T) {
	t.Parallel()
	f := open(t)
	code := f.NewSetupCode()
	for _, weak := range []auth.Secret{"", "seven77", auth.Secret(strings.Repeat("x", 73))} {
		_, err := f.SetAdminPassword(t.Context(), weak)
		wantCode(t, err, fault.WeakPassword)
	}
	if made, err := f.SetAdminPassword(t.Context(), password); err != nil || !made {
		t.Fatal(made, err)
	}
	if made, err := f.SetAdminPassword(t.Context(), "another password"); err != nil || made {
		t.Fatal(made, err)
	}
	f.login(t, "admin", password)
	_, _, err := f.Setup(t.Context(), code, password, addr(1), "")
	wantCode(t, err, fault.SetupDone)
}

// TestImportKey: a key comes from the configuration once in the life of a data
// folder.
func TestImportKey(t *testing.T) {
	t.Parallel()
	f := open(t)
	grants := []auth.Grant{{Bucket: "*", Rights: auth.Full}}
	imports := func(id string, secret auth.Secret) (made, differs bool) {
		made, differs, err := f.ImportKey(t.Context(), id, secret, "first", grants)
		if err != nil {
			t.Fatal(err)
		}
		return made, differs
	}
	for i, tt := range []struct {
		id            string
		secret        auth.Secret
		made, differs bool
	}{
		{"minio-user", "minio-secret", true, false},
		{"minio-user", "minio-secret", false, false},
		{"minio-user", "other-secret", false, true},
		{"other-user", "minio-secret", false, true},
	} {
		if made, differs := imports(tt.id, tt.secret); made != tt.made || differs != tt.differs {
			t.Errorf("%d: made %v, differs %v", i, made, differs)
		}
	}
	if _, err := f.Bearer(t.Context(), "minio-user", "minio-secret", addr(1)); err != nil {
		t.Error(err)
	}
	if _, _, err := f.VerifySignature(t.Context(), sign("minio-user", "minio-secret", "x"), addr(1)); err != nil {
		t.Error(err)
	}
	if err := f.DeleteKey(t.Context(), "minio-user"); err != nil {
		t.Fatal(err)
	}
	if made, differs := imports("minio-user", "minio-secret"); made || !differs {
		t.Error("a deleted key was revived")
	}
	if keys, _ := f.Keys(t.Context()); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
}

func TestImportKeyOverACreatedOne(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	for s, want := range map[auth.Secret]bool{secret: false, "other-secret": true} {
		made, differs, err := f.ImportKey(t.Context(), k.ID, s, "", []auth.Grant{{Bucket: "*", Rights: auth.Full}})
		if made || differs != want || err != nil {
			t.Error(made, differs, err)
		}
	}
	for _, id := range []string{"", "ab", "a:b", "a/b", "a b", "a,b", "ä-key", strings.Repeat("k", 129)} {
		_, _, err := f.ImportKey(t.Context(), id, "long enough", "", []auth.Grant{{Bucket: "*", Rights: auth.Full}})
		wantCode(t, err, fault.InvalidArgument)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.user(t, "ann", auth.RoleAdmin)
	_, err := f.CreateUser(t.Context(), "ann", password, auth.RoleViewer)
	wantCode(t, err, fault.UserExists)
	for _, name := range []string{"", "Ann", "ann ", " ann", "1ann", "ann\x00", "änn", "\uff41nn", "-ann", strings.Repeat("a", 33)} { // twins of a name, or none
		_, err := f.CreateUser(t.Context(), name, password, auth.RoleViewer)
		wantCode(t, err, fault.InvalidArgument)
	}
	_, err = f.CreateUser(t.Context(), "bob", password, "owner")
	wantCode(t, err, fault.InvalidArgument)
	_, err = f.CreateUser(t.Context(), "bob", "1234567", auth.RoleViewer)
	wantCode(t, err, fault.WeakPassword)
	wantCode(t, f.DeleteUser(t.Context(), "bob"), fault.NoSuchUser)
	wantCode(t, f.DeleteUser(t.Context(), "ann"), fault.Conflict) // the last administrator
	wantCode(t, f.ChangePassword(t.Context(), "bob", password), fault.NoSuchUser)
	f.user(t, "root", auth.RoleAdmin)
	if err := f.DeleteUser(t.Context(), "ann"); err != nil {
		t.Error(err)
	}
	users, _ := f.Users(t.Context())
	if len(users) != 1 || users[0].Name != "root" || !users[0].Created.Equal(f.clock.Now()) {
		t.Errorf("users %v", users)
	}
}

func TestGeneratedKeys(t *testing.T) {
	t.Parallel()
	f := open(t)
	a, secret := f.key(t)
	b, other := f.key(t)
	if len(a.ID) != 20 || !strings.HasPrefix(a.ID, "LK") || strings.ToUpper(a.ID) != a.ID || a.ID == b.ID {
		t.Errorf("ids %q, %q", a.ID, b.ID)
	}
	odd := strings.Trim(secret.Reveal(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	if len(secret) != 40 || odd != "" || secret == other {
		t.Error("the secret is not 40 letters and digits")
	}
	keys, err := f.Keys(t.Context())
	if err != nil || len(keys) != 2 || keys[0].ID != a.ID {
		t.Errorf("keys %v, %v", keys, err)
	}
	keys[0].Grants[0].Bucket = "changed" // a copy
	if k, _ := f.KeyByID(t.Context(), a.ID); k.Grants[0].Bucket != "*" {
		t.Error("the list shares memory with the state")
	}
	_, err = f.KeyByID(t.Context(), "LKNONE")
	wantCode(t, err, fault.NoSuchAccessKey)
	wantCode(t, f.DeleteKey(t.Context(), "LKNONE"), fault.NoSuchAccessKey)
	wantCode(t, f.SetKeyDisabled(t.Context(), "LKNONE", true), fault.NoSuchAccessKey)
}
