package native

import (
	"errors"
	"net"
	"runtime"
	"sync"
)

// outputBytes is how much may wait to be sent before whoever has more waits.
const outputBytes = 256 << 10

var errOutputClosed = errors.New("the connection is closed")

// output sends frames over a connection, for many goroutines: who finds nobody
// sending sends, and takes along what others add meanwhile. Frames of one call
// stay together.
type output struct {
	conn net.Conn

	mu      sync.Mutex
	changed sync.Cond // the writer has left, or room was made
	pending []byte    // whole frames
	spare   []byte    // the other buffer
	writing bool      // somebody sends
	err     error     // the first one; nothing is sent after it
}

func newOutput(conn net.Conn) *output {
	o := &output{conn: conn}
	o.changed.L = &o.mu
	return o
}

// send sends whole frames, or leaves them to whoever is sending. An error is of
// the connection, now or earlier. With others, it lets those who are ready to
// send first: their frames leave in the same packet.
func (o *output) send(frames []byte, others bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing && len(o.pending) >= outputBytes && o.err == nil {
		o.changed.Wait()
	}
	if o.err != nil {
		return o.err
	}
	o.pending = append(o.pending, frames...)
	if o.writing {
		return nil
	}
	o.writing = true
	if others {
		o.mu.Unlock()
		runtime.Gosched()
		o.mu.Lock()
	}
	o.drain()
	o.leave()
	return o.err
}

// drain sends what is pending until there is nothing. The caller is the writer
// and holds mu, which is let go of while bytes are sent.
func (o *output) drain() {
	for len(o.pending) > 0 && o.err == nil {
		out := o.pending
		o.pending = o.spare[:0]
		o.mu.Unlock()
		_, err := o.conn.Write(out)
		o.mu.Lock()
		o.spare = keep(out)
		if err != nil {
			o.broken(err)
		}
		o.changed.Broadcast()
	}
}

// keep returns the buffer for another time, unless it has grown large.
func keep(b []byte) []byte {
	if cap(b) > outputBytes/4 {
		return nil
	}
	return b[:0]
}

func (o *output) leave() {
	o.writing = false
	o.changed.Broadcast()
}

func (o *output) broken(err error) {
	if o.err == nil {
		o.err = err
	}
}

// exclusive lets f write to the connection itself, directly behind the given
// frames. What others add meanwhile leaves after that.
func (o *output) exclusive(frames []byte, f func(net.Conn) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing && o.err == nil {
		o.changed.Wait()
	}
	if o.err != nil {
		return o.err
	}
	o.writing = true
	out := append(o.pending, frames...)
	o.pending = o.spare[:0]
	o.mu.Unlock()
	_, err := o.conn.Write(out)
	if err == nil {
		err = f(o.conn)
	}
	o.mu.Lock()
	o.spare = keep(out)
	if err != nil {
		o.broken(err)
	}
	o.drain()
	o.leave()
	return o.err
}

// close lets every send fail from now on. Bytes on their way end when the
// connection is closed.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken(errOutputClosed)
	o.changed.Broadcast()
}
