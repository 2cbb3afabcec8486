package client

import (
	"context"
	"sync"

	"larder/fault"
	"larder/native/wire"
)

// stream is one request on a connection, from its REQUEST until both sides have
// sent their last frame of it. The caller who began it owns it and gives it up
// with finish; the connection reaches it by its number only, and only under its
// lock, so that a stream can be used again for another request.
type stream struct {
	conn *conn
	id   uint32
	wake chan struct{} // holds a token after something has happened

	streamState
}

// streamState is guarded by the connection's lock.
type streamState struct {
	start    uint64 // bytes that the connection had queued before the REQUEST
	credit   int64  // bytes that may be sent
	starved  bool   // waits for credit
	queued   int    // pieces of its body that wait to be written
	sentLast bool   // REQUEST with last, END or CANCEL is queued
	canceled bool   // it was CANCEL

	window  int64    // bytes that the server may send
	eaten   int64    // bytes that were used up and are not given back as credit yet
	chunks  []*chunk // of the body, in order
	taken   int      // chunks before this one have been taken out
	events  []wire.Event
	drained int  // events before this one have been taken out
	missed  bool // there were more than wait for anybody

	answered bool   // ANSWER has come
	last     bool   // and it was the last frame
	answer   []byte // its payload
	ended    bool   // END has come
	trailer  wire.Trailer
	stopped  bool       // CANCEL has come
	code     fault.Code // of it
	gotLast  bool       // the server has sent its last frame

	broken bool // the connection ended before that
	unsent bool // and nothing can have come of the request
}

var streams = sync.Pool{New: func() any { return &stream{wake: make(chan struct{}, 1)} }}

// notify wakes the stream's owner. The caller holds the connection's lock.
func (s *stream) notify() {
	s.starved = false
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// wait blocks until something may have happened to the stream.
func (s *stream) wait(ctx context.Context) error {
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// over tells whether nothing more will come for the stream. The caller holds
// the connection's lock.
func (s *stream) over() bool { return s.gotLast || s.broken }

// awaitAnswer waits until there is an answer, or will be none. Its error is the
// context's.
func (s *stream) awaitAnswer(ctx context.Context) error {
	for {
		s.conn.mu.Lock()
		done := s.answered || s.over()
		s.conn.mu.Unlock()
		if done {
			return nil
		}
		if err := s.wait(ctx); err != nil {
			return err
		}
	}
}

// outcome tells what became of a request when awaitAnswer has returned.
func (s *stream) outcome() (message []byte, code fault.Code, hint string, lost loss) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	switch {
	case s.answered:
		code, hint, message = wire.Refusal(s.answer)
		return message, code, hint, notLost
	case s.stopped:
		return nil, refusal(s.code), "The server broke the request off.", notLost
	case s.broken && s.unsent:
		return nil, fault.Unavailable, "", lostUnsent
	}
	return nil, fault.Unavailable, "", lostUnanswered
}

// finish gives the stream up. Where the server has not sent its last frame it
// is told to stop, and the stream's number stays taken until it has.
func (s *stream) finish() {
	s.conn.forget(s)
	for _, k := range s.chunks[s.taken:] {
		k.free()
	}
	clear(s.chunks)
	answer := s.answer[:0]
	if cap(answer) > largeChunk {
		answer = nil
	}
	s.streamState = streamState{answer: answer, chunks: s.chunks[:0]}
	s.conn = nil
	select {
	case <-s.wake:
	default:
	}
	streams.Put(s)
}

// isLast tells whether nothing follows the answer.
func (s *stream) isLast() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.last
}
