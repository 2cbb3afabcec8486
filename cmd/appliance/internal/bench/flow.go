package bench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// flow counts what moves in one direction during the runs of an exercise, by
// seconds. It is safe for concurrent use.
type flow struct {
	mu      sync.Mutex
	tally   tally     // of all runs; guarded by mu, as is all below
	began   time.Time // of this run
	seconds []moved   // of this run
	whole   []float64 // MiB of each whole second of all runs
}

// moved is what ended within one second.
type moved struct{ operations, bytes int64 }

// begin starts a run.
func (f *flow) begin(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began, f.seconds = now, nil
}

// work calls act until the time is up, at least once, or too much fails.
func (f *flow) work(ctx context.Context, until time.Time, act func() (int64, error)) {
	failed := 0
	for first := true; first || time.Now().Before(until); first = false {
		began := time.Now()
		n, err := act()
		if errors.Is(err, errIdle) || ctx.Err() != nil {
			return
		}
		f.note(n, time.Since(began), err)
		if err != nil {
			if failed++; failed > maxErrors {
				return
			}
		}
	}
}

// note takes an operation into the second in which it ended.
func (f *flow) note(bytes int64, took time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.note(outcome{bytes: bytes}, took, err)
	at := int(time.Since(f.began) / time.Second)
	for len(f.seconds) <= at {
		f.seconds = append(f.seconds, moved{})
	}
	if err == nil {
		f.seconds[at].operations++
		f.seconds[at].bytes += bytes
	}
}

// end takes a run's whole seconds over as what the rate is estimated from; a run
// in whose whole seconds nothing ended, as what it was.
func (f *flow) end(took time.Duration, spent sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.elapsed += took
	f.tally.spent = f.tally.spent.plus(spent)
	span, seconds := 1.0, f.seconds[:min(len(f.seconds), int(took/time.Second))]
	if !slices.ContainsFunc(seconds, func(m moved) bool { return m.operations > 0 }) {
		var all moved
		for _, m := range f.seconds {
			all.operations, all.bytes = all.operations+m.operations, all.bytes+m.bytes
		}
		span, seconds = took.Seconds(), []moved{all}
	}
	for _, m := range seconds {
		f.tally.rates = append(f.tally.rates, float64(m.operations)/span)
		f.tally.byteRates = append(f.tally.byteRates, float64(m.bytes)/span)
		f.whole = append(f.whole, float64(m.bytes)/(1<<20)/span)
	}
}

// figures are those of all runs; the bytes a second are all bytes over all time.
// What the server used is for both directions.
func (f *flow) figures(l lane, first *flow) Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.tally.figures(&contender{name: l.name, child: l.child})
	out.MiB = float64(f.tally.bytes) / (1 << 20) / f.tally.elapsed.Seconds()
	out.PerSecond = f.whole
	if f != first {
		out.Ratio = f.tally.ratio(&first.tally, false)
	}
	return out
}
