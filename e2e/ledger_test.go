package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// ledger remembers what the server has promised. Every key has one writer,
// which notes its intent before it sends and the acknowledgement after the
// answer. After a crash a key may stand in the last acknowledged state or in
// the one that was under way, and in no other.
type ledger struct {
	mu   sync.Mutex
	keys map[string]*entry
}

// entry is the history of one key, as far as it matters.
type entry struct {
	acked, intended state
	underway        bool // intended was sent and not answered
}

// state is what stands under a key.
type state struct {
	version int   // 0 = nothing
	size    int64 // of the payload
}

func newLedger() *ledger { return &ledger{keys: map[string]*entry{}} }

// intend notes what is about to be sent.
func (l *ledger) intend(key string, s state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	if e == nil {
		e = &entry{}
		l.keys[key] = e
	}
	if e.underway {
		panic("two writers of " + key)
	}
	e.intended, e.underway = s, true
}

// ack notes that the server said yes.
func (l *ledger) ack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	e.acked, e.underway = e.intended, false
}

// settle notes what was found under the key after a crash. It is an error when
// that is none of the states allowed.
func (l *ledger) settle(key string, is func(state) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	switch {
	case is(e.acked):
	case e.underway && is(e.intended):
		e.acked = e.intended
	default:
		return fmt.Errorf("%s stands neither as acknowledged (version %d, %d bytes) nor as intended (%v, version %d, %d bytes)",
			key, e.acked.version, e.acked.size, e.underway, e.intended.version, e.intended.size)
	}
	e.underway = false
	return nil
}

// names are all keys ever written to, in order.
func (l *ledger) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.keys))
}

// standing are the keys that hold something now, in order, and how many
// acknowledged changes are behind them.
func (l *ledger) standing() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, e := range l.keys {
		if e.acked.version > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (l *ledger) stateOf(key string) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.keys[key]; e != nil {
		return e.acked
	}
	return state{}
}

// refused notes that the server said no: what stood before has to stand.
func (l *ledger) refused(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key].underway = false
}
