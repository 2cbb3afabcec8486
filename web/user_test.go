package web_test

import (
	"net/http"
	"net/netip"
	"testing"
)

func caddr() netip.Addr { return netip.MustParseAddr("127.0.0.9") }

func TestUsers(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	const pass = "quite another one"
	b.get("/users").has(t, "admin").has(t, "(you)")
	b.post("/users/new", "/users/new", "name", "", "role", "viewer", "password", pass, "again", pass).status(t, http.StatusUnprocessableEntity).has(t, "Give the user a name")
	b.post("/users/new", "/users/new", "name", "ann", "role", "king", "password", pass, "again", pass).status(t, http.StatusUnprocessableEntity).has(t, "three roles")
	b.post("/users/new", "/users/new", "name", "ann", "role", "viewer", "password", "short", "again", "short").status(t, http.StatusUnprocessableEntity).has(t, "8 characters")
	b.post("/users/new", "/users/new", "name", "ann", "role", "viewer", "password", pass, "again", pass).leads(t, "/users")
	b.get("/users").has(t, "The user ann can log in now.").has(t, "viewer")
	b.post("/users/new", "/users/new", "name", "ann", "role", "viewer", "password", pass, "again", pass).status(t, http.StatusUnprocessableEntity).has(t, "already")
	b.get("/users/delete?name=ann").has(t, "Delete the user ann?")
	b.get("/users/delete?name=bob").status(t, http.StatusNotFound)
	b.post("/users/delete", "/users", "name", "ann").leads(t, "/users")
	b.get("/users").has(t, "The user ann is deleted.")
	b.post("/users/delete", "/users", "name", "admin").status(t, http.StatusConflict)
}

// TestRoles walks every route as a viewer and as an operator: what they may
// not do is refused, and their pages do not offer it.
func TestRoles(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("kept")
	l.put("kept", "a", "a")
	const pass = "quite another one"
	may := map[string]map[string]bool{
		"viewer":   {"POST /logout": true, "POST /theme": true, "POST /account": true, "POST /objects/pick": true},
		"operator": {"POST /logout": true, "POST /theme": true, "POST /account": true, "POST /objects/pick": true},
	}
	for _, p := range []string{"POST /buckets/new", "POST /buckets/delete", "PUT /objects/upload", "POST /objects/folder", "POST /objects/delete", "POST /system/scrub", "POST /buckets/settings"} {
		may["operator"][p] = true
	}
	for role, allowed := range may {
		b.post("/users/new", "/users/new", "name", role, "role", role, "password", pass, "again", pass).leads(t, "/users")
		u := l.browser(l.serve(false))
		u.post("/login", "/login", "user", role, "password", pass).leads(t, "/")
		home := u.get("/").status(t, http.StatusOK)
		if home.doc.Find(`nav a[href="/users"], nav a[href="/keys"]`).Length() != 0 {
			t.Errorf("a %s is shown the way to users or keys", role)
		}
		for _, r := range l.web.Routes() {
			name := r.Method + " " + r.Path
			if r.Method == http.MethodGet || r.Public || allowed[name] {
				continue
			}
			u.refused(t, role, r.Path, r.Method)
		}
		for _, page := range []string{"/keys", "/keys/new", "/users", "/users/new"} {
			u.get(page).status(t, http.StatusForbidden).has(t, "You may not do this")
		}
		for _, page := range []string{"/", "/buckets", "/objects?bucket=kept", "/system", "/account"} {
			u.get(page).status(t, http.StatusOK)
		}
	}
	if got := l.keys("kept"); got != `"a"` {
		t.Errorf("the bucket holds %s", got)
	}
}

// refused fails the test unless a change is refused or leaves a message that
// nothing was done.
func (b *browser) refused(t *testing.T, role, path, method string) {
	t.Helper()
	token := b.token("/")
	form := map[string][]string{
		"token": {token}, "name": {"new-one"}, "bucket": {"kept"}, "pick": {"a"}, "id": {"x"}, "handle": {"x"}, "role": {"admin"},
		"rights": {"full"}, "expiry": {"never"}, "act": {"pause"}, "verify": {"off"}, "password": {"some password"}, "again": {"some password"},
	}
	var a *answer
	if method == http.MethodPut {
		a = b.do(method, at(path, "kept", "b"), nil, "X-Larder-Form", token)
	} else {
		a = b.postForm(at(path, "kept", ""), form)
	}
	switch {
	case a.StatusCode == http.StatusForbidden:
	case path == "/keys/stored" && a.StatusCode == http.StatusSeeOther: // nothing to forget
	case path == "/objects/delete" && a.StatusCode == http.StatusSeeOther: // says so per object
	default:
		t.Errorf("%s as %s: %d", path, role, a.StatusCode)
	}
}
