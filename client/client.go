// Package client speaks Larder's native protocol, which docs/native.md
// defines: many requests at a time on few connections, bodies that stream both
// ways with a checksum behind them, and no secret on the wire.
//
// A Client connects when it is first needed, may be used by many goroutines at
// a time, and repeats by itself only what cannot do harm; README.md says what
// that is. Every error is a *fault.Error: its code is the server's, or
// fault.Unavailable where there was no answer, or fault.Canceled where the
// context ended first. Its hint is a sentence for people.
package client

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"larder/fault"
)

// Config says whom a Client talks to, and as whom. Addr, KeyID and Secret are
// required.
type Config struct {
	Addr          string // "host:9002"
	KeyID, Secret string // an access key; the secret never leaves the program

	TLS     *tls.Config // nil: plain; a name to verify is taken from Addr if there is none
	Conns   int         // connections at most; 0 = 4
	Program string      // name and version, for the server's log

	Dial func(ctx context.Context, network, addr string) (net.Conn, error) // nil = net.Dialer's
	Now  func() time.Time                                                  // dates logins; nil = time.Now
}

const defaultConns = 4

func (cfg *Config) setDefaults() {
	if cfg.Conns <= 0 {
		cfg.Conns = defaultConns
	}
	if cfg.Program == "" {
		cfg.Program = "larder-go"
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
}

// Client is one server as seen by one access key. It is safe for concurrent
// use.
type Client struct {
	pool *pool
}

// New returns a Client. It connects when the first request is made.
func New(cfg Config) (*Client, error) {
	cfg.setDefaults()
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fault.New("client.New", fault.InvalidArgument, cfg.Addr, err).
			WithHint("The address needs a host and a port, such as nas.lan:9002.")
	}
	if cfg.KeyID == "" || len(cfg.KeyID) > 255 || cfg.Secret == "" {
		return nil, fault.New("client.New", fault.InvalidArgument, cfg.KeyID, nil).
			WithHint("A client needs an access key: its id of at most 255 bytes, and its secret.")
	}
	if cfg.TLS != nil {
		cfg.TLS = cfg.TLS.Clone()
		cfg.TLS.NextProtos = nil
		if cfg.TLS.ServerName == "" {
			cfg.TLS.ServerName = host
		}
	}
	return &Client{pool: newPool(cfg, defaultPatience())}, nil
}

// Close ends all connections at once. Requests that are not answered yet fail
// with fault.Unavailable, and so does everything after it.
func (c *Client) Close() error {
	c.pool.close()
	return nil
}
