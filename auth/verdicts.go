package auth

import (
	"sync"
	"time"
)

// digest names a pair of subject and secret under a key of this process.
type digest [32]byte

// verdict is what bcrypt said, for one generation of the account.
type verdict struct {
	generation uint64
	until      time.Time
}

// verdicts is a bounded table of answers of one kind. When it is full, the
// oldest goes.
type verdicts struct {
	mu    sync.RWMutex
	life  time.Duration
	byKey map[digest]verdict
	ring  []digest
	next  int
	size  int
}

func newVerdicts(size int, life time.Duration) *verdicts {
	return &verdicts{life: life, byKey: make(map[digest]verdict), size: size}
}

// has tells whether the answer is known for exactly this generation.
func (v *verdicts) has(d digest, generation uint64) bool {
	v.mu.RLock()
	got, ok := v.byKey[d]
	v.mu.RUnlock()
	return ok && got.generation == generation && time.Now().Before(got.until)
}

func (v *verdicts) add(d digest, generation uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.byKey[d]; !ok {
		v.claim(d)
	}
	v.byKey[d] = verdict{generation: generation, until: time.Now().Add(v.life)}
}

// claim gives d a place in the ring.
func (v *verdicts) claim(d digest) {
	if len(v.ring) < v.size {
		v.ring = append(v.ring, d)
		return
	}
	delete(v.byKey, v.ring[v.next])
	v.ring[v.next] = d
	v.next = (v.next + 1) % v.size
}
