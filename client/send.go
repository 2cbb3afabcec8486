package client

import (
	"context"

	"larder/native/wire"
)

// upload sends a request with a body and waits for its answer, as ask does for
// one without. repeatable says that it may be carried out twice.
func (c *Client) upload(ctx context.Context, req *wire.Request, b *body, repeatable bool) (*stream, []byte, error) {
	p := getParcel()
	defer p.free()
	req.Size = b.size
	if !p.ask(req) {
		return nil, nil, tooLong(req)
	}
	if err := p.fill(b); err != nil {
		return nil, nil, unreadableBody(req, err)
	}
	var tries attempts
	for {
		s, whole, err := c.begin(ctx, p, &tries)
		if err != nil {
			return nil, nil, about(req, err)
		}
		message, lost, err := s.transfer(ctx, req, p, b, whole)
		if err == nil {
			return s, message, nil
		}
		s.finish()
		if lost == notLost || !b.again() || !tries.again(lost, repeatable, c.pool) {
			return nil, nil, err
		}
		if b.length == 0 && !b.whole { // it was rewound
			if p.ask(req); p.fill(b) != nil {
				return nil, nil, err
			}
		}
	}
}

// transfer sends what begin has left of a body, and waits for the answer. An
// answer that comes first is an error, or it would have to wait for the body.
func (s *stream) transfer(ctx context.Context, req *wire.Request, p *parcel, b *body, whole bool) ([]byte, loss, error) {
	sending := true
	if !whole {
		k := getChunk(wire.HeaderSize + p.body)
		k.data = append(k.data[:wire.HeaderSize], p.piece()...)
		var err error
		if sending, err = s.sendPiece(ctx, k); err != nil {
			return nil, notLost, canceled(name(req), subject(req), err)
		}
	}
	for sending && !b.whole {
		b.moved = true
		k := getChunk(largeChunk)
		k.data = k.data[:largeChunk]
		n, err := b.fill(k.data[wire.HeaderSize:])
		if err != nil {
			return nil, notLost, unreadableBody(req, err)
		}
		k.data = k.data[:wire.HeaderSize+n]
		if sending, err = s.sendPiece(ctx, k); err != nil {
			return nil, notLost, canceled(name(req), subject(req), err)
		}
	}
	if sending && (!whole || !p.complete) {
		s.sendEnd(b.trailer())
	}
	message, lost, err := s.settle(ctx, req)
	if err == nil && !sending {
		return nil, notLost, unreadable(req, violation("The server answered before it had the body."))
	}
	return message, lost, err
}

// sendPiece sends a piece of the body, whose chunk has room for a frame's
// header in front of it, as fast as credit allows. It takes the chunk over.
// When the server wants no more of the body it returns false; its error is the
// context's.
func (s *stream) sendPiece(ctx context.Context, k *chunk) (goOn bool, err error) {
	for len(k.data) > wire.HeaderSize {
		rest, state := s.offer(k)
		switch state {
		case unwanted:
			return false, nil
		case blocked:
			if err := s.wait(ctx); err != nil {
				return false, err
			}
		case queued:
			s.conn.wakeWriter()
			if rest == nil {
				return ctx.Err() == nil, context.Cause(ctx)
			}
			k = rest
		}
	}
	k.free()
	return true, nil
}

// state is what became of a piece that was offered to the connection.
type state uint8

const (
	queued state = iota
	blocked
	unwanted
)

// offer queues as much of a piece as there is credit for, and returns a chunk
// with the rest.
func (s *stream) offer(k *chunk) (rest *chunk, is state) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(len(k.data) - wire.HeaderSize)
	most := min(n, s.credit, c.credit)
	switch {
	case s.answered || s.over():
		return nil, unwanted
	case s.queued >= piecesAhead:
		return nil, blocked
	case most <= 0:
		s.starved = true
		return nil, blocked
	}
	if most < n {
		rest = getChunk(len(k.data))
		rest.data = append(rest.data[:wire.HeaderSize], k.data[wire.HeaderSize+most:]...)
		k.data = k.data[:wire.HeaderSize+most]
	}
	h := wire.Header{Type: wire.TypeData, Stream: s.id, Length: uint32(most)}
	h.Append(k.data[:0])
	s.credit -= most
	c.credit -= most
	s.queued++
	c.outbox.piece(k, s.id)
	return rest, queued
}

// sendEnd says that the body is whole.
func (s *stream) sendEnd(t wire.Trailer) {
	c := s.conn
	c.mu.Lock()
	if c.dead == nil && !s.over() {
		c.outbox.end(s, t)
		s.sentLast = true
	}
	c.mu.Unlock()
	c.flush()
}

// maxEnd is the most that an END with code 0 takes.
const maxEnd = wire.HeaderSize + 2 + 12 + 6
