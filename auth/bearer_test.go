package auth_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"larder/auth"
	"larder/fault"
)

func TestBearerRunsBcryptOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	n := f.checks()
	for i := range 100 {
		c, err := f.Bearer(t.Context(), k.ID, secret, addr(i))
		if err != nil {
			t.Fatal(err)
		}
		if c.ID() != k.ID || c.Kind() != auth.KindKey || c.Addr() != addr(i) {
			t.Fatalf("caller %+v", c)
		}
	}
	if n.Load() != 1 {
		t.Errorf("%d runs", n.Load())
	}
}

// TestBearerCacheEnds: an answer lives for minutes.
func TestBearerCacheEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		k, secret := f.key(t)
		n := f.checks()
		for range 3 {
			if _, err := f.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * time.Minute)
		}
		if n.Load() != 3 {
			t.Errorf("%d runs", n.Load())
		}
		_ = f.Close()
	})
}

// TestBearerAtOnce: equal checks that arrive together run once, even from
// addresses that could not pay for as many, and nobody is refused.
func TestBearerAtOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	hold := make(chan struct{})
	var n atomic.Int64
	f.OnCheck(func() { n.Add(1); <-hold })
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range 64 {
		wg.Go(func() {
			_, err := f.Bearer(t.Context(), k.ID, secret, addr(1))
			errs <- err
		})
	}
	eventually(t, "a run", func() bool { return n.Load() == 1 })
	close(hold)
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if n.Load() != 1 {
		t.Errorf("%d runs", n.Load())
	}
}

// TestBearerLeaderGoesAway: when the request that runs the check is gone, the
// others make it themselves.
func TestBearerLeaderGoesAway(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.SetPlaces(1)
	k, secret := f.key(t)
	other, otherSecret := f.key(t)
	hold := make(chan struct{})
	f.OnCheck(func() { <-hold })
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _, _ = f.Bearer(t.Context(), other.ID, otherSecret, addr(1)) }) // takes the place
	ctx, cancel := context.WithCancel(t.Context())
	eventually(t, "the place is taken", func() bool {
		go func() { _, _ = f.Bearer(ctx, k.ID, secret, addr(2)) }()
		return f.Waiting() == 1
	})
	result := make(chan error, 1)
	wg.Go(func() {
		_, err := f.Bearer(t.Context(), k.ID, secret, addr(3))
		result <- err
	})
	cancel()
	close(hold)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestBearerRefuses(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	f.user(t, "ann", auth.RoleAdmin)
	n := f.checks()
	for i, tt := range []struct {
		id     string
		secret auth.Secret
		runs   int64
	}{
		{k.ID, secret + "x", 1},
		{k.ID, secret[1:], 1},
		{k.ID, "", 1},
		{"LKAAAAAAAAAAAAAAAAAA", secret, 1}, // the same price for an unknown id
		{"", "", 1},
		{"ann", "password of ann", 1}, // a user is not a key
		{strings.ToLower(k.ID), secret, 1},
		{k.ID, auth.Secret(strings.Repeat("x", 73)), 0},
		{k.ID, auth.Secret(strings.Repeat("x", 1<<20)), 0},
	} {
		before := n.Load()
		c, err := f.Bearer(t.Context(), tt.id, tt.secret, addr(i))
		wantCode(t, err, fault.Unauthenticated)
		if !c.IsZero() {
			t.Errorf("%d: made a caller", i)
		}
		if runs := n.Load() - before; runs != tt.runs {
			t.Errorf("%d: %d runs of bcrypt, want %d", i, runs, tt.runs)
		}
	}
}

// TestBearerByte73: bcrypt looks at 72 bytes; a secret with one more is not the
// same secret.
func TestBearerByte73(t *testing.T) {
	t.Parallel()
	f := open(t)
	long := auth.Secret(strings.Repeat("s", 72))
	grants := []auth.Grant{{Bucket: "*", Rights: auth.Full}}
	if _, _, err := f.ImportKey(t.Context(), "long", long, "", grants); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Bearer(t.Context(), "long", long, addr(1)); err != nil {
		t.Error(err)
	}
	_, err := f.Bearer(t.Context(), "long", long+"s", addr(1))
	wantCode(t, err, fault.Unauthenticated)
	_, _, err = f.ImportKey(t.Context(), "longer", long+"s", "", grants)
	wantCode(t, err, fault.WeakPassword)
}

