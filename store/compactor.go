package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"larder/fault"
	"larder/store/journal"
)

// compactor gives the space of dead records back. It rewrites sealed segments
// beside the journal's head: into one new file that covers the same records and
// holds those that are still needed, see docs/decisions/0008. It runs in the
// background, at a limited rate, and leaves half of the time to others.
type compactor struct {
	store  *Store
	ctx    context.Context // ends at close
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	begun  chan struct{} // closed when the leftovers of the last run are settled
	kick   chan struct{} // something was freed

	estimate *estimate
	limit    *rate.Limiter

	working sync.Mutex // held by the one compaction that runs
	pace    pace       // guarded by working

	mu      sync.Mutex       // guards all below
	broken  map[uint64]bool  // segments with a record that cannot be read
	futile  map[uint64]int64 // bytes that were needed of segments not worth it when they were looked at
	saved   int64            // bytes given back since Open
	counted bool             // the estimate has read all bodies
}

const (
	// gain is the share of a segment that must be dead for it to be rewritten: one
	// part in gain.
	gain = 4
	// burst is how many bytes may be read or written at once.
	burst = 1 << 20
	// settleTime passes between something freed and the look at what there is to
	// do, so that a mass deletion is looked at as a whole; retryTime after a
	// lack of space.
	settleTime = 200 * time.Millisecond
	retryTime  = 5 * time.Second
)

func newCompactor(s *Store) *compactor {
	ctx, cancel := context.WithCancel(context.Background())
	c := &compactor{store: s, ctx: ctx, cancel: cancel, done: make(chan struct{}), begun: make(chan struct{})}
	c.kick = make(chan struct{}, 1)
	c.pace.now = s.cfg.Now
	c.broken, c.futile = make(map[uint64]bool), make(map[uint64]int64)
	c.estimate = newEstimate(s.index.Applied().Sequence)
	c.limit = rate.NewLimiter(rate.Inf, burst)
	if s.cfg.CompactRate > 0 {
		c.limit = rate.NewLimiter(rate.Limit(s.cfg.CompactRate), burst)
	}
	return c
}

func (c *compactor) close() {
	c.cancel()
	<-c.done
}

// note takes what a batch did to bodies. It never waits.
func (c *compactor) note(deltas []bodyDelta) {
	if len(deltas) == 0 {
		return
	}
	c.estimate.note(deltas)
	if slices.ContainsFunc(deltas, func(d bodyDelta) bool { return d.bytes < 0 }) {
		c.wake()
	}
}

func (c *compactor) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

func (c *compactor) run() {
	defer close(c.done)
	c.settleLeftovers()
	close(c.begun)
	if c.store.cfg.CompactRate < 0 || c.count() != nil {
		return
	}
	c.wake()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.kick:
		}
		wait := settleTime
		for c.sleep(wait) == nil {
			var more bool
			if more, wait = c.next(); !more {
				break
			}
		}
	}
}

// count reads all bodies, for the estimate.
func (c *compactor) count() error {
	p := pace{now: c.store.cfg.Now}
	err := c.estimate.scan(c.ctx, c.store.index, p.rest)
	if err != nil && c.ctx.Err() == nil {
		c.store.log.Warn("segments are not compacted until the next start", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted = err == nil
	return err
}

func (c *compactor) sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-t.C:
		return nil
	}
}

// next does what is most worth it. It tells whether to look again, and after
// which time.
func (c *compactor) next() (more bool, wait time.Duration) {
	if c.store.writable() != nil || c.store.index.Damaged() {
		return false, 0 // what a damaged index does not name may live
	}
	run := c.choose(c.store.journal.Segments())
	if run == nil {
		return c.shrinkIndex(), time.Millisecond
	}
	err := c.store.trustIndex(c.ctx)
	if fault.CodeOf(err) == fault.Corrupt {
		return false, 0 // until the next start
	}
	if err == nil {
		err = c.compact(c.ctx, run, true)
	}
	switch fault.CodeOf(err) {
	case fault.OK:
		return true, 0
	case fault.NoSpace, fault.Unavailable:
		return c.ctx.Err() == nil, retryTime
	case fault.Canceled, fault.Conflict: // the latter: a swap was left for the next start
		return false, 0
	}
	c.giveUp(run, err)
	return true, 0
}

