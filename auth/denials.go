package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of what refusals may write into the audit log.
const (
	maxDenials   = 256              // kinds of refusals told apart at one time
	denialRepeat = 10 * time.Minute // between two entries of one kind
	denialBurst  = 256              // entries at once
	denialEvery  = 4 * time.Second  // an entry, in the long run
)

// denialKey tells kinds of refusals apart. Those with the same key are counted
// in one entry.
type denialKey struct {
	kind    Kind
	actor   string
	network netip.Prefix
	action  string
	bucket  string
	outcome string
}

// denial is a kind of refusal that is being counted.
type denial struct {
	first Entry     // the first one; Count is how many since the last entry
	next  time.Time // no entry before
}

// denials counts refusals until they are written. A flood of equal ones is one
// entry every ten minutes with their number; what exceeds the table is counted
// in an entry of its own. Nothing here waits for the disk.
type denials struct {
	mu     sync.Mutex
	byKey  map[denialKey]*denial
	budget *rate.Limiter
}

func newDenials() *denials {
	return &denials{
		byKey:  make(map[denialKey]*denial),
		budget: rate.NewLimiter(rate.Every(denialEvery), denialBurst),
	}
}

// add counts a refusal. now is the time for the entry, which may come from an
// injected clock.
func (d *denials) add(now time.Time, by Caller, action string, r Resource, outcome, detail string) {
	key := denialKey{by.kind, by.id, narrow(by.addr), action, r.Bucket, outcome}
	d.mu.Lock()
	defer d.mu.Unlock()
	den, ok := d.byKey[key]
	if !ok {
		den = d.make(key)
	}
	if den.first.Count++; den.first.Count > 1 {
		return
	}
	e := Event{By: by, Action: action, Target: target(r), Detail: detail}.entry(now)
	e.Kind, e.Actor, e.Outcome = by.kind.String(), by.id, outcome
	den.first = e
}

func target(r Resource) string {
	if r.Key == "" {
		return r.Bucket
	}
	return r.Bucket + "/" + r.Key
}

// make finds a place for a key. When all are taken, the last one is shared.
func (d *denials) make(key denialKey) *denial {
	if len(d.byKey) >= maxDenials {
		d.sweep(time.Now())
	}
	if len(d.byKey) >= maxDenials {
		key = denialKey{action: "others"}
		if den, ok := d.byKey[key]; ok {
			return den
		}
	}
	den := &denial{}
	d.byKey[key] = den
	return den
}

// sweep drops what has been written and did not come again.
func (d *denials) sweep(now time.Time) {
	for key, den := range d.byKey {
		if den.first.Count == 0 && !now.Before(den.next) {
			delete(d.byKey, key)
		}
	}
}

// due takes the entries that may be written now; all of them when closing.
func (d *denials) due(closing bool) []Entry {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Entry
	for _, den := range d.byKey {
		if den.first.Count == 0 || !closing && (now.Before(den.next) || !d.budget.AllowN(now, 1)) {
			continue
		}
		out = append(out, den.first)
		den.first.Count = 0
		den.next = now.Add(denialRepeat)
	}
	d.sweep(now)
	return out
}

// back takes entries back that could not be written.
func (d *denials) back(entries []Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		key := denialKey{action: "others"}
		den, ok := d.byKey[key]
		if !ok {
			den = &denial{}
			d.byKey[key] = den
		}
		if den.first.Count == 0 {
			den.first = e
			continue
		}
		den.first.Count += e.Count
	}
}
