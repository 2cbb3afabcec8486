package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// outcome is what one operation brought.
type outcome struct {
	bytes     int64
	firstByte time.Duration // until the first byte of an answer's body; 0 = not known
}

// turn names one operation.
type turn struct {
	round  int
	worker int
	n      int // within the round, over all workers
}

// contender is one of those that take turns within a cell.
type contender struct {
	name    string
	child   *child // the server that works for it; nil for a foreign one or none
	workers int
	most    int  // operations of a round; 0 = as many as fit into its time
	whole   bool // a round ends after most operations only, however long they take

	begin func(ctx context.Context, round int) error // before a round, not timed; nil = nothing
	op    func(ctx context.Context, t turn) (outcome, error)
	end   func(ctx context.Context, round int) error // after a round, not timed; nil = nothing

	describe func(*Figures) // adds what only the part knows; nil = nothing

	limit   string // the name of the limit that the contender is held against
	byBytes bool   // by bytes and not by operations
	apart   bool   // it does something else than the first contender: there is no ratio
}

const (
	minRounds   = 3   // however long they take
	patience    = 3   // times the wanted time, after which a cell has no further round
	maxErrors   = 100 // in a round, after which it ends
	maxRound    = time.Hour
	maxRecorded = 4096 // bytes of an error's text
)

// measure lets the contenders take turns, round by round, and returns the figures
// of each. The limits that they are held against take turns with them. A cell that
// takes much longer than it should gets fewer rounds.
func (b *bench) measure(ctx context.Context, contenders []contender) ([]Figures, error) {
	tallies, limits := make([]tally, len(contenders)), b.limitsOf(contenders)
	budget := time.Duration(float64(patience*len(contenders)) * b.cfg.Seconds * float64(time.Second))
	began := time.Now()
	for round := range b.cfg.Rounds {
		if round >= minRounds && time.Since(began) > budget {
			break
		}
		for name, t := range limits {
			if err := b.bare[name].round(ctx, round, time.Duration(float64(b.span())*limitShare), t); err != nil {
				return nil, err
			}
		}
		for i := range contenders {
			if err := contenders[i].round(ctx, round, b.span(), &tallies[i]); err != nil {
				return nil, err
			}
		}
	}
	out := make([]Figures, len(contenders))
	for i := range contenders {
		c, t := &contenders[i], &tallies[i]
		out[i] = t.figures(c)
		if limit := limits[c.limit]; limit != nil {
			out[i].Limit, out[i].OfLimit = c.limit, t.ratio(limit, c.byBytes)
		}
		if i > 0 && !c.apart {
			out[i].Ratio = t.ratio(&tallies[0], false)
		}
	}
	return out, nil
}

// limitsOf gives a tally to each limit that contenders are held against.
func (b *bench) limitsOf(contenders []contender) map[string]*tally {
	out := map[string]*tally{}
	for _, c := range contenders {
		if _, ok := b.bare[c.limit]; ok {
			out[c.limit] = &tally{}
		}
	}
	return out
}

// round is one turn of a contender: its workers begin together, and each makes at
// least one operation.
func (c *contender) round(ctx context.Context, number int, span time.Duration, into *tally) error {
	if c.begin != nil {
		if err := c.begin(ctx, number); err != nil {
			return err
		}
	}
	before, err := c.child.sample(ctx)
	if err != nil {
		return err
	}
	r := &running{c: c, number: number, began: time.Now()}
	r.until = r.began.Add(span)
	if c.whole {
		r.until = r.began.Add(maxRound)
	}
	var wg sync.WaitGroup
	results := make([]tally, c.workers)
	for w := range c.workers {
		wg.Go(func() { r.work(ctx, w, &results[w]) })
	}
	wg.Wait()
	took := time.Since(r.began)
	after, err := c.child.sample(ctx)
	if err != nil {
		return err
	}
	into.add(results, took, after.since(before))
	if c.end != nil {
		if err := c.end(ctx, number); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// running is a round that is under way.
type running struct {
	c            *contender
	number       int
	began, until time.Time
	next         atomic.Int64
	errors       atomic.Int64
}

func (r *running) work(ctx context.Context, worker int, mine *tally) {
	for first := true; first || time.Now().Before(r.until); first = false {
		n := int(r.next.Add(1)) - 1
		if r.c.most > 0 && n >= r.c.most || ctx.Err() != nil || r.errors.Load() > maxErrors {
			return
		}
		began := time.Now()
		got, err := r.c.op(ctx, turn{round: r.number, worker: worker, n: n})
		if err != nil {
			r.errors.Add(1)
		}
		mine.note(got, time.Since(began), err)
	}
}

// tally gathers operations: those of one worker, or of a contender over all
// rounds.
type tally struct {
	took, firstBytes  []time.Duration
	operations, bytes int64
	errors            int64
	firstError        string

	rates, byteRates []float64 // a second, of each round
	elapsed          time.Duration
	spent            sample // by the server, in all rounds
}

func (t *tally) note(got outcome, took time.Duration, err error) {
	if err != nil {
		t.errors++
		if t.firstError == "" {
			text := err.Error()
			t.firstError = text[:min(len(text), maxRecorded)]
		}
		return
	}
	t.operations++
	t.bytes += got.bytes
	t.took = append(t.took, took)
	if got.firstByte > 0 {
		t.firstBytes = append(t.firstBytes, got.firstByte)
	}
}

// add takes a round over.
func (t *tally) add(results []tally, took time.Duration, spent sample) {
	var operations, bytes int64
	for _, r := range results {
		operations, bytes = operations+r.operations, bytes+r.bytes
		t.took = append(t.took, r.took...)
		t.firstBytes = append(t.firstBytes, r.firstBytes...)
		t.errors += r.errors
		if t.firstError == "" {
			t.firstError = r.firstError
		}
	}
	t.operations, t.bytes = t.operations+operations, t.bytes+bytes
	t.rates = append(t.rates, float64(operations)/took.Seconds())
	t.byteRates = append(t.byteRates, float64(bytes)/took.Seconds())
	t.elapsed += took
	t.spent = t.spent.plus(spent)
}

func (t *tally) figures(c *contender) Figures {
	f := Figures{
		Name: c.name, Operations: t.operations, Bytes: t.bytes, Errors: t.errors, FirstError: t.firstError,
		Rate: estimate(t.rates), MiB: estimate(t.byteRates).Value / (1 << 20),
		Took: latencyOf(t.took), FirstByte: latencyOf(t.firstBytes),
	}
	if c.child != nil {
		t.spent.describe(&f, t.elapsed)
	}
	if c.describe != nil {
		c.describe(&f)
	}
	return f
}

// ratio compares the rates round by round, so that what disturbed a round
// disturbed both.
func (t *tally) ratio(other *tally, byBytes bool) *Estimate {
	mine, theirs := t.rates, other.rates
	if byBytes {
		mine, theirs = t.byteRates, other.byteRates
	}
	var ratios []float64
	for i := range min(len(mine), len(theirs)) {
		if theirs[i] > 0 {
			ratios = append(ratios, mine[i]/theirs[i])
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	e := estimate(ratios)
	return &e
}
