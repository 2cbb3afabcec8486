// Package listen is the edge of Larder's HTTP ports. Its Listener takes plain
// HTTP and TLS on one port, telling them apart by the first byte, and bounds
// how many connections are open; its Conn cuts readers that stall, and
// MinimumRate cuts senders that do, so that slow peers cost a connection for a
// bounded time while a slow but steady transfer may last for hours.
//
// Every Conn passes ReadFrom on to the *net.TCPConn below it, which is what
// lets the kernel send a file's bytes without copying them (sendfile).
package listen

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// recordTypeHandshake is the first byte of every TLS connection, RFC 8446
// section 5.1. No HTTP method begins with it.
const recordTypeHandshake = 0x16

const (
	firstByteTimeout = 10 * time.Second
	refusalLogEvery  = time.Minute
	refusalDrain     = 64 << 10 // bytes
	maxBackoff       = time.Second
)

// plainRefused is all that a plain HTTP request gets where TLS is demanded.
const plainRefused = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"This port speaks TLS only (the setting require-tls). Use https://\n"

// Config says how a Listener treats its connections.
type Config struct {
	TLS        *tls.Config // required; its certificates answer TLS connections
	RequireTLS bool        // refuse plain connections
	Refusal    []byte      // all that a plain connection gets then; nil = an answer of HTTP
	MaxConns   int         // open at once; more are closed on arrival
	Log        *slog.Logger
}

// Listener is a net.Listener whose connections are *Conn or *tls.Conn.
type Listener struct {
	inner net.Listener
	cfg   Config
	slots chan struct{} // one token for each open connection
	ready chan net.Conn // told apart, waiting for Accept
	done  chan struct{} // closed by Close
	once  sync.Once

	mu      sync.Mutex
	waiting map[*Conn]struct{} // have not sent their first byte
	refused int                // since refusedAt
	logged  time.Time
}

// New returns a Listener over inner, which it closes with itself, and begins
// to accept.
func New(inner net.Listener, cfg Config) *Listener {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Refusal == nil {
		cfg.Refusal = []byte(plainRefused)
	}
	l := &Listener{
		inner:   inner,
		cfg:     cfg,
		slots:   make(chan struct{}, cfg.MaxConns),
		ready:   make(chan net.Conn),
		done:    make(chan struct{}),
		waiting: map[*Conn]struct{}{},
	}
	go l.run()
	return l
}

// Addr returns the address that is listened on.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Accept returns the next connection whose protocol is known. After Close it
// fails with net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close stops accepting and closes the connections that nobody has accepted.
func (l *Listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		close(l.done)
		err = l.inner.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		for c := range l.waiting {
			c.Close()
		}
	})
	return err
}

// run accepts until Close. A failed accept (no file descriptor left, say) is
// tried again after a pause.
func (l *Listener) run() {
	pause := 5 * time.Millisecond
	for {
		c, err := l.inner.Accept()
		switch {
		case err == nil:
			pause = 5 * time.Millisecond
			l.admit(c)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			l.cfg.Log.Warn("a connection could not be accepted", "error", err, "again_in", pause)
			if !l.sleep(pause) {
				return
			}
			pause = min(2*pause, maxBackoff)
		}
	}
}

// sleep waits and tells whether the listener is still open.
func (l *Listener) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.done:
		return false
	}
}

// admit gives the connection a slot, or closes it when there is none.
func (l *Listener) admit(c net.Conn) {
	select {
	case l.slots <- struct{}{}:
		conn := newConn(c, func() { <-l.slots })
		if l.wait(conn) {
			go l.tell(conn)
		}
	default:
		c.Close()
		l.countRefused()
	}
}

// wait notes a connection that has not spoken. It closes the connection and
// says false when the listener is closed already.
func (l *Listener) wait(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		c.Close()
		return false
	default:
		l.waiting[c] = struct{}{}
		return true
	}
}

// tell reads the first byte and hands the connection to Accept, as TLS or as
// it is. A connection that does not speak in time is closed.
func (l *Listener) tell(c *Conn) {
	first, err := c.peek(firstByteTimeout)
	l.mu.Lock()
	delete(l.waiting, c)
	l.mu.Unlock()
	if err != nil {
		c.Close()
		return
	}
	var out net.Conn = c
	switch {
	case first == recordTypeHandshake:
		out = tls.Server(c, l.cfg.TLS)
	case l.cfg.RequireTLS:
		l.refusePlain(c)
		return
	}
	select {
	case l.ready <- out:
	case <-l.done:
		c.Close()
	}
}

// refusePlain says that the port speaks TLS only, then reads what was sent
// before it closes: a close with unread bytes resets the connection, and the
// client would lose the answer.
func (l *Listener) refusePlain(c *Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(firstByteTimeout))
	if _, err := c.Write(l.cfg.Refusal); err != nil {
		return
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, refusalDrain)
	}
}

// countRefused logs, at most once in refusalLogEvery, that the port is full.
func (l *Listener) countRefused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused++
	if time.Since(l.logged) < refusalLogEvery {
		return
	}
	l.cfg.Log.Warn("connections were refused: too many are open (the setting max-connections)",
		"addr", l.inner.Addr().String(), "limit", l.cfg.MaxConns, "refused", l.refused)
	l.refused, l.logged = 0, time.Now()
}
