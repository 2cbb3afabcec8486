package auth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucket is what the limiter knows of one source.
type bucket struct {
	src      source
	shared   bool // the shard's overflow bucket
	requests *rate.Limiter
	dear     *rate.Limiter
	fresh    time.Time // requests are free until then
	vouched  time.Time // the account at this address is vouched for until then
}

func newBucket(src source) bucket {
	return bucket{
		src:      src,
		requests: rate.NewLimiter(requestRate, requestBurst),
		dear:     rate.NewLimiter(dearRate, dearBurst),
	}
}

// widen gives the dear bucket the size for a /48, once.
func (b *bucket) widen(wide bool) {
	if wide && b.dear.Burst() != wideBurst {
		b.dear = rate.NewLimiter(wideRate, wideBurst)
	}
}

// give puts n tokens back. rate takes a negative draw as that, and cuts what
// exceeds the burst the next time it looks.
func (b *bucket) give(now time.Time, n int) { b.dear.AllowN(now, -n) }

// refresh and vouch note a success. The shared bucket keeps no such notes, since
// they would hold for everybody in it.
func (b *bucket) refresh(now time.Time) {
	if !b.shared {
		b.fresh = now.Add(freshFor)
	}
}

func (b *bucket) vouch(now time.Time) {
	if !b.shared {
		b.vouched = now.Add(vouchFor)
	}
}

// idle tells whether dropping the bucket would forget nothing that matters.
func (b *bucket) idle(now time.Time) bool {
	return b.dear.TokensAt(now) >= float64(b.dear.Burst()) &&
		b.requests.TokensAt(now) >= float64(b.requests.Burst())
}

// limiterShard is one part of the limiter's table. Its lock covers everything
// below it.
type limiterShard struct {
	mu       sync.Mutex
	index    map[source]int
	buckets  []bucket // grows up to size, then its places are reused
	size     int
	hand     int    // where the search for a droppable bucket goes on
	overflow bucket // of all sources that found no place
}

// probes bounds the search for a droppable bucket, and so the time under lock.
const probes = 16

func (s *limiterShard) init(size int) {
	s.index = make(map[source]int)
	s.size = size
	s.overflow = newBucket(source{})
	s.overflow.widen(true)
	s.overflow.shared = true
}

// bucket finds or makes the bucket of src. When every place that was probed
// holds an offender it returns the shared one.
func (s *limiterShard) bucket(src source, now time.Time) *bucket {
	if i, ok := s.index[src]; ok {
		return &s.buckets[i]
	}
	i, ok := s.place(now)
	if !ok {
		return &s.overflow
	}
	s.buckets[i] = newBucket(src)
	s.index[src] = i
	return &s.buckets[i]
}

func (s *limiterShard) place(now time.Time) (int, bool) {
	if len(s.buckets) < s.size {
		s.buckets = append(s.buckets, bucket{})
		return len(s.buckets) - 1, true
	}
	for range min(probes, s.size) {
		i := s.hand
		s.hand = (s.hand + 1) % s.size
		if s.buckets[i].idle(now) {
			delete(s.index, s.buckets[i].src)
			return i, true
		}
	}
	return 0, false
}
