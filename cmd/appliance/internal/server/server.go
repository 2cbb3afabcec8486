// Package server puts the appliance together: it opens the data folder, gives
// the front ends their doors, listens, and closes everything in order.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"larder/admin"
	"larder/auth"
	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/cmd/appliance/internal/listen"
	"larder/fault"
	"larder/gate"
	"larder/s3"
	"larder/scrubber"
	"larder/store"
	"larder/store/vfs"
	"larder/web"
)

// Config is what Open needs besides the settings.
type Config struct {
	Settings config.Config
	Version  string
	Out      io.Writer // where a person reads the console's address and the set-up code
	Log      *slog.Logger
}

// Server is the running appliance. Open makes one, Run serves, Close ends it.
type Server struct {
	cfg     config.Config
	version string
	out     io.Writer
	log     *slog.Logger

	files       vfs.FS // of the data folder
	store       *store.Store
	auth        *auth.Auth
	certificate listen.Certificate

	console, s3 net.Listener
	native      net.Listener // nil: the native protocol is off
	ports       []port
	background  []func(context.Context)
	scrubber    *scrubber.Scrubber
	stopping    atomic.Bool
	stop        chan struct{} // closed when stopping begins
}

// Open opens the data folder and listens on every port, but answers nothing
// yet. On an error nothing stays open.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg.Settings, version: cfg.Version, out: cfg.Out, log: cfg.Log, stop: make(chan struct{})}
	for _, step := range []func(context.Context) error{
		s.openStore, s.openIdentity, s.firstIdentities, s.openCertificate, s.listen, s.wire,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// openStore takes the data folder. The store's lock is what keeps a second
// process out, so that nothing else of the folder is touched before.
func (s *Server) openStore(ctx context.Context) (err error) {
	syncDataOnly(s.log)
	if err := prepareFolder(s.cfg.Data, s.log); err != nil {
		return err
	}
	early := &early{server: s}
	s.store, err = store.Open(ctx, store.Config{
		Dir: s.cfg.Data, BlobDir: s.cfg.BlobDir, SegmentSize: s.cfg.SegmentSize, CompactRate: s.cfg.CompactRate,
		UploadExpiry: orNever(s.cfg.UploadExpiry), Progress: early.progress, Log: s.log,
	})
	early.end()
	if err != nil {
		return err
	}
	if err := closeToOthers(s.cfg.Data, s.log); err != nil {
		return err
	}
	s.files, err = vfs.OS(s.cfg.Data)
	return err
}

// orNever gives the store's word for a setting of 0.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// syncDataOnly makes SQLite commit with fdatasync, for the whole process: as
// durable as fsync, without a write of the file's times, which halves the cost
// of a commit to system.db. It is what SQLite's own configure script chooses.
func syncDataOnly(log *slog.Logger) {
	if _, err := sqlite.Fdatasync(true); err != nil {
		log.Debug("SQLite syncs with fsync on this system", "error", err)
	}
}

func (s *Server) openCertificate(context.Context) (err error) {
	s.certificate, err = listen.OwnCertificate(s.files, time.Now())
	return err
}

// listen opens the two HTTP ports, and that of the native protocol.
func (s *Server) listen(ctx context.Context) (err error) {
	open := func(setting, addr string, refusal []byte) (net.Listener, error) {
		var lc net.ListenConfig
		inner, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			return nil, noPort(setting, addr, err)
		}
		return listen.New(inner, listen.Config{
			TLS: s.certificate.ServerConfig(), RequireTLS: s.cfg.RequireTLS, Refusal: refusal, MaxConns: s.cfg.MaxConnections, Log: s.log,
		}), nil
	}
	if s.s3, err = open("s3", s.cfg.S3, nil); err != nil {
		return err
	}
	if s.console, err = open("console", s.cfg.Console, nil); err != nil {
		return err
	}
	return s.listenNative(open)
}

// noPort is the error for an address that cannot be listened on.
func noPort(setting, addr string, err error) error {
	hint := "Larder cannot listen on this address: " + err.Error() + "."
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "Another program listens on this address (`ss -ltnp` names it)."
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "This machine has no such address."
	case errors.Is(err, syscall.EACCES):
		hint = "This port is reserved for root. Choose one from 1024 on."
	}
	return fault.New("server.Open", fault.Unavailable, addr, err).WithHint(hint +
		" The setting is " + setting + ": --" + setting + " or LARDER_" + strings.ToUpper(setting) + ".")
}

