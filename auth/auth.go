// Package auth says who calls and what they may do. It holds users, access
// keys, login sessions and the audit log in system.db, verifies every kind of
// credentials, limits who may try how often, and decides in Guard.Check.
//
// # How a request is checked
//
// A front end first asks the Limiter, then hands the credentials to one of the
// methods of Auth that verify: VerifySignature, Bearer, Session or Login. Only
// these make a Caller. The doors (gate and admin) then ask the Guard, which
// looks the caller's rights up anew each time. All of that reads an immutable
// picture of keys and users in memory; no request check runs SQL.
//
// # How a change is made
//
// Every change is one transaction on system.db together with its line of the
// audit log, with synchronous=FULL: when the method returns nil, it survives
// power loss. Then the next picture takes the place of the old one, with a
// higher generation, so a key that was revoked fails on its next request, also
// when its secret is being checked at that very moment.
//
// # What is stored
//
// Passwords and bearer secrets as bcrypt hashes; secrets of access keys, which
// signatures need in clear, sealed with AES-256-GCM under secret.key; session
// tokens as SHA-256. The audit log is a chain of HMACs under a key derived from
// secret.key, which itself is never stored in system.db.
package auth

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	"zombiezen.com/go/sqlite"

	"larder/fault"
)

// Config says how to open the identity store. Path and SecretKey are required.
type Config struct {
	Path       string // of system.db; made when it is not there
	SecretKey  []byte // the 32 bytes of secret.key
	BcryptCost int    // 0 = 10
	Log        *slog.Logger
	Now        func() time.Time // for times that are stored or compared with stored ones; nil = time.Now
}

func (c *Config) setDefaults() {
	if c.BcryptCost == 0 {
		c.BcryptCost = bcrypt.DefaultCost
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Auth is the identity store. It is safe for concurrent use. The methods of its
// Editor make changes in the name of the server itself; By gives an Editor for
// somebody else.
type Auth struct {
	*Editor

	db       *database
	keys     *keyring
	audit    *auditLog
	limiter  *Limiter
	verifier *verifier
	signing  *signingKeys
	sessions *sessions
	denials  *denials
	guard    *Guard
	setup    setup
	log      *slog.Logger
	now      func() time.Time

	state atomic.Pointer[state] // replaced under db.mu only

	stop    chan struct{} // closed by Close
	stopped sync.WaitGroup
	once    sync.Once
}

// Open opens or makes the identity store. fault.ForeignStore when the file is
// not Larder's or was written under another secret.key, fault.NewerFormat when
// a newer Larder wrote it, fault.Corrupt when it is damaged.
//
// One process at a time may have it open; the lock of the data folder sees to
// that.
func Open(ctx context.Context, cfg Config) (*Auth, error) {
	cfg.setDefaults()
	keys, err := newKeyring(cfg.SecretKey)
	if err != nil {
		return nil, err
	}
	limiter := newLimiter()
	v, err := newVerifier(limiter, cfg.BcryptCost)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, cfg.Path, cfg.Log)
	if err != nil {
		return nil, err
	}
	a := &Auth{
		db: db, keys: keys, audit: &auditLog{key: keys.audit, limit: maxAudit},
		limiter: limiter, verifier: v, signing: newSigningKeys(), sessions: newSessions(),
		denials: newDenials(), log: cfg.Log, now: cfg.Now, stop: make(chan struct{}),
	}
	a.Editor = &Editor{auth: a}
	a.guard = &Guard{auth: a}
	if err := a.load(); err != nil {
		_ = db.close()
		return nil, damagedSchema(cfg.Path, err)
	}
	a.stopped.Go(a.keep)
	return a, nil
}

// load checks that database and secret.key belong together and reads what is
// held in memory.
func (a *Auth) load() error {
	const op = "auth.Open"
	return a.db.change(op, func(conn *sqlite.Conn) error {
		if err := a.checkSecretKey(conn); err != nil {
			return err
		}
		st, err := loadState(conn, a.log)
		if err != nil {
			return err
		}
		a.state.Store(st)
		return a.sessions.load(conn, a.now(), a.limiter)
	})
}

func (a *Auth) checkSecretKey(conn *sqlite.Conn) error {
	stored, err := one(conn, selectSetting, settingKeyCheck)
	switch {
	case err != nil:
		return err
	case stored == nil:
		if err := exec(conn, insertSetting, settingKeyCheck, a.keys.check); err != nil {
			return err
		}
		return a.audit.start(conn)
	case !a.keys.matches(stored):
		return fault.New("auth.Open", fault.ForeignStore, "secret.key", nil).
			WithHint("secret.key is not the one that system.db was written with. " +
				"Put the secret.key of this data folder back; without it no access key can be used.")
	}
	return nil
}

// The names of settings.
const (
	settingKeyCheck    = "secret_key_check"
	settingImportedKey = "imported_key"
)

// Limiter returns the limiter that front ends ask before they authenticate.
func (a *Auth) Limiter() *Limiter { return a.limiter }

// Guard returns the one place that decides.
func (a *Auth) Guard() *Guard { return a.guard }

// Close writes what is kept in memory (last uses and refusals), empties the WAL
// and closes the database. Afterwards every change fails; a second Close does
// nothing.
func (a *Auth) Close() error {
	var err error
	a.once.Do(func() {
		close(a.stop)
		a.stopped.Wait()
		a.flushUsage()
		a.flushDenials(true)
		err = a.db.close()
	})
	return err
}

// The rhythm of the keeper.
const (
	keepEvery  = 10 * time.Second
	usageEvery = 6 // of these
)

// keep writes refusals every ten seconds and last uses every minute.
func (a *Auth) keep() {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-a.stop:
			return
		case <-tick.C:
		}
		a.flushDenials(false)
		if n%usageEvery == 0 {
			a.flushUsage()
		}
	}
}

func (a *Auth) flushDenials(closing bool) {
	entries := a.denials.due(closing)
	if len(entries) == 0 {
		return
	}
	err := a.db.change("auth.flushDenials", func(conn *sqlite.Conn) error {
		return a.audit.append(conn, entries...)
	})
	if err != nil {
		a.denials.back(entries)
		a.log.Warn("refused requests could not be written to the audit log", "err", err)
	}
}

// flushUsage writes when keys and sessions were last used, and deletes the
// sessions that have ended by themselves.
func (a *Auth) flushUsage() {
	dead := a.sessions.dead(a.now())
	keys, seen := a.dirtyKeys(), a.sessions.dirty()
	if len(keys)+len(seen)+len(dead) == 0 {
		return
	}
	err := a.db.change("auth.flushUsage", func(conn *sqlite.Conn) error {
		for _, k := range keys {
			at, addr := k.usage.get()
			if err := exec(conn, touchKey, k.serial, nano(at), addr); err != nil {
				return err
			}
		}
		for serial, at := range seen {
			if err := exec(conn, touchSession, serial, nano(at)); err != nil {
				return err
			}
		}
		return deleteSessions(conn, dead)
	})
	if err != nil {
		a.log.Warn("last uses could not be written", "err", err)
	}
}

// dirtyKeys takes the keys that were used since the last call.
func (a *Auth) dirtyKeys() []*keyState {
	var out []*keyState
	for _, k := range a.state.Load().keys {
		if at := k.usage.at.Load(); k.usage.saved.Swap(at) != at {
			out = append(out, k)
		}
	}
	return out
}
