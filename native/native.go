// Package native speaks Larder's own protocol, which docs/native.md defines:
// many requests at a time on one connection, bodies that go from the page cache
// to the socket, a login that sends no secret. For everything that is stored it
// calls package gate, which decides and acts; package native/wire knows the
// bytes.
//
// # Who owns what
//
// One goroutine reads a connection. Each request is carried out by a goroutine
// of its own, which reads its body from an inbox that the reader fills, and
// hands its answer to the connection's output. Nothing that a peer sends or
// leaves unsent makes the server hold more than the inboxes' credit, the output's
// bound, and one request each.
package native

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"larder/auth"
	"larder/gate"
	"larder/native/wire"
)

// Config says what a Server stands before. Gate, Auth and Info are required.
type Config struct {
	Gate *gate.Gate
	Auth *auth.Auth
	// Info is what the operation Info answers.
	Info    func() wire.ServerInfo
	Program string // name and version, told to clients
	Log     *slog.Logger
	Now     func() time.Time // judges the date of logins; nil = time.Now
}

// Server answers the native protocol. It is safe for concurrent use.
type Server struct {
	cfg      Config
	gate     *gate.Gate
	auth     *auth.Auth
	log      *slog.Logger
	pace     pace
	requests atomic.Int64
	workers  *workers

	mu       sync.Mutex
	conns    map[*conn]struct{}
	stopping bool
	running  sync.WaitGroup // one for each connection
}

// New returns a Server. It starts nothing.
func New(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Server{
		cfg: cfg, gate: cfg.Gate, auth: cfg.Auth, log: cfg.Log, pace: defaultPace(),
		conns: make(map[*conn]struct{}), workers: newWorkers(),
	}
}

// Requests counts the requests that have arrived since New.
func (s *Server) Requests() int64 { return s.requests.Load() }

// Serve answers the connections of l until l is closed, and returns the error
// of its Accept. TLS connections must come as *tls.Conn.
func (s *Server) Serve(l net.Listener) error {
	for {
		nc, err := l.Accept()
		if err != nil {
			return err
		}
		c := newConn(s, nc)
		if !s.add(c) {
			_ = nc.Close() // stopping: there is nothing to lose
			continue
		}
		go c.run()
	}
}

// add notes a connection, or says that none is taken any more.
func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.conns[c] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.running.Done()
}

// Shutdown tells every client to go away and waits until what they began is
// done. When ctx ends first, it cuts the connections and returns ctx's error.
// The listener must be closed before.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		defer close(s.workers.stop)
	}
	for c := range s.conns {
		go c.goAway()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.cut()
	}
	s.mu.Unlock()
	<-done
	return ctx.Err()
}
