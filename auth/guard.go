package auth

import (
	"context"

	"larder/fault"
)

// Guard is the one place that decides who may do what. Each method of a door
// begins with Check.
type Guard struct{ auth *Auth }

// Check returns nil when the caller may do this to the resource now, otherwise
// fault.Denied, and the refusal is counted in the audit log. Rights are looked
// up on every call: what was revoked, disabled, deleted or has expired since
// the Caller was made is refused.
func (g *Guard) Check(_ context.Context, c Caller, act Action, r Resource) error {
	if g.decide(c, act, r) {
		return nil
	}
	g.auth.denials.add(g.auth.now(), c, act.String(), r, outcomeDenied, "")
	return fault.New("auth.Check", fault.Denied, target(r), nil).
		WithHint("You have no right to do this.")
}

// Allows is Check as a yes or no that leaves no trace: for a door that chooses
// between two ways to go on.
func (g *Guard) Allows(_ context.Context, c Caller, act Action, r Resource) bool {
	return g.decide(c, act, r)
}

// Sees tells whether the caller has any right in the bucket, and so may learn
// that it exists.
func (g *Guard) Sees(_ context.Context, c Caller, bucket string) bool {
	return g.decide(c, ReadBucket, Resource{Bucket: bucket})
}

func (g *Guard) decide(c Caller, act Action, r Resource) bool {
	st := g.auth.state.Load()
	switch c.kind {
	case KindLocal:
		return true
	case KindUser:
		u := st.users[c.id]
		return u != nil && u.serial == c.serial && roleAllows(u.user, act, r)
	case KindKey:
		k := st.keys[c.id]
		return k != nil && k.serial == c.serial && g.auth.usable(k) == nil && keyAllows(k.key.Grants, act, r)
	}
	return false
}

// keyAllows decides by the grants of an access key. A key never manages users
// or keys, whatever its grants: no key can make a stronger one.
func keyAllows(grants []Grant, act Action, r Resource) bool {
	if act == ListBuckets {
		return len(grants) > 0
	}
	for _, g := range grants {
		if g.allows(act, r) {
			return true
		}
	}
	return false
}

// roleAllows decides for a person.
func roleAllows(u User, act Action, r Resource) bool {
	switch act {
	case ChangeOwnPassword:
		return r.Key == u.Name
	case ManageKeys, ReadKeys, ManageUsers, ReadUsers:
		return u.Role == RoleAdmin
	case ListBuckets, ReadBucket, ListObjects, GetObject, ListUploads, ListParts, ReadSummary, ReadScrub:
		return u.Role == RoleAdmin || u.Role == RoleOperator || u.Role == RoleViewer
	case CreateBucket, DeleteBucket, SetBucket, PutObject, CreateObject, DeleteObject, AbortUpload, ManageScrub:
		return u.Role == RoleAdmin || u.Role == RoleOperator
	} // MakeBackup and ExportFiles name a path of the server's machine, which nobody may from afar
	return false
}

// usable returns nil or why a key cannot be used although it exists.
func (a *Auth) usable(k *keyState) error {
	switch {
	case k.key.Disabled:
		return fault.New("auth", fault.Denied, k.key.ID, nil).WithHint("This access key is disabled.")
	case !k.key.Expires.IsZero() && !a.now().Before(k.key.Expires):
		return fault.New("auth", fault.Denied, k.key.ID, nil).WithHint("This access key has expired.")
	}
	return nil
}
