package client

import (
	"bufio"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// terms are what the server's preface allows.
type terms struct {
	streams      int   // requests in flight
	connCredit   int64 // bytes, both ways
	streamCredit int64 // bytes, both ways
}

// owner is told by a connection what becomes of it: the pool.
type owner interface {
	release(*conn) // one of its streams is over
	retire(*conn)  // it takes no new ones
	drop(*conn)    // it is closed
}

// conn is one connection behind its login. It has two goroutines: one reads
// frames, the other writes what nobody writes at once.
//
// It calls its owner without holding its lock.
type conn struct {
	nc       net.Conn
	raw      net.Conn // below TLS: closes without a word
	in       *bufio.Reader
	terms    terms
	owner    owner
	patience patience

	load int    // requests that have a place on it; the owner's
	born uint64 // the owner's

	received atomic.Uint64 // bytes, for the watchdog
	scratch  []byte        // payload of an ANSWER; the reader's, until it changes hands
	gone     chan struct{} // closed when the connection has ended

	writing sync.Mutex // held by who writes to the socket
	outbox             // of it, sending, vector and buffers belong to who holds writing

	mu      sync.Mutex // guards all below, the outbox's lanes, and the state of streams
	streams map[uint32]*stream
	next    uint32 // the highest number used
	credit  int64  // bytes of DATA that may be sent
	window  int64  // bytes of DATA that the server may send
	taken   int64  // bytes of DATA that came and are not given back as credit yet
	leaving bool   // GOAWAY has come
	parting error  // what the server blamed the client for in it
	dead    error  // why it has ended
	pings   map[uint64]chan struct{}
	pinged  uint64 // PINGs sent
	pongs   int    // that wait to be written
	quiet   int    // ticks of the watchdog without a byte
	ticker  *time.Timer
}

// patience says how long a connection may be silent.
type patience struct {
	silence time.Duration // with a request in flight, before a PING
	pong    time.Duration // behind it
	write   time.Duration // for 64 KiB to be taken
	login   time.Duration // for all up to the welcome
	dial    time.Duration // for the connection to stand
}

func defaultPatience() patience {
	return patience{
		silence: 2 * time.Minute, pong: 30 * time.Second, write: time.Minute,
		login: 5 * time.Second, dial: 10 * time.Second,
	}
}

// newConn makes a connection of what stands behind a login.
func newConn(nc, raw net.Conn, t terms, o owner, p patience) *conn {
	c := &conn{
		nc: nc, raw: raw, terms: t, owner: o, patience: p,
		gone:    make(chan struct{}),
		streams: make(map[uint32]*stream),
		credit:  t.connCredit, window: t.connCredit,
		pings: make(map[uint64]chan struct{}),
	}
	c.outbox.kick = make(chan struct{}, 1)
	c.in = bufio.NewReaderSize(counted{c}, readBuffer)
	return c
}

// start lets the connection run.
func (c *conn) start() {
	c.mu.Lock()
	c.ticker = time.AfterFunc(c.patience.silence/ticks, c.tick)
	c.mu.Unlock()
	go c.read()
	go c.write()
}

// begin opens a stream with a parcel's frames: with all of them, or, where
// there is not credit enough for the body in it, with the REQUEST alone; whole
// says which. The stream is nil when the connection takes no more requests.
func (c *conn) begin(p *parcel) (s *stream, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil || c.leaving || c.next == math.MaxUint32 {
		return nil, false
	}
	c.next++
	s = streams.Get().(*stream)
	s.conn, s.id = c, c.next
	s.start, s.credit, s.window = c.outbox.first.queued, c.terms.streamCredit, c.terms.streamCredit
	c.streams[s.id] = s
	p.number(s.id)
	body := int64(p.body)
	whole = body <= min(s.credit, c.credit)
	if !whole {
		c.outbox.first.append(p.request())
		return s, false
	}
	s.credit -= body
	c.credit -= body
	s.sentLast = p.complete
	c.outbox.first.append(p.frames)
	return s, true
}

// forget takes a stream out. What the server still sends for it is passed over.
func (c *conn) forget(s *stream) {
	c.mu.Lock()
	if c.dead != nil {
		c.mu.Unlock()
		return
	}
	if !s.canceled && (!s.gotLast || !s.sentLast || s.queued > 0) {
		c.allow(c.outbox.drop(s.id))
		c.outbox.first.cancel(s.id, fault.Canceled)
	}
	if s.gotLast {
		delete(c.streams, s.id)
	} else {
		c.streams[s.id] = nil
	}
	over, done := s.gotLast, c.leaving && len(c.streams) == 0
	c.mu.Unlock()
	c.flush()
	if over {
		c.owner.release(c)
	}
	if done {
		c.fail(errDone())
	}
}

// fail ends the connection. Every stream learns of it, and whether anything of
// it was sent.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	if c.dead != nil {
		c.mu.Unlock()
		return
	}
	c.dead = cause
	if c.parting != nil {
		c.dead = c.parting
	}
	for _, s := range c.streams {
		if s != nil && !s.gotLast {
			s.broken, s.unsent = true, s.start >= c.outbox.first.handed
			s.notify()
		}
	}
	clear(c.streams)
	c.outbox.clear()
	if c.ticker != nil {
		c.ticker.Stop()
	}
	close(c.gone)
	c.mu.Unlock()
	_ = c.raw.Close() // it is given up whatever that says
	c.owner.drop(c)
}

// failure is why the connection has ended, nil while it has not.
func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// leave makes the connection end when its last stream is over. Streams above
// last are not served.
func (c *conn) leave(f wire.Farewell) {
	c.mu.Lock()
	c.leaving = true
	if f.Code != fault.OK {
		c.parting = fault.New("client.read", f.Code, "", nil).WithHint(f.Hint)
	}
	for id, s := range c.streams {
		if id <= f.Last {
			continue
		}
		if s != nil && !s.over() {
			s.broken, s.unsent, s.gotLast, s.sentLast = true, true, true, true
			s.notify()
		}
		if s == nil {
			delete(c.streams, id)
		}
	}
	done := len(c.streams) == 0
	c.mu.Unlock()
	c.owner.retire(c)
	if done {
		c.fail(errDone())
	}
}
