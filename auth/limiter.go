package auth

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"larder/fault"
)

// Cost is what a Take draws from the buckets of an address.
type Cost uint8

// The costs. Requests draw from a bucket of their own, which is generous and
// from which an address that authenticated within the last minute draws
// nothing. Failures and checks are dear, and only they can lock an address.
const (
	CostRequest Cost = iota // any request, taken by the front end before authentication
	CostFailure             // a failed authentication that was cheap to find out
	CostCheck               // a bcrypt run, given back when the secret was right
)

// tokens is the price in dear tokens.
func (c Cost) tokens() int {
	switch c {
	case CostFailure:
		return 1
	case CostCheck:
		return 3
	}
	return 0
}

// The sizes of the buckets. One address gets 30 cheap failures or 10 bcrypt
// runs at once, and then one failure every two seconds or one run every six.
const (
	requestRate  rate.Limit = 10_000 // a second
	requestBurst            = 20_000
	dearRate     rate.Limit = 0.5
	dearBurst               = 30
	wideRate     rate.Limit = 4 // an IPv6 /48, and the bucket of all who have none
	wideBurst               = 240

	freshFor  = time.Minute        // how long requests are free after a success
	vouchFor  = 7 * 24 * time.Hour // how long a success separates an account from its address
	tableSize = 32_768             // buckets of about 360 bytes: 12 MiB when full
	shards    = 64
	shardSize = tableSize / shards

	tooManyFailures = "Too many failed attempts from your address."
)

// Limiter holds token buckets per IPv4 address or IPv6 /64, and wider ones per
// IPv6 /48, in a table of fixed size. A bucket is dropped to make room only
// when it is full again, so nothing is forgotten of an offender; when the table
// holds nothing but offenders, newcomers share one bucket per shard.
//
// An account that once authenticated from an address is vouched for there: from
// then on its failures draw from a bucket of the pair of both, so that a good
// client is not locked out by a bad one behind the same address.
//
// A Limiter is safe for concurrent use.
type Limiter struct {
	seed   maphash.Seed
	shards [shards]limiterShard
}

func newLimiter() *Limiter {
	l := &Limiter{seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].init(shardSize)
	}
	return l
}

// subject is the claimed name of a key or user, which may not exist.
type subject struct {
	kind Kind
	id   string
}

// source names a bucket: a network, or one account within it.
type source struct {
	prefix  netip.Prefix
	account uint64 // 0 = the network itself
}

// Take draws the cost from the buckets of the address, or fails with
// fault.RateLimited and draws nothing.
func (l *Limiter) Take(addr netip.Addr, cost Cost) error {
	if cost == CostRequest {
		return l.takeRequest(addr)
	}
	return l.admit(addr, subject{}, cost)
}

func (l *Limiter) takeRequest(addr netip.Addr) error {
	now, src := time.Now(), source{prefix: narrow(addr)}
	ok := false
	l.use(src, now, func(b *bucket) {
		ok = now.Before(b.fresh) || b.requests.AllowN(now, 1)
	})
	if ok {
		return nil
	}
	return limited(time.Second, "Too many requests from your address.")
}

// admit draws a dear cost before the work it pays for: from the pair of
// address and account when that is vouched for, else from the address and its
// /48.
func (l *Limiter) admit(addr netip.Addr, who subject, cost Cost) error {
	return l.draw(addr, who, cost.tokens())
}

// ready fails like admit, but draws nothing: for work so cheap that only its
// failure counts.
func (l *Limiter) ready(addr netip.Addr, who subject) error {
	now := time.Now()
	sources, _ := l.payers(addr, who)
	for _, src := range sources {
		short := 0.0
		l.peek(src, func(b *bucket) { short = 1 - b.dear.TokensAt(now) })
		if short > 0 {
			return limited(time.Duration(short/float64(dearRate)*float64(time.Second)), tooManyFailures)
		}
	}
	return nil
}

