package admin

import (
	"net/http"
	"time"

	"larder/auth"
	"larder/store"
)

// summaryJSON is Summary on the wire.
type summaryJSON struct {
	Version       string     `json:"version"`
	Started       *time.Time `json:"started"`
	UptimeSeconds int64      `json:"uptime_seconds"`
	Buckets       int        `json:"buckets"`
	Objects       int64      `json:"objects"`
	Bytes         int64      `json:"bytes"`
	FreeBytes     int64      `json:"free_bytes"`
	TotalBytes    int64      `json:"total_bytes"`
	Requests      int64      `json:"requests"`
	ReadOnly      string     `json:"read_only"`
	Sequence      uint64     `json:"sequence"`
	Findings      int        `json:"findings"`
	ScrubBehind   bool       `json:"scrub_behind"`
	LastVerified  *time.Time `json:"last_verified"`
}

func (a api) summary(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	s, err := a.service.Summary(r.Context(), c)
	if err != nil {
		return nil, err
	}
	return summaryJSON{
		Version: s.Version, Started: when(s.Started), UptimeSeconds: int64(s.Uptime / time.Second),
		Buckets: s.Buckets, Objects: s.Objects, Bytes: s.Bytes, FreeBytes: s.FreeBytes,
		TotalBytes: s.TotalBytes, Requests: s.Requests, ReadOnly: s.ReadOnly, Sequence: s.Sequence,
		Findings: s.Findings, ScrubBehind: s.ScrubBehind, LastVerified: when(s.LastVerified),
	}, nil
}

// keyJSON is a key on the wire; Secret is set in the answer to its making only.
type keyJSON struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Grants   []auth.Grant `json:"grants"`
	Disabled bool         `json:"disabled"`
	Created  *time.Time   `json:"created"`
	Expires  *time.Time   `json:"expires"`
	LastUsed *time.Time   `json:"last_used"`
	LastAddr string       `json:"last_addr"`
	Secret   string       `json:"secret,omitempty"`
}

func keyOnWire(k auth.Key) keyJSON {
	return keyJSON{
		ID: k.ID, Name: k.Name, Grants: k.Grants, Disabled: k.Disabled, Created: when(k.Created),
		Expires: when(k.Expires), LastUsed: when(k.LastUsed), LastAddr: k.LastAddr,
	}
}

func (a api) keys(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	keys, err := a.service.Keys(r.Context(), c)
	out := make([]keyJSON, len(keys))
	for i, k := range keys {
		out[i] = keyOnWire(k)
	}
	return map[string]any{"keys": out}, err
}

func (a api) key(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	k, err := a.service.Key(r.Context(), c, r.PathValue("id"))
	return keyOnWire(k), err
}

func (a api) createKey(w http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	var in struct {
		Name    string       `json:"name"`
		Grants  []auth.Grant `json:"grants"`
		Expires time.Time    `json:"expires"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	k, secret, err := a.service.CreateKey(r.Context(), c, auth.KeySpec{Name: in.Name, Grants: in.Grants, Expires: in.Expires})
	out := keyOnWire(k)
	out.Secret = secret.Reveal()
	return out, err
}

// patchKey changes what is named: for now only whether the key is disabled.
func (a api) patchKey(w http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	var in struct {
		Disabled *bool `json:"disabled"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if in.Disabled != nil {
		if err := a.service.SetKeyDisabled(r.Context(), c, id, *in.Disabled); err != nil {
			return nil, err
		}
	}
	return a.key(w, r, c)
}

func (a api) deleteKey(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	return nil, a.service.DeleteKey(r.Context(), c, r.PathValue("id"))
}

// userJSON is a user on the wire.
type userJSON struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Created *time.Time `json:"created"`
}

func userOnWire(u auth.User) userJSON { return userJSON{u.Name, u.Role, when(u.Created)} }

func (a api) users(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	users, err := a.service.Users(r.Context(), c)
	out := make([]userJSON, len(users))
	for i, u := range users {
		out[i] = userOnWire(u)
	}
	return map[string]any{"users": out}, err
}

func (a api) createUser(w http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	var in struct {
		Name     string      `json:"name"`
		Password auth.Secret `json:"password"`
		Role     string      `json:"role"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	u, err := a.service.CreateUser(r.Context(), c, in.Name, in.Password, in.Role)
	return userOnWire(u), err
}

func (a api) deleteUser(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	return nil, a.service.DeleteUser(r.Context(), c, r.PathValue("name"))
}

func (a api) changePassword(w http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	var in struct {
		Current auth.Secret `json:"current"`
		New     auth.Secret `json:"new"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, a.service.ChangePassword(r.Context(), c, PasswordChange{User: r.PathValue("name"), Current: in.Current, New: in.New})
}

// bucketJSON is a bucket on the wire.
type bucketJSON struct {
	Name    string     `json:"name"`
	Created *time.Time `json:"created"`
	Objects int64      `json:"objects"`
	Bytes   int64      `json:"bytes"`
	Uploads int64      `json:"uploads"`

	VerifyReads bool `json:"verify_reads"` // hold large bodies against their checksums on every read
}

func bucketOnWire(b store.Bucket) bucketJSON {
	return bucketJSON{b.Name, when(b.Created), b.Objects, b.Bytes, b.Uploads, !b.Settings.UnverifiedReads}
}

func (a api) listBuckets(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	buckets, err := a.buckets.ListBuckets(r.Context(), c)
	out := make([]bucketJSON, len(buckets))
	for i, b := range buckets {
		out[i] = bucketOnWire(b)
	}
	return map[string]any{"buckets": out}, err
}

func (a api) createBucket(w http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	b, err := a.buckets.CreateBucket(r.Context(), c, in.Name)
	return bucketOnWire(b), err
}

// patchBucket changes the settings that are named.
func (a api) patchBucket(w http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	var in struct {
		VerifyReads *bool `json:"verify_reads"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if err := a.service.guard.Check(r.Context(), c, auth.SetBucket, auth.Resource{Bucket: name}); err != nil {
		return nil, err // before it shows which buckets there are
	}
	b, err := a.buckets.HeadBucket(r.Context(), c, name)
	if err != nil {
		return nil, err
	}
	if in.VerifyReads != nil {
		b.Settings.UnverifiedReads = !*in.VerifyReads
		if err := a.buckets.SetBucketSettings(r.Context(), c, name, b.Settings); err != nil {
			return nil, err
		}
	}
	return bucketOnWire(b), nil
}

func (a api) deleteBucket(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	return nil, a.buckets.DeleteBucket(r.Context(), c, r.PathValue("name"))
}
