package auth

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
)

// Revival is a key or a user to whom an older system.db gives back what was
// taken away since.
type Revival struct {
	Kind string // "key" or "user"
	ID   string // of the key, or the user's name
	Name string // of the key, for people
	Why  string // "was deleted since"
}

// String is one line for people.
func (r Revival) String() string {
	if r.Name == "" {
		return fmt.Sprintf("%s %s %s", r.Kind, r.ID, r.Why)
	}
	return fmt.Sprintf("%s %s (%s) %s", r.Kind, r.ID, r.Name, r.Why)
}

// Working lists the keys that can be used at a given time, by id.
func (i *Identities) Working(at time.Time) []Key {
	var out []Key
	for _, k := range i.state.keys {
		if k.works(at) {
			out = append(out, k.public())
		}
	}
	slices.SortFunc(out, func(x, y Key) int { return cmp.Compare(x.ID, y.ID) })
	return out
}

func (k *keyState) works(at time.Time) bool {
	return !k.key.Disabled && (k.key.Expires.IsZero() || at.Before(k.key.Expires))
}

// Revived compares older identities with those of now: what would be possible
// again if the older ones took their place.
func (i *Identities) Revived(now *Identities, at time.Time) []Revival {
	var out []Revival
	for id, old := range i.state.keys {
		if why := revivedKey(old, now.state.keys[id], at); why != "" {
			out = append(out, Revival{"key", id, old.key.Name, why})
		}
	}
	for name, old := range i.state.users {
		if why := revivedUser(old, now.state.users[name]); why != "" {
			out = append(out, Revival{"user", name, "", why})
		}
	}
	slices.SortFunc(out, func(x, y Revival) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID)) })
	return out
}

func revivedKey(old, now *keyState, at time.Time) string {
	switch {
	case !old.works(at):
		return ""
	case now == nil || !now.key.Created.Equal(old.key.Created):
		return "was deleted since"
	case now.key.Disabled:
		return "was disabled since"
	case !now.works(at):
		return "has got an end since, which is over"
	case encodeGrants(old.key.Grants) != encodeGrants(now.key.Grants):
		return "has got other rights since"
	}
	return ""
}

func revivedUser(old, now *userState) string {
	switch {
	case now == nil || !now.user.Created.Equal(old.user.Created):
		return "was deleted since"
	case now.user.Role != old.user.Role:
		return "has got another role since"
	case !bytes.Equal(now.hash, old.hash):
		return "has got another password since"
	}
	return ""
}

// Restored finishes the return of an older system.db: nobody stays logged in,
// and the audit log says what happened. With now, the identities that it takes
// the place of, what was taken away since is taken away again. Durable on
// return; a is for Close only afterwards.
func (a *Auth) Restored(_ context.Context, detail string, now *Identities) error {
	st := a.state.Load()
	return a.db.change("auth.Restored", func(conn *sqlite.Conn) error {
		if err := exec(conn, deleteAllSessions); err != nil {
			return err
		}
		entries := []Entry{Event{Action: "Restore", Target: "system.db", Detail: detail}.entry(a.now())}
		if now != nil {
			revoked, err := a.revokeAgain(conn, st, now)
			if err != nil {
				return err
			}
			entries = append(entries, revoked...)
		}
		return a.audit.append(conn, entries...)
	})
}

// revokeAgain repeats on old identities what was taken away since.
func (a *Auth) revokeAgain(conn *sqlite.Conn, st *state, now *Identities) ([]Entry, error) {
	var entries []Entry
	for _, r := range (&Identities{st}).Revived(now, a.now()) {
		var err error
		if r.Kind == "key" {
			err = revokeKey(conn, st.keys[r.ID], now.state.keys[r.ID])
		} else {
			err = revokeUser(conn, st.users[r.ID], now.state.users[r.ID])
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, Event{Action: "RevokeAgain", Target: r.ID, Detail: r.Kind + " " + r.Why}.entry(a.now()))
	}
	return entries, nil
}

func revokeKey(conn *sqlite.Conn, old, now *keyState) error {
	if now == nil || !now.key.Created.Equal(old.key.Created) {
		return exec(conn, deleteKey, old.serial)
	}
	return exec(conn, updateKey, old.serial, now.key.Disabled, encodeGrants(now.key.Grants), nano(now.key.Expires))
}

func revokeUser(conn *sqlite.Conn, old, now *userState) error {
	if now == nil || !now.user.Created.Equal(old.user.Created) {
		return exec(conn, deleteUser, old.serial)
	}
	return exec(conn, updateUser, old.serial, now.user.Role, now.hash)
}