// wire gives each front end its door and each listener its front end.
func (s *Server) wire(ctx context.Context) error {
	doors := gate.New(gate.Config{Store: s.store, Guard: s.auth.Guard(), Audit: s.auth, Log: s.log})
	objects := s3.New(s3.Config{
		Gate: doors, Auth: s.auth, Domains: s.cfg.S3Domains, Region: s.cfg.Region,
		RefuseUnsigned: s.cfg.RefuseUnsigned, Log: s.log,
	})
	requests, own := objects.Requests, s.wireNative(doors)
	if own != nil {
		requests = func() int64 { return objects.Requests() + own.Requests() }
	}
	var err error
	s.scrubber, err = scrubber.New(ctx, scrubber.Config{
		Store: s.store, Period: s.cfg.ScrubPeriod, MaxRate: s.cfg.ScrubRate, Log: s.log,
	})
	if err != nil {
		return err
	}
	control := admin.New(admin.Config{
		Auth: s.auth, Store: s.store, Version: s.version, Started: time.Now(), Requests: requests,
		Scrubber: s.scrubber, Files: files{s, doors}, Stopping: s.stop, Log: s.log,
	})
	console, err := web.New(web.Config{
		Gate: doors, Admin: control, Auth: s.auth, S3URL: s.s3URL, CertFingerprint: s.certificate.Fingerprint,
		Version: s.version, Log: s.log, Instance: s.instance(), Hosts: s.cfg.ConsoleHosts,
	})
	if err != nil {
		return err
	}
	socket, err := s.listenSocket()
	if err != nil {
		return err
	}
	local := control.Handler(doors, func(*http.Request) (auth.Caller, error) { return s.auth.Local(), nil })
	s.background = append(s.background, console.Run, s.scrubber.Run, s.snapshots().Run)
	s.ports = []port{
		newPort("s3", s.s3, objects, s.log), // watches the pace of bodies itself
		newPort("console", s.console, listen.MinimumRate(s.health(console)), s.log),
		newPort("socket", socket, s.health(local), s.log),
	}
	if own != nil {
		s.ports = append(s.ports, &nativePort{s.native, own})
	}
	return nil
}

// listenSocket listens on the unix socket for the command line. The store's
// lock says that a socket left there belongs to nobody.
func (s *Server) listenSocket() (net.Listener, error) {
	if err := s.files.Remove(socketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := control.Listen(s.cfg.Socket())
	if err != nil {
		return nil, fmt.Errorf("the socket for the command line: %w", err)
	}
	return l, nil
}

// s3URL is what the console tells clients: the setting, or the S3 port of the
// host under which the browser reached the console.
func (s *Server) s3URL(r *http.Request) string {
	if s.cfg.S3URL != "" {
		return strings.TrimSuffix(s.cfg.S3URL, "/")
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	_, port, _ := net.SplitHostPort(s.s3.Addr().String())
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// instance tells the cookies of several appliances on one host apart.
func (s *Server) instance() string {
	return strings.ToLower(strings.ReplaceAll(s.certificate.Fingerprint[:11], ":", ""))
}

// Run serves until ctx ends or a port breaks, then lets running requests
// finish within the setting shutdown-timeout.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	broken := make(chan error, len(s.ports))
	for _, p := range s.ports {
		wg.Go(func() {
			if err := p.serve(); err != nil {
				broken <- fmt.Errorf("port %s: %w", p, err)
			}
		})
	}
	for _, run := range s.background {
		wg.Go(func() { run(ctx) })
	}
	code := ""
	if s.auth.SetupNeeded(ctx) {
		code = s.auth.NewSetupCode()
	}
	s.announce(code)
	var err error
	select {
	case <-ctx.Done():
	case err = <-broken:
	}
	cancel()
	s.drain()
	return err
}

// drain stops the ports side by side.
func (s *Server) drain() {
	s.stopping.Store(true)
	close(s.stop)
	s.log.Info("stopping", "limit", s.cfg.ShutdownTimeout.String())
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range s.ports {
		wg.Go(func() {
			if !p.stop(ctx) {
				s.log.Warn("running requests were cut off (the setting shutdown-timeout)", "port", p.String())
			}
		})
	}
	wg.Wait()
}

// Close closes what Open opened: listeners, then identities, then the store.
// Changes that the store accepted are finished and durable afterwards.
func (s *Server) Close() error {
	var errs []error
	for _, l := range []net.Listener{s.s3, s.console, s.native} {
		if l != nil {
			_ = l.Close() // closed already after Run
		}
	}
	if len(s.ports) > 0 {
		errs = append(errs, s.files.Remove(socketFile))
	}
	if s.auth != nil {
		errs = append(errs, s.closeIdentity())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}
