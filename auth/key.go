package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"larder/fault"
)

// Limits of keys and names.
const (
	MaxKeys  = 10_000
	maxName  = 128 // bytes of a key's name
	minKeyID = 3
	maxKeyID = 128
)

// Key describes an access key, without its secret.
type Key struct {
	ID       string
	Name     string
	Grants   []Grant
	Disabled bool
	Created  time.Time
	Expires  time.Time // zero = never
	LastUsed time.Time // zero = never; up to a minute may be lost in a crash
	LastAddr string
}

// KeySpec asks for a new access key.
type KeySpec struct {
	Name    string // for people, at most 128 bytes; may be empty
	Grants  []Grant
	Expires time.Time // zero = never
}

// Keys returns all access keys, the oldest first.
func (a *Auth) Keys(context.Context) ([]Key, error) {
	st := a.state.Load()
	sorted := make([]*keyState, 0, len(st.keys))
	for _, k := range st.keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(x, y *keyState) int { return cmp.Compare(x.serial, y.serial) })
	out := make([]Key, len(sorted))
	for i, k := range sorted {
		out[i] = k.public()
	}
	return out, nil
}

// KeyByID returns one access key, or fault.NoSuchAccessKey.
func (a *Auth) KeyByID(_ context.Context, id string) (Key, error) {
	k := a.state.Load().keys[id]
	if k == nil {
		return Key{}, noSuchKey("auth.KeyByID", id)
	}
	return k.public(), nil
}

func noSuchKey(op, id string) error {
	return fault.New(op, fault.NoSuchAccessKey, cleanText(id, maxKeyID), nil).
		WithHint("There is no access key with this id.")
}

// CreateKey makes an access key with an id and a secret of its own. The secret
// is returned here and never again. Durable on return.
func (e *Editor) CreateKey(ctx context.Context, spec KeySpec) (Key, Secret, error) {
	const op = "auth.CreateKey"
	if err := e.auth.checkSpec(op, spec); err != nil {
		return Key{}, "", err
	}
	id, secret := newKeyID(), newSecret()
	k, err := e.insertKey(ctx, op, id, secret, spec, nil)
	if err != nil {
		return Key{}, "", err
	}
	return k, secret, nil
}

func (a *Auth) checkSpec(op string, spec KeySpec) error {
	if len(spec.Name) > maxName || !utf8.ValidString(spec.Name) || cleanText(spec.Name, maxName) != spec.Name {
		return fault.New(op, fault.InvalidArgument, "name", nil).
			WithHint("The name of a key is at most 128 bytes of plain text.")
	}
	if !spec.Expires.IsZero() && !spec.Expires.After(a.now()) {
		return fault.New(op, fault.InvalidArgument, "expires", nil).
			WithHint("The key would have expired already.")
	}
	return checkGrants(op, spec.Grants)
}

// insertKey stores a key; also runs in the same transaction, if given.
func (e *Editor) insertKey(ctx context.Context, op, id string, secret Secret, spec KeySpec, also func(*sqlite.Conn) error) (Key, error) {
	hash, err := e.auth.verifier.hash(ctx, secret)
	if err != nil {
		return Key{}, err
	}
	k := &keyState{hash: hash, sealed: e.auth.keys.sealSecret(id, secret), usage: newUsage(0, "")}
	k.key = Key{ID: id, Name: spec.Name, Grants: slices.Clone(spec.Grants),
		Created: e.auth.now().UTC(), Expires: spec.Expires.UTC()}
	if spec.Expires.IsZero() {
		k.key.Expires = time.Time{}
	}
	ev := Event{Action: "CreateKey", Target: id, Detail: encodeGrants(spec.Grants)}
	err = e.change(op, ev, func(conn *sqlite.Conn, st *state) error {
		if err := roomForKey(op, st, id); err != nil {
			return err
		}
		if err := exec(conn, insertKey, id, k.key.Name, k.sealed, k.hash, encodeGrants(k.key.Grants),
			nano(k.key.Created), nano(k.key.Expires)); err != nil {
			return err
		}
		k.serial, k.generation = conn.LastInsertRowID(), st.generation
		st.keys[id] = k
		if also != nil {
			return also(conn)
		}
		return nil
	})
	return k.public(), err
}

