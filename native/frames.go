package native

import (
	"context"

	"larder/fault"
	"larder/native/wire"
)

// errStopping ends watches when the server stops.
var errStopping = fault.New("native", fault.Unavailable, "", nil).WithHint("Larder is stopping.")

func violation(hint string) error {
	return fault.New("native", fault.InvalidArgument, "", nil).WithHint(hint)
}

// read takes frames in until the connection ends. An error that is a fault is
// the client's, and ends the connection.
func (c *conn) read() error {
	var header [wire.HeaderSize]byte
	for {
		if err := c.full(header[:]); err != nil {
			return err
		}
		h, err := wire.ParseHeader(header[:], wire.FromClient)
		if err != nil {
			return err
		}
		c.expect(int(h.Length))
		if h.Type == wire.TypeRequest && h.Length > wire.MaxRequest {
			err = c.mayBeLong(h)
		}
		if err == nil {
			err = c.take(h)
		}
		if err != nil {
			return err
		}
		c.settle()
	}
}

// mayBeLong compares a request's length with the limit of its operation before
// there is room for it.
func (c *conn) mayBeLong(h wire.Header) error {
	op, err := c.in.Peek(2)
	if err == nil && int(h.Length) > wire.ParseOp(op).MostBytes() {
		err = violation("A request that is longer than its operation allows.")
	}
	return err
}

// take takes one frame in.
func (c *conn) take(h wire.Header) error {
	if h.Type == wire.TypeData {
		return c.takeData(h)
	}
	p, err := c.readPayload(int(h.Length))
	if err != nil {
		return err
	}
	switch h.Type {
	case wire.TypeRequest:
		return c.takeRequest(h, p)
	case wire.TypeEnd:
		return c.takeEnd(h, p)
	case wire.TypeCancel:
		return c.takeCancel(h, p)
	case wire.TypeCredit:
		return c.takeCredit(h, p)
	case wire.TypePing:
		return c.out.send(wire.AppendPing(nil, wire.TypePong, [8]byte(p)), false)
	case wire.TypePong:
		return nil
	}
	return violation("A frame that may not be sent after the login.")
}

// readPayload reads a payload into the reader's own buffer, which is not kept
// when it has grown large.
func (c *conn) readPayload(n int) ([]byte, error) {
	p := c.payload
	if cap(p) < n {
		p = make([]byte, n)
		if n <= 4<<10 {
			c.payload = p
		}
	}
	p = p[:n]
	return p, c.full(p)
}

// stream finds a stream that was opened and is not over; nil for one that is
// over, or was passed over.
func (c *conn) stream(id uint32) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id > c.highest {
		return nil, violation("A frame of a stream that was never opened.")
	}
	return c.streams[id], nil
}

// takeRequest opens a stream. A request that cannot be read is answered, and the
// connection goes on.
func (c *conn) takeRequest(h wire.Header, p []byte) error {
	c.s.requests.Add(1)
	req, err := wire.ParseRequest(p)
	if err == nil && req.Op.HasBody() == h.Last {
		err = violation("A request with a body where none may be, or without one.")
	}
	k := newCall(c, h.Stream, req)
	served, violated := c.begin(h.Stream, k, err == nil)
	switch {
	case violated != nil:
		k.cancel(errOutputClosed)
		return violated
	case !served:
		k.cancel(errStopping)
		return nil
	case err != nil:
		k.cancel(err)
		return c.out.send(wire.AppendRefusal(nil, h.Stream, fault.CodeOf(err), fault.HintOf(err)), false)
	}
	c.s.workers.start(k)
	return nil
}

// begin notes a stream. It is not served when the client was told to go away
// before.
func (c *conn) begin(id uint32, k *call, good bool) (served bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case id <= c.highest:
		return false, violation("A stream that was used before.")
	case len(c.streams) >= wire.MaxStreams:
		return false, violation("More requests at a time than the server takes.")
	}
	c.highest = id
	if c.away {
		return false, nil
	}
	if good {
		c.streams[id] = k
		c.active++
		c.calls.Add(1)
	}
	return true, nil
}

// over ends a stream on the server's side, and tells whether others go on. It is
// called just before the stream's last frame is sent, so that the client never
// counts less than the server.
func (c *conn) over(id uint32) (others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, id)
	return len(c.streams) > 0
}

func (c *conn) takeData(h wire.Header) error {
	k, err := c.stream(h.Stream)
	if err != nil {
		return err
	}
	n := int(h.Length)
	if c.room.Add(-int64(n)) < 0 {
		return violation("More bytes of bodies than the client has credit for.")
	}
	if k == nil || k.body == nil {
		if err := c.discard(n); err != nil {
			return err
		}
		c.owe(int64(n))
		return nil
	}
	allowed, err := k.body.fill(n, c.full, c.discard)
	if err == nil && !allowed {
		return violation("More bytes of a body than the client has credit for.")
	}
	return err
}

func (c *conn) takeEnd(h wire.Header, p []byte) error {
	t, err := wire.ParseTrailer(p)
	if err != nil {
		return err
	}
	k, err := c.stream(h.Stream)
	if err == nil && k != nil && k.body != nil {
		k.body.end(t)
	}
	return err
}

func (c *conn) takeCancel(h wire.Header, _ []byte) error {
	k, err := c.stream(h.Stream)
	if err == nil && k != nil {
		k.abandon(fault.New("native", fault.Canceled, "", context.Canceled).WithHint("The client canceled the request."))
	}
	return err
}

func (c *conn) takeCredit(h wire.Header, p []byte) error {
	n, err := wire.ParseCredit(p)
	if err != nil {
		return err
	}
	w := &c.credit
	if h.Stream != 0 {
		k, err := c.stream(h.Stream)
		if err != nil || k == nil {
			return err
		}
		w = &k.credit
	}
	if !w.grow(int64(n)) {
		return violation("More credit than there may be.")
	}
	return nil
}
