package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"larder/auth"
	"larder/fault"
)

// openAt opens an identity store of its own in dir.
func openAt(t *testing.T, path string) *auth.Auth {
	t.Helper()
	a, err := auth.Open(t.Context(), auth.Config{Path: path, SecretKey: make([]byte, 32), BcryptCost: bcrypt.MinCost})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func snapshotOf(t *testing.T, a *auth.Auth) (string, *auth.Identities) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Snapshot(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	ids, err := auth.ReadIdentities(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return path, ids
}

// TestRevived takes things away after a snapshot: each is named, nothing else is,
// and Restored takes each away again.
func TestRevived(t *testing.T) {
	t.Parallel()
	a := openAt(t, filepath.Join(t.TempDir(), "system.db"))
	grant := []auth.Grant{{Bucket: "bbb", Rights: auth.Read}}
	ids := map[string]string{}
	for _, name := range []string{"stays", "deleted", "disabled", "off"} {
		k, _, err := a.CreateKey(t.Context(), auth.KeySpec{Name: name, Grants: grant})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = k.ID
	}
	for _, name := range []string{"boss", "gone", "changed"} {
		if _, err := a.CreateUser(t.Context(), name, "password of it", auth.RoleAdmin); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.SetKeyDisabled(t.Context(), ids["off"], true))
	path, old := snapshotOf(t, a)
	must(a.DeleteKey(t.Context(), ids["deleted"]))
	must(a.SetKeyDisabled(t.Context(), ids["disabled"], true))
	must(a.SetKeyDisabled(t.Context(), ids["off"], false)) // given, not taken away
	must(a.DeleteUser(t.Context(), "gone"))
	must(a.ChangePassword(t.Context(), "changed", "another password"))
	_, now := snapshotOf(t, a)

	var lines []string
	for _, r := range old.Revived(now, time.Now()) {
		lines = append(lines, r.String())
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"(deleted) was deleted", "(disabled) was disabled", "user gone was deleted", "user changed has got another password"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if len(lines) != 4 || len(old.Working(time.Now())) != 3 {
		t.Errorf("%d keys work, revived:\n%s", len(old.Working(time.Now())), text)
	}

	b := openAt(t, path)
	must(b.Restored(t.Context(), "a test", now))
	must(b.Close())
	_, after := snapshotOf(t, openAt(t, path))
	if again := after.Revived(now, time.Now()); len(again) != 0 {
		t.Errorf("still revived: %v", again)
	}
}

// TestSnapshotChecks: a snapshot that is damaged, foreign or of another secret
// key is refused.
func TestSnapshotChecks(t *testing.T) {
	t.Parallel()
	a := openAt(t, filepath.Join(t.TempDir(), "system.db"))
	path, _ := snapshotOf(t, a)
	if err := auth.CheckSnapshot(t.Context(), path, make([]byte, 32)); err != nil {
		t.Error(err)
	}
	other := make([]byte, 32)
	other[0] = 1
	if err := auth.CheckSnapshot(t.Context(), path, other); fault.CodeOf(err) != fault.ForeignStore {
		t.Errorf("another secret key: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"empty": nil, "cut": text[:len(text)/2], "foreign": []byte(strings.Repeat("no database ", 400)),
		"zeroed page": append(append(append([]byte{}, text[:4096]...), make([]byte, 4096)...), text[8192:]...),
	} {
		file := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := auth.CheckSnapshot(t.Context(), file, make([]byte, 32)); fault.CodeOf(err) != fault.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}
