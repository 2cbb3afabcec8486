package native

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/native/wire"
)

const inputBytes = 16 << 10

// conn is one connection. Its reader, the goroutine of run, is the only one that
// reads from it; requests share the rest.
type conn struct {
	s      *Server
	nc     net.Conn
	in     *bufio.Reader // over paced
	paced  paced
	out    *output
	addr   netip.Addr
	caller auth.Caller
	known  atomic.Bool // caller is set, and does not change any more
	ctx    context.Context
	cancel context.CancelCauseFunc
	credit window         // to send, on all streams together
	room   atomic.Int64   // what the client may still send of bodies, on all streams together
	owed   atomic.Int64   // what of it was used up and is free again
	calls  sync.WaitGroup // requests that are being carried out

	payload []byte // of the frame at hand; the reader's

	mu      sync.Mutex
	streams map[uint32]*call // that are not over
	active  int              // requests that are being carried out, or logged
	highest uint32           // stream that was opened
	last    uint32           // with away, the last that is served
	away    bool             // GOAWAY was sent
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, nc: nc, out: newOutput(nc), streams: make(map[uint32]*call)}
	c.paced.c = c
	c.in = bufio.NewReaderSize(&c.paced, inputBytes)
	c.room.Store(wire.ConnectionCredit)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.credit.free = wire.ConnectionCredit
	if ap, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil {
		c.addr = ap.Addr().Unmap().WithZone("")
	}
	return c
}

// run serves the connection to its end.
func (c *conn) run() {
	defer c.s.remove(c)
	defer c.nc.Close()
	err := c.greet()
	if err == nil {
		err = c.read()
	}
	c.end(err)
}

// end tells the client what it did wrong, if that is why, and waits for the
// requests, which find everything closed.
func (c *conn) end(err error) {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		c.s.log.Debug("a native connection ends", "addr", c.addr.String(), "caller", c.caller.ID(), "error", err)
		c.sayFarewell(f.Code, f.Hint)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.paced.frame:
		c.sayFarewell(fault.InvalidArgument, "A frame took too long.")
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.leaving():
		c.sayFarewell(fault.OK, "Nothing was asked for a long time.")
	}
	c.cancel(errOutputClosed)
	c.out.close()
	for _, k := range c.open() {
		k.abandon(fault.New("native", fault.IncompleteBody, "", err).WithHint("The connection ended within the body."))
	}
	c.calls.Wait()
}

// sayFarewell sends GOAWAY before the connection ends.
func (c *conn) sayFarewell(code fault.Code, hint string) {
	if !c.known.Load() {
		return
	}
	c.mu.Lock()
	last := c.highest
	c.mu.Unlock()
	_ = c.nc.SetWriteDeadline(time.Now().Add(c.s.pace.login)) // the connection ends either way
	_ = c.out.send(wire.Farewell{Code: code, Last: last, Hint: hint}.Append(nil), false)
}

func (c *conn) open() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*call, 0, len(c.streams))
	for _, k := range c.streams {
		out = append(out, k)
	}
	return out
}

// cut ends the connection at once.
func (c *conn) cut() {
	c.cancel(errOutputClosed)
	c.nc.Close()
}

// goAway serves what was begun, and nothing new. Watches end.
func (c *conn) goAway() {
	c.mu.Lock()
	if c.away {
		c.mu.Unlock()
		return
	}
	c.away, c.last = true, c.highest
	last := c.last
	c.mu.Unlock()
	for _, k := range c.open() {
		if k.req.Op == wire.OpWatch {
			k.cancel(errStopping)
		}
	}
	if c.known.Load() {
		_ = c.out.send(wire.Farewell{Last: last, Hint: "Larder is stopping."}.Append(nil), false)
	}
	c.leaveIfDone()
}

// leaveIfDone closes a connection that was told to go away and owes nothing.
func (c *conn) leaveIfDone() {
	c.mu.Lock()
	done := c.away && c.active == 0
	c.mu.Unlock()
	if done {
		c.hangUp()
	}
}

// finished notes that a request was carried out.
func (c *conn) finished() {
	c.mu.Lock()
	c.active--
	away := c.away
	c.mu.Unlock()
	if away {
		c.leaveIfDone()
	}
}

// hangUp closes the way out, and gives the client a moment to close the other:
// a close with bytes unread would reset the connection, and the last answers
// could be lost with it.
func (c *conn) hangUp() {
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(time.Second))
}

// busy tells whether requests are in flight.
func (c *conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active > 0
}

// owe counts bytes of bodies that are gone from memory, and lets the client send
// as many again when it is a quarter of the connection's credit.
func (c *conn) owe(n int64) {
	if c.owed.Add(n) < wire.ConnectionCredit/4 {
		return
	}
	if n = c.owed.Swap(0); n > 0 {
		c.room.Add(n)
		_ = c.out.send(wire.AppendCredit(nil, 0, uint32(n)), false) // its failure ends the reader
	}
}

// paced reads from the connection under the deadlines of frames and of silence.
// An idle client may stay as long as requests are carried out for it.
type paced struct {
	c     *conn
	until time.Time // the deadline that is set
	frame bool      // it is the deadline of a frame
}

// Read reads what is there.
func (p *paced) Read(b []byte) (int, error) {
	for {
		p.rest()
		n, err := p.c.nc.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || p.frame || !p.c.busy() || p.c.leaving() {
			return n, err
		}
		p.until = time.Time{}
	}
}

// rest sets the deadline of silence, now and then.
func (p *paced) rest() {
	if p.frame || !p.c.known.Load() || p.c.leaving() {
		return
	}
	now := time.Now()
	if p.until.Sub(now) > p.c.s.pace.idle*9/10 {
		return
	}
	p.until = now.Add(p.c.s.pace.idle)
	_ = p.c.nc.SetReadDeadline(p.until) // fails on a closed connection only, as the read will
}

// leaving tells that the connection is being hung up, whose deadline holds.
func (c *conn) leaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away && c.active == 0
}

// expect gives a frame's payload of n bytes the time that such a frame may take,
// unless it is there already. settle ends that.
func (c *conn) expect(n int) {
	if c.in.Buffered() < n {
		c.paced.frame = true
		_ = c.nc.SetReadDeadline(time.Now().Add(c.s.pace.allow(int64(n))))
	}
}

func (c *conn) settle() {
	if c.paced.frame {
		c.paced.frame, c.paced.until = false, time.Time{}
	}
}

// full reads all of p.
func (c *conn) full(p []byte) error {
	_, err := io.ReadFull(c.in, p)
	return err
}

// discard passes over n bytes.
func (c *conn) discard(n int) error {
	_, err := c.in.Discard(n)
	return err
}
