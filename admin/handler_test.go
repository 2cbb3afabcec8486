package admin_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"larder/admin"
	"larder/auth"
	"larder/fault"
)

// client talks to the JSON API as one caller.
type client struct {
	t       *testing.T
	handler http.Handler
}

func (f *fixture) client(t *testing.T, c auth.Caller, err error) client {
	return client{t, f.Handler(f.gate, func(*http.Request) (auth.Caller, error) { return c, err })}
}

// call sends a request and decodes its answer.
func (c client) call(method, path, body string) (int, map[string]any) {
	c.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	if w.Header().Get("Cache-Control") != "no-store" {
		c.t.Errorf("%s %s: may be cached", method, path)
	}
	out := map[string]any{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			c.t.Errorf("%s %s: %v in %q", method, path, err, w.Body)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			c.t.Errorf("%s %s: %s", method, path, w.Header().Get("Content-Type"))
		}
	}
	return w.Code, out
}

// want calls and demands a status, and for errors a code.
func (c client) want(status int, code, method, path, body string) map[string]any {
	c.t.Helper()
	got, out := c.call(method, path, body)
	e, _ := out["error"].(map[string]any)
	if got != status || code != "" && (e["code"] != code || e["message"] == "" || len(out) != 1) {
		c.t.Errorf("%s %s %.60s: %d %v, want %d %s", method, path, body, got, out, status, code)
	}
	return out
}

// sample is a request to a route that would succeed for an administrator.
func sample(pattern string) (method, path, body string) {
	method, path, _ = strings.Cut(pattern, " ")
	path = strings.NewReplacer("{id}", "LKNONE", "{name}", "nothing", "{command}", "start").Replace(path)
	switch pattern {
	case "POST /api/v1/keys":
		body = `{"name":"nas","grants":[{"bucket":"b","rights":"read"}]}`
	case "PATCH /api/v1/keys/{id}":
		body = `{"disabled":true}`
	case "POST /api/v1/users":
		body = `{"name":"eve","password":"long enough","role":"admin"}`
	case "PUT /api/v1/users/{name}/password":
		body = `{"new":"long enough"}`
	case "PATCH /api/v1/buckets/{name}":
		body = `{"verify_reads":false}`
	case "POST /api/v1/backup":
		body = `{"dir":"/nowhere"}`
	case "POST /api/v1/export":
		body = `{"bucket":"bucket","dir":"/nowhere"}`
	case "POST /api/v1/buckets":
		body = `{"name":"bucket"}`
	}
	return method, path, body
}

// TestEveryRouteNeedsACaller walks all routes without a caller, with one that
// did not verify, and with one that has no rights; nothing changes.
func TestEveryRouteNeedsACaller(t *testing.T) {
	t.Parallel()
	f := open(t)
	powerless := f.key(t, auth.Grant{Bucket: "other", Rights: auth.Full})
	viewer := f.user(t, "viewer", auth.RoleViewer)
	before, _ := f.auth.Keys(t.Context())
	for _, rt := range admin.Routes() {
		method, path, body := sample(rt.Pattern)
		if rt.Action == 0 {
			t.Errorf("%s has no action", rt.Pattern)
		}
		f.client(t, auth.Caller{}, nil).want(401, "unauthenticated", method, path, body)
		wrong := fault.New("x", fault.BadSignature, "", errors.New("private"))
		f.client(t, auth.Caller{}, wrong).want(401, "bad_signature", method, path, body)
		limited := fault.New("x", fault.RateLimited, "", nil)
		f.client(t, f.auth.Local(), limited).want(429, "rate_limited", method, path, body) // the error counts
		if rt.Action != auth.ListBuckets {
			f.client(t, powerless, nil).want(403, "denied", method, path, body)
		}
		if rt.Action != auth.ListBuckets && rt.Action != auth.ReadSummary && rt.Action != auth.ReadScrub {
			f.client(t, viewer, nil).want(403, "denied", method, path, body)
		}
	}
	f.client(t, auth.Caller{}, nil).want(401, "unauthenticated", "GET", "/api/v1/nothing", "")
	after, _ := f.auth.Keys(t.Context())
	users, _ := f.auth.Users(t.Context())
	buckets, _ := f.gate.ListBuckets(t.Context(), f.auth.Local())
	if len(after) != len(before) || len(users) != 1 || len(buckets) != 0 {
		t.Errorf("something was made: %d keys, %d users, %d buckets", len(after), len(users), len(buckets))
	}
}

