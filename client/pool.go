package client

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// spread is how many requests a connection carries before another one is
	// opened for those that follow.
	spread = 16
	// growAgain is how long no second connection is tried after one could not
	// be made.
	growAgain = time.Second
)

// pool holds the connections, and gives requests their places on them: on the
// one that carries the fewest. A request waits where all are full.
type pool struct {
	cfg      Config
	patience patience
	stop     context.Context // ends with Close
	cancel   context.CancelFunc

	mu      sync.Mutex // guards all below, and load and born of connections
	ready   []*conn    // take requests
	leaving []*conn    // finish theirs
	dialing int
	born    uint64    // connections made so far
	slow    time.Time // no connection beyond the first until then
	waiters []*waiter // in the order they came
	closed  bool
}

// waiter is a request that has no place yet. got has room for its one result.
type waiter struct {
	after uint64 // only connections born later will do
	got   chan place
}

// place is a connection with a place on it that is the receiver's, or why there
// is none.
type place struct {
	on  *conn
	err error
}

func newPool(cfg Config, p patience) *pool {
	stop, cancel := context.WithCancel(context.Background())
	return &pool{cfg: cfg, patience: p, stop: stop, cancel: cancel}
}

// take returns a connection with a place for one request on it, which release
// gives back. after is the newest connection that will not do, 0 for none: a
// request that is repeated goes to a fresh one.
func (p *pool) take(ctx context.Context, after uint64) (*conn, error) {
	if ctx.Err() != nil {
		return nil, canceled("client.connect", p.cfg.Addr, context.Cause(ctx))
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, closed()
	}
	if c := p.pick(after); c != nil {
		p.mu.Unlock()
		return c, nil
	}
	w := &waiter{after: after, got: make(chan place, 1)}
	p.waiters = append(p.waiters, w)
	p.grow()
	p.mu.Unlock()
	select {
	case got := <-w.got:
		return got.on, got.err
	case <-ctx.Done():
		p.withdraw(w)
		return nil, canceled("client.connect", p.cfg.Addr, context.Cause(ctx))
	}
}

// pick takes a place on the connection with the fewest requests, and has
// another one opened when that is not few. The caller holds the lock.
func (p *pool) pick(after uint64) *conn {
	if p.dialing == 0 && len(p.ready) >= p.cfg.Conns {
		after = 0 // there is no room for a fresh one
	}
	var best *conn
	for _, c := range p.ready {
		if c.born > after && c.load < c.terms.streams && (best == nil || c.load < best.load) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	if best.load >= spread && p.dialing == 0 && p.slow.Before(time.Now()) {
		p.dial()
	}
	best.load++
	return best
}

// grow dials for those who wait, one connection for all of them at a time. The
// caller holds the lock.
func (p *pool) grow() {
	if len(p.waiters) > 0 && p.dialing == 0 {
		p.dial()
	}
}

// dial makes another connection in the background, if there may be one more.
// The caller holds the lock.
func (p *pool) dial() {
	if p.closed || len(p.ready)+p.dialing >= p.cfg.Conns {
		return
	}
	p.dialing++
	go func() {
		c, err := connect(p.stop, &p.cfg, p.patience, p)
		p.dialed(c, err)
	}()
}

// dialed takes a connection in, or tells those who waited for it why there is
// none.
func (p *pool) dialed(c *conn, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	switch {
	case p.closed && err == nil:
		go c.fail(closed())
	case err != nil:
		p.slow = time.Now().Add(growAgain)
		p.refuse(err)
	default:
		p.born++
		c.born = p.born
		p.ready = append(p.ready, c)
		c.start()
	}
	p.serve()
}

// refuse fails those who wait for a connection, not those who wait for a place
// on the ones that there are. The caller holds the lock.
func (p *pool) refuse(err error) {
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool {
		fits := slices.ContainsFunc(p.ready, func(c *conn) bool { return c.born > w.after })
		if !fits {
			w.got <- place{err: err}
		}
		return !fits
	})
}

// serve gives places to those who wait, in their order, and dials where that
// leaves somebody. The caller holds the lock.
func (p *pool) serve() {
	if len(p.waiters) == 0 {
		return
	}
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool {
		c := p.pick(w.after)
		if c != nil {
			w.got <- place{on: c}
		}
		return c != nil
	})
	p.grow()
}

// withdraw takes a waiter out whose request was given up.
func (p *pool) withdraw(w *waiter) {
	p.mu.Lock()
	p.waiters = slices.DeleteFunc(p.waiters, func(x *waiter) bool { return x == w })
	p.mu.Unlock()
	select {
	case got := <-w.got:
		if got.on != nil {
			p.release(got.on)
		}
	default:
	}
}

// release gives a place back.
func (p *pool) release(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.load--
	p.serve()
}

// retire gives a connection no more requests.
func (p *pool) retire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.ready, c); at >= 0 {
		p.ready = slices.Delete(p.ready, at, at+1)
		p.leaving = append(p.leaving, c)
	}
	p.serve()
}

// drop forgets a connection.
func (p *pool) drop(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := func(x *conn) bool { return x == c }
	p.ready = slices.DeleteFunc(p.ready, same)
	p.leaving = slices.DeleteFunc(p.leaving, same)
	p.serve()
}

// newest is the number of the newest connection.
func (p *pool) newest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.born
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	all := append(slices.Clone(p.ready), p.leaving...)
	for _, w := range p.waiters {
		w.got <- place{err: closed()}
	}
	p.waiters = nil
	p.mu.Unlock()
	p.cancel()
	for _, c := range all {
		c.fail(closed())
	}
}