func roomForKey(op string, st *state, id string) error {
	if st.keys[id] != nil {
		return fault.New(op, fault.AccessKeyExists, id, nil).WithHint("There is an access key with this id already.")
	}
	if len(st.keys) >= MaxKeys {
		return fault.New(op, fault.Conflict, "keys", nil).WithHint("There are 10,000 access keys; delete some first.")
	}
	return nil
}

// SetKeyDisabled disables a key or enables it again. A disabled key is refused
// from its next request on. Durable on return. fault.NoSuchAccessKey.
func (e *Editor) SetKeyDisabled(_ context.Context, id string, disabled bool) error {
	const op = "auth.SetKeyDisabled"
	ev := Event{Action: "EnableKey", Target: id}
	if disabled {
		ev.Action = "DisableKey"
	}
	return e.change(op, ev, func(conn *sqlite.Conn, st *state) error {
		old := st.keys[id]
		if old == nil {
			return noSuchKey(op, id)
		}
		k := *old
		k.key.Disabled, k.generation = disabled, st.generation
		st.keys[id] = &k
		return exec(conn, disableKey, k.serial, disabled)
	})
}

// DeleteKey deletes a key and its secret, which is overwritten in the files of
// the database too. The key is refused from its next request on. Durable on
// return. fault.NoSuchAccessKey.
func (e *Editor) DeleteKey(_ context.Context, id string) error {
	const op = "auth.DeleteKey"
	err := e.change(op, Event{Action: "DeleteKey", Target: id}, func(conn *sqlite.Conn, st *state) error {
		k := st.keys[id]
		if k == nil {
			return noSuchKey(op, id)
		}
		delete(st.keys, id)
		return exec(conn, deleteKey, k.serial)
	})
	if err == nil {
		e.auth.db.forget()
	}
	return err
}

// ImportKey makes an access key with a given id and secret, once in the life of
// a data folder: for machines that are set up without a person. made tells
// whether it did. differs tells that it did not, because another key was
// imported before, or because the key was deleted since or has another secret;
// then nothing is changed.
func (a *Auth) ImportKey(ctx context.Context, keyID string, secret Secret, name string, grants []Grant) (made, differs bool, err error) {
	const op = "auth.ImportKey"
	if err := checkImport(op, keyID, secret); err != nil {
		return false, false, err
	}
	spec := KeySpec{Name: name, Grants: grants}
	if err := a.checkSpec(op, spec); err != nil {
		return false, false, err
	}
	before, err := a.setting(op, settingImportedKey)
	if err != nil {
		return false, false, err
	}
	k := a.state.Load().keys[keyID]
	if before != nil || k != nil {
		same := k != nil && (before == nil || string(before) == keyID) && a.hasSecret(k, secret)
		return false, !same, nil
	}
	_, err = a.insertKey(ctx, op, keyID, secret, spec, func(conn *sqlite.Conn) error {
		return exec(conn, insertSetting, settingImportedKey, []byte(keyID))
	})
	return err == nil, false, err
}

func checkImport(op, keyID string, secret Secret) error {
	ok := func(r rune) bool {
		return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	odd := strings.ContainsFunc(keyID, func(r rune) bool { return !ok(r) })
	if len(keyID) < minKeyID || len(keyID) > maxKeyID || odd {
		return fault.New(op, fault.InvalidArgument, "access key id", nil).
			WithHint("An access key id has 3 to 128 letters, digits, dots, hyphens or underscores.")
	}
	return checkPassword(secret)
}

func (a *Auth) hasSecret(k *keyState, secret Secret) bool {
	stored, err := a.keys.openSecret(k.key.ID, k.sealed)
	return err == nil && hmac.Equal([]byte(stored), []byte(secret))
}

func (a *Auth) setting(op, name string) (value []byte, err error) {
	err = a.db.read(op, func(conn *sqlite.Conn) (err error) {
		value, err = one(conn, selectSetting, name)
		return err
	})
	return value, err
}
