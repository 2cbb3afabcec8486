// Package scrubber reads everything that a store keeps, over and over, before
// it is needed: within a period every byte of every segment and blob is read
// from the disk and verified, and every row of the index is held against its
// record. It finds; it moves and deletes nothing.
//
// A piece that looks damaged is read again, past the page cache, before it
// becomes a finding, and only if what it belongs to is still live and still
// lies there. So nothing that is overwritten, deleted or moved during a pass is
// ever accused. Rows of the index are views: they are healed from the journal.
//
// The scrubber holds no lock and no transaction while it waits. Where it stands
// and what it has found is written down, and survives restarts.
package scrubber

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"larder/fault"
)

// Config says what to scrub and how fast. Only Store is required.
type Config struct {
	Store   Source
	Period  time.Duration    // in which everything is verified once; 0 = 30 days
	MaxRate int64            // bytes a second, never exceeded by a throttled pass; 0 = 50 MiB
	Now     func() time.Time // stamps findings and passes; nil = time.Now
	Log     *slog.Logger     // nil discards
}

func (c *Config) setDefaults() {
	if c.Period <= 0 {
		c.Period = defaultPeriod
	}
	if c.MaxRate <= 0 {
		c.MaxRate = defaultMaxRate
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// Scrubber is safe for concurrent use.
type Scrubber struct {
	cfg      Config
	throttle *throttle

	// turn is held during a step, so that passes and second looks take turns.
	turn      chan struct{}
	join      *join       // of the pass that runs, nil when a restart has lost it; guarded by turn
	verifying atomic.Bool // a Pass runs

	room int // maxAgreed, but for tests

	saving sync.Mutex // what is written down later is newer

	mu     sync.Mutex // guards all below; never held while anything is read
	mem    memory
	saved  time.Time // when mem was last written down
	failed string    // why the last step failed
}

const (
	saveEvery  = 30 * time.Second // of a pass that runs
	tendEvery  = time.Second      // one open finding is looked at again
	tendAge    = 10 * time.Second // none is more often
	idleWait   = time.Minute      // how long an idle scrubber sleeps at most
	maxBackoff = time.Minute      // after steps that failed
)

// New reads what an earlier scrubber of the store has written down: where it
// stood, what it has found, whether it is paused. It starts nothing. What
// cannot be read is begun anew, since a pass finds again what is damaged.
func New(_ context.Context, cfg Config) (*Scrubber, error) {
	cfg.setDefaults()
	s := &Scrubber{cfg: cfg, throttle: newThrottle(), turn: make(chan struct{}, 1), room: maxAgreed}
	state, err := cfg.Store.LoadScrub()
	if err == nil && state != nil {
		s.mem, err = decodeMemory(state)
	}
	if err != nil {
		cfg.Log.Warn("what the scrubber has written down cannot be read; it begins anew", "error", err)
	}
	s.mem.Format = memoryFormat
	return s, nil
}

// Run scrubs until ctx ends: a pass each period, throttled. It writes down
// where it stands before it returns. It is called once.
func (s *Scrubber) Run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		wait, err := s.turnOnce(ctx)
		if failures++; err == nil || ctx.Err() != nil {
			failures = 0
		}
		s.note(err, failures)
		if failures > 0 {
			wait = min(time.Second<<min(failures, 10), maxBackoff)
		}
		s.throttle.wait(ctx, wait)
	}
	if err := s.save(); err != nil {
		s.cfg.Log.Warn("the scrubber's state could not be written down", "error", err)
	}
}

// take waits for the turn; give returns it.
func (s *Scrubber) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New("scrubber.Run", fault.Canceled, "", context.Cause(ctx))
	}
}

func (s *Scrubber) give() { <-s.turn }

// note keeps why steps fail, and logs it once.
func (s *Scrubber) note(err error, failures int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = ""
	if failures == 0 {
		return
	}
	s.failed = err.Error()
	if failures == 1 {
		s.cfg.Log.Error("scrubbing is interrupted and will be tried again", "error", err)
	}
}

