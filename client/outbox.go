package client

import (
	"math"
	"net"
	"slices"
	"time"

	"larder/fault"
	"larder/native/wire"
)

const (
	// atOnce is how much whoever appends writes itself, without the detour over
	// the writer's goroutine: so little that the socket takes it without delay.
	atOnce = 96 << 10
	// perWrite bounds what one turn takes of bodies, so that pieces come back
	// while others are sent.
	perWrite = 512 << 10
)

// outbox is what a connection has to write. Requests, credit and the like go
// before pieces of bodies, so that an upload delays nobody; the frames of one
// stream never overtake each other. Its lanes are guarded by the connection's
// lock.
type outbox struct {
	first  lane // every REQUEST is here, and so in the order of the numbers
	bodies lane

	kick    chan struct{} // wakes the writer
	sending []segment     // of who holds the connection's writing lock
	vector  [][]byte      // the same
	buffers net.Buffers   // the same
}

// lane is a queue of chunks.
type lane struct {
	segments []segment
	queued   uint64 // bytes that ever came
	handed   uint64 // of those, that were ever given to the socket
}

// segment is a chunk of whole frames. With a stream it is a piece of that
// stream's body, and nothing is appended to it.
type segment struct {
	*chunk
	stream uint32
}

// tail returns a chunk to which n bytes are to be appended, and counts them.
func (l *lane) tail(n int) *chunk {
	l.queued += uint64(n)
	if last := len(l.segments) - 1; last >= 0 && l.segments[last].stream == 0 && l.segments[last].room() >= n {
		return l.segments[last].chunk
	}
	k := getChunk(n)
	l.segments = append(l.segments, segment{chunk: k})
	return k
}

// append copies whole frames.
func (l *lane) append(frames []byte) {
	k := l.tail(len(frames))
	k.data = append(k.data, frames...)
}

func (l *lane) cancel(stream uint32, code fault.Code) {
	k := l.tail(wire.HeaderSize + 2)
	k.data = wire.AppendCancel(k.data, stream, code)
}

// take moves chunks to a list until it holds most bytes; it moves one at least.
func (l *lane) take(to []segment, most int) []segment {
	count, n := 0, 0
	for count < len(l.segments) && (n == 0 || n+len(l.segments[count].data) <= most) {
		n += len(l.segments[count].data)
		count++
	}
	to = append(to, l.segments[:count]...)
	left := copy(l.segments, l.segments[count:])
	clear(l.segments[left:])
	l.segments = l.segments[:left]
	l.handed += uint64(n)
	return to
}

// piece takes a chunk over that is a piece of a stream's body.
func (o *outbox) piece(k *chunk, stream uint32) {
	o.bodies.queued += uint64(len(k.data))
	o.bodies.segments = append(o.bodies.segments, segment{chunk: k, stream: stream})
}

// end says that a stream's body is whole, behind its pieces.
func (o *outbox) end(s *stream, t wire.Trailer) {
	l := &o.first
	if s.queued > 0 {
		l = &o.bodies
	}
	var frame [maxEnd]byte
	l.append(t.Append(frame[:0], s.id))
}

// drop takes back the pieces of a stream's body that wait, and returns how many
// bytes of it they are.
func (o *outbox) drop(stream uint32) (body int64) {
	o.bodies.segments = slices.DeleteFunc(o.bodies.segments, func(seg segment) bool {
		if seg.stream != stream {
			return false
		}
		o.bodies.queued -= uint64(len(seg.data))
		body += int64(len(seg.data) - wire.HeaderSize)
		seg.free()
		return true
	})
	return body
}

func (o *outbox) giveBack(stream uint32, n int64) {
	k := o.first.tail(wire.HeaderSize + 4)
	k.data = wire.AppendCredit(k.data, stream, uint32(n))
}

func (o *outbox) ping(t wire.Type, echo [8]byte) {
	k := o.first.tail(wire.HeaderSize + 8)
	k.data = wire.AppendPing(k.data, t, echo)
}

func (o *outbox) pending() uint64 {
	return o.first.queued - o.first.handed + o.bodies.queued - o.bodies.handed
}

// take moves what the next turn writes to sending, and returns its length. It
// takes all that goes first, and so the REQUEST of every piece behind it.
func (o *outbox) take() (n int) {
	o.sending = o.first.take(o.sending[:0], math.MaxInt)
	o.sending = o.bodies.take(o.sending, perWrite)
	for _, seg := range o.sending {
		n += len(seg.data)
	}
	return n
}

func (o *outbox) clear() { o.first.segments, o.bodies.segments = nil, nil }

// flush sees to it that what is queued is written: at once where that is little
// and nobody else is writing, else by the writer.
func (c *conn) flush() {
	c.mu.Lock()
	n := c.outbox.pending()
	c.mu.Unlock()
	if n == 0 {
		return
	}
	if n <= atOnce && c.writing.TryLock() {
		more := c.writeTurn()
		c.writing.Unlock()
		if !more {
			return
		}
	}
	c.wakeWriter()
}

func (c *conn) wakeWriter() {
	select {
	case c.outbox.kick <- struct{}{}:
	default:
	}
}

// write is the writer: it writes what nobody wrote at once, until the
// connection ends.
func (c *conn) write() {
	for {
		select {
		case <-c.outbox.kick:
		case <-c.gone:
			return
		}
		c.writing.Lock()
		for c.writeTurn() {
		}
		c.writing.Unlock()
	}
}

// writeTurn writes a part of what is queued and tells whether there is more.
// The caller holds the writing lock.
func (c *conn) writeTurn() (more bool) {
	o := &c.outbox
	c.mu.Lock()
	n := o.take()
	c.pongs = 0
	c.mu.Unlock()
	if n == 0 {
		return false
	}
	if err := c.send(n); err != nil {
		c.fail(err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seg := range o.sending {
		if s := c.streams[seg.stream]; s != nil {
			s.queued--
			s.notify()
		}
		seg.free()
	}
	clear(o.sending)
	return o.pending() > 0 && c.dead == nil
}

// send writes what is in sending, n bytes.
func (c *conn) send(n int) error {
	o := &c.outbox
	limit := c.patience.write * time.Duration(1+n/(64<<10))
	if err := c.nc.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if len(o.sending) == 1 {
		_, err := c.nc.Write(o.sending[0].data)
		return err
	}
	o.vector = o.vector[:0]
	for _, seg := range o.sending {
		o.vector = append(o.vector, seg.data)
	}
	o.buffers = o.vector
	_, err := o.buffers.WriteTo(c.nc)
	clear(o.vector)
	return err
}
