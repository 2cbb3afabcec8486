package auth

import (
	"log/slog"
	"maps"
	"net/netip"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

// state is everything a request check looks at: all keys and users at one
// moment. It is never changed; a change makes a new one, after the database has
// it. A check therefore takes no lock and runs no SQL.
type state struct {
	generation uint64 // rises with every change
	keys       map[string]*keyState
	users      map[string]*userState
}

// keyState is a key with what only auth may see.
type keyState struct {
	serial     int64
	generation uint64 // of the last change of this key
	key        Key    // LastUsed and LastAddr stand in usage
	sealed     []byte
	hash       []byte
	usage      *usage
}

// userState is a user with what only auth may see.
type userState struct {
	serial     int64
	generation uint64
	user       User
	hash       []byte
}

func (k *keyState) account() account {
	if k == nil {
		return account{}
	}
	return account{generation: k.generation, hash: k.hash}
}

func (u *userState) account() account {
	if u == nil {
		return account{}
	}
	return account{generation: u.generation, hash: u.hash}
}

// public is the key as others see it.
func (k *keyState) public() Key {
	out := k.key
	out.Grants = append([]Grant(nil), k.key.Grants...)
	out.LastUsed, out.LastAddr = k.usage.get()
	return out
}

// next copies the state for a change. The values are shared: whoever changes
// one puts a new one in its place.
func (s *state) next() *state {
	return &state{generation: s.generation + 1, keys: maps.Clone(s.keys), users: maps.Clone(s.users)}
}

// usage says when and from where a key was last used. It outlives the states it
// is in.
type usage struct {
	at    atomic.Int64 // Unix ns, 0 = never
	addr  atomic.Pointer[netip.Addr]
	saved atomic.Int64 // the at that is in the database
}

func (u *usage) touch(now time.Time, addr netip.Addr) {
	u.at.Store(now.UnixNano())
	if old := u.addr.Load(); old == nil || *old != addr {
		changed := addr // addr itself would then always be on the heap
		u.addr.Store(&changed)
	}
}

func (u *usage) get() (time.Time, string) {
	addr := ""
	if p := u.addr.Load(); p != nil && p.IsValid() {
		addr = p.String()
	}
	return fromNano(u.at.Load()), addr
}

func newUsage(at int64, addr string) *usage {
	u := &usage{}
	u.at.Store(at)
	u.saved.Store(at)
	if a, err := netip.ParseAddr(addr); err == nil {
		u.addr.Store(&a)
	}
	return u
}

// loadState reads all keys and users. A key whose grants cannot be read gets
// none, and is reported.
func loadState(conn *sqlite.Conn, log *slog.Logger) (*state, error) {
	s := &state{generation: 1, keys: make(map[string]*keyState), users: make(map[string]*userState)}
	err := rows(conn, selectKeys, func(r *sqlite.Stmt) error {
		k := keyFromRow(r, log)
		s.keys[k.key.ID] = k
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = rows(conn, selectUsers, func(r *sqlite.Stmt) error {
		u := &userState{serial: r.ColumnInt64(0), generation: 1, hash: blob(r, 3)}
		u.user = User{Name: r.ColumnText(1), Role: r.ColumnText(2), Created: fromNano(r.ColumnInt64(4))}
		s.users[u.user.Name] = u
		return nil
	})
	return s, err
}

func keyFromRow(r *sqlite.Stmt, log *slog.Logger) *keyState {
	k := &keyState{serial: r.ColumnInt64(0), generation: 1, sealed: blob(r, 3), hash: blob(r, 4)}
	k.key = Key{
		ID: r.ColumnText(1), Name: r.ColumnText(2), Disabled: r.ColumnBool(6),
		Created: fromNano(r.ColumnInt64(7)), Expires: fromNano(r.ColumnInt64(8)),
	}
	k.usage = newUsage(r.ColumnInt64(9), r.ColumnText(10))
	grants, err := decodeGrants(r.ColumnText(5))
	if err != nil {
		log.Error("the grants of an access key cannot be read, so it has no rights", "key", k.key.ID, "err", err)
		return k
	}
	k.key.Grants = grants
	return k
}

// nano and fromNano are the form of times in system.db: Unix nanoseconds, 0 for
// the zero time.
func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
