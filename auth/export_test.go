package auth

import (
	"context"
	"net/netip"
	"time"

	"golang.org/x/crypto/bcrypt"
	"zombiezen.com/go/sqlite"
)

// OnCheck runs f before every bcrypt comparison.
func (a *Auth) OnCheck(f func()) { a.OnSecret(func(string) { f() }) }

// OnSecret is OnCheck with the secret that is compared.
func (a *Auth) OnSecret(f func(secret string)) {
	a.verifier.compare = func(hash, secret []byte) error {
		f(string(secret))
		return bcrypt.CompareHashAndPassword(hash, secret)
	}
}

// SetPlaces sets how many bcrypt runs go on at once.
func (a *Auth) SetPlaces(n int) { a.verifier.gate = newTurnstile(n) }

// Waiting tells how many wait for a bcrypt run.
func (a *Auth) Waiting() (n int) {
	t := a.verifier.gate
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, queue := range t.lanes {
		n += len(queue)
	}
	return n
}

// Flush writes what is kept in memory.
func (a *Auth) Flush(all bool) {
	a.flushUsage()
	a.flushDenials(all)
}

// SetAuditLimit bounds the audit log.
func (a *Auth) SetAuditLimit(n int64) { a.audit.limit = n }

// SetSecretHash gives a user another hash without ending anything.
func (a *Auth) SetSecretHash(user string, hash []byte) error {
	return a.change("test", Event{Action: "Test"}, func(conn *sqlite.Conn, st *state) error {
		u := *st.users[user]
		u.hash = hash
		st.users[user] = &u
		return exec(conn, updateHash, u.serial, hash)
	})
}

// UserHash returns the stored hash of a password.
func (a *Auth) UserHash(user string) []byte { return a.state.Load().users[user].hash }

// NewLimiter makes a limiter whose shards hold size buckets each.
func NewLimiter(size int) *Limiter {
	l := newLimiter()
	for i := range l.shards {
		l.shards[i].init(size)
	}
	return l
}

// Buckets tells how many buckets the table holds.
func (l *Limiter) Buckets() (n int) {
	for i := range l.shards {
		n += len(l.shards[i].buckets)
	}
	return n
}

// Admit, Vouch and Refund are those of accounts of kind key.
func (l *Limiter) Admit(addr netip.Addr, id string, cost Cost) error {
	return l.admit(addr, subject{KindKey, id}, cost)
}

func (l *Limiter) Vouch(addr netip.Addr, id string) { l.vouch(addr, subject{KindKey, id}) }

func (l *Limiter) Refund(addr netip.Addr, id string, cost Cost) {
	l.refund(addr, subject{KindKey, id}, cost)
}

// TableSize is the number of buckets of a real limiter.
const TableSize = tableSize

// Turnstile is the queue before bcrypt.
type Turnstile struct{ t *turnstile }

func NewTurnstile(places int) Turnstile { return Turnstile{newTurnstile(places)} }

func (t Turnstile) Enter(ctx context.Context, lane string) error { return t.t.enter(ctx, lane) }
func (t Turnstile) Leave()                                       { t.t.leave() }

// Waiting tells how many wait in a lane.
func (t Turnstile) Waiting(lane string) int {
	t.t.mu.Lock()
	defer t.t.mu.Unlock()
	return len(t.t.lanes[lane])
}

// Free tells how many places are free, and Lanes how many lanes are kept.
func (t Turnstile) Free() int  { return t.t.free }
func (t Turnstile) Lanes() int { return len(t.t.lanes) + len(t.t.turn) }

// MaxLane is the length of a lane.
const MaxLane = maxLane

// DecoyLanes is how many lanes unknown names share.
const DecoyLanes = decoyLanes

// Verdicts is the table of bcrypt's answers.
type Verdicts struct{ v *verdicts }

func NewVerdicts(size int, life time.Duration) Verdicts { return Verdicts{newVerdicts(size, life)} }

func (v Verdicts) Has(n byte, generation uint64) bool { return v.v.has(digest{n}, generation) }
func (v Verdicts) Add(n byte, generation uint64)      { v.v.add(digest{n}, generation) }
func (v Verdicts) Len() int                           { return len(v.v.byKey) }

// Matches, Within, ListsWithin, DecodeGrants, EncodeGrants and CleanText are
// pure functions.
var (
	Matches      = matches
	Within       = within
	ListsWithin  = listsWithin
	DecodeGrants = decodeGrants
	EncodeGrants = encodeGrants
	CleanText    = cleanText
)

// Exec runs a statement on the store's own connection, a PRAGMA for example.
func (a *Auth) Exec(query string) error {
	return a.db.read("test", func(conn *sqlite.Conn) error { return exec(conn, query) })
}
