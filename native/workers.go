package native

import "sync/atomic"

// idleWorkers is how many goroutines are kept for the next requests, of all
// connections together: the stack of a fresh one has to grow first, which takes
// longer than a small get.
const idleWorkers = 64

// workers carry calls out.
type workers struct {
	work chan *call
	idle atomic.Int32
	stop chan struct{} // closed when no more calls come
}

func newWorkers() *workers {
	return &workers{work: make(chan *call), stop: make(chan struct{})}
}

// start carries a call out, beside the caller.
func (w *workers) start(k *call) {
	select {
	case w.work <- k:
	default:
		go w.run(k)
	}
}

func (w *workers) run(k *call) {
	for k != nil {
		k.run()
		k = w.next()
	}
}

// next waits for a call; nil tells the worker that it is not needed.
func (w *workers) next() *call {
	defer w.idle.Add(-1)
	if w.idle.Add(1) > idleWorkers {
		return nil
	}
	select {
	case k := <-w.work:
		return k
	case <-w.stop:
		return nil
	}
}
