package auth

import "zombiezen.com/go/sqlite"

// Editor changes keys and users in the name of one caller, who stands in the
// audit log. It checks no rights: that is what admin does before it calls.
// Every method is durable on return, and takes effect for all requests that
// begin afterwards.
type Editor struct {
	auth *Auth
	by   Caller // zero = the server itself
}

// By returns an Editor that acts for c.
func (a *Auth) By(c Caller) *Editor { return &Editor{auth: a, by: c} }

// change runs f in a transaction, with the next state to change along, and adds
// the line for the audit log. Only when all of that is on stable storage does
// the next state take effect; otherwise it is dropped.
func (e *Editor) change(op string, ev Event, f func(*sqlite.Conn, *state) error) error {
	a := e.auth
	ev.By = e.by
	a.db.mu.Lock()
	defer a.db.mu.Unlock()
	next := a.state.Load().next()
	err := a.db.changeLocked(op, func(conn *sqlite.Conn) error {
		if err := f(conn, next); err != nil {
			return err
		}
		return a.audit.append(conn, ev.entry(a.now()))
	})
	if err == nil {
		a.state.Store(next)
	}
	return err
}
