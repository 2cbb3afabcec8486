package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"larder/fault"
)

// Bounds of the verifier.
const (
	maxPassword = 72 // bcrypt looks at no more bytes, so no more are taken
	minPassword = 8

	goodSize, goodLife = 4096, 5 * time.Minute
	badSize, badLife   = 8192, time.Minute

	decoyLanes = 2 // that unknown names share
)

// account is what a secret is checked against. The zero account is that of a
// name that does not exist.
type account struct {
	generation uint64
	hash       []byte
}

// verifier compares passwords and bearer secrets with bcrypt hashes. Answers
// are remembered for minutes under an HMAC of the pair of name and secret, and
// only for the very generation of the account: any change of it makes them
// worthless. Equal checks that arrive at once run once, at most half the
// processors (and at least one) run bcrypt, and the limiter is paid before.
type verifier struct {
	limiter *Limiter
	cost    int
	dummy   []byte    // a hash of the real cost that no secret fits
	macs    sync.Pool // of *mac under a key of this process
	good    *verdicts
	bad     *verdicts
	gate    *turnstile
	compare func(hash, secret []byte) error // bcrypt's; tests count it

	mu      sync.Mutex // covers flights
	flights map[flightKey]*flight
}

type flightKey struct {
	digest     digest
	generation uint64
}

// flight is a check that goes on. ok and err are set before done is closed.
type flight struct {
	done chan struct{}
	ok   bool
	err  error
}

func newVerifier(limiter *Limiter, cost int) (*verifier, error) {
	dummy, err := bcrypt.GenerateFromPassword([]byte(newSecret().Reveal()), cost)
	if err != nil {
		return nil, fault.New("auth.Open", fault.InvalidArgument, "bcrypt cost", err)
	}
	var key [32]byte
	_, _ = rand.Read(key[:])
	return &verifier{
		limiter: limiter,
		cost:    cost,
		dummy:   dummy,
		macs:    sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, key[:])} }},
		good:    newVerdicts(goodSize, goodLife),
		bad:     newVerdicts(badSize, badLife),
		gate:    newTurnstile(max(1, runtime.GOMAXPROCS(0)/2)),
		compare: bcrypt.CompareHashAndPassword,
		flights: make(map[flightKey]*flight),
	}, nil
}

// verify tells whether the secret is the account's. It fails with
// fault.RateLimited when the address may not try, or too many wait, and with
// fault.Canceled. A wrong secret is paid for here; the caller need not.
func (v *verifier) verify(ctx context.Context, who subject, acc account, secret Secret, addr netip.Addr) (bool, error) {
	if len(secret) > maxPassword { // no stored secret is that long
		return false, v.limiter.admit(addr, who, CostFailure)
	}
	key := flightKey{v.digest(who, secret), acc.generation}
	for {
		if v.good.has(key.digest, key.generation) {
			return true, nil
		}
		if v.bad.has(key.digest, key.generation) {
			return false, v.limiter.admit(addr, who, CostFailure)
		}
		f, leads := v.board(key)
		if leads {
			f.ok, f.err = v.run(ctx, who, acc, secret, addr)
			v.land(key, f)
			return f.ok, f.err
		}
		if again, err := v.follow(ctx, f, who, addr); !again {
			return err == nil && f.ok, err
		}
	}
}

// follow waits for somebody else's check. When that ended without an answer,
// the waiter has to try for itself, if its address may.
func (v *verifier) follow(ctx context.Context, f *flight, who subject, addr netip.Addr) (again bool, err error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		return false, fault.New("auth.verify", fault.Canceled, "", ctx.Err())
	}
	switch {
	case f.err != nil:
		err = v.limiter.ready(addr, who)
		return err == nil, err
	case !f.ok:
		return false, v.limiter.admit(addr, who, CostFailure)
	}
	return false, nil
}

// run pays, waits for a place and compares. A right secret costs nothing in the
// end, nor does a check that was not made.
func (v *verifier) run(ctx context.Context, who subject, acc account, secret Secret, addr netip.Addr) (bool, error) {
	if err := v.limiter.admit(addr, who, CostCheck); err != nil {
		return false, err
	}
	if err := v.gate.enter(ctx, v.lane(who, acc, addr)); err != nil {
		v.limiter.refund(addr, who, CostCheck)
		return false, err
	}
	defer v.gate.leave()
	stored := acc.hash
	if stored == nil {
		stored = v.dummy
	}
	ok := v.compare(stored, []byte(secret)) == nil && acc.hash != nil
	if ok {
		v.limiter.refund(addr, who, CostCheck)
	}
	return ok, nil
}

// hash makes the bcrypt hash of a new secret.
func (v *verifier) hash(ctx context.Context, secret Secret) ([]byte, error) {
	if err := checkPassword(secret); err != nil {
		return nil, err
	}
	if err := v.gate.enter(ctx, "hash"); err != nil {
		return nil, err
	}
	defer v.gate.leave()
	h, err := bcrypt.GenerateFromPassword([]byte(secret), v.cost)
	if err != nil {
		return nil, fault.New("auth.hash", fault.Internal, "", err)
	}
	return h, nil
}

// lane names where to wait: an account's own lane, and another for addresses
// from which it authenticated before, so that its owner gets past guessers.
// Names that do not exist are spread over a few lanes that look like any other.
func (v *verifier) lane(who subject, acc account, addr netip.Addr) string {
	if acc.hash == nil {
		d := v.digest(who, "")
		return "unknown " + string('0'+d[0]%decoyLanes)
	}
	if v.limiter.vouched(addr, who) {
		return "known " + who.kind.String() + " " + who.id
	}
	return who.kind.String() + " " + who.id
}

// board joins the flight of key, or starts it.
func (v *verifier) board(key flightKey) (f *flight, leads bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f, ok := v.flights[key]; ok {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	v.flights[key] = f
	return f, true
}

// land remembers the answer and tells the followers.
func (v *verifier) land(key flightKey, f *flight) {
	switch {
	case f.err == nil && f.ok:
		v.good.add(key.digest, key.generation)
	case f.err == nil:
		v.bad.add(key.digest, key.generation)
	}
	v.mu.Lock()
	delete(v.flights, key)
	v.mu.Unlock()
	close(f.done)
}

// digest is an HMAC over the parts with their lengths, so that no byte can move
// from the one to the other.
func (v *verifier) digest(who subject, secret Secret) digest {
	m := v.macs.Get().(*mac)
	defer v.macs.Put(m)
	m.Reset()
	b := append(m.in[:0], byte(who.kind))
	b = binary.BigEndian.AppendUint32(b, uint32(len(who.id)))
	b = append(b, who.id...)
	b = append(b, secret...)
	m.Write(b)
	clear(b)
	return digest(m.Sum(m.out[:0]))
}

// mac is an HMAC with the memory that a digest needs, so that it allocates none.
type mac struct {
	hash.Hash
	in  [256]byte
	out [sha256.Size]byte
}

// checkPassword refuses what bcrypt would cut and what is too easy to guess.
func checkPassword(secret Secret) error {
	weak := func(hint string) error {
		return fault.New("auth.checkPassword", fault.WeakPassword, "", nil).WithHint(hint)
	}
	switch {
	case len(secret) < minPassword:
		return weak("A password needs at least 8 characters.")
	case len(secret) > maxPassword:
		return weak("A password has at most 72 bytes; letters beyond A to Z may count as several.")
	}
	return nil
}
