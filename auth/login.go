package auth

import (
	"context"
	"crypto/sha256"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"larder/fault"
)

// Login verifies a user's password and begins a session, whose token goes into
// a cookie; only its SHA-256 is stored. Durable on return. It fails with
// fault.Unauthenticated for a wrong password and for an unknown user alike, and
// with fault.RateLimited when the address tried too often.
func (a *Auth) Login(ctx context.Context, user string, password Secret, addr netip.Addr, userAgent string) (string, Caller, error) {
	const op = "auth.Login"
	u, err := a.prove(ctx, op, user, password, addr)
	if err != nil {
		return "", Caller{}, err
	}
	a.rehash(ctx, u, password)
	return a.begin(op, u, addr, userAgent)
}

// begin starts a session of a user who has just been proven, unless the user
// changed while that was going on.
func (a *Auth) begin(op string, proven *userState, addr netip.Addr, userAgent string) (string, Caller, error) {
	c := proven.caller(addr)
	token, now := newToken(), a.now()
	ses := &session{
		user: c.id, userSerial: c.serial, generation: proven.generation,
		seen: now, saved: now, expires: now.Add(SessionLifetime),
	}
	err := a.By(c).change(op, Event{Action: "Login", Target: c.id}, func(conn *sqlite.Conn, st *state) error {
		u := st.users[c.id]
		if u == nil || u.serial != c.serial || u.generation != proven.generation {
			return wrongSecret(op)
		}
		return a.insertSession(conn, ses, token, c.addr, userAgent)
	})
	if err != nil {
		return "", Caller{}, err
	}
	a.sessions.add(sha256.Sum256([]byte(token)), ses)
	a.limiter.vouch(addr, subject{KindUser, c.id})
	return token, c, nil
}

func (a *Auth) insertSession(conn *sqlite.Conn, ses *session, token string, addr netip.Addr, userAgent string) error {
	if crowded := a.sessions.crowd(ses.user); crowded != 0 {
		if err := exec(conn, deleteSession, crowded); err != nil {
			return err
		}
	}
	hash := sha256.Sum256([]byte(token))
	from := ""
	if addr.IsValid() {
		from = addr.String()
	}
	err := exec(conn, insertSession, hash[:], ses.userSerial, nano(ses.seen), nano(ses.expires), from, cleanText(userAgent, maxField))
	ses.serial = conn.LastInsertRowID()
	return err
}

// Session verifies the token of a session. It fails with fault.Unauthenticated
// when the session has ended or never was, and with fault.RateLimited when the
// address sent too many such tokens.
func (a *Auth) Session(_ context.Context, token string, addr netip.Addr) (Caller, error) {
	const op = "auth.Session"
	if ses, ok := a.sessions.touch(sha256.Sum256([]byte(token)), a.now()); ok {
		u := a.state.Load().users[ses.user]
		if u != nil && u.serial == ses.userSerial && u.generation == ses.generation {
			a.limiter.vouch(addr, subject{KindUser, ses.user})
			return u.caller(addr), nil
		}
	}
	if err := a.limiter.admit(addr, subject{}, CostFailure); err != nil {
		return Caller{}, err
	}
	a.failed(Caller{addr: addr.Unmap().WithZone("")}, "session")
	return Caller{}, fault.New(op, fault.Unauthenticated, "", nil).
		WithHint("Your session has ended. Log in again.")
}

// Logout ends a session. The token is refused at once; durable on return. An
// unknown token is no error.
func (a *Auth) Logout(_ context.Context, token string) error {
	ses, ok := a.sessions.take(sha256.Sum256([]byte(token)))
	if !ok {
		return nil
	}
	by := Caller{kind: KindUser, id: ses.user, name: ses.user, serial: ses.userSerial}
	return a.By(by).change("auth.Logout", Event{Action: "Logout", Target: ses.user}, func(conn *sqlite.Conn, _ *state) error {
		return exec(conn, deleteSession, ses.serial)
	})
}