func TestAPISummary(t *testing.T) {
	t.Parallel()
	f := open(t)
	out := f.client(t, f.auth.Local(), nil).want(200, "", "GET", "/api/v1/summary", "")
	for _, field := range []string{"version", "started", "uptime_seconds", "buckets", "objects", "bytes", "free_bytes",
		"total_bytes", "requests", "read_only", "sequence", "findings", "scrub_behind", "last_verified"} {
		if _, ok := out[field]; !ok {
			t.Errorf("no field %s", field)
		}
	}
	if len(out) != 14 || out["version"] != "1.2.3" || out["requests"] != 42.0 {
		t.Errorf("%v", out)
	}
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	f := open(t)
	c := f.client(t, f.auth.Local(), nil)
	body := `{"name":"nas","grants":[{"bucket":"b-*","prefix":"p/","rights":"append-only"}],"expires":"2099-01-02T03:04:05Z"}`
	made := c.want(201, "", "POST", "/api/v1/keys", body)
	id, _ := made["id"].(string)
	if secret, _ := made["secret"].(string); len(id) != 20 || len(secret) != 40 {
		t.Fatalf("%v", made)
	}
	got := c.want(200, "", "GET", "/api/v1/keys/"+id, "")
	if _, again := got["secret"]; again {
		t.Error("the secret is shown twice")
	}
	if got["expires"] != "2099-01-02T03:04:05Z" || got["last_used"] != nil || got["disabled"] != false {
		t.Errorf("%v", got)
	}
	text, _ := json.Marshal(got["grants"])
	if string(text) != `[{"bucket":"b-*","prefix":"p/","rights":"append-only"}]` {
		t.Errorf("grants %s", text)
	}
	if out := c.want(200, "", "PATCH", "/api/v1/keys/"+id, `{"disabled":true}`); out["disabled"] != true {
		t.Errorf("%v", out)
	}
	if out := c.want(200, "", "PATCH", "/api/v1/keys/"+id, `{}`); out["disabled"] != true {
		t.Errorf("%v", out)
	}
	if list, _ := c.want(200, "", "GET", "/api/v1/keys", "")["keys"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	c.want(204, "", "DELETE", "/api/v1/keys/"+id, "")
	c.want(404, "no_such_key", "DELETE", "/api/v1/keys/"+id, "")
	c.want(404, "no_such_key", "GET", "/api/v1/keys/"+id, "")
	c.want(404, "no_such_key", "PATCH", "/api/v1/keys/"+id, `{"disabled":false}`)
	if list, ok := c.want(200, "", "GET", "/api/v1/keys", "")["keys"].([]any); !ok || len(list) != 0 {
		t.Errorf("an empty list is %v", list)
	}
}

func TestAPIUsersAndBuckets(t *testing.T) {
	t.Parallel()
	f := open(t)
	c := f.client(t, f.auth.Local(), nil)
	c.want(201, "", "POST", "/api/v1/users", `{"name":"ann","password":"long enough","role":"admin"}`)
	c.want(409, "user_exists", "POST", "/api/v1/users", `{"name":"ann","password":"long enough","role":"viewer"}`)
	c.want(400, "weak_password", "POST", "/api/v1/users", `{"name":"bob","password":"short","role":"viewer"}`)
	c.want(400, "invalid_argument", "POST", "/api/v1/users", `{"name":"Bob","password":"long enough","role":"viewer"}`)
	c.want(201, "", "POST", "/api/v1/users", `{"name":"bob","password":"long enough","role":"viewer"}`)
	c.want(204, "", "PUT", "/api/v1/users/bob/password", `{"new":"another password"}`)
	c.want(404, "no_such_user", "PUT", "/api/v1/users/eve/password", `{"new":"another password"}`)
	users, _ := c.want(200, "", "GET", "/api/v1/users", "")["users"].([]any)
	if text, _ := json.Marshal(users); len(users) != 2 || strings.Contains(string(text), "password") {
		t.Errorf("%s", text)
	}
	c.want(204, "", "DELETE", "/api/v1/users/bob", "")
	c.want(409, "conflict", "DELETE", "/api/v1/users/ann", "")

	c.want(201, "", "POST", "/api/v1/buckets", `{"name":"bucket"}`)
	c.want(400, "invalid_bucket_name", "POST", "/api/v1/buckets", `{"name":"NO"}`)
	buckets, _ := c.want(200, "", "GET", "/api/v1/buckets", "")["buckets"].([]any)
	if b, _ := json.Marshal(buckets); len(buckets) != 1 || !strings.Contains(string(b), `"objects":0`) {
		t.Errorf("%s", b)
	}
	c.want(204, "", "DELETE", "/api/v1/buckets/bucket", "")
	c.want(404, "no_such_bucket", "DELETE", "/api/v1/buckets/bucket", "")
}

func TestAPIBadBodies(t *testing.T) {
	t.Parallel()
	f := open(t)
	c := f.client(t, f.auth.Local(), nil)
	for body, code := range map[string]string{
		``:                          "invalid_argument",
		`{`:                         "invalid_argument",
		`[]`:                        "invalid_argument",
		`{"name":1}`:                "invalid_argument",
		`{"name":"a","secret":"x"}`: "invalid_argument",
		`{"name":"a"} {"name":"b"}`: "invalid_argument",
		`{"name":"a","grants":[{"bucket":"b","rights":"everything"}]}`:          "invalid_argument",
		`{"name":"a","grants":[{"bucket":"b","rights":"read","allow":"more"}]}`: "invalid_argument",
		`{"name":"a","grants":[]}`:                       "invalid_argument",
		`{"name":"` + strings.Repeat("a", 64<<10) + `"}`: "too_large",
	} {
		status := 400
		if code == "too_large" {
			status = 413
		}
		c.want(status, code, "POST", "/api/v1/keys", body)
	}
	c.want(404, "no_such_route", "GET", "/api/v1/nothing", "")
	c.want(404, "no_such_route", "PUT", "/api/v1/keys", "")
	if keys, _ := f.auth.Keys(t.Context()); len(keys) != 0 {
		t.Errorf("%d keys were made", len(keys))
	}
}

// TestAPIForms: what a form on a foreign page can send is refused.
func TestAPIForms(t *testing.T) {
	t.Parallel()
	f := open(t)
	c := f.client(t, f.auth.Local(), nil)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json, text/plain"} {
		r := httptest.NewRequest("POST", "/api/v1/buckets", strings.NewReader(`{"name":"bucket"}`))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("%q: %d", kind, w.Code)
		}
	}
}

