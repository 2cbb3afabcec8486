package auth

import "net/netip"

// Kind says how a Caller proved who it is.
type Kind uint8

// The kinds of callers.
const (
	KindNobody Kind = iota // not verified: the zero Caller
	KindKey                // an access key, by signature or bearer secret
	KindUser               // a person, by password or session
	KindLocal              // the unix socket: whoever may open the data folder
)

// String returns the kind in lower case, as the audit log writes it.
func (k Kind) String() string {
	switch k {
	case KindKey:
		return "key"
	case KindUser:
		return "user"
	case KindLocal:
		return "local"
	}
	return "nobody"
}

// Caller is a verified identity. Only the methods of Auth make one; the zero
// Caller is nobody and has no rights. A Caller carries no rights either: the
// Guard looks them up on every check, so that a Caller kept for longer than a
// request loses what its key or user loses.
type Caller struct {
	kind   Kind
	id     string
	name   string
	addr   netip.Addr
	serial int64 // of the row: a key made again with the same id is another one
}

// ID returns the access key id or the user name; "local" for the unix socket
// and "" for nobody.
func (c Caller) ID() string { return c.id }

// Kind returns how the caller proved its identity.
func (c Caller) Kind() Kind { return c.kind }

// Addr returns the network address, unmapped and without a zone. It is not
// valid for the unix socket.
func (c Caller) Addr() netip.Addr { return c.addr }

// Name returns the name for people: of the key or of the user.
func (c Caller) Name() string { return c.name }

// IsZero reports whether the caller is nobody.
func (c Caller) IsZero() bool { return c.kind == KindNobody }

// Local returns the caller of the unix socket, who may do everything. It is for
// the listener on that socket only, whose file only the owner of the data
// folder can open.
func (a *Auth) Local() Caller { return Caller{kind: KindLocal, id: "local", name: "local"} }
