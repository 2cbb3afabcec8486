package auth

import (
	"context"
	"slices"
	"sync"

	"larder/fault"
)

// maxLane bounds how many wait in one lane. With the few lanes there are, it
// bounds the time that anybody waits.
const maxLane = 8

// turnstile lets a fixed number of bcrypt runs go on at once. Who waits, waits
// in a lane, and free places are given to the lanes in turn: however long the
// queue for one account is, the next for another one waits for a single round.
// A full lane refuses at once.
type turnstile struct {
	mu    sync.Mutex
	free  int
	lanes map[string][]*waiter // those with somebody in them
	turn  []string             // the same lanes, the next one first
}

// waiter is somebody in a lane; place is closed when it may go on.
type waiter struct{ place chan struct{} }

func newTurnstile(places int) *turnstile {
	return &turnstile{free: places, lanes: make(map[string][]*waiter)}
}

// enter waits for a place, which leave gives back. It fails with
// fault.RateLimited when the lane is full and fault.Canceled with ctx.
func (t *turnstile) enter(ctx context.Context, lane string) error {
	w, err := t.join(lane)
	if w == nil {
		return err
	}
	select {
	case <-w.place:
		return nil
	case <-ctx.Done():
		t.abandon(lane, w)
		return fault.New("auth.turnstile", fault.Canceled, "", ctx.Err())
	}
}

// join takes a free place (nil, nil) or a place in the lane.
func (t *turnstile) join(lane string) (*waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		return nil, nil
	}
	queue := t.lanes[lane]
	if len(queue) >= maxLane {
		return nil, fault.New("auth.turnstile", fault.RateLimited, "", nil).
			WithHint("Too many password checks are waiting. Try again in 2 s.")
	}
	if len(queue) == 0 {
		t.turn = append(t.turn, lane)
	}
	w := &waiter{place: make(chan struct{})}
	t.lanes[lane] = append(queue, w)
	return w, nil
}

// leave hands the place to the lane whose turn it is.
func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveLocked()
}

func (t *turnstile) leaveLocked() {
	if len(t.turn) == 0 {
		t.free++
		return
	}
	lane := t.turn[0]
	t.turn = t.turn[1:]
	queue := t.lanes[lane]
	close(queue[0].place)
	t.set(lane, queue[1:])
	if len(queue) > 1 {
		t.turn = append(t.turn, lane)
	}
}

func (t *turnstile) set(lane string, queue []*waiter) {
	if len(queue) == 0 {
		delete(t.lanes, lane)
		return
	}
	t.lanes[lane] = queue
}

// abandon takes w out of its lane, or passes its place on when it was given one
// at the same moment.
func (t *turnstile) abandon(lane string, w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.lanes[lane], w)
	if i < 0 {
		t.leaveLocked()
		return
	}
	t.set(lane, slices.Delete(t.lanes[lane], i, i+1))
	if _, there := t.lanes[lane]; !there {
		t.turn = slices.DeleteFunc(t.turn, func(s string) bool { return s == lane })
	}
}
