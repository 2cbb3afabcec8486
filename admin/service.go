// Package admin is the control plane's only door: the summary, access keys,
// users, verification and backups, for the console, for the command line over the unix socket, and as a
// JSON API.
//
// Every method of Service begins by asking auth.Guard whether the caller may,
// and every change stands in the audit log under the caller's name. Errors are
// fault.Errors; changes are on stable storage when a method returns nil.
package admin

import (
	"context"
	"log/slog"
	"time"

	"larder/auth"
	"larder/scrubber"
	"larder/store"
)

// Storage is what a Service asks of the store.
type Storage interface {
	Stats() store.Stats
}

// Config names what a Service works with. Auth and Store are required.
type Config struct {
	Auth     *auth.Auth
	Store    Storage
	Version  string
	Started  time.Time
	Requests func() int64 // answered since the start; nil = not counted
	Scrubber *scrubber.Scrubber
	Files    Files           // nil = no backups and exports
	Stopping <-chan struct{} // closed when the server stops: ends long work; nil = never
	Log      *slog.Logger
}

// Service is safe for concurrent use.
type Service struct {
	auth     *auth.Auth
	guard    *auth.Guard
	store    Storage
	version  string
	started  time.Time
	requests func() int64
	scrubber *scrubber.Scrubber
	files    Files
	stopping <-chan struct{}
	log      *slog.Logger
}

// New returns the control plane over cfg.Auth and cfg.Store.
func New(cfg Config) *Service {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Requests == nil {
		cfg.Requests = func() int64 { return 0 }
	}
	return &Service{
		auth: cfg.Auth, guard: cfg.Auth.Guard(), store: cfg.Store,
		version: cfg.Version, started: cfg.Started, requests: cfg.Requests, log: cfg.Log,
		scrubber: cfg.Scrubber, files: cfg.Files, stopping: cfg.Stopping,
	}
}

// Summary is the state of the appliance at one moment.
type Summary struct {
	Version    string
	Started    time.Time
	Uptime     time.Duration
	Buckets    int
	Objects    int64
	Bytes      int64 // sizes of all objects
	FreeBytes  int64 // on the file system of the data folder
	TotalBytes int64
	Requests   int64  // since the start
	ReadOnly   string // why no writes are taken, "" when they are
	Sequence   uint64 // of the last change

	Findings     int       // pieces of damage that are open
	ScrubBehind  bool      // verification does not keep to its period
	LastVerified time.Time // end of the last whole pass, zero = never
}

// Summary needs auth.ReadSummary. It reads counters only and costs next to
// nothing.
func (s *Service) Summary(ctx context.Context, c auth.Caller) (Summary, error) {
	if err := s.guard.Check(ctx, c, auth.ReadSummary, auth.Resource{}); err != nil {
		return Summary{}, err
	}
	st, scrub := s.store.Stats(), scrubber.Status{}
	if s.scrubber != nil {
		scrub = s.scrubber.Status()
	}
	return Summary{
		Version: s.version, Started: s.started, Uptime: time.Since(s.started),
		Buckets: st.Buckets, Objects: st.Objects, Bytes: st.Bytes,
		FreeBytes: st.FreeBytes, TotalBytes: st.TotalBytes,
		Requests: s.requests(), ReadOnly: st.ReadOnly, Sequence: st.Sequence,
		Findings: scrub.Open, ScrubBehind: scrub.Behind, LastVerified: scrub.Last.Ended,
	}, nil
}

// CreateKey makes an access key. The secret is returned here and never again.
// Needs auth.ManageKeys.
func (s *Service) CreateKey(ctx context.Context, c auth.Caller, spec auth.KeySpec) (auth.Key, auth.Secret, error) {
	if err := s.guard.Check(ctx, c, auth.ManageKeys, auth.Resource{}); err != nil {
		return auth.Key{}, "", err
	}
	return s.auth.By(c).CreateKey(ctx, spec)
}

// Keys lists all access keys, the oldest first. Needs auth.ReadKeys.
func (s *Service) Keys(ctx context.Context, c auth.Caller) ([]auth.Key, error) {
	if err := s.guard.Check(ctx, c, auth.ReadKeys, auth.Resource{}); err != nil {
		return nil, err
	}
	return s.auth.Keys(ctx)
}

// Key describes one access key. Needs auth.ReadKeys.
func (s *Service) Key(ctx context.Context, c auth.Caller, id string) (auth.Key, error) {
	if err := s.guard.Check(ctx, c, auth.ReadKeys, auth.Resource{Key: id}); err != nil {
		return auth.Key{}, err
	}
	return s.auth.KeyByID(ctx, id)
}

// SetKeyDisabled disables a key, from its next request on, or enables it again.
// Needs auth.ManageKeys.
func (s *Service) SetKeyDisabled(ctx context.Context, c auth.Caller, id string, disabled bool) error {
	if err := s.guard.Check(ctx, c, auth.ManageKeys, auth.Resource{Key: id}); err != nil {
		return err
	}
	return s.auth.By(c).SetKeyDisabled(ctx, id, disabled)
}

// DeleteKey deletes a key, which is refused from its next request on. Needs
// auth.ManageKeys.
func (s *Service) DeleteKey(ctx context.Context, c auth.Caller, id string) error {
	if err := s.guard.Check(ctx, c, auth.ManageKeys, auth.Resource{Key: id}); err != nil {
		return err
	}
	return s.auth.By(c).DeleteKey(ctx, id)
}

// CreateUser makes a user with one of auth.Roles. Needs auth.ManageUsers.
func (s *Service) CreateUser(ctx context.Context, c auth.Caller, name string, password auth.Secret, role string) (auth.User, error) {
	if err := s.guard.Check(ctx, c, auth.ManageUsers, auth.Resource{Key: name}); err != nil {
		return auth.User{}, err
	}
	return s.auth.By(c).CreateUser(ctx, name, password, role)
}

// Users lists all users, the oldest first. Needs auth.ReadUsers.
func (s *Service) Users(ctx context.Context, c auth.Caller) ([]auth.User, error) {
	if err := s.guard.Check(ctx, c, auth.ReadUsers, auth.Resource{}); err != nil {
		return nil, err
	}
	return s.auth.Users(ctx)
}

// DeleteUser deletes a user and ends its sessions; the last administrator stays.
// Needs auth.ManageUsers.
func (s *Service) DeleteUser(ctx context.Context, c auth.Caller, name string) error {
	if err := s.guard.Check(ctx, c, auth.ManageUsers, auth.Resource{Key: name}); err != nil {
		return err
	}
	return s.auth.By(c).DeleteUser(ctx, name)
}

// PasswordChange asks for another password of a user.
type PasswordChange struct {
	User    string
	Current auth.Secret // needed when callers change their own
	New     auth.Secret
}

// ChangePassword sets another password and ends all sessions of the user. People
// may change their own (auth.ChangeOwnPassword) and must then prove that they
// know the current one, so that a stolen session is not enough; for others it
// needs auth.ManageUsers.
func (s *Service) ChangePassword(ctx context.Context, c auth.Caller, p PasswordChange) error {
	own := c.Kind() == auth.KindUser && c.ID() == p.User
	act := auth.ManageUsers
	if own {
		act = auth.ChangeOwnPassword
	}
	if err := s.guard.Check(ctx, c, act, auth.Resource{Key: p.User}); err != nil {
		return err
	}
	if own {
		if err := s.auth.Confirm(ctx, c, p.Current); err != nil {
			return err
		}
	}
	return s.auth.By(c).ChangePassword(ctx, p.User, p.New)
}
