// Package s3 speaks the Amazon S3 REST protocol over net/http. It routes,
// authenticates, decodes bodies while they stream, and encodes answers; for
// everything that is stored it calls package gate, which decides and acts.
//
// The handler works on the bare http.ResponseWriter: a wrapper without
// io.ReaderFrom would cost sendfile. It reads the target as it was sent, never
// cleans or redirects it, and never reads cookies.
package s3

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"larder/auth"
	"larder/gate"
)

// What the http.Server that carries a Server should be set to. It should have
// neither a ReadTimeout nor a WriteTimeout, since both would cut large
// transfers; a Server watches the pace of bodies itself.
const (
	MaxHeaderBytes    = 32 << 10
	ReadHeaderTimeout = 10 * time.Second
	// IdleTimeout is long: pooled connections that a server closes early give
	// some clients a broken pipe.
	IdleTimeout = 3 * time.Minute
)

// Config says what a Server stands before. Gate and Auth are required.
type Config struct {
	Gate *gate.Gate
	Auth *auth.Auth
	// Domains are the base domains of virtual-host style: with "s3.nas" here,
	// the host "photos.s3.nas" means the bucket photos. A domain without a port
	// fits every port.
	Domains []string
	Region  string // answered, never demanded; "" = us-east-1
	// RefuseUnsigned refuses payloads without a signature or a digest of their
	// own over plain HTTP, but from the machine itself and by presigned links.
	RefuseUnsigned bool
	Log            *slog.Logger
	Now            func() time.Time // judges the time of signatures; nil = time.Now
}

// Server is an http.Handler that answers S3 requests. It is safe for
// concurrent use.
type Server struct {
	gate     *gate.Gate
	auth     *auth.Auth
	domains  []string
	region   string
	refuse   bool
	log      *slog.Logger
	now      func() time.Time
	routes   []route
	instance string // makes x-amz-id-2 tell servers apart
	pace     pace
	requests atomic.Int64
}

// New returns a Server. It starts nothing that would need to be stopped.
func New(cfg Config) *Server {
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Server{
		gate: cfg.Gate, auth: cfg.Auth, domains: normalDomains(cfg.Domains), region: cfg.Region,
		refuse: cfg.RefuseUnsigned, log: cfg.Log, now: cfg.Now,
		routes: routes(), instance: randomHex(16), pace: defaultPace(),
	}
}

// Requests counts the requests that have arrived since New.
func (s *Server) Requests() int64 { return s.requests.Load() }

// ServeHTTP answers one request. It panics with http.ErrAbortHandler, and with
// nothing else, when an answer that has begun cannot be finished truthfully.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	c := s.newCall(w, r)
	defer c.end()
	if r.ContentLength == 0 && r.Header.Get("Expect") == "100-continue" {
		// There is nothing to withhold, so net/http says nothing. botocore reads
		// the next answer on the connection wrongly without it.
		w.WriteHeader(http.StatusContinue)
	}
	if err := c.run(); err != nil {
		c.fail(err)
	}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: https://pkg.go.dev/crypto/rand#Read
	return hex.EncodeToString(b)
}
