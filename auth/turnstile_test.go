package auth_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"larder/auth"
	"larder/fault"
)

// TestTurnstileTurns: however long one lane is, the next in another lane waits
// for one round only, and a full lane refuses at once.
func TestTurnstileTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := auth.NewTurnstile(1)
		if err := q.Enter(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		enter := func(lane string) {
			if err := q.Enter(t.Context(), lane); err != nil {
				wantCode(t, err, fault.RateLimited)
				return
			}
			mu.Lock()
			order = append(order, lane)
			mu.Unlock()
			q.Leave()
		}
		for range 5 * auth.MaxLane {
			go enter("flood")
		}
		synctest.Wait()
		if n := q.Waiting("flood"); n != auth.MaxLane {
			t.Errorf("%d wait in the flooded lane", n)
		}
		go enter("good")
		synctest.Wait()
		q.Leave()
		synctest.Wait()
		if at := slices.Index(order, "good"); at < 0 || at > 1 {
			t.Errorf("the good one came at place %d of %v", at, order)
		}
		if len(order) != auth.MaxLane+1 {
			t.Errorf("%d came in", len(order))
		}
		if q.Free() != 1 || q.Lanes() != 0 {
			t.Errorf("%d free, %d lanes left", q.Free(), q.Lanes())
		}
	})
}

// TestTurnstileAbandoned: who goes away leaves no trace, and a place given at
// the same moment is passed on.
func TestTurnstileAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := auth.NewTurnstile(1)
		if err := q.Enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { wantCode(t, q.Enter(ctx, "b"), fault.Canceled) }()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if q.Lanes() != 0 {
			t.Errorf("%d lanes left", q.Lanes())
		}
		q.Leave()
		if q.Free() != 1 {
			t.Errorf("%d free", q.Free())
		}
	})
}

// TestTurnstileRace enters, leaves and gives up at random moments; afterwards
// every place is free again.
func TestTurnstileRace(t *testing.T) {
	t.Parallel()
	q := auth.NewTurnstile(3)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			if q.Enter(ctx, string(rune('a'+i%5))) == nil {
				q.Leave()
			}
		})
	}
	wg.Wait()
	if q.Free() != 3 || q.Lanes() != 0 {
		t.Errorf("%d free, %d lanes left", q.Free(), q.Lanes())
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := auth.NewVerdicts(3, time.Minute)
		for n := range byte(10) {
			v.Add(n, 1)
			v.Add(n, 1)
		}
		if v.Len() != 3 || v.Has(6, 1) || !v.Has(7, 1) || !v.Has(9, 1) {
			t.Errorf("%d kept, not the newest three", v.Len())
		}
		if v.Has(9, 2) {
			t.Error("an answer for another generation")
		}
		time.Sleep(time.Minute)
		if v.Has(9, 1) {
			t.Error("an answer lives too long")
		}
	})
}
