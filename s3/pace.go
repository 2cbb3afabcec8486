package s3

import (
	"io"
	"net/http"
	"time"
)

// pace is how slowly a client may send or take a body. Whole transfers have no
// limit in time, only windows of waiting have.
type pace struct {
	window time.Duration // of waiting for the client
	least  int64         // bytes that must come in a window
	stall  time.Duration // for one write of up to a megabyte
}

func defaultPace() pace {
	return pace{window: 30 * time.Second, least: 30 << 10, stall: 2 * time.Minute}
}

// pacedReader reads the raw body and fails with errTooSlow when the client
// sends less than the pace asks for. Only time spent waiting for the client
// counts. It never returns more than the body's own end and error.
type pacedReader struct {
	src      io.Reader
	control  *http.ResponseController
	pace     pace
	deadline time.Time
	waited   time.Duration // in this window
	got      int64         // in this window
	ended    bool          // io.EOF has been seen
}

// rawBody returns the body as it is on the wire.
func (c *call) rawBody() *pacedReader {
	if c.body == nil {
		c.body = &pacedReader{src: c.r.Body, control: http.NewResponseController(c.w), pace: c.s.pace}
	}
	return c.body
}

// Read reads what is there. Behind io.EOF no deadline stands any more, since
// net/http reads on in the background to notice a client that goes away.
func (p *pacedReader) Read(b []byte) (int, error) {
	start := time.Now()
	p.extend(start)
	n, err := p.src.Read(b)
	p.waited += time.Since(start)
	p.got += int64(n)
	if err == io.EOF {
		p.ended = true
		p.lift()
		return n, err
	}
	if err == nil && p.waited >= p.pace.window {
		if p.got < p.pace.least {
			return n, errTooSlow
		}
		p.waited, p.got = 0, 0
	}
	return n, err
}

// extend moves the connection's read deadline, at most a few times a window.
func (p *pacedReader) extend(now time.Time) {
	if p.deadline.Sub(now) < p.pace.window {
		p.deadline = now.Add(p.pace.window + p.pace.window/2)
		_ = p.control.SetReadDeadline(p.deadline) // not every writer has deadlines
	}
}

// lift removes the deadline.
func (p *pacedReader) lift() {
	if !p.deadline.IsZero() {
		p.deadline = time.Time{}
		_ = p.control.SetReadDeadline(time.Time{})
	}
}

// resetDeadlines makes the connection ready for its next request.
func (c *call) resetDeadlines() {
	if c.body != nil {
		c.body.lift()
	}
	if !c.writeBy.IsZero() {
		_ = http.NewResponseController(c.w).SetWriteDeadline(time.Time{})
	}
}
