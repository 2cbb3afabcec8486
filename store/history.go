package store

import (
	"sort"
	"sync"

	"larder/store/journal"
)

// The history forgets a page at a time, the oldest first, as soon as it holds
// more than historyPages or more than historyBytes of keys: it always holds the
// last 65,536 changes, unless their keys are long.
const (
	pageChanges  = 1024
	historyPages = 65_536/pageChanges + 1
	historyBytes = 16 << 20
	lookAtMost   = 512 // changes that a watcher looks at in one go, while the committer may wait
)

// history remembers the last changes of keys since the start, for watchers. The
// committer adds to it what has become visible, and never waits for a watcher
// longer than one look takes. A watcher is a place in it: what is kept does not
// grow with the number of watchers.
type history struct {
	maxPages, maxBytes int // fixed

	mu     sync.RWMutex
	pages  []*page // all full but the last
	first  uint64  // number of the first change that is kept; numbers ascend by 1
	end    uint64  // number of the next change
	bytes  int     // of the keys kept
	floor  uint64  // up to this sequence changes are forgotten, or from before the start
	last   uint64  // up to this sequence all that is visible has been added
	closed bool    // nothing will be added

	waiting sync.Mutex
	wake    chan struct{} // closed by the next change; nil while nobody waits
}

// page holds the keys of its changes one behind the other, so that they take no
// allocation each and keep no request alive.
type page struct {
	events []event
	keys   []byte
}

// event is one change in a page.
type event struct {
	sequence, bucket uint64
	keyEnd           uint32 // in page.keys; it begins where the one before ends
	kind             journal.Kind
}

// newHistory is one that knows nothing up to a sequence, and all behind it.
func newHistory(sequence uint64) *history {
	return &history{maxPages: historyPages, maxBytes: historyBytes, floor: sequence, last: sequence}
}

// add remembers records that have become visible, in the order of their
// sequences.
func (h *history) add(done []applied) {
	if len(done) == 0 {
		return
	}
	h.mu.Lock()
	before := h.end
	for _, d := range done {
		h.note(d.rec)
	}
	h.last = done[len(done)-1].rec.Sequence
	changed := h.end > before
	h.mu.Unlock()
	if changed {
		h.wakeAll()
	}
}

// note needs mu.
func (h *history) note(r *journal.Record) {
	key := r.Key
	switch r.Kind {
	case journal.Put, journal.Complete, journal.Delete:
	case journal.BucketDelete:
		key = ""
	default:
		return
	}
	p := h.lastPage()
	p.keys = append(p.keys, key...)
	p.events = append(p.events, event{sequence: r.Sequence, bucket: r.Bucket, keyEnd: uint32(len(p.keys)), kind: r.Kind})
	h.end++
	h.bytes += len(key)
}

// lastPage is one that has room. It needs mu.
func (h *history) lastPage() *page {
	if n := len(h.pages); n > 0 && len(h.pages[n-1].events) < pageChanges {
		return h.pages[n-1]
	}
	h.pages = append(h.pages, new(page))
	for len(h.pages) > h.maxPages || h.bytes > h.maxBytes {
		h.forget()
	}
	return h.pages[len(h.pages)-1]
}

// forget drops the oldest page, which is full. It needs mu.
func (h *history) forget() {
	p := h.pages[0]
	h.pages[0] = nil
	h.pages = h.pages[1:]
	h.first += pageChanges
	h.bytes -= len(p.keys)
	h.floor = p.events[pageChanges-1].sequence
}

func (h *history) wakeAll() {
	h.waiting.Lock()
	defer h.waiting.Unlock()
	if h.wake != nil {
		close(h.wake)
		h.wake = nil
	}
}

// wait returns a channel that the next change closes. Look once more before
// waiting for it: the change may have come already.
func (h *history) wait() <-chan struct{} {
	h.waiting.Lock()
	defer h.waiting.Unlock()
	if h.wake == nil {
		h.wake = make(chan struct{})
	}
	return h.wake
}

// close tells watchers that nothing more will come.
func (h *history) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.wakeAll()
}

// now is the place behind all changes, and the sequence up to which they reach.
func (h *history) now() (end, sequence uint64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.end, h.last
}

// after is the place behind all changes up to a sequence. It is not known when
// some of those that follow are forgotten.
func (h *history) after(sequence uint64) (at uint64, known bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if sequence < h.floor {
		return 0, false
	}
	n := sort.Search(int(h.end-h.first), func(i int) bool {
		p, at := h.locate(h.first + uint64(i))
		return p.events[at].sequence > sequence
	})
	return h.first + uint64(n), true
}

// locate finds a change that is kept. It needs mu.
func (h *history) locate(n uint64) (*page, int) {
	n -= h.first
	return h.pages[n/pageChanges], int(n % pageChanges)
}

func (p *page) key(at int) []byte {
	start := uint32(0)
	if at > 0 {
		start = p.events[at-1].keyEnd
	}
	return p.keys[start:p.events[at].keyEnd]
}

// scope is what a watcher wants to see: the keys of a bucket with a prefix that
// changed behind a sequence.
type scope struct {
	bucket uint64
	prefix string
	above  uint64
}

func (s scope) has(e event, key []byte) bool {
	if e.bucket != s.bucket || e.sequence <= s.above {
		return false
	}
	return e.kind == journal.BucketDelete || len(key) >= len(s.prefix) && string(key[:len(s.prefix)]) == s.prefix
}

// seen is what a look found.
type seen uint8

const (
	seenNothing seen = iota // up to the end
	seenMore                // nothing yet, but the end was not reached
	seenChange
	seenGap    // changes were forgotten before they were looked at
	seenRemove // of the bucket
	seenClose  // nothing is left, and nothing more will come
)

// look looks for the next change within a scope, from a place on, and returns
// the place to go on from.
func (h *history) look(from uint64, s scope) (next uint64, c Change, what seen) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if from < h.first {
		return h.end, Change{Sequence: h.last, Gap: true}, seenGap
	}
	stop := min(h.end, from+lookAtMost)
	for n := from; n < stop; n++ {
		p, at := h.locate(n)
		e := p.events[at]
		key := p.key(at)
		switch {
		case !s.has(e, key):
		case e.kind == journal.BucketDelete:
			return n, Change{}, seenRemove // and again, whenever somebody asks
		default:
			return n + 1, Change{Sequence: e.sequence, Key: string(key), Removed: e.kind == journal.Delete}, seenChange
		}
	}
	switch {
	case stop < h.end:
		what = seenMore
	case h.closed:
		what = seenClose
	}
	return stop, Change{}, what
}
