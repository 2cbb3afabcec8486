package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"larder/fault"
)

const (
	pollEvery   = 5 * time.Millisecond // of a follower that gets no hints
	hintTimeout = time.Second          // after which a follower looks without a hint: what has come is a hint only
	catchUp     = 30 * time.Second     // that a follower may be behind at the end
)

// watcher is a target that tells when keys change.
type watcher interface {
	// Watch begins to watch the keys below a prefix. hint then returns when one of
	// them may have changed since the last call, or when its context ends.
	Watch(ctx context.Context, bucket, prefix string) (hint func(context.Context) error, end func() error, err error)
}

// wayToFollow is how a follower learns that it should look.
type wayToFollow struct {
	name, word string
	follow     func(context.Context, lane, *walLog) (*follower, error)
}

// waysToFollow are those that a lane has.
func waysToFollow(l lane) []wayToFollow {
	ways := []wayToFollow{{"followers poll", "poll", followByPolling}}
	if _, ok := l.target.(watcher); ok {
		ways = append(ways, wayToFollow{"followers watch", "watch", followByWatching})
	}
	return ways
}

// follower reads a log with conditional gets and notes how long after its
// acknowledgement it sees each entry.
type follower struct {
	lane lane
	log  *walLog
	wait func(context.Context) error
	end  func() error

	stop chan struct{} // closed when the writer is done
	done chan struct{} // closed when the follower is
	err  error         // read it, and what is below, after done
	seen []time.Duration
}

func followByPolling(ctx context.Context, l lane, w *walLog) (*follower, error) {
	return follow(ctx, l, w, func(ctx context.Context) error {
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
		return nil
	}, func() error { return nil }), nil
}

func followByWatching(ctx context.Context, l lane, w *walLog) (*follower, error) {
	hint, end, err := l.target.(watcher).Watch(ctx, l.bucket, w.key())
	if err != nil {
		return nil, err
	}
	return follow(ctx, l, w, hint, end), nil
}

func follow(ctx context.Context, l lane, w *walLog, wait func(context.Context) error, end func() error) *follower {
	f := &follower{lane: l, log: w, wait: wait, end: end, stop: make(chan struct{}), done: make(chan struct{})}
	go func() { defer close(f.done); f.err = f.run(ctx) }()
	return f
}

// finish lets the follower catch up and returns the lag of each entry.
func (f *follower) finish() ([]time.Duration, error) {
	close(f.stop)
	<-f.done
	return f.seen, f.err
}

// run looks, and waits until it should look again, until the writer is done and
// everything has been seen.
func (f *follower) run(ctx context.Context) error {
	defer func() { _ = f.end() }() // the followers' connections close with the clients
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go f.endWaiting(ctx, cancel)
	var deadline time.Time
	last, etag := 0, ""
	for {
		stopped := isClosed(f.stop)
		if stopped && deadline.IsZero() {
			deadline = time.Now().Add(catchUp)
		}
		entries, newer, err := f.log.read(context.WithoutCancel(ctx), f.lane, etag)
		if err != nil {
			return err
		}
		etag = newer
		if last, err = f.note(entries, last); err != nil {
			return err
		}
		switch {
		case stopped && last >= f.log.count():
			return nil
		case stopped && time.Now().After(deadline):
			return fault.New("bench.wal", fault.Internal, f.log.key(),
				fmt.Errorf("a follower has seen %d of %d entries", last, f.log.count()))
		case stopped:
			time.Sleep(pollEvery)
		default:
			if err := f.waitOnce(ctx); err != nil {
				return err
			}
		}
	}
}

// endWaiting wakes a follower that waits when the writer is done.
func (f *follower) endWaiting(ctx context.Context, cancel context.CancelFunc) {
	select {
	case <-f.stop:
		cancel()
	case <-ctx.Done():
	}
}

// waitOnce waits for a hint, but not for ever.
func (f *follower) waitOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	if err := f.wait(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// note takes new entries in. Each follows the one before it, unless the follower
// was too slow for what a log object holds.
func (f *follower) note(entries []walEntry, last int) (int, error) {
	now := time.Now()
	for i, e := range entries {
		if i > 0 && e.number != entries[i-1].number+1 {
			return last, fault.New("bench.wal", fault.Corrupt, f.log.key(), fmt.Errorf("entry %d follows %d", e.number, entries[i-1].number))
		}
		if e.number <= last {
			continue
		}
		last = e.number
		lag := time.Duration(0) // seen before the writer was told
		if at, ok := f.log.acked(e.number); ok {
			lag = max(0, now.Sub(at))
		}
		f.seen = append(f.seen, lag)
	}
	return last, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lags gathers what followers saw.
type lags struct {
	mu   sync.Mutex
	took []time.Duration // guarded by mu
}

func (l *lags) add(some []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, some...)
}
