package store

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// reclaimer removes blob files that nothing names any more, after the change
// that freed them was acknowledged and the readers that had opened them before
// have left. What a crash leaves behind, the sweep of the next start finds.
//
// A look-up is protected by a pin from before it reads a row until it holds
// the blobs that the row names. A pin delays all that is freed after it, so it
// is short; a hold delays its blob alone, so a slow client costs no more than
// the space of what it reads.
type reclaimer struct {
	store  *Store
	ctx    context.Context // ends at close
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	wake  *sync.Cond
	clock uint64           // grows with every freed batch
	freed []freedBlob      // in the order they were freed
	pins  map[uint64]int   // look-ups, by the clock at which they began
	held  map[string]*hold // blobs of open objects
	ended bool
}

type freedBlob struct {
	id    string
	clock uint64 // look-ups pinned before it may still need the file
}

// hold is what open objects have to do with one blob.
type hold struct {
	readers int
	freed   bool // the last of them leaves it to be removed
}

func newReclaimer(s *Store) *reclaimer {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reclaimer{store: s, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	r.pins, r.held = make(map[uint64]int), make(map[string]*hold)
	r.wake = sync.NewCond(&r.mu)
	return r
}

// pin keeps blobs that are live now from being removed until unpin.
func (r *reclaimer) pin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pins[r.clock]++
	return r.clock
}

func (r *reclaimer) unpin(clock uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pins[clock]--; r.pins[clock] == 0 {
		delete(r.pins, clock)
		r.wake.Signal()
	}
}

// hold keeps blobs from being removed until release. The caller has a pin, under
// which it found them.
func (r *reclaimer) hold(pieces []piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range pieces {
		if p.body.Blob == "" {
			continue
		}
		h := r.held[p.body.Blob]
		if h == nil {
			h = &hold{}
			r.held[p.body.Blob] = h
		}
		h.readers++
	}
}

func (r *reclaimer) release(pieces []piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range pieces {
		h := r.held[p.body.Blob]
		if h == nil {
			continue
		}
		if h.readers--; h.readers > 0 {
			continue
		}
		delete(r.held, p.body.Blob)
		if h.freed {
			r.freed = append(r.freed, freedBlob{p.body.Blob, r.clock})
			r.wake.Signal()
		}
	}
}

// add takes blobs that nothing names any more. It must be called after that is
// visible, so that no later reader can find them. Taking one twice is harmless.
func (r *reclaimer) add(ids []string) {
	if len(ids) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	for _, id := range ids {
		r.freed = append(r.freed, freedBlob{id, r.clock})
	}
	r.wake.Signal()
}

func (r *reclaimer) close() {
	r.cancel()
	r.mu.Lock()
	r.ended = true
	r.wake.Signal()
	r.mu.Unlock()
	<-r.done
}

func (r *reclaimer) run() {
	defer close(r.done)
	r.sweep()
	for {
		id, ok := r.next()
		if !ok {
			return
		}
		r.remove(id)
	}
}

// next waits for a freed blob that no reader holds.
func (r *reclaimer) next() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended {
		if len(r.freed) > 0 && !r.pinnedBefore(r.freed[0].clock) {
			id := r.freed[0].id
			r.freed = r.freed[1:]
			if h := r.held[id]; h != nil {
				h.freed = true
				continue
			}
			return id, true
		}
		r.wake.Wait()
	}
	return "", false
}

func (r *reclaimer) pinnedBefore(clock uint64) bool {
	for pinned := range r.pins {
		if pinned < clock {
			return true
		}
	}
	return false
}

func (r *reclaimer) remove(id string) {
	err := r.store.blobs.Remove(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.store.log.Warn("a freed blob could not be removed; the next start tries again", "blob", id, "error", err)
	}
}

// sweep removes blobs without a row: uploads that a crash cut off, and freed
// blobs that were not yet removed. It looks at a blob's upload first and at
// its row after that, since a commit goes the other way round. What it finds
// goes the way of all freed blobs: a blob may lose its row while the sweep looks,
// and have a reader that saw the row.
//
// It never runs where the index was just made again, or while it is behind: an
// orphan might then be somebody's only copy.
func (r *reclaimer) sweep() {
	s := r.store
	if s.rebuilt {
		s.log.Info("orphaned blobs are kept, since the index was made again at this start")
		return
	}
	err := s.blobs.Walk(r.ctx, func(id string, size int64) error {
		if s.blobs.Pending(id) {
			return nil
		}
		named, err := s.index.HasBlob(id)
		if err != nil || named {
			return err
		}
		s.log.Info("removing an orphaned blob", "blob", id, "bytes", size)
		r.add([]string{id})
		return nil
	})
	if err != nil && r.ctx.Err() == nil {
		s.log.Warn("the sweep for orphaned blobs ended early", "error", err)
	}
}