// giveUp leaves segments alone until the next start.
func (c *compactor) giveUp(run []journal.Segment, err error) {
	if c.ctx.Err() != nil {
		return
	}
	c.store.log.Warn("segments could not be compacted and stay as they are", "first", run[0].Number, "segments", len(run), "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range run {
		c.broken[s.Number] = true
	}
}

// compact rewrites a run of sealed neighbours. With worth set it does so only
// when that gives enough back; what it finds out is noted.
func (c *compactor) compact(ctx context.Context, run []journal.Segment, worth bool) error {
	c.working.Lock()
	defer c.working.Unlock()
	s := c.store
	p, err := s.plan(ctx, s.journal.Segments(), run, c.throttle)
	if err != nil {
		return c.canceled(ctx, err)
	}
	for i, f := range p.found {
		c.estimate.measure(run[i].Number, f)
	}
	if worth && !p.worth(s.cfg.SegmentSize) {
		c.leave(p)
		return nil
	}
	if err := c.room(p.kept()); err != nil {
		return err
	}
	out, moves, err := s.journal.Compact(ctx, journal.Compaction{
		Inputs: numbersOf(run), AsOf: p.asOf, Keep: p.keep(), Throttle: c.throttle,
	})
	if err != nil {
		if s.journal.Err() != nil {
			s.fail(err)
		}
		return c.canceled(ctx, err)
	}
	swap := &swap{compactor: c, out: out.Number, inputs: numbersOf(run), moves: moves}
	if err := swap.run(ctx); err != nil {
		return c.canceled(ctx, err)
	}
	c.estimate.moved(swap.inputs, out.Number, swap.live, p.whole())
	c.mu.Lock()
	c.saved += p.size() - out.Size
	c.mu.Unlock()
	s.log.Info("segments compacted", "segment", out.Number, "inputs", len(run), "bytes", p.size(), "left", out.Size)
	return nil
}

// leave notes of which segments too little is dead, whatever the estimate says.
func (c *compactor) leave(p *planner) {
	needed := c.estimate.needed(p.run)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range p.run {
		if !p.found[i].worth(s) {
			c.futile[s.Number] = needed[i]
		}
	}
}

// canceled tells the end of ctx from a failure.
func (c *compactor) canceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.New("store.Compact", fault.Canceled, "", err)
	}
	return err
}

func numbersOf(run []journal.Segment) []uint64 {
	out := make([]uint64, len(run))
	for i, s := range run {
		out[i] = s.Number
	}
	return out
}

// compactReserve is the free space in bytes that a compaction leaves: less than
// a put does, since it makes room.
const compactReserve = 4 << 20

// room fails with fault.NoSpace when an output of so many bytes does not fit.
func (c *compactor) room(bytes int64) error {
	space, err := c.store.fs.Space()
	if err != nil || space.Free-bytes >= compactReserve {
		return nil
	}
	return noSpace()
}

// throttle waits until so many bytes may be read or written.
func (c *compactor) throttle(ctx context.Context, bytes int) error {
	for bytes > 0 {
		n := min(bytes, burst)
		asked := c.store.cfg.Now()
		if err := c.limit.WaitN(ctx, n); err != nil {
			return fault.New("store.Compact", fault.Canceled, "", err)
		}
		c.pace.woke = c.pace.woke.Add(c.store.cfg.Now().Sub(asked))
		bytes -= n
	}
	if c.store.cfg.CompactRate < 0 {
		return ctx.Err() // somebody waits for it
	}
	return c.pace.rest(ctx)
}

// pace sleeps as long as was worked since the last sleep, in steps of workTime.
type pace struct {
	now  func() time.Time
	woke time.Time
}

const workTime = 5 * time.Millisecond

func (p *pace) rest(ctx context.Context) error {
	worked := p.now().Sub(p.woke)
	if worked < workTime {
		return ctx.Err()
	}
	t := time.NewTimer(min(worked, 2*workTime))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	p.woke = p.now()
	return ctx.Err()
}

// stats gives the numbers of the segments.
func (c *compactor) stats(st *Stats) {
	segments := c.store.journal.Segments()
	needed := c.estimate.needed(segments)
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Segments, st.CompactedBytes = len(segments), c.saved
	for i, s := range segments {
		st.SegmentBytes += s.Size
		if !s.Head && c.counted {
			st.DeadBytes += s.Size - needed[i]
		}
	}
}
