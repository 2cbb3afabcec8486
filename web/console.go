// Package web is Larder's console: server-rendered pages for people, and the
// mount point of the admin API. It parses, asks a door (gate for data, admin
// for control) and renders; it decides nothing about rights.
//
// Everything but uploads and the live numbers works without JavaScript. echo
// stays at the edge: only edge.go knows it, handlers are given an exchange.
package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"larder/admin"
	"larder/auth"
	"larder/gate"
	"larder/web/assets"
)

// Config names what the console stands before. Gate, Admin and Auth are
// required.
type Config struct {
	Gate  *gate.Gate
	Admin *admin.Service
	Auth  *auth.Auth

	// S3URL tells under which URL the S3 port is reached by whoever sent the
	// request, without a slash at the end; nil = port 9000 of the same host.
	S3URL func(*http.Request) string

	CertFingerprint string           // SHA-256 of the certificate, as shown to people; "" = no TLS
	Version         string           // of the program
	Log             *slog.Logger     // nil = discard
	Now             func() time.Time // stamps what is shown as relative times; nil = time.Now

	// Instance makes cookie names differ between Larders on one host, since
	// cookies ignore ports. Letters and digits only; may be empty.
	Instance string

	// Hosts, when not empty, lists the host names that the console answers to
	// besides IP addresses and localhost. Others get 421 (DNS rebinding).
	Hosts []string
}

func (c *Config) setDefaults() {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.S3URL == nil {
		c.S3URL = defaultS3URL
	}
	if c.Version == "" {
		c.Version = "dev"
	}
}

// Console is the HTTP handler of the console port. It is safe for concurrent
// use.
type Console struct {
	cfg     Config
	assets  *assets.Bundle
	names   cookieNames
	key     [32]byte // signs flash cookies; new with every start
	secrets *vault
	history *history
	handler http.Handler
}

// New returns the console. It starts no goroutine; run Run beside it for the
// curves on the home page.
func New(cfg Config) (*Console, error) {
	cfg.setDefaults()
	bundle, err := assets.Load()
	if err != nil {
		return nil, err
	}
	c := &Console{
		cfg: cfg, assets: bundle, names: newCookieNames(cfg.Instance),
		secrets: newVault(cfg.Now), history: newHistory(),
	}
	rand.Read(c.key[:])
	c.handler = c.edge()
	return c, nil
}

// ServeHTTP answers one request of the console port.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Run samples the numbers behind the home page's curves until ctx ends. The
// console works without it, then without curves.
func (c *Console) Run(ctx context.Context) { c.history.run(ctx, c.sample) }
