package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/netip"
	"strings"
	"sync"

	"larder/fault"
)

// firstUser is the administrator that the set-up makes.
const firstUser = "admin"

// setup holds the one-time code of the first start. mu is held through a whole
// set-up, so that of many at once exactly one succeeds.
type setup struct {
	mu   sync.Mutex
	code [sha256.Size]byte
	made bool // there is a code
}

// SetupNeeded tells whether no user exists yet.
func (a *Auth) SetupNeeded(context.Context) bool { return len(a.state.Load().users) == 0 }

// NewSetupCode makes the code that the first visitor has to type: ten
// characters of 50 random bits. Only its hash is kept, in memory; an earlier
// code is void. It is good for one set-up and until the process ends.
func (a *Auth) NewSetupCode() string {
	code := randomText(crockford, 10)
	a.setup.mu.Lock()
	defer a.setup.mu.Unlock()
	a.setup.code, a.setup.made = hashCode(code), true
	return code[:5] + "-" + code[5:]
}

// hashCode forgives how people type: case, hyphens, blanks, and the letters that
// look like digits and so do not occur.
func hashCode(code string) [sha256.Size]byte {
	if len(code) > 64 {
		code = code[:64]
	}
	forgive := strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")
	return sha256.Sum256([]byte(forgive.Replace(strings.ToUpper(strings.TrimSpace(code)))))
}

// Setup makes the first administrator, "admin", and begins a session. Of many
// racing calls with the right code one succeeds; the others, and all later
// ones, fail with fault.SetupDone. A wrong code is fault.Unauthenticated and
// counts as a failure of the address. Durable on return.
func (a *Auth) Setup(ctx context.Context, code string, password Secret, addr netip.Addr, userAgent string) (string, Caller, error) {
	const op = "auth.Setup"
	a.setup.mu.Lock()
	defer a.setup.mu.Unlock()
	if !a.SetupNeeded(ctx) {
		return "", Caller{}, setupDone(op)
	}
	if err := a.checkCode(op, code, addr); err != nil {
		return "", Caller{}, err
	}
	if err := a.makeFirstUser(ctx, op, password); err != nil {
		return "", Caller{}, err
	}
	a.setup.made = false
	return a.begin(op, a.state.Load().users[firstUser], addr, userAgent)
}

// checkCode needs setup.mu.
func (a *Auth) checkCode(op, code string, addr netip.Addr) error {
	if err := a.limiter.ready(addr, subject{}); err != nil {
		return err
	}
	given := hashCode(code)
	if a.setup.made && subtle.ConstantTimeCompare(given[:], a.setup.code[:]) == 1 {
		return nil
	}
	a.limiter.fail(addr, subject{})
	a.failed(Caller{addr: addr.Unmap().WithZone("")}, "set-up code")
	return fault.New(op, fault.Unauthenticated, "", nil).
		WithHint("The set-up code is wrong. It stands in the log of the server.")
}

func setupDone(op string) error {
	return fault.New(op, fault.SetupDone, "", nil).WithHint("Larder is set up already. Log in.")
}

func (a *Auth) makeFirstUser(ctx context.Context, op string, password Secret) error {
	_, err := a.insertUser(ctx, op, firstUser, password, RoleAdmin, func(st *state) error {
		if len(st.users) > 0 {
			return setupDone(op)
		}
		return nil
	})
	return err
}

// SetAdminPassword makes the user "admin" when no user exists, for machines that
// are set up without a person; otherwise it changes nothing. Durable on return.
func (a *Auth) SetAdminPassword(ctx context.Context, password Secret) (made bool, err error) {
	a.setup.mu.Lock()
	defer a.setup.mu.Unlock()
	if !a.SetupNeeded(ctx) {
		return false, nil
	}
	err = a.makeFirstUser(ctx, "auth.SetAdminPassword", password)
	if err == nil {
		a.setup.made = false
	}
	return err == nil, err
}
