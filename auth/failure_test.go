package auth_test

import (
	"testing"

	"larder/auth"
	"larder/fault"
)

// TestFullDisk: a change that finds no space changes nothing, checks go on, and
// changes work again when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	if err := f.Exec("PRAGMA max_page_count = 1"); err != nil { // no less than there are
		t.Fatal(err)
	}
	var err error
	made := 1
	for ; err == nil && made < 1000; made++ {
		_, _, err = f.CreateKey(t.Context(), auth.KeySpec{Grants: k.Grants})
	}
	wantCode(t, err, fault.NoSpace)
	if keys, _ := f.Keys(t.Context()); len(keys) != made-1 {
		t.Errorf("%d keys of %d", len(keys), made-1)
	}
	if _, err := f.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
		t.Error(err)
	}
	if err := f.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	f.key(t)
	if _, err := f.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFailedWriteIsFinal: after a write that failed in another way no change is
// taken until a restart, and checks go on.
func TestFailedWriteIsFinal(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	if err := f.Exec("PRAGMA query_only = ON"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, f.DeleteKey(t.Context(), k.ID), fault.ReadOnly)
	if err := f.Exec("PRAGMA query_only = OFF"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, f.DeleteKey(t.Context(), k.ID), fault.ReadOnly)
	if _, err := f.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Auth = f.openAgain(t)
	if err := f.DeleteKey(t.Context(), k.ID); err != nil {
		t.Error(err)
	}
}
