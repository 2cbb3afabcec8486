package client

import (
	"encoding/binary"
	"io"

	"larder/fault"
	"larder/native/wire"
)

const (
	readBuffer = 64 << 10
	// fewBytes of DATA are copied behind the last ones, so that many little
	// frames do not hold many chunks.
	fewBytes = 4 << 10
	// mostPongs wait for a server that asks and does not listen.
	mostPongs = 1024
	// mostEvents wait for a watch that nobody reads; it then begins anew where
	// it was.
	mostEvents = 1024
)

// counted is the connection's socket as its reader sees it.
type counted struct{ conn *conn }

func (r counted) Read(p []byte) (int, error) {
	n, err := r.conn.nc.Read(p)
	r.conn.received.Add(uint64(n))
	return n, err
}

// violation is a frame that the server may not send: the connection ends.
func violation(hint string) error {
	return fault.New("client.read", fault.Internal, "", nil).WithHint(hint)
}

// read is the reader: it takes frames until the connection ends.
func (c *conn) read() {
	for {
		if err := c.readFrame(); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *conn) readFrame() error {
	head, err := c.in.Peek(wire.HeaderSize)
	if err != nil {
		return err
	}
	h, err := wire.ParseHeader(head, wire.FromServer)
	if err != nil {
		return err
	}
	if _, err := c.in.Discard(wire.HeaderSize); err != nil {
		return err
	}
	switch h.Type {
	case wire.TypeAnswer:
		return c.takeAnswer(h)
	case wire.TypeData:
		return c.takeData(h)
	}
	// All others fit into the buffer.
	p, err := c.in.Peek(int(h.Length))
	if err != nil {
		return err
	}
	if err := c.takeSmall(h, p); err != nil {
		return err
	}
	_, err = c.in.Discard(int(h.Length))
	return err
}

func (c *conn) takeSmall(h wire.Header, p []byte) error {
	switch h.Type {
	case wire.TypeEnd:
		return c.takeEnd(h, p)
	case wire.TypeCancel:
		return c.takeCancel(h, wire.ParseCode(p))
	case wire.TypeEvent:
		return c.takeEvent(h, p)
	case wire.TypeCredit:
		return c.takeCredit(h, p)
	case wire.TypePing:
		return c.takePing([8]byte(p))
	case wire.TypePong:
		c.takePong(binary.BigEndian.Uint64(p))
		return nil
	case wire.TypeGoAway:
		f, err := wire.ParseFarewell(p)
		if err == nil {
			c.leave(f)
		}
		return err
	}
	return violation("The server sent a frame that has no place behind the login.")
}

// find returns the stream of a frame, nil for one that is over. The caller
// holds the lock.
func (c *conn) find(h wire.Header) (*stream, error) {
	if h.Stream > c.next {
		return nil, violation("The server sent something for a request that was never made.")
	}
	return c.streams[h.Stream], nil
}

// finale takes the server's last frame of a stream: set puts it into the
// stream, if somebody still has it.
func (c *conn) finale(h wire.Header, set func(s *stream) error) error {
	c.mu.Lock()
	s, err := c.find(h)
	switch {
	case err != nil:
	case s != nil && s.gotLast:
		err = violation("The server sent something for a request that it had ended.")
	case s != nil:
		if err = set(s); err == nil {
			s.gotLast = true
			s.notify()
		}
	}
	_, known := c.streams[h.Stream]
	abandoned := s == nil && known
	if abandoned {
		delete(c.streams, h.Stream)
	}
	done := c.leaving && len(c.streams) == 0
	c.mu.Unlock()
	if abandoned {
		c.owner.release(c)
	}
	if done && err == nil {
		err = errDone()
	}
	return err
}

func (c *conn) takeAnswer(h wire.Header) error {
	n := int(h.Length)
	if cap(c.scratch) < n {
		c.scratch = make([]byte, n)
	}
	c.scratch = c.scratch[:n]
	if _, err := io.ReadFull(c.in, c.scratch); err != nil {
		return err
	}
	set := func(s *stream) error {
		if s.answered {
			return violation("The server answered a request twice.")
		}
		s.answered, s.last = true, h.Last
		s.answer, c.scratch = c.scratch, s.answer
		return nil
	}
	if h.Last {
		return c.finale(h, set)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(h)
	if s == nil || err != nil {
		return err
	}
	s.notify()
	return set(s)
}

func (c *conn) takeEnd(h wire.Header, p []byte) error {
	t, err := wire.ParseTrailer(p)
	if err != nil {
		return err
	}
	return c.finale(h, func(s *stream) error {
		if !s.answered {
			return violation("The server ended a body before its answer.")
		}
		s.ended, s.trailer = true, t
		return nil
	})
}

func (c *conn) takeCancel(h wire.Header, code fault.Code) error {
	return c.finale(h, func(s *stream) error {
		s.stopped, s.code = true, code
		return nil
	})
}

// takeData takes a frame of a body, in pieces as they come.
func (c *conn) takeData(h wire.Header) error {
	if err := c.admit(h); err != nil {
		return err
	}
	for left := int(h.Length); left > 0; {
		n := min(left, largeChunk)
		left -= n
		if n <= fewBytes {
			p, err := c.in.Peek(n)
			if err != nil {
				return err
			}
			c.copyIn(h.Stream, p)
			if _, err := c.in.Discard(n); err != nil {
				return err
			}
			continue
		}
		k := getChunk(n)
		k.data = k.data[:n]
		if _, err := io.ReadFull(c.in, k.data); err != nil {
			return err
		}
		c.putIn(h.Stream, k)
	}
	return nil
}

// admit compares a frame of a body with the credit that the server has, and
// gives the connection's back: what waits is bounded by the stream's.
func (c *conn) admit(h wire.Header) error {
	n := int64(h.Length)
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(h)
	if err != nil {
		return err
	}
	c.window -= n
	if s != nil {
		s.window -= n
		if !s.answered || s.gotLast {
			return violation("The server sent a body where none may be.")
		}
	}
	if c.window < 0 || s != nil && s.window < 0 {
		return violation("The server sent more than it was allowed to.")
	}
	c.taken += n
	if c.taken >= max(1, c.terms.connCredit/4) {
		c.outbox.giveBack(0, c.taken)
		c.window += c.taken
		c.taken = 0
		c.wakeWriter()
	}
	return nil
}

// copyIn puts a copy of a few bytes into a stream's body.
func (c *conn) copyIn(stream uint32, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[stream]
	if s == nil {
		return
	}
	last := len(s.chunks) - 1
	if last < s.taken || s.chunks[last].room() < len(p) {
		s.chunks = append(s.chunks, getChunk(len(p)))
		last++
	}
	s.chunks[last].data = append(s.chunks[last].data, p...)
	s.notify()
}

// putIn puts a chunk into a stream's body.
func (c *conn) putIn(stream uint32, k *chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[stream]
	if s == nil {
		k.free()
		return
	}
	s.chunks = append(s.chunks, k)
	s.notify()
}

func (c *conn) takeEvent(h wire.Header, p []byte) error {
	e, err := wire.ParseEvent(p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(h)
	switch {
	case s == nil || err != nil:
		return err
	case !s.answered || s.gotLast:
		return violation("The server sent an event where none may be.")
	case s.missed:
	case len(s.events)-s.drained >= mostEvents:
		s.missed, s.sentLast, s.canceled = true, true, true
		c.outbox.first.cancel(s.id, fault.Canceled)
		c.wakeWriter()
	default:
		s.events = append(s.events, e)
	}
	s.notify()
	return nil
}

func (c *conn) takeCredit(h wire.Header, p []byte) error {
	n, err := wire.ParseCredit(p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Stream != 0 {
		s, err := c.find(h)
		if s == nil || err != nil {
			return err
		}
		s.credit += int64(n)
		s.notify()
		if s.credit > wire.MaxCredit {
			return violation("The server gave more credit than there may be.")
		}
		return nil
	}
	c.allow(int64(n))
	if c.credit > wire.MaxCredit {
		return violation("The server gave more credit than there may be.")
	}
	return nil
}

// allow adds to the connection's credit. The caller holds the lock.
func (c *conn) allow(n int64) {
	if c.credit += n; n == 0 {
		return
	}
	for _, s := range c.streams {
		if s != nil && s.starved {
			s.notify()
		}
	}
}