// TestErrorsKeepTheirSecrets: neither the private part of an error nor the body
// comes back.
func TestErrorsKeepTheirSecrets(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	admin.WriteError(w, fault.New("store.Put", fault.Internal, "/data/segments/1.seg", errors.New("private")))
	if got := w.Body.String(); got != `{"error":{"code":"internal","message":"internal error"}}`+"\n" || w.Code != 500 {
		t.Errorf("%d %s", w.Code, got)
	}
	w = httptest.NewRecorder()
	admin.WriteError(w, errors.New("private"))
	if strings.Contains(w.Body.String(), "private") || w.Code != 500 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f := open(t)
	c := f.client(t, f.auth.Local(), nil)
	for _, body := range []string{`{"password":{"canary":1}}`, `{"password":"canary\u12"}`, `{"password":"canary" "x"}`, `"canary"`} {
		_, out := c.call("POST", "/api/v1/users", body)
		if text, _ := json.Marshal(out); strings.Contains(string(text), "canary") {
			t.Errorf("%s comes back in %s", body, text)
		}
	}
}

// FuzzBody: no body makes a 5xx answer or a key with rights that were not asked
// for by name.
func FuzzBody(f *testing.F) {
	for _, s := range []string{`{"name":"a"}`, `{`, `{"grants":[{"bucket":"*","rights":"full"}]}`, `{"expires":"x"}`, `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		fx := open(t)
		status, _ := fx.client(t, fx.auth.Local(), nil).call("POST", "/api/v1/keys", body)
		if status >= 500 {
			t.Errorf("%q: %d", body, status)
		}
	})
}
