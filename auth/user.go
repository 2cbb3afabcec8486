package auth

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
	"zombiezen.com/go/sqlite"

	"larder/fault"
)

// The roles of users.
const (
	RoleAdmin    = "admin"    // everything
	RoleOperator = "operator" // buckets and objects, but neither keys nor users
	RoleViewer   = "viewer"   // looks, changes nothing
)

// Limits of users.
const (
	MaxUsers    = 1000
	maxUserName = 32
)

// User is a person who logs in with a password.
type User struct {
	Name    string // lower case, so that no two look alike
	Role    string
	Created time.Time
}

// Roles returns the names of the roles, the mightiest first.
func Roles() []string { return []string{RoleAdmin, RoleOperator, RoleViewer} }

// Users returns all users, the oldest first.
func (a *Auth) Users(context.Context) ([]User, error) {
	st := a.state.Load()
	sorted := make([]*userState, 0, len(st.users))
	for _, u := range st.users {
		sorted = append(sorted, u)
	}
	slices.SortFunc(sorted, func(x, y *userState) int { return cmp.Compare(x.serial, y.serial) })
	out := make([]User, len(sorted))
	for i, u := range sorted {
		out[i] = u.user
	}
	return out, nil
}

// CreateUser makes a user. Durable on return. fault.UserExists,
// fault.WeakPassword, fault.InvalidArgument.
func (e *Editor) CreateUser(ctx context.Context, name string, password Secret, role string) (User, error) {
	const op = "auth.CreateUser"
	return e.insertUser(ctx, op, name, password, role, func(st *state) error {
		if st.users[name] != nil {
			return fault.New(op, fault.UserExists, name, nil).WithHint("There is a user with this name already.")
		}
		if len(st.users) >= MaxUsers {
			return fault.New(op, fault.Conflict, "users", nil).WithHint("There are 1,000 users; delete some first.")
		}
		return nil
	})
}

// insertUser stores a user if may agrees, which it is asked within the
// transaction.
func (e *Editor) insertUser(ctx context.Context, op, name string, password Secret, role string, may func(*state) error) (User, error) {
	if err := checkUser(op, name, role); err != nil {
		return User{}, err
	}
	hash, err := e.auth.verifier.hash(ctx, password)
	if err != nil {
		return User{}, err
	}
	u := &userState{hash: hash, user: User{Name: name, Role: role, Created: e.auth.now().UTC()}}
	ev := Event{Action: "CreateUser", Target: name, Detail: role}
	err = e.change(op, ev, func(conn *sqlite.Conn, st *state) error {
		if err := may(st); err != nil {
			return err
		}
		if err := exec(conn, insertUser, name, role, hash, nano(u.user.Created)); err != nil {
			return err
		}
		u.serial, u.generation = conn.LastInsertRowID(), st.generation
		st.users[name] = u
		return nil
	})
	return u.user, err
}

func checkUser(op, name, role string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	odd := strings.Trim(name, letters+"0123456789._-") != ""
	if name == "" || len(name) > maxUserName || odd || !strings.Contains(letters, name[:1]) {
		return fault.New(op, fault.InvalidArgument, "name", nil).
			WithHint("A user name has up to 32 lower-case letters, digits, dots, hyphens or underscores, and begins with a letter.")
	}
	if !slices.Contains(Roles(), role) {
		return fault.New(op, fault.InvalidArgument, "role", nil).
			WithHint("Roles are: " + strings.Join(Roles(), ", ") + ".")
	}
	return nil
}

// DeleteUser deletes a user and ends all sessions of that name. Durable on
// return. fault.NoSuchUser; fault.Conflict for the last administrator.
func (e *Editor) DeleteUser(_ context.Context, name string) error {
	const op = "auth.DeleteUser"
	err := e.change(op, Event{Action: "DeleteUser", Target: name}, func(conn *sqlite.Conn, st *state) error {
		u := st.users[name]
		if u == nil {
			return noSuchUser(op, name)
		}
		delete(st.users, name)
		if u.user.Role == RoleAdmin && !hasAdmin(st) {
			return fault.New(op, fault.Conflict, name, nil).WithHint("This is the last administrator.")
		}
		return exec(conn, deleteUser, u.serial) // and its sessions, by the foreign key
	})
	if err == nil {
		e.auth.sessions.drop(name)
		e.auth.db.forget()
	}
	return err
}

func hasAdmin(st *state) bool {
	for _, u := range st.users {
		if u.user.Role == RoleAdmin {
			return true
		}
	}
	return false
}

func noSuchUser(op, name string) error {
	return fault.New(op, fault.NoSuchUser, cleanText(name, maxUserName), nil).
		WithHint("There is no user with this name.")
}

// ChangePassword gives a user another password and ends all sessions of that
// user. Durable on return. fault.NoSuchUser, fault.WeakPassword.
func (e *Editor) ChangePassword(ctx context.Context, name string, password Secret) error {
	const op = "auth.ChangePassword"
	hash, err := e.auth.verifier.hash(ctx, password)
	if err != nil {
		return err
	}
	err = e.change(op, Event{Action: "ChangePassword", Target: name}, func(conn *sqlite.Conn, st *state) error {
		old := st.users[name]
		if old == nil {
			return noSuchUser(op, name)
		}
		u := *old
		u.hash, u.generation = hash, st.generation
		st.users[name] = &u
		if err := exec(conn, updateHash, u.serial, hash); err != nil {
			return err
		}
		return exec(conn, deleteUserSessions, u.serial)
	})
	if err == nil {
		e.auth.sessions.drop(name)
		e.auth.db.forget()
	}
	return err
}

// Confirm verifies the password of a person who is logged in already, before
// something that a stolen session must not be enough for. It fails like Login.
func (a *Auth) Confirm(ctx context.Context, c Caller, password Secret) error {
	_, err := a.prove(ctx, "auth.Confirm", c.id, password, c.addr)
	return err
}

// prove verifies name and password, and returns the user as it was before that.
func (a *Auth) prove(ctx context.Context, op, name string, password Secret, addr netip.Addr) (*userState, error) {
	u := a.state.Load().users[name]
	ok, err := a.verifier.verify(ctx, subject{KindUser, name}, u.account(), password, addr)
	if err != nil {
		return nil, err
	}
	if !ok {
		a.failed(u.caller(addr), "password")
		return nil, wrongSecret(op)
	}
	return u, nil
}

// rehash stores the password under today's cost, if that changed since. The
// generation stays, since the password does.
func (a *Auth) rehash(ctx context.Context, u *userState, password Secret) {
	if cost, err := bcrypt.Cost(u.hash); err != nil || cost == a.verifier.cost {
		return
	}
	hash, err := a.verifier.hash(ctx, password)
	if err == nil {
		err = a.change("auth.rehash", Event{Action: "RehashPassword", Target: u.user.Name}, func(conn *sqlite.Conn, st *state) error {
			now := st.users[u.user.Name]
			if now == nil || now.generation != u.generation || now.serial != u.serial {
				return nil
			}
			next := *now
			next.hash = hash
			st.users[u.user.Name] = &next
			return exec(conn, updateHash, u.serial, hash)
		})
	}
	if err != nil {
		a.log.Warn("a password could not be hashed anew at the configured cost", "user", u.user.Name, "err", err)
	}
}
