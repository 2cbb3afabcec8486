package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"larder/auth"
	"larder/web"
)

// makeKey creates a key in the browser and returns the page with its secret.
func makeKey(t *testing.T, b *browser, fields ...string) *answer {
	t.Helper()
	form := url.Values{"rights": {"read-write"}, "bucket": {"*"}, "expiry": {"never"}, "token": {b.token("/keys/new")}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	a := b.postForm("/keys/new", form).status(t, http.StatusSeeOther)
	return b.get(a.Header.Get("Location")).status(t, http.StatusOK)
}

func value(a *answer, id string) string {
	v, _ := a.doc.Find("#" + id).Attr("value")
	return v
}

func TestKeyLife(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("photos")
	b.get("/keys").has(t, "No keys yet")
	shown := makeKey(t, b, "name", "the camera", "bucket", "photos", "prefix", "2026/")
	id, secret := value(shown, "key-id"), value(shown, "key-secret")
	if id == "" || len(secret) < 20 || value(shown, "key-endpoint") != "http://nas.test:9000" {
		t.Fatalf("key %q with a secret of %d letters at %q", id, len(secret), value(shown, "key-endpoint"))
	}
	caller, err := l.auth.Bearer(t.Context(), id, auth.Secret(secret), caddr())
	if err != nil {
		t.Fatalf("the shown secret does not work: %v", err)
	}
	if err := l.auth.Guard().Check(t.Context(), caller, auth.PutObject, auth.Resource{Bucket: "photos", Key: "2026/x"}); err != nil {
		t.Errorf("the key may not do what was chosen: %v", err)
	}
	if err := l.auth.Guard().Check(t.Context(), caller, auth.PutObject, auth.Resource{Bucket: "photos", Key: "2025/x"}); err == nil {
		t.Error("the key may write outside its prefix")
	}
	for _, want := range []string{"RESTIC_REPOSITORY=s3:http://nas.test:9000/photos/2026", "endpoint = http://nas.test:9000", "--endpoint-url http://nas.test:9000", secret} {
		if !strings.Contains(shown.doc.Find(".tabs pre").Text(), want) {
			t.Errorf("the settings lack %q", want)
		}
	}
	switchKey(t, l, b, id, secret)
	b.get("/keys/delete?id="+id).has(t, "Delete the key the camera?").has(t, "Nothing stored is deleted.")
	b.post("/keys/delete", "/keys", "id", id).leads(t, "/keys")
	b.get("/keys").has(t, "The key the camera is deleted.").has(t, "No keys yet")
	b.get("/keys/show?id="+id).status(t, http.StatusNotFound)
}

// switchKey disables the key and enables it again, and tries it in between.
func switchKey(t *testing.T, l *larder, b *browser, id, secret string) {
	t.Helper()
	works := func() bool {
		_, err := l.auth.Bearer(t.Context(), id, auth.Secret(secret), caddr())
		return err == nil
	}
	b.get("/keys/disable?id="+id).has(t, "refused from their next request")
	b.post("/keys/disable", "/keys", "id", id).leads(t, "/keys")
	b.get("/keys").has(t, "The key the camera is disabled.").has(t, "Disabled")
	if works() {
		t.Error("a disabled key works")
	}
	b.get("/keys/enable?id="+id).has(t, "let in again")
	b.post("/keys/enable", "/keys", "id", id).leads(t, "/keys")
	if !works() {
		t.Error("an enabled key does not work")
	}
	b.get("/keys/show?id="+id).has(t, "Last used").has(t, "read-write")
}

func TestSecretIsShownToItsSessionOnly(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	shown := makeKey(t, b, "name", "one")
	secret, link := value(shown, "key-secret"), shown.Request.URL.RequestURI()
	if got := value(b.get(link), "key-secret"); got != secret {
		t.Error("the page cannot be loaded again")
	}
	other := l.browser(l.serve(false))
	other.post("/login", "/login", "user", "admin", "password", password).leads(t, "/")
	if a := other.get(link).leads(t, "/keys"); strings.Contains(a.body, secret) {
		t.Error("another session sees the secret")
	}
	handle, _ := shown.doc.Find(`input[name="handle"]`).Attr("value")
	b.post("/keys/stored", "/keys", "handle", handle).leads(t, "/keys/show?id="+value(shown, "key-id"))
	b.get(link).leads(t, "/keys")
	for _, page := range []string{"/keys", "/keys/show?id=" + value(shown, "key-id"), "/"} {
		if strings.Contains(b.get(page).body, secret) {
			t.Errorf("%s shows the secret", page)
		}
	}
	if strings.Contains(l.log.String(), secret) || strings.Contains(l.log.String(), password) {
		t.Error("the log holds a secret")
	}
}

func TestKeyForm(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	refused := func(want string, fields ...string) {
		t.Helper()
		b.post("/keys/new", "/keys/new", fields...).status(t, http.StatusUnprocessableEntity).has(t, want)
	}
	refused("Give the key a name", "rights", "read", "bucket", "*", "expiry", "never")
	refused("Choose what the key may do", "name", "x", "rights", "everything", "bucket", "*", "expiry", "never")
	refused("Choose a bucket", "name", "x", "rights", "read", "bucket", "", "expiry", "never")
	refused("Choose one of the listed times", "name", "x", "rights", "read", "bucket", "*", "expiry", "1")
	refused("attern", "name", "x", "rights", "read", "bucket", "*", "pattern", "UPPER!", "expiry", "never")
	b.get("/keys").has(t, "No keys yet")
	makeKey(t, b, "name", "<script>alert(1)</script>", "pattern", "backup-*", "expiry", "30")
	a := b.get("/keys").has(t, "<script>alert(1)</script>").has(t, "backup-*")
	inert(t, a)
}

func TestSnippetsQuote(t *testing.T) {
	t.Parallel()
	list := web.Snippets("https://nas:9000", "ID", "se/c+r'et$(x)", "AB:CD", []auth.Grant{{Bucket: "backup-*", Prefix: "a b/", Rights: auth.Read}})
	code := list[0].Parts[0].Code
	for _, want := range []string{`AWS_SECRET_ACCESS_KEY='se/c+r'\''et$(x)'`, "RESTIC_REPOSITORY='s3:https://nas:9000/BUCKET/a b'"} {
		if !strings.Contains(code, want) {
			t.Errorf("no %s in\n%s", want, code)
		}
	}
	if !strings.Contains(list[0].Note, "--cacert") || !strings.Contains(list[0].Note, "BUCKET") {
		t.Errorf("note %q", list[0].Note)
	}
	for s, want := range map[string]string{"": "''", "plain-1.2/x": "plain-1.2/x", "a'b": `'a'\''b'`, "a;b": "'a;b'", "~": "'~'", "a*": "'a*'"} {
		if got := web.Shell(s); got != want {
			t.Errorf("shell(%q) = %s", s, got)
		}
	}
}

func TestVault(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	v := web.NewVault(func() time.Time { return now })
	first := v.Put("s1", "id", "secret")
	if _, _, ok := v.Get("s2", first); ok {
		t.Error("another session got the secret")
	}
	v.Drop("s2", first)
	if id, s, ok := v.Get("s1", first); !ok || id != "id" || s.Reveal() != "secret" {
		t.Error("the secret is not there")
	}
	now = now.Add(10 * time.Minute)
	if _, _, ok := v.Get("s1", first); ok || v.Len() != 0 {
		t.Error("the secret outlives its time")
	}
	for range 3 * web.MaxSecrets {
		v.Put("s1", "id", "secret")
	}
	if v.Len() != web.MaxSecrets {
		t.Errorf("%d secrets kept", v.Len())
	}
	v.DropSession("s1")
	if v.Len() != 0 {
		t.Errorf("%d secrets outlive their session", v.Len())
	}
}