// turnOnce does whatever is next, and says how long to wait before the next
// turn. Between two turns anybody may take one.
func (s *Scrubber) turnOnce(ctx context.Context) (wait time.Duration, err error) {
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.tend(ctx, tendAge); err != nil {
		s.give()
		return 0, err
	}
	switch s.duty() {
	case Paused:
		s.give()
		return tendEvery, nil
	case Idle:
		s.give()
		return s.untilDue(), nil
	}
	n, err := s.step(ctx)
	s.give()
	if err != nil {
		return 0, err
	}
	s.throttle.after(ctx, time.Since(began), n, s.allowed())
	return 0, nil
}

// duty tells what there is to do.
func (s *Scrubber) duty() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mem.Paused:
		return Paused
	case s.mem.Pass.Running || !s.cfg.Now().Before(s.mem.Due):
		return Running
	}
	return Idle
}

// untilDue is how long an idle scrubber may sleep. The clock may be set, so it
// never sleeps long.
func (s *Scrubber) untilDue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mem.Book.Open) > 0 {
		return tendEvery
	}
	return max(min(s.mem.Due.Sub(s.cfg.Now()), idleWait), time.Millisecond)
}

// allowed is the rate of the pass that runs.
func (s *Scrubber) allowed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allowedLocked(s.cfg.Now())
}

func (s *Scrubber) allowedLocked(now time.Time) int64 {
	p := &s.mem.Pass
	return pace(p.left(), p.Deadline.Add(-s.cfg.Period/slack).Sub(now), s.mem.Hurry, s.cfg.MaxRate)
}

// left is how many bytes are still to be read, as far as is known. There is
// always something until the pass is over.
func (p *progress) left() int64 { return max(p.Total-p.Read, 1<<20) }

// Status tells where the scrubber stands. It waits for nothing.
func (s *Scrubber) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, p := s.cfg.Now(), &s.mem.Pass
	st := Status{
		State: Idle, Pass: p.Report.Pass, Started: p.Report.Started, Deadline: p.Deadline, Next: s.mem.Due,
		Done: p.Report.Bytes, Total: max(p.Total, p.Report.Bytes), Open: len(s.mem.Book.Open),
		Overflowed: s.mem.Book.Overflowed, Error: s.failed, Last: s.mem.Last,
	}
	if p.Running {
		st.State, st.Next, st.Stage = Running, time.Time{}, stageName(p.Cursor)
		st.Rate = s.allowedLocked(now)
		st.Left = time.Duration(float64(p.left()) / float64(st.Rate) * float64(time.Second))
		st.Behind = late(p.Read, p.left(), now.Sub(p.Report.Started), p.Deadline.Sub(now), s.cfg.MaxRate)
	}
	if s.mem.Paused && !s.verifying.Load() {
		st.State = Paused
		st.Behind = st.Behind || !p.Running && now.After(s.mem.Due.Add(s.cfg.Period))
	}
	return st
}

// Findings are the open findings, oldest first, and behind them those that
// healed last, newest first.
func (s *Scrubber) Findings() []Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mem.Book.list()
}

// Pause stops the pass that runs within a second, until Resume. Both are
// durable on return without an error.
func (s *Scrubber) Pause() error {
	return s.command(func(m *memory) { m.Paused = true })
}

// Resume lets a paused scrubber go on where it stood.
func (s *Scrubber) Resume() error {
	return s.command(func(m *memory) { m.Paused = false })
}

// RunNow begins a pass now, at the highest rate that is allowed, or lets the
// one that runs go on at that rate. It does not wait for it. A paused scrubber
// is resumed. Open findings are looked at again soon.
func (s *Scrubber) RunNow() error {
	return s.command(func(m *memory) {
		m.Paused, m.Hurry = false, true
		if !m.Pass.Running {
			m.Due = time.Time{}
		}
		for _, e := range m.Book.Open {
			e.checked = time.Time{}
		}
	})
}

// command changes what the scrubber is to do, durably.
func (s *Scrubber) command(change func(*memory)) error {
	s.mu.Lock()
	change(&s.mem)
	s.mu.Unlock()
	s.throttle.poke()
	return s.save()
}

// save writes down what is remembered. It is durable on return without an
// error.
func (s *Scrubber) save() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	state, err := s.mem.encode()
	s.saved = s.cfg.Now()
	s.mu.Unlock()
	if err != nil {
		return fault.New("scrubber.Save", fault.Internal, "", err)
	}
	return s.cfg.Store.SaveScrub(state)
}
