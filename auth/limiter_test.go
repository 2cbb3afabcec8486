package auth_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"larder/auth"
	"larder/fault"
)

// drain takes until refused and returns how often it was allowed.
func drain(t *testing.T, take func() error) int {
	t.Helper()
	for n := range 1_000_000 {
		err := take()
		if err != nil {
			wantCode(t, err, fault.RateLimited)
			if fault.HintOf(err) == "" {
				t.Error("no hint")
			}
			return n
		}
	}
	t.Fatal("never refused")
	return 0
}

func checks(l *auth.Limiter, a string) func() error {
	return func() error { return l.Take(netip.MustParseAddr(a), auth.CostCheck) }
}

func TestLimiterOneAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(16)
		if n := drain(t, checks(l, "192.0.2.1")); n != 10 {
			t.Errorf("%d checks at once", n)
		}
		if n := drain(t, checks(l, "::ffff:192.0.2.1")); n != 0 {
			t.Errorf("%d more as a mapped address", n)
		}
		if n := drain(t, checks(l, "192.0.2.2")); n != 10 {
			t.Errorf("%d from the neighbour", n)
		}
		time.Sleep(time.Minute)
		if n := drain(t, checks(l, "192.0.2.1")); n != 10 {
			t.Errorf("%d after a minute", n)
		}
		time.Sleep(12 * time.Second)
		if n := drain(t, checks(l, "192.0.2.1")); n != 2 {
			t.Errorf("%d after 12 seconds", n)
		}
	})
}

func TestLimiterFailuresAreCheaper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(16)
		a := netip.MustParseAddr("192.0.2.1")
		if n := drain(t, func() error { return l.Take(a, auth.CostFailure) }); n != 30 {
			t.Errorf("%d failures at once", n)
		}
	})
}

// TestLimiterIPv6: addresses of one /64 share a bucket,
// and many /64s of one /48 share a wider one.
func TestLimiterIPv6(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(1024)
		if n := drain(t, checks(l, "2001:db8:1:1::1")); n != 10 {
			t.Errorf("%d at once", n)
		}
		if n := drain(t, checks(l, "2001:db8:1:1:ffff::9%eth0")); n != 0 {
			t.Errorf("%d from the same /64", n)
		}
		i, total := 0, 10
		for range 1000 { // each from another /64 of the /48
			i++
			b := netip.MustParseAddr("2001:db8:1::1").As16()
			b[6], b[7] = byte(i>>8)+2, byte(i)
			if l.Take(netip.AddrFrom16(b), auth.CostCheck) == nil {
				total++
			}
		}
		if total != 80 {
			t.Errorf("%d from one /48", total)
		}
		if n := drain(t, checks(l, "2001:db8:2::1")); n != 10 {
			t.Errorf("%d from another /48", n)
		}
	})
}

// TestLimiterRequests: whoever authenticates is not throttled, neither by
// the number of requests nor by the failures of others.
func TestLimiterRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(16)
		good, bad := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		l.Vouch(good, "key")
		for range 200_000 {
			if err := l.Take(good, auth.CostRequest); err != nil {
				t.Fatal(err)
			}
		}
		n := drain(t, func() error { return l.Take(bad, auth.CostRequest) })
		if n < 20_000 || n > 21_000 {
			t.Errorf("%d requests of nobody", n)
		}
		if err := l.Take(bad, auth.CostFailure); err != nil {
			t.Error("requests drew from the dear bucket")
		}
	})
}

// TestLimiterVouched: a key that is known at an address has a bucket of its own
// there, and others cannot use it.
func TestLimiterVouched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(16)
		a := netip.MustParseAddr("192.0.2.1")
		l.Vouch(a, "good")
		bad := func() error { return l.Admit(a, "bad", auth.CostCheck) }
		if n := drain(t, bad); n != 10 {
			t.Errorf("%d of the bad key", n)
		}
		if n := drain(t, func() error { return l.Admit(a, "good", auth.CostCheck) }); n != 10 {
			t.Errorf("%d of the good key", n)
		}
		l.Refund(a, "good", auth.CostCheck)
		if n := drain(t, func() error { return l.Admit(a, "good", auth.CostCheck) }); n != 1 {
			t.Errorf("%d after one was given back", n)
		}
		if n := drain(t, bad); n != 0 {
			t.Errorf("%d of the bad key", n)
		}
		elsewhere := netip.MustParseAddr("192.0.2.2")
		if n := drain(t, func() error { return l.Admit(elsewhere, "good", auth.CostCheck) }); n != 10 {
			t.Errorf("%d elsewhere", n)
		}
	})
}

// TestLimiterRefundIsCapped: what is given back never exceeds the bucket.
func TestLimiterRefundIsCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(16)
		a := netip.MustParseAddr("2001:db8::1")
		for range 100 {
			l.Refund(a, "k", auth.CostCheck)
		}
		if n := drain(t, func() error { return l.Admit(a, "k", auth.CostCheck) }); n != 10 {
			t.Errorf("%d at once", n)
		}
	})
}

// TestLimiterTable: the table does not grow, a flood of addresses does
// not reset an offender, and newcomers without a place share a bucket.
func TestLimiterTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perShard = 2
		l := auth.NewLimiter(perShard)
		offender := "192.0.2.1"
		drain(t, checks(l, offender))
		allowed := 0
		for i := range 100_000 {
			if l.Take(addr(i), auth.CostCheck) == nil {
				allowed++
			}
			if l.Take(netip.MustParseAddr(offender), auth.CostCheck) == nil {
				t.Fatal("the flood reset the offender")
			}
		}
		if n := l.Buckets(); n > 64*perShard {
			t.Errorf("%d buckets", n)
		}
		if most := 64 * (perShard + 80); allowed > most {
			t.Errorf("%d checks allowed, at most %d", allowed, most)
		}
		time.Sleep(2 * time.Minute) // all full again: places are free
		if n := drain(t, checks(l, "198.51.100.7")); n != 10 {
			t.Errorf("%d after the flood", n)
		}
	})
}

func TestLimiterVouchesForNobodyInTheSharedBucket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(1)
		for i := range 10_000 {
			_ = l.Take(addr(i), auth.CostFailure) // all places are taken by offenders
		}
		for i := range 1000 {
			l.Vouch(addr(20_000+i), "good")
		}
		n := drain(t, func() error { return l.Take(addr(50_000), auth.CostRequest) })
		if n > 21_000 {
			t.Errorf("%d requests of nobody were free", n)
		}
	})
}

func TestLimiterWithoutAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := auth.NewLimiter(16)
		if n := drain(t, func() error { return l.Take(netip.Addr{}, auth.CostCheck) }); n != 10 {
			t.Errorf("%d", n)
		}
	})
}
