package scrubber

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

const (
	defaultPeriod  = 30 * 24 * time.Hour
	defaultMaxRate = 50 << 20
	// minRate is what a pass may read at least, in bytes a second: a small store
	// is done in minutes, and not stretched over a month.
	minRate = 1 << 20
	// slack is which part of a period a pass leaves free at its end, so that
	// hours without power or with a busy disk do not make it late.
	slack = 10
	// yield is how many times as long as a step took the scrubber then waits: a
	// disk or processor with much to do gets less of it. With 1 the p99 of a
	// client's writes rose by a third during a pass at the highest rate, with 3 by a
	// tenth to a fourth.
	yield = 5
	// maxYield bounds how long the scrubber waits for its own slowness.
	maxYield = 5 * time.Second
	// settled is how much of a period must be over before the pace so far tells
	// anything about the rest.
	settled = 20
)

// pace decides how fast a pass reads, in bytes a second, that is to be done by
// until.
func pace(left int64, until time.Duration, hurry bool, highest int64) int64 {
	if hurry || until <= 0 {
		return highest
	}
	need := float64(left) / until.Seconds()
	return min(max(int64(min(need, float64(highest))), min(minRate, highest)), highest)
}

// late tells whether a pass cannot end in time: what is left needs more than
// the highest rate, or more than it was given so far.
func late(done, left int64, since, until time.Duration, highest int64) bool {
	if left <= 0 {
		return until < 0
	}
	if until <= 0 || float64(left)/until.Seconds() > float64(highest) {
		return true
	}
	if since < (since+until)/settled {
		return false
	}
	return float64(done)/since.Seconds()*until.Seconds() < 0.98*float64(left)
}

// throttle lets a pass wait after each step: in proportion to what the step took,
// and then for its share of bytes.
type throttle struct {
	limit *rate.Limiter
	poked chan struct{} // ends a wait early
}

func newThrottle() *throttle {
	return &throttle{limit: rate.NewLimiter(minRate, minRate), poked: make(chan struct{}, 1)}
}

// poke lets whoever waits look again at what there is to do.
func (t *throttle) poke() {
	select {
	case t.poked <- struct{}{}:
	default:
	}
}

// wait waits for d, a poke, or the end of ctx.
func (t *throttle) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.poked:
	case <-ctx.Done():
	}
}

// after waits for a step that took so long and read so many bytes.
func (t *throttle) after(ctx context.Context, took time.Duration, n, perSecond int64) {
	t.wait(ctx, min(yield*took, maxYield))
	t.limit.SetLimit(rate.Limit(perSecond))
	t.limit.SetBurst(int(max(n, perSecond/4, 1)))
	t.wait(ctx, t.limit.ReserveN(time.Now(), int(n)).Delay())
}