// TestFloodFromOneAddress: wrong secrets from one address reach bcrypt no more
// often than the limiter allows, whatever ids they name.
func TestFloodFromOneAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		k, secret := f.key(t)
		n := f.checks()
		limited := 0
		for i := range 5000 {
			id := k.ID
			if i%2 == 0 {
				id = "LK" + string(rune('A'+i%26))
			}
			_, err := f.Bearer(t.Context(), id, auth.Secret(strings.Repeat("w", i%60))+"!", addr(1))
			if fault.CodeOf(err) == fault.RateLimited {
				limited++
			}
		}
		if n.Load() != 10 || limited < 4900 {
			t.Errorf("%d runs of bcrypt, %d limited", n.Load(), limited)
		}
		time.Sleep(time.Minute)
		for i := range 5000 {
			_, _ = f.Bearer(t.Context(), k.ID, auth.Secret(strings.Repeat("v", i%60)), addr(1))
		}
		if n.Load() != 20 {
			t.Errorf("%d runs of bcrypt after a minute", n.Load())
		}
		if _, err := f.Bearer(t.Context(), k.ID, secret, addr(2)); err != nil {
			t.Errorf("a good client elsewhere: %v", err)
		}
		_ = f.Close()
	})
}

// TestRepeatedWrongSecret: the same wrong secret again costs no bcrypt, but
// counts as a failure.
func TestRepeatedWrongSecret(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, _ := f.key(t)
	n := f.checks()
	var last error
	for range 100 {
		_, last = f.Bearer(t.Context(), k.ID, "wrong secret", addr(1))
	}
	if n.Load() != 1 {
		t.Errorf("%d runs", n.Load())
	}
	wantCode(t, last, fault.RateLimited)
}

// TestFloodFromManyAddresses: a thousand wrong secrets from as many addresses
// fill their lanes; a good login is next within one round of the lanes.
func TestFloodFromManyAddresses(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.SetPlaces(1)
	password := f.user(t, "ann", auth.RoleAdmin)
	k, _ := f.key(t)
	turn := make(chan string)
	f.OnSecret(func(secret string) { turn <- secret })
	var flood sync.WaitGroup
	var refused atomic.Int64
	for i := range 1000 {
		flood.Go(func() {
			id := k.ID
			if i%2 == 0 {
				id = fmt.Sprintf("LKUNKNOWN%d", i)
			}
			_, err := f.Bearer(t.Context(), id, auth.Secret("wrong"+strings.Repeat("x", i%50)+string(rune('A'+i/50))), addr(i))
			if fault.CodeOf(err) == fault.RateLimited {
				refused.Add(1)
			}
		})
	}
	// the lanes of unknown ids and the one of the key are full, one check runs,
	// and everybody else was refused
	full := int64((auth.DecoyLanes + 1) * auth.MaxLane)
	eventually(t, "full lanes", func() bool { return int64(f.Waiting()) == full && refused.Load() > 900 })
	done := make(chan error, 1)
	go func() {
		_, _, err := f.Login(t.Context(), "ann", password, addr(5000), "")
		done <- err
	}()
	eventually(t, "the good login waits", func() bool { return int64(f.Waiting()) == full+1 })
	// one round at most: the check that was running, and one of each full lane
	before := 0
	for secret := range turn {
		if secret == password.Reveal() {
			break
		}
		before++
	}
	if before > 1+auth.DecoyLanes+1 {
		t.Errorf("the good login came after %d others", before)
	}
	go func() {
		for range turn { // the rest of the flood
		}
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	flood.Wait()
	close(turn)
}

// TestRevokedDuringTheCheck: a check that was under way when its key was
// revoked lets nobody in.
func TestRevokedDuringTheCheck(t *testing.T) {
	t.Parallel()
	for name, revoke := range map[string]func(*fixture, string) error{
		"deleted": func(f *fixture, id string) error { return f.DeleteKey(context.Background(), id) },
		"disabled": func(f *fixture, id string) error {
			return f.SetKeyDisabled(context.Background(), id, true)
		},
	} {
		f := open(t)
		k, secret := f.key(t)
		var once sync.Once
		f.OnCheck(func() {
			once.Do(func() {
				if err := revoke(f, k.ID); err != nil {
					t.Error(err)
				}
			})
		})
		for range 2 {
			if _, err := f.Bearer(t.Context(), k.ID, secret, addr(1)); err == nil {
				t.Errorf("%s: let in", name)
			}
		}
	}
}

// TestMadeAgain: a key that is made again with an old id is another one.
func TestMadeAgain(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.user(t, "root", auth.RoleAdmin)
	password := f.user(t, "ann", auth.RoleOperator)
	token, c, err := f.Login(t.Context(), "ann", password, addr(1), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.DeleteUser(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	f.user(t, "ann", auth.RoleAdmin)
	if _, err := f.Session(t.Context(), token, addr(1)); err == nil {
		t.Error("an old session revived")
	}
	if f.Guard().Allows(t.Context(), c, auth.ListBuckets, auth.Resource{}) {
		t.Error("an old caller revived")
	}
}
