package native

import (
	"context"
	"sync"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// window counts the bytes of DATA that the peer lets the server send: on one
// stream, or on all of a connection.
type window struct {
	mu     sync.Mutex
	free   int64
	waiter chan struct{} // closed when free grows; nil when nobody waits
}

// grow adds what the peer allows. It is false when the sum is more than may be.
func (w *window) grow(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += n
	if w.waiter != nil {
		close(w.waiter)
		w.waiter = nil
	}
	return w.free <= wire.MaxCredit
}

// try takes up to n bytes, 0 when there is no credit: then more tells when to
// try again.
func (w *window) try(n int64) (got int64, more <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if got = min(n, w.free); got > 0 {
		w.free -= got
		return got, nil
	}
	if w.waiter == nil {
		w.waiter = make(chan struct{})
	}
	return 0, w.waiter
}

// take takes between 1 and n bytes, when the peer allows any before patience or
// ctx ends.
func (w *window) take(ctx context.Context, n int64, patience time.Duration) (int64, error) {
	got, more := w.try(n)
	if got > 0 {
		return got, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for got == 0 {
		select {
		case <-more:
		case <-ctx.Done():
			return 0, canceled(ctx)
		case <-timer.C:
			return 0, fault.New("native", fault.Canceled, "", nil).WithHint("The client took nothing of the body for too long.")
		}
		got, more = w.try(n)
	}
	return got, nil
}

func canceled(ctx context.Context) error {
	return fault.New("native", fault.Canceled, "", context.Cause(ctx))
}
