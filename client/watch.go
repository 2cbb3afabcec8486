package client

import (
	"context"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// The pauses between two attempts to go on with a watch, each twice the one
// before it.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Watch tells what happens to the keys of a bucket under a prefix. It connects
// again by itself and goes on where it was, so that nothing is missed: where the
// server does not remember all, there is an event that says so. It holds one of
// the requests that a connection may carry, and is for one goroutine at a time.
type Watch struct {
	client *Client
	bucket string
	prefix string

	stream *stream // nil: between two connections
	from   uint64  // all up to it has been seen
	pause  time.Duration
	closed bool
}

// Watch begins to watch. from is the last sequence that the caller has seen: all
// after it will be told; 0 begins now. The context is for the beginning only.
func (c *Client) Watch(ctx context.Context, bucket, prefix string, from uint64) (*Watch, error) {
	w := &Watch{client: c, bucket: bucket, prefix: prefix, from: from}
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// From is the sequence after which the watch has not told anything yet. Another
// watch that begins there misses nothing.
func (w *Watch) From() uint64 { return w.from }

// begin asks for the events after w.from.
func (w *Watch) begin(ctx context.Context) error {
	req := wire.Request{Op: wire.OpWatch, Bucket: w.bucket, Prefix: w.prefix, From: w.from}
	s, message, err := w.client.ask(ctx, &req)
	if err != nil {
		return err
	}
	position, err := wire.ParsePosition(message)
	if err == nil && s.isLast() {
		err = violation("The watch ended with its answer.")
	}
	if err != nil {
		s.finish()
		return unreadable(&req, err)
	}
	if w.from == 0 {
		w.from = position
	}
	w.stream = s
	return nil
}

// Next returns the next event, and waits for it. An event is a hint: several
// changes of a key may come as one, and what it tells may have changed again.
// One with Gap set says that not all up to its sequence is known: list anew.
//
// When the context ends nothing is lost, and Next may be called again. Any other
// error means that the server does not let the bucket be watched any more.
func (w *Watch) Next(ctx context.Context) (Event, error) {
	for {
		if w.closed {
			return Event{}, w.fault(fault.Canceled, "The watch is closed.", nil)
		}
		if w.stream == nil {
			if err := w.resume(ctx); err != nil {
				return Event{}, err
			}
		}
		e, has := w.stream.event()
		switch has {
		case oneEvent:
			w.from, w.pause = e.Sequence, 0
			return e, nil
		case noneYet:
			if err := w.stream.wait(ctx); err != nil {
				return Event{}, w.fault(fault.Canceled, "Nothing happened in time.", err)
			}
		default:
			if err := w.ended(); err != nil {
				return Event{}, err
			}
		}
	}
}

// ended gives up a stream that has nothing more to tell, and decides whether
// there will be another one.
func (w *Watch) ended() error {
	code := w.stream.end()
	w.stream.finish()
	w.stream = nil
	if mayPass(code) {
		return nil
	}
	return w.fault(code, "The server has ended the watch.", nil)
}

// mayPass tells whether trying again can help.
func mayPass(code fault.Code) bool {
	return code == fault.OK || code == fault.Unavailable || code == fault.RateLimited || code == fault.Canceled
}

// resume begins again, as often as it takes.
func (w *Watch) resume(ctx context.Context) error {
	for {
		if w.pause > 0 {
			if err := sleep(ctx, w.client.pool.stop, w.pause); err != nil {
				return w.fault(fault.Canceled, "Nothing happened in time.", err)
			}
		}
		w.pause = min(max(2*w.pause, firstPause), lastPause)
		err := w.begin(ctx)
		if err == nil {
			return nil
		}
		if w.client.pool.stop.Err() != nil || ctx.Err() != nil || !mayPass(fault.CodeOf(err)) {
			return err
		}
	}
}

// sleep waits, until the context ends. Whoever is woken by stop finds out why.
func sleep(ctx, stop context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Close ends the watch.
func (w *Watch) Close() error {
	w.closed = true
	if w.stream != nil {
		w.stream.finish()
		w.stream = nil
	}
	return nil
}

func (w *Watch) fault(code fault.Code, hint string, cause error) error {
	return fault.New("client.Watch", code, w.bucket+"/"+w.prefix, cause).WithHint(hint)
}

// supply says what a watch's stream has to tell.
type supply uint8

const (
	oneEvent supply = iota
	noneYet
	noMore
)

// event takes the next event out.
func (s *stream) event() (Event, supply) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	switch {
	case s.drained < len(s.events):
		e := s.events[s.drained]
		s.drained++
		if s.drained == len(s.events) {
			s.events, s.drained = s.events[:0], 0
		}
		return e, oneEvent
	case s.missed || s.over():
		return Event{}, noMore
	}
	return Event{}, noneYet
}

// end tells why a watch's stream has ended, OK where it was the connection or
// this side.
func (s *stream) end() fault.Code {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	switch {
	case s.stopped:
		return s.code
	case s.ended:
		return s.trailer.Code
	}
	return fault.OK
}
