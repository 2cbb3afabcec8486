package auth

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

// Lifetimes and bounds of login sessions.
const (
	SessionIdle     = 12 * time.Hour     // without a request
	SessionLifetime = 7 * 24 * time.Hour // whatever happens
	maxSessions     = 32                 // of one user; the one that idled longest ends
)

// tokenHash is what is known of a session's token.
type tokenHash [sha256.Size]byte

// session is one login.
type session struct {
	serial     int64 // of its row
	user       string
	userSerial int64
	generation uint64 // of the user; another password ends the session
	seen       time.Time
	saved      time.Time // the seen that is in the database
	expires    time.Time
}

func (s *session) alive(now time.Time) bool {
	return now.Before(s.expires) && now.Before(s.seen.Add(SessionIdle))
}

// sessions holds all login sessions by the hash of their token.
type sessions struct {
	mu     sync.Mutex // covers byHash and what it points to
	byHash map[tokenHash]*session
}

func newSessions() *sessions { return &sessions{byHash: make(map[tokenHash]*session)} }

// load reads the sessions that live on, deletes the others, and vouches for the
// addresses that people logged in from.
func (s *sessions) load(conn *sqlite.Conn, now time.Time, limiter *Limiter) error {
	var dead []int64
	err := rows(conn, selectSessions, func(r *sqlite.Stmt) error {
		ses := &session{
			serial: r.ColumnInt64(0), userSerial: r.ColumnInt64(2), user: r.ColumnText(3), generation: 1,
			seen: fromNano(r.ColumnInt64(5)), expires: fromNano(r.ColumnInt64(6)),
		}
		ses.saved = ses.seen
		if !ses.alive(now) {
			dead = append(dead, ses.serial)
			return nil
		}
		if addr, err := netip.ParseAddr(r.ColumnText(7)); err == nil {
			limiter.vouch(addr, subject{KindUser, ses.user})
		}
		s.byHash[tokenHash(blob(r, 1))] = ses
		return nil
	})
	if err != nil {
		return err
	}
	return deleteSessions(conn, dead)
}

func deleteSessions(conn *sqlite.Conn, serials []int64) error {
	for _, serial := range serials {
		if err := exec(conn, deleteSession, serial); err != nil {
			return err
		}
	}
	return nil
}

// touch finds the living session of a token and notes that it was seen.
func (s *sessions) touch(h tokenHash, now time.Time) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses, ok := s.byHash[h]
	if !ok || !ses.alive(now) {
		return session{}, false
	}
	if now.After(ses.seen) {
		ses.seen = now
	}
	return *ses, true
}

func (s *sessions) add(h tokenHash, ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byHash[h] = ses
}

// take removes one session.
func (s *sessions) take(h tokenHash) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses, ok := s.byHash[h]
	if !ok {
		return session{}, false
	}
	delete(s.byHash, h)
	return *ses, true
}

// drop removes all sessions of a user.
func (s *sessions) drop(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, ses := range s.byHash {
		if ses.user == user {
			delete(s.byHash, h)
		}
	}
}

// crowd removes the session that idled longest when the user has the most
// allowed, and returns its serial, or 0.
func (s *sessions) crowd(user string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest tokenHash
	n := 0
	for h, ses := range s.byHash {
		if ses.user != user {
			continue
		}
		if n++; n == 1 || ses.seen.Before(s.byHash[oldest].seen) {
			oldest = h
		}
	}
	if n < maxSessions {
		return 0
	}
	serial := s.byHash[oldest].serial
	delete(s.byHash, oldest)
	return serial
}

// dirty takes the times seen that are not in the database yet.
func (s *sessions) dirty() map[int64]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[int64]time.Time)
	for _, ses := range s.byHash {
		if ses.seen.After(ses.saved) {
			out[ses.serial], ses.saved = ses.seen, ses.seen
		}
	}
	return out
}

// dead removes the sessions that have ended by themselves.
func (s *sessions) dead(now time.Time) (serials []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, ses := range s.byHash {
		if !ses.alive(now) {
			serials = append(serials, ses.serial)
			delete(s.byHash, h)
		}
	}
	return serials
}
