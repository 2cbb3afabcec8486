package e2e_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// ackWithin is how long a moment behind an acknowledgement is waited for.
const ackWithin = 500 * time.Millisecond

// ledger remembers what the server has promised. Every key has one writer,
// which notes its intent before it sends and the acknowledgement after the
// answer. After a crash a key may stand in the last acknowledged state or in
// the one that was under way, and in no other.
type ledger struct {
	mu     sync.Mutex
	keys   map[string]*entry
	acked  int64  // acknowledged changes, over all keys
	closed bool   // what is answered now counts as not answered
	then   func() // what happens at the next acknowledgement
}

// entry is the history of one key, as far as it matters.
type entry struct {
	acked, intended state
	underway        bool // intended was sent and not answered
	touched         bool // changed since it was last looked at
}

// state is what stands under a key.
type state struct {
	version int    // 0 = nothing
	size    int64  // of the payload
	of      string // the key and version whose payload it is: "" = its own,
	ofTurn  int    // or those of the object that it was copied from
}

// meta is what a writer stores with the object, so that metadata proves itself too.
func (s state) meta() string { return fmt.Sprintf("%d/%d/%s/%d", s.version, s.size, s.of, s.ofTurn) }

// body is the payload of the state of a key.
func (s state) body(key string) []byte {
	return payloadBytes(cmp.Or(s.of, key), cmp.Or(s.ofTurn, s.version), s.size)
}

// copied is the state of another key that is made a copy of s.
func (s state) copied(key string, version int) state {
	return state{version: version, size: s.size, of: cmp.Or(s.of, key), ofTurn: cmp.Or(s.ofTurn, s.version)}
}

func (s state) String() string {
	if s.version == 0 {
		return "nothing"
	}
	return fmt.Sprintf("version %d with %d bytes", s.version, s.size)
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
	e.intended, e.underway, e.touched = s, true, true
}

// ack notes that the server said yes. It tells whether that still counts.
func (l *ledger) ack(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	e := l.keys[key]
	e.acked, e.underway = e.intended, false
	l.acked++
	if l.then != nil {
		l.then()
		l.then = nil
	}
	return true
}

// atNextAck does something as soon as the server has said yes once more, or
// after a while when it does not. It returns when that is done.
func (l *ledger) atNextAck(do func()) {
	done := make(chan struct{})
	once := sync.OnceFunc(func() { do(); close(done) })
	l.mu.Lock()
	l.then = once
	l.mu.Unlock()
	select {
	case <-done:
	case <-time.After(ackWithin):
		once()
	}
}

// close lets no later answer count, or again all.
func (l *ledger) close(closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = closed
}

// refused notes that the server said no: what stood before has to stand.
func (l *ledger) refused(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key].underway = false
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
	case e.underway:
		return fmt.Errorf("%s stands neither as acknowledged (%s) nor as intended (%s)", key, e.acked, e.intended)
	default:
		return fmt.Errorf("%s does not stand as acknowledged (%s)", key, e.acked)
	}
	e.underway, e.touched = false, false
	return nil
}

// names are all keys ever written to, in order.
func (l *ledger) names() []string {
	return l.which(func(*entry) bool { return true })
}

// standing are the keys that hold something now, in order.
func (l *ledger) standing() []string {
	return l.which(func(e *entry) bool { return e.acked.version > 0 })
}

// fresh are the keys that were written to since they were last looked at.
func (l *ledger) fresh() []string {
	return l.which(func(e *entry) bool { return e.touched })
}

func (l *ledger) which(wanted func(*entry) bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.keys))
	for _, name := range slices.Sorted(maps.Keys(l.keys)) {
		if wanted(l.keys[name]) {
			names = append(names, name)
		}
	}
	return names
}

// stateOf is what was last acknowledged of a key.
func (l *ledger) stateOf(key string) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.keys[key]; e != nil {
		return e.acked
	}
	return state{}
}

// open tells whether a change of the key was never answered: what stands is
// one of two states until somebody looks.
func (l *ledger) open(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[key] != nil && l.keys[key].underway
}

// promised counts the changes that were ever acknowledged.
func (l *ledger) promised() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}
