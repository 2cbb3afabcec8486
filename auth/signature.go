package auth

import (
	"context"
	"crypto/hmac"
	"net/netip"
	"sync"

	"larder/auth/sigv4"
	"larder/fault"
)

// Bounds of what is verified and kept.
const (
	maxAlternates  = 8
	maxScopeBytes  = 64 // of a region or service
	maxSigningKeys = 4096
)

// SignedRequest is what a front end read from a request that was signed with
// AWS Signature Version 4; package sigv4 computes it.
type SignedRequest struct {
	KeyID        string
	Date         string // of the credential scope, yyyymmdd
	Region       string
	Service      string
	StringToSign string
	Signature    string // 64 lower-case hex digits
	// Alternates are further strings that may have been signed for the very same
	// request, at most 8: what proxies are known to do to it.
	Alternates []string
}

// VerifySignature verifies a signature and returns the signing key of its day,
// region and service, with which chunks of the body are verified; it must not
// be logged. It fails with fault.NoSuchAccessKey for an unknown id,
// fault.BadSignature for a wrong signature, fault.RateLimited instead of both
// when the address failed too often, and fault.Denied when the key is disabled
// or has expired.
//
// A right signature is never limited: it cannot be guessed and is cheap to
// verify, and clients share an address with others who fail.
//
// The time of the request is the front end's to check.
func (a *Auth) VerifySignature(_ context.Context, r SignedRequest, addr netip.Addr) (Caller, []byte, error) {
	const op = "auth.VerifySignature"
	k := a.state.Load().keys[r.KeyID]
	key, fits, err := a.fits(k, r)
	if err != nil {
		return Caller{}, nil, err
	}
	if !fits {
		return Caller{}, nil, a.misfit(op, k, r.KeyID, addr)
	}
	c, err := a.welcome(op, k, addr)
	if err != nil {
		return Caller{}, nil, err
	}
	return c, key, nil
}

// misfit counts a wrong signature and says why it was refused, unless the
// address failed so often that it is told to wait.
func (a *Auth) misfit(op string, k *keyState, id string, addr netip.Addr) error {
	who := subject{KindKey, id}
	if err := a.limiter.ready(addr, who); err != nil {
		return err
	}
	a.limiter.fail(addr, who)
	a.failed(k.caller(addr), "signature")
	return badSignature(op, k, id)
}

func badSignature(op string, k *keyState, id string) error {
	if k == nil {
		return fault.New(op, fault.NoSuchAccessKey, cleanText(id, maxKeyID), nil).
			WithHint("There is no access key with this id.")
	}
	return fault.New(op, fault.BadSignature, id, nil).
		WithHint("The signature does not fit: check the secret key, and that no proxy changes the request.")
}

// fits compares the signature with what the key would have signed. An unknown
// key takes the same way with a secret of nobody.
func (a *Auth) fits(k *keyState, r SignedRequest) (key []byte, ok bool, err error) {
	if len(r.Alternates) > maxAlternates || len(r.Date) != 8 || len(r.Region) > maxScopeBytes || len(r.Service) > maxScopeBytes {
		return nil, false, nil
	}
	scope := signingScope{date: r.Date, region: r.Region, service: r.Service}
	if k != nil {
		scope.serial, scope.generation = k.serial, k.generation
	}
	key, known := a.signing.get(scope)
	if !known {
		secret, err := a.signingSecret(k)
		if err != nil {
			return nil, false, err
		}
		key = sigv4.DeriveKey(secret.Reveal(), r.Date, r.Region, r.Service)
	}
	ok = signs(key, r.StringToSign, r.Signature)
	for _, alternate := range r.Alternates {
		ok = ok || signs(key, alternate, r.Signature)
	}
	if ok = ok && k != nil; ok && !known {
		a.signing.put(scope, key) // only proven ones, so that guesses push nothing out
	}
	return append([]byte(nil), key...), ok, nil
}

func (a *Auth) signingSecret(k *keyState) (Secret, error) {
	if k == nil {
		return Secret(a.verifier.dummy), nil
	}
	return a.keys.openSecret(k.key.ID, k.sealed)
}

func signs(key []byte, text, signature string) bool {
	return hmac.Equal([]byte(sigv4.Sign(key, text)), []byte(signature))
}

// signingScope names a derived key. The generation makes those of a changed key
// worthless.
type signingScope struct {
	serial                int64
	generation            uint64
	date, region, service string
}

// signingKeys is a bounded table of derived keys. When it is full, the older
// half goes.
type signingKeys struct {
	mu         sync.Mutex
	young, old map[signingScope][]byte
}

func newSigningKeys() *signingKeys {
	return &signingKeys{young: make(map[signingScope][]byte)}
}

func (s *signingKeys) get(scope signingScope) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.young[scope]; ok {
		return key, true
	}
	key, ok := s.old[scope]
	if ok {
		s.insert(scope, key)
	}
	return key, ok
}

func (s *signingKeys) put(scope signingScope, key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.insert(scope, key)
}

func (s *signingKeys) insert(scope signingScope, key []byte) {
	if len(s.young) >= maxSigningKeys/2 {
		s.old, s.young = s.young, make(map[signingScope][]byte)
	}
	s.young[scope] = key
}