// fail draws the price of a failure, or what is left of it.
func (l *Limiter) fail(addr netip.Addr, who subject) { _ = l.draw(addr, who, 1) }

// refund gives a cost back that admit drew.
func (l *Limiter) refund(addr netip.Addr, who subject, cost Cost) {
	l.give(addr, who, cost.tokens())
}

// vouch notes that the account authenticated from the address.
func (l *Limiter) vouch(addr netip.Addr, who subject) {
	now := time.Now()
	p := narrow(addr)
	l.use(source{prefix: p}, now, func(b *bucket) { b.refresh(now) })
	l.use(l.pair(p, who), now, func(b *bucket) { b.vouch(now) })
}

// vouched tells whether the account authenticated from the address within the
// last seven days.
func (l *Limiter) vouched(addr netip.Addr, who subject) bool {
	now, ok := time.Now(), false
	l.peek(l.pair(narrow(addr), who), func(b *bucket) { ok = now.Before(b.vouched) })
	return ok
}

func (l *Limiter) draw(addr netip.Addr, who subject, n int) error {
	now := time.Now()
	sources, wide := l.payers(addr, who)
	for i, src := range sources {
		if wait, ok := l.drawOne(src, wide[i], now, n); !ok {
			for _, paid := range sources[:i] {
				l.use(paid, now, func(b *bucket) { b.give(now, n) })
			}
			return limited(wait, tooManyFailures)
		}
	}
	return nil
}

func (l *Limiter) drawOne(src source, wide bool, now time.Time, n int) (wait time.Duration, ok bool) {
	l.use(src, now, func(b *bucket) {
		b.widen(wide)
		ok = b.dear.AllowN(now, n)
		if !ok {
			short := float64(n) - b.dear.TokensAt(now)
			wait = time.Duration(short / float64(b.dear.Limit()) * float64(time.Second))
		}
	})
	return wait, ok
}

func (l *Limiter) give(addr netip.Addr, who subject, n int) {
	now := time.Now()
	sources, _ := l.payers(addr, who)
	for _, src := range sources {
		l.use(src, now, func(b *bucket) { b.give(now, n) })
	}
}

// payers lists the buckets that pay for an attempt, and which of them are wide.
func (l *Limiter) payers(addr netip.Addr, who subject) ([]source, []bool) {
	p := narrow(addr)
	if who != (subject{}) && l.vouched(addr, who) {
		return []source{l.pair(p, who)}, []bool{false}
	}
	sources, wide := []source{{prefix: p}}, []bool{false}
	if a := addr.Unmap(); a.Is6() {
		w, _ := a.WithZone("").Prefix(48)
		sources, wide = append(sources, source{prefix: w}), append(wide, true)
	}
	return sources, wide
}

// pair names the bucket of one account at one network.
func (l *Limiter) pair(p netip.Prefix, who subject) source {
	return source{prefix: p, account: maphash.Comparable(l.seed, who) | 1}
}

func (l *Limiter) shard(src source) *limiterShard {
	return &l.shards[maphash.Comparable(l.seed, src)%shards]
}

// use runs f on the bucket of src, made if need be, under the shard's lock.
func (l *Limiter) use(src source, now time.Time, f func(*bucket)) {
	s := l.shard(src)
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.bucket(src, now))
}

// peek runs f on the bucket of src if there is one.
func (l *Limiter) peek(src source, f func(*bucket)) {
	s := l.shard(src)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.index[src]; ok {
		f(&s.buckets[i])
	}
}

// narrow is the network that one household controls for certain: an IPv4
// address or an IPv6 /64, without a zone.
func narrow(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // the zero Prefix for the zero Addr
	return p
}

func limited(wait time.Duration, why string) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	return fault.New("auth.Limiter", fault.RateLimited, "", nil).
		WithHint(fmt.Sprintf("%s Try again in %d s.", why, seconds))
}
