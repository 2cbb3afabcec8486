package client

import (
	"context"

	"larder/fault"
	"larder/native/wire"
)

// loss says how a request was lost with its connection.
type loss uint8

const (
	notLost        loss = iota
	lostUnsent          // the server has not seen it, or has said that it will not serve it
	lostUnanswered      // the server may have carried it out
)

// A request that was never sent is sent again this often: as often as there
// may be connections that a restart of the server has ended. One that may have
// been carried out is repeated once, if that can do no harm.
const (
	mostUnsent     = 6
	mostUnanswered = 1
)

// attempts counts how often a request was lost.
type attempts struct {
	unsent, unanswered int
	after              uint64 // the next connection must be newer
}

// again tells whether the request goes on another connection. harmless says
// that it may be carried out twice.
func (a *attempts) again(lost loss, harmless bool, p *pool) bool {
	switch {
	case lost == lostUnsent && a.unsent < mostUnsent:
		a.unsent++
	case lost == lostUnanswered && harmless && a.unanswered < mostUnanswered:
		a.unanswered++
	default:
		return false
	}
	a.after = p.newest()
	return true
}

// harmless tells whether a request without a body may be carried out twice.
func harmless(req *wire.Request) bool {
	switch req.Op {
	case wire.OpInfo, wire.OpListBuckets, wire.OpHeadBucket, wire.OpGet, wire.OpHead, wire.OpList,
		wire.OpListUploads, wire.OpListParts, wire.OpAbortUpload, wire.OpCompleteUpload, wire.OpWatch:
		return true
	case wire.OpDelete:
		return len(req.IfMatch) == 0
	}
	return false
}

// begin takes a connection and sends a parcel on it. whole is as of
// conn.begin.
func (c *Client) begin(ctx context.Context, p *parcel, tries *attempts) (s *stream, whole bool, err error) {
	for {
		on, err := c.pool.take(ctx, tries.after)
		if err != nil {
			return nil, false, err
		}
		if s, whole = on.begin(p); s != nil {
			on.flush()
			return s, whole, nil
		}
		c.pool.retire(on)
		c.pool.release(on)
		if !tries.again(lostUnsent, false, c.pool) {
			return nil, false, broken("client.connect", c.pool.cfg.Addr, on.failure())
		}
	}
}

// ask sends a request without a body and waits for its answer, whose message
// lasts until the stream is finished. An answer with a code is an error, and
// then there is no stream.
func (c *Client) ask(ctx context.Context, req *wire.Request) (*stream, []byte, error) {
	p := getParcel()
	defer p.free()
	if !p.ask(req) {
		return nil, nil, tooLong(req)
	}
	var tries attempts
	for {
		s, _, err := c.begin(ctx, p, &tries)
		if err != nil {
			return nil, nil, about(req, err)
		}
		message, lost, err := s.settle(ctx, req)
		if err == nil {
			return s, message, nil
		}
		s.finish()
		if !tries.again(lost, harmless(req), c.pool) {
			return nil, nil, err
		}
	}
}

// settle waits for a request's answer.
func (s *stream) settle(ctx context.Context, req *wire.Request) ([]byte, loss, error) {
	if err := s.awaitAnswer(ctx); err != nil {
		return nil, notLost, canceled(name(req), subject(req), err)
	}
	message, code, hint, lost := s.outcome()
	switch {
	case lost != notLost:
		return nil, lost, broken(name(req), subject(req), s.conn.failure())
	case code != fault.OK:
		return nil, notLost, fault.New(name(req), code, subject(req), nil).WithHint(hint)
	}
	return message, notLost, nil
}

// do is ask for a request whose answer has no body, and says nothing that
// anybody wants.
func (c *Client) do(ctx context.Context, req *wire.Request) error {
	_, err := request(ctx, c, req, func([]byte) (struct{}, error) { return struct{}{}, nil })
	return err
}

// request is ask for a request whose answer is a message alone, which parse
// reads.
func request[T any](ctx context.Context, c *Client, req *wire.Request, parse func([]byte) (T, error)) (T, error) {
	s, message, err := c.ask(ctx, req)
	if err != nil {
		var none T
		return none, err
	}
	defer s.finish()
	return understand(s, req, message, parse)
}

// understand reads the message of an answer that nothing may follow.
func understand[T any](s *stream, req *wire.Request, message []byte, parse func([]byte) (T, error)) (T, error) {
	v, err := parse(message)
	if err == nil && !s.isLast() {
		err = violation("There is more behind an answer than there may be.")
	}
	if err != nil {
		return v, unreadable(req, err)
	}
	return v, nil
}
