package store

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"larder/store/index"
	"larder/store/journal"
)

// reclaimer removes blob files and segments that nothing names any more, after
// the change that freed them was acknowledged and the readers that had opened
// them before have left. What a crash leaves behind, the next start finds.
//
// A look-up is protected by a pin from before it reads a row until it holds
// the files that the row names. A pin delays all that is freed after it, so it
// is short; a hold delays its file alone, so a slow client costs no more than
// the space of what it reads. A backup holds one pin for as long as it copies.
type reclaimer struct {
	store  *Store
	ctx    context.Context // ends at close
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	wake  *sync.Cond
	clock uint64         // grows with every freed batch
	freed []freedFile    // in the order they were freed
	pins  map[uint64]int // look-ups, by the clock at which they began
	held  map[file]*hold // files of open objects
	busy  bool           // one is being removed, or the sweep runs
	ended bool
}

// file is what the reclaimer removes: a blob, or a segment.
type file struct {
	blob    string
	segment uint64 // when there is no blob
}

type freedFile struct {
	file
	clock uint64 // look-ups pinned before it may still need the file
}

// hold is what open objects have to do with one file.
type hold struct {
	readers int
	freed   bool // the last of them leaves it to be removed
}

func newReclaimer(s *Store) *reclaimer {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reclaimer{store: s, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	r.pins, r.held, r.busy = make(map[uint64]int), make(map[file]*hold), true
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

// file is where a piece's bytes lie.
func (p *piece) file() file {
	if p.body.Blob != "" {
		return file{blob: p.body.Blob}
	}
	return file{segment: p.body.Segment}
}

// hold keeps files from being removed until release. The caller has a pin, under
// which it found them.
func (r *reclaimer) hold(pieces []piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range pieces {
		f := pieces[i].file()
		h := r.held[f]
		if h == nil {
			h = &hold{}
			r.held[f] = h
		}
		h.readers++
	}
}

func (r *reclaimer) release(pieces []piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range pieces {
		f := pieces[i].file()
		h := r.held[f]
		if h == nil {
			continue
		}
		if h.readers--; h.readers > 0 {
			continue
		}
		delete(r.held, f)
		if h.freed {
			r.freed = append(r.freed, freedFile{f, r.clock})
			r.wake.Signal()
		}
	}
}

func blobsOf(ids []string) []file {
	files := make([]file, len(ids))
	for i, id := range ids {
		files[i].blob = id
	}
	return files
}

func segmentsOf(numbers []uint64) []file {
	files := make([]file, len(numbers))
	for i, n := range numbers {
		files[i].segment = n
	}
	return files
}

// add takes files that nothing names any more. It must be called after that is
// visible, so that no later reader can find them. Taking one twice is harmless.
func (r *reclaimer) add(files []file) {
	if len(files) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	for _, f := range files {
		r.freed = append(r.freed, freedFile{f, r.clock})
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
		f, ok := r.next()
		if !ok {
			return
		}
		r.remove(f)
	}
}

// next waits for a freed file that no reader holds.
func (r *reclaimer) next() (file, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended {
		if len(r.freed) > 0 && !r.pinnedBefore(r.freed[0].clock) {
			f := r.freed[0].file
			r.freed = r.freed[1:]
			if h := r.held[f]; h != nil {
				h.freed = true
				continue
			}
			r.busy = true
			return f, true
		}
		r.busy = false
		r.wake.Wait()
	}
	return file{}, false
}

func (r *reclaimer) pinnedBefore(clock uint64) bool {
	for pinned := range r.pins {
		if pinned < clock {
			return true
		}
	}
	return false
}

func (r *reclaimer) remove(f file) {
	if f.blob == "" {
		if err := r.store.journal.Remove(f.segment); err != nil {
			r.store.log.Warn("a segment that was rewritten could not be removed; the next start tries again", "segment", f.segment, "error", err)
		}
		return
	}
	err := r.store.blobs.Remove(f.blob)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.store.log.Warn("a freed blob could not be removed; the next start tries again", "blob", f.blob, "error", err)
	}
}

// sweep removes blobs without a row: uploads that a crash cut off, and freed
// blobs that were not yet removed. It looks at a blob's upload first and at
// its row after that, since a commit goes the other way round. What it finds
// goes the way of all freed blobs: a blob may lose its row while the sweep looks,
// and have a reader that saw the row.
//
// Blobs from before there was doubt about what the journal holds are kept: an
// orphan might then be somebody's only copy. See blob.Store.Begin.
func (r *reclaimer) sweep() {
	s := r.store
	var kept, keptBytes int64
	err := s.blobs.Walk(r.ctx, func(id string, size int64) error {
		if s.blobs.Pending(id) {
			return nil
		}
		named, err := s.index.HasBlob(id)
		if err != nil || named {
			return err
		}
		if !s.blobs.Sweepable(id) || s.claimed(id) {
			kept, keptBytes = kept+1, keptBytes+size
			return nil
		}
		if err := s.trustIndex(r.ctx); err != nil {
			return err
		}
		s.log.Info("removing an orphaned blob", "blob", id, "bytes", size)
		r.add([]file{{blob: id}})
		return nil
	})
	if err != nil && r.ctx.Err() == nil {
		s.log.Warn("the sweep for orphaned blobs ended early", "error", err)
	}
	if kept > 0 {
		s.log.Warn("blobs that no record names are kept: they are older than a restore of the journal or the making anew of the index, or the index is damaged",
			"blobs", kept, "bytes", keptBytes)
	}
}

// claimed tells whether a blob that the index does not name belongs to a version
// or part that it has: then the index is damaged, is made again at the next
// start, and nothing must go by what it lacks. The footer says what the blob was
// written for; one that has none was never part of a record.
func (s *Store) claimed(id string) bool {
	rec := s.footerOf(id)
	if rec == nil {
		return false
	}
	b, err := s.buckets.get(rec.BucketName)
	if err != nil {
		return false
	}
	sequence, found, size, meta := uint64(0), false, int64(0), []byte(nil)
	if rec.Upload == "" {
		var row index.Row
		row, found, err = s.index.Row(b.ID, rec.Key)
		sequence, size, meta = row.Sequence, row.Size, row.Meta
	} else {
		var part index.Part
		part, found, err = s.index.Part(rec.Upload, rec.Part)
		sequence, size, meta = part.Sequence, part.Size, part.Meta
	}
	if err != nil {
		return true // nothing can be said
	}
	if !found {
		return false
	}
	r, err := decodeMeta(meta)
	if err != nil {
		return true
	}
	r.Size = size // which the row has beside its Meta
	if r.Extents != nil || !sameBody(r, rec) {
		return false
	}
	body, found, err := s.index.Body(sequence)
	if err == nil && found && body.Blob != "" && body.Blob != id && s.footerOf(body.Blob) != nil {
		return false // the same content was stored again
	}
	s.log.Warn("the index lacks the blob of a version that it has, and is made again at the next start", "blob", id)
	if x, ok := s.index.(interface{ MarkDamaged() }); ok {
		x.MarkDamaged()
	}
	return true
}

// footerOf is the record that a blob was sealed for, or nil.
func (s *Store) footerOf(id string) *journal.Record {
	b, err := s.blobs.Open(id)
	if err != nil {
		return nil
	}
	defer b.Close()
	meta, err := b.Meta()
	if err != nil {
		return nil
	}
	r, err := journal.DecodeMeta(meta)
	if err != nil {
		return nil
	}
	return r
}
