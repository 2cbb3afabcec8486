package web

import (
	"time"

	"larder/auth"
	"larder/fault"
	"larder/web/view"
)

// Route is a line of the table of routes, for the tests that walk it.
type Route struct {
	Method, Path string
	Public       bool // needs no session
	Raw          bool
}

// Routes lists the table.
func (c *Console) Routes() []Route {
	var out []Route
	for _, r := range c.routes() {
		out = append(out, Route{Method: r.method, Path: r.path, Public: r.access != member, Raw: r.raw})
	}
	return out
}

// AnswerStatus is the status of the answer to a code, and whether there is one.
func AnswerStatus(code fault.Code) (int, string, bool) {
	a, ok := answers()[code]
	return a.status, a.text, ok
}

// SafeNext, Attachment, Shell, HealthOf and ByteRange give tests the functions
// of these names.
var (
	SafeNext   = safeNext
	Attachment = attachment
	Shell      = shell
	HealthOf   = health
	RangeOf    = rangeOf
)

// Snippets are the settings for one key.
func Snippets(endpoint, id, secret, fingerprint string, grants []auth.Grant) []view.Snippet {
	return snippets(settings{endpoint: endpoint, keyID: id, secret: secret, fingerprint: fingerprint, grants: grants})
}

// Vault gives tests the vault.
type Vault struct{ v *vault }

// NewVault returns an empty one.
func NewVault(now func() time.Time) Vault { return Vault{newVault(now)} }

// Put, Get, Drop and DropSession are the vault's.
func (v Vault) Put(session, id string, secret auth.Secret) string {
	return v.v.put(session, id, secret)
}
func (v Vault) Get(session, handle string) (string, auth.Secret, bool) {
	return v.v.get(session, handle)
}
func (v Vault) Drop(session, handle string) { v.v.drop(session, handle) }
func (v Vault) DropSession(session string)  { v.v.dropSession(session) }

// Len is how many secrets the vault holds.
func (v Vault) Len() int { return len(v.v.items) }

// MaxSecrets is the vault's bound.
const MaxSecrets = maxSecrets

// AddSample feeds the home page's curves.
func (c *Console) AddSample(objects, bytes, requests int64) {
	c.history.add(sample{objects: objects, bytes: bytes, requests: requests})
}

// Samples is how many samples are kept.
func (c *Console) Samples() int { return len(c.history.samples) }
