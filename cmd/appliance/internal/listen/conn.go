package listen

import (
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The slowest transfer that is let be, in both directions: below minRate bytes
// a second for longer than stall, the peer is taken for gone.
const (
	minRate = 1 << 10
	stall   = 30 * time.Second
)

// pieceBytes bounds what one system call is given to send, and so how long a
// reader at minRate may take until it is looked at again.
const pieceBytes = 256 << 10

// Conn is a connection that gives its first byte twice and cuts slow readers.
// Reads have no limit of their own: what the peer owes depends on the request,
// which MinimumRate knows.
type Conn struct {
	net.Conn
	release func() // gives the slot back
	once    sync.Once

	first    [1]byte
	unread   bool         // first was peeked and not yet read; only Read and peek touch it
	deadline atomic.Int64 // of writes, set from outside, Unix ns; 0 = none
}

func newConn(c net.Conn, release func()) *Conn {
	return &Conn{Conn: c, release: release}
}

// peek waits for the first byte, which Read gives again. It is called once,
// before any Read.
func (c *Conn) peek(timeout time.Duration) (byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c.Conn, c.first[:]); err != nil {
		return 0, err
	}
	c.unread = true
	return c.first[0], c.SetReadDeadline(time.Time{})
}

// Read reads what the peer sent.
func (c *Conn) Read(p []byte) (int, error) {
	if c.unread && len(p) > 0 {
		c.unread = false
		p[0] = c.first[0]
		return 1, nil
	}
	return c.Conn.Read(p)
}

// Write sends p. It fails with os.ErrDeadlineExceeded when the peer reads more
// slowly than minRate for longer than stall.
func (c *Conn) Write(p []byte) (total int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), pieceBytes)]
		c.allow(len(piece))
		var n int
		n, err = c.Conn.Write(piece)
		total += n
		p = p[n:]
	}
	return total, err
}

// ReadFrom sends what r gives, by sendfile where r is a file or a limited part
// of one, under the same limit as Write.
func (c *Conn) ReadFrom(r io.Reader) (total int64, err error) {
	inner, ok := c.Conn.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	src, left := r, int64(math.MaxInt64)
	limited, isLimited := r.(*io.LimitedReader)
	if isLimited {
		src, left = limited.R, limited.N
	}
	for total < left {
		piece := &io.LimitedReader{R: src, N: min(left-total, pieceBytes)}
		want := piece.N
		c.allow(int(want))
		n, err := inner.ReadFrom(piece)
		total += n
		if isLimited {
			limited.N -= n
		}
		if err != nil || n < want {
			return total, err
		}
	}
	return total, nil
}

// allow sets the write deadline for n bytes: the peer's own pace at minRate
// and a stall, or what was set from outside if that is sooner.
func (c *Conn) allow(n int) {
	at := time.Now().Add(stall + time.Duration(n)*time.Second/minRate)
	if outside := c.deadline.Load(); outside != 0 && outside < at.UnixNano() {
		at = time.Unix(0, outside)
	}
	_ = c.Conn.SetWriteDeadline(at) // fails on a closed connection only, as the write will
}

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// SetWriteDeadline bounds writes further; the zero time lifts that bound.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	at := int64(0)
	if !t.IsZero() {
		at = t.UnixNano()
	}
	c.deadline.Store(at)
	return c.Conn.SetWriteDeadline(t)
}

// Close closes the connection and gives its slot back.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}
