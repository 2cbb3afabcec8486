package store

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"larder/store/index"
	"larder/store/journal"
)

// outputHeader is what an empty output takes, in bytes: see docs/format.md.
const outputHeader = 128

// estimate knows about how many bytes of each segment are still needed. It adds
// up the records of live bodies, which it reads once after Open and then follows
// batch by batch; what is needed besides, such as the records of empty objects,
// of copies and of deletions, the plans of compactions measure.
type estimate struct {
	mu       sync.Mutex
	live     map[uint64]int64   // bytes of records with live bodies, by segment
	measured map[uint64]residue // by segment
	scanned  uint64             // bodies up to here were read
	bound    uint64             // bodies above were not there at Open
	late     []bodyDelta        // came while a page was read
	reading  bool               // a page
}

// bodyDelta is a body that came (bytes > 0) or went, with the length of its
// record.
type bodyDelta struct {
	sequence, segment uint64
	bytes             int64
}

// residue is what a plan found to be needed of a segment besides live bodies.
type residue struct {
	bytes int64            // in all
	stuck map[uint64]int64 // of them that may go once this segment has gone
}

func newEstimate(bound uint64) *estimate {
	return &estimate{live: make(map[uint64]int64), measured: make(map[uint64]residue), bound: bound}
}

// note follows what a batch did.
func (e *estimate) note(deltas []bodyDelta) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range deltas {
		switch {
		case d.sequence > e.bound || d.sequence <= e.scanned:
			e.live[d.segment] += d.bytes
		case e.reading:
			e.late = append(e.late, d)
		} // else the scan will find it, or not
	}
}

// scan reads all bodies that were there at Open, page by page.
func (e *estimate) scan(ctx context.Context, x view, pause func(context.Context) error) error {
	for e.scanned < e.bound {
		e.mu.Lock()
		e.reading, e.late = true, nil
		e.mu.Unlock()
		page, err := x.Bodies(e.scanned, replayBatch)
		if err != nil {
			return err
		}
		e.take(page)
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take counts a page of bodies in.
func (e *estimate) take(page []index.Body) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reading = false
	for _, b := range page {
		if b.Sequence <= e.bound {
			e.live[b.Segment] += b.Length
		}
	}
	for _, d := range e.late { // in the page, or gone before it was read
		_, found := slices.BinarySearchFunc(page, d.sequence, func(b index.Body, s uint64) int { return cmp.Compare(b.Sequence, s) })
		if found {
			e.live[d.segment] += d.bytes
		}
	}
	e.scanned = e.bound
	if n := len(page); n == replayBatch {
		e.scanned = min(e.bound, page[n-1].Sequence)
	}
}

// measure notes what a plan found to be needed of a segment besides bodies.
func (e *estimate) measure(segment uint64, f finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.measured[segment] = residue{f.other, f.stuck}
}

// moved notes that what was needed of the inputs lies in an output now. Bodies
// that lost their last reference since the plan lie there too, and are dead.
func (e *estimate) moved(inputs []uint64, out uint64, live int64, f finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range inputs {
		delete(e.live, n)
		delete(e.measured, n)
	}
	e.live[out] += live // what went since it moved was noted
	e.measured[out] = residue{f.other, f.stuck}
}

// needed is about how many bytes of sealed segments are needed, in their order.
func (e *estimate) needed(segments []journal.Segment) []int64 {
	there := make(map[uint64]bool, len(segments))
	for _, s := range segments {
		there[s.Number] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]int64, len(segments))
	for i, s := range segments {
		r := e.measured[s.Number]
		need := outputHeader + e.live[s.Number] + r.bytes
		for number, bytes := range r.stuck {
			if !there[number] {
				need -= bytes
			}
		}
		out[i] = max(0, min(s.Size, need))
	}
	return out
}
