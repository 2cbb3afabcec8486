package store

import (
	"context"
	"sync"

	"larder/fault"
)

// Change is one change of a key, or says that some are not known.
type Change struct {
	Sequence uint64
	Key      string
	Removed  bool // there is nothing under the key any more
	Gap      bool // not all changes up to Sequence are known, and there is no Key: list anew
}

// Watch tells of the changes of the keys of one bucket under a prefix, in the
// order of their sequences. It may leave changes out only behind a gap. Next has
// one caller at a time; Close may be called at any time.
type Watch struct {
	store  *Store
	bucket Bucket
	scope  scope
	from   uint64
	gap    bool   // the first change is one
	at     uint64 // place in the history; Next's
	once   sync.Once
	closed chan struct{}
}

// Watch begins to watch a bucket's keys with a prefix. from is the sequence of
// the last change that the caller has seen; 0 begins with what comes next. Where
// the changes behind from are not known (any more) the first one is a gap.
// fault.NoSuchBucket when the bucket is not there. A bucket that is deleted and
// made again is another one.
func (s *Store) Watch(bucket, prefix string, from uint64) (*Watch, error) {
	at, last := s.history.now() // before the bucket is looked up, so that its end is not missed
	b, err := s.bucket(bucket)
	if err != nil {
		return nil, err
	}
	w := &Watch{
		store: s, bucket: b, scope: scope{bucket: b.ID, prefix: prefix, above: last},
		from: last, at: at, closed: make(chan struct{}),
	}
	if from == 0 {
		return w, nil
	}
	since, known := s.history.after(from)
	if !known || from < b.ID || from > s.journal.Position().Sequence {
		w.gap = true
		return w, nil
	}
	w.from, w.scope.above, w.at = from, from, since
	return w, nil
}

// From is the sequence from which on the watch sees everything.
func (w *Watch) From() uint64 { return w.from }

// Close ends the watch. A Next that waits ends with fault.Canceled.
func (w *Watch) Close() { w.once.Do(func() { close(w.closed) }) }

// Next waits for the next change. Errors: fault.NoSuchBucket when the bucket was
// deleted, fault.Unavailable when the store closes, fault.Canceled when ctx or
// the watch ended.
func (w *Watch) Next(ctx context.Context) (Change, error) {
	var wake <-chan struct{}
	for {
		if err := w.ended(ctx); err != nil {
			return Change{}, err
		}
		if w.gap {
			w.gap = false
			return Change{Sequence: w.from, Gap: true}, nil
		}
		next, c, what := w.store.history.look(w.at, w.scope)
		w.at = next
		switch {
		case what == seenChange:
			return c, nil
		case what == seenRemove, what == seenGap && !w.store.buckets.has(w.bucket.ID):
			return Change{}, fault.New("store.Watch", fault.NoSuchBucket, w.bucket.Name, nil)
		case what == seenGap:
			return c, nil
		case what == seenClose:
			return Change{}, shuttingDown()
		case what == seenMore:
		case wake == nil:
			wake = w.store.history.wait()
		default:
			w.wait(ctx, wake)
			wake = nil
		}
	}
}

func (w *Watch) wait(ctx context.Context, wake <-chan struct{}) {
	select {
	case <-wake:
	case <-w.closed:
	case <-ctx.Done():
	}
}

func (w *Watch) ended(ctx context.Context) error {
	select {
	case <-w.closed:
		return fault.New("store.Watch", fault.Canceled, w.bucket.Name, nil).WithHint("The watch was closed.")
	default:
	}
	if err := ctx.Err(); err != nil {
		return fault.New("store.Watch", fault.Canceled, w.bucket.Name, err)
	}
	return nil
}
