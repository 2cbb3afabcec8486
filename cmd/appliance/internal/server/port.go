package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"larder/s3"
)

// port is one front end on one listener.
type port interface {
	// serve answers requests until stop. A listener that breaks is an error.
	serve() error
	// stop accepts no more and waits for running requests until ctx ends, then
	// cuts them off. It tells whether all of them had finished.
	stop(ctx context.Context) (finished bool)
	String() string
}

// httpPort is an HTTP server on a listener.
type httpPort struct {
	name     string
	listener net.Listener
	server   *http.Server
}

func (p *httpPort) String() string { return p.name }

// newPort gives every port the limits that S3 clients need. There is no limit
// on the time of a whole request: large bodies over slow lines take hours.
// listen and s3 cut who stalls.
func newPort(name string, l net.Listener, h http.Handler, log *slog.Logger) *httpPort {
	var http1 http.Protocols
	http1.SetHTTP1(true) // no HTTP/2, with or without TLS: decision 0006
	log = log.With("port", name)
	return &httpPort{name: name, listener: l, server: &http.Server{
		Handler:                      h,
		Protocols:                    &http1,
		ReadHeaderTimeout:            s3.ReadHeaderTimeout,
		IdleTimeout:                  s3.IdleTimeout,
		MaxHeaderBytes:               s3.MaxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(netErrors{log.Handler()}, slog.LevelWarn),
	}}
}

func (p *httpPort) serve() error {
	if err := p.server.Serve(p.listener); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (p *httpPort) stop(ctx context.Context) (finished bool) {
	if p.server.Shutdown(ctx) == nil {
		return true
	}
	_ = p.server.Close() // the connections are gone either way
	return false
}

// netErrors logs what net/http has to say about single connections. What a
// client can cause at will, such as a refused certificate, is debug.
type netErrors struct{ slog.Handler }

// Handle passes the record on, with its level lowered where a client is to blame.
func (h netErrors) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "TLS handshake error") || strings.Contains(r.Message, "URL query contains semicolon") {
		r.Level = slog.LevelDebug
	} else if strings.Contains(r.Message, "panic serving") {
		r.Level = slog.LevelError
	}
	if !h.Enabled(ctx, r.Level) {
		return nil
	}
	r.Message = strings.TrimSpace(r.Message)
	return h.Handler.Handle(ctx, r)
}
