package web

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"larder/auth"
)

// How long and how many new secrets are kept for being shown.
const (
	secretFor  = 10 * time.Minute
	maxSecrets = 64
)

// vault keeps the secrets of new keys in memory for a few minutes, so that the
// page that shows one can be loaded again by the session that made the key,
// and by no other. Safe for concurrent use.
type vault struct {
	now   func() time.Time
	mu    sync.Mutex
	items map[string]newSecret // by handle
}

type newSecret struct {
	owner  [32]byte // SHA-256 of the session's token
	keyID  string
	secret auth.Secret
	until  time.Time
}

func newVault(now func() time.Time) *vault {
	return &vault{now: now, items: map[string]newSecret{}}
}

// put keeps a secret and returns its handle. When the vault is full, the
// oldest secret goes.
func (v *vault) put(session, keyID string, secret auth.Secret) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep()
	if len(v.items) >= maxSecrets {
		v.dropOldest()
	}
	handle := rand.Text()
	v.items[handle] = newSecret{owner: sha256.Sum256([]byte(session)), keyID: keyID, secret: secret, until: v.now().Add(secretFor)}
	return handle
}

// get returns a secret to the session that put it.
func (v *vault) get(session, handle string) (keyID string, secret auth.Secret, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep()
	s, ok := v.items[handle]
	if !ok || s.owner != sha256.Sum256([]byte(session)) {
		return "", "", false
	}
	return s.keyID, s.secret, true
}

// drop forgets a secret of the session.
func (v *vault) drop(session, handle string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.items[handle].owner == sha256.Sum256([]byte(session)) {
		delete(v.items, handle)
	}
}

// dropSession forgets all secrets of a session that ends.
func (v *vault) dropSession(session string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	owner := sha256.Sum256([]byte(session))
	for h, s := range v.items {
		if s.owner == owner {
			delete(v.items, h)
		}
	}
}

func (v *vault) sweep() {
	now := v.now()
	for h, s := range v.items {
		if !now.Before(s.until) {
			delete(v.items, h)
		}
	}
}

func (v *vault) dropOldest() {
	oldest := ""
	for h, s := range v.items {
		if oldest == "" || s.until.Before(v.items[oldest].until) {
			oldest = h
		}
	}
	delete(v.items, oldest)
}
