package auth

import (
	"context"
	"net/netip"

	"larder/fault"
)

// Bearer verifies an access key's secret that was sent in clear. It fails with
// fault.Unauthenticated for a wrong secret and for an unknown id alike, with
// fault.RateLimited when the address tried too often, and with fault.Denied
// when the key is disabled or has expired, which only its owner learns.
//
// A secret that was checked within the last minutes costs no bcrypt, unless the
// key has changed since.
func (a *Auth) Bearer(ctx context.Context, keyID string, secret Secret, addr netip.Addr) (Caller, error) {
	const op = "auth.Bearer"
	k := a.state.Load().keys[keyID]
	ok, err := a.verifier.verify(ctx, subject{KindKey, keyID}, k.account(), secret, addr)
	if err != nil {
		return Caller{}, err
	}
	if !ok {
		a.failed(k.caller(addr), "bearer secret")
		return Caller{}, wrongSecret(op)
	}
	return a.welcome(op, k, addr)
}

// wrongSecret is the answer to a wrong secret and to an unknown name.
func wrongSecret(op string) error {
	return fault.New(op, fault.Unauthenticated, "", nil).WithHint("The name or the secret is wrong.")
}

// welcome makes the Caller of a key whose secret has just been proven, unless
// the key changed while that was going on.
func (a *Auth) welcome(op string, proven *keyState, addr netip.Addr) (Caller, error) {
	k := a.state.Load().keys[proven.key.ID]
	if k == nil || k.serial != proven.serial || k.generation != proven.generation {
		a.failed(proven.caller(addr), "changed during the check")
		return Caller{}, wrongSecret(op)
	}
	c := k.caller(addr)
	if err := a.usable(k); err != nil {
		a.denials.add(a.now(), c, actionAuthenticate, Resource{}, outcomeDenied, fault.HintOf(err))
		return Caller{}, err
	}
	k.usage.touch(a.now(), c.addr)
	a.limiter.vouch(addr, subject{KindKey, k.key.ID})
	return c, nil
}

// caller is who the key claims to be; for a key that does not exist, nobody at
// that address.
func (k *keyState) caller(addr netip.Addr) Caller {
	addr = addr.Unmap().WithZone("")
	if k == nil {
		return Caller{addr: addr}
	}
	return Caller{kind: KindKey, id: k.key.ID, name: k.key.Name, addr: addr, serial: k.serial}
}

func (u *userState) caller(addr netip.Addr) Caller {
	addr = addr.Unmap().WithZone("")
	if u == nil {
		return Caller{addr: addr}
	}
	return Caller{kind: KindUser, id: u.user.Name, name: u.user.Name, addr: addr, serial: u.serial}
}

// actionAuthenticate is the action of failed credentials in the audit log.
const actionAuthenticate = "Authenticate"

// failed counts credentials that did not verify. claimed is a name that exists;
// others are not recorded, since people type secrets into the wrong field.
func (a *Auth) failed(claimed Caller, how string) {
	a.denials.add(a.now(), claimed, actionAuthenticate, Resource{}, outcomeFailed, how)
}
