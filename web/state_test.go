package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/admin"
	"larder/auth/sigv4"
	"larder/store"
	"larder/web"
	"larder/web/view"
)

// reports makes the store report other numbers than its disk has.
func reports(change func(*store.Stats)) option {
	return func(l *larder, _ *web.Config, a *admin.Config) {
		a.Store = statFunc(func() store.Stats {
			s := l.store.Stats()
			change(&s)
			return s
		})
	}
}

func TestHomeShowsRealNumbers(t *testing.T) {
	t.Parallel()
	l, b := claimed(t, func(_ *larder, _ *web.Config, a *admin.Config) { a.Requests = func() int64 { return 12345 } })
	b.get("/").has(t, "Three steps to your first backup").has(t, "in 0 buckets").has(t, "12,345").has(t, "1.2.3")
	l.bucket("one")
	l.put("one", "k", strings.Repeat("x", 1536))
	makeKey(t, b, "name", "k")
	a := b.get("/").has(t, "1.5 KiB").has(t, "in 1 bucket")
	if strings.Contains(a.main(), "Three steps") {
		t.Error("the steps stay after the first backup")
	}
	if n := a.doc.Find(".spark").Length(); n != 0 {
		t.Errorf("%d curves before there are samples", n)
	}
	l.web.AddSample(1, 1, 1)
	l.web.AddSample(2, 2, 5)
	l.web.AddSample(2, 9, 6)
	part := b.get("/home/numbers").status(t, http.StatusOK)
	if n := part.doc.Find(".spark").Length(); n != 3 {
		t.Errorf("%d curves", n)
	}
	if part.doc.Find(".side, link").Length() != 0 {
		t.Error("the live part holds a whole page")
	}
	for range 300 {
		l.web.AddSample(1, 1, 1)
	}
	if l.web.Samples() != 240 {
		t.Errorf("%d samples are kept", l.web.Samples())
	}
}

func TestNoticesStandOnEveryPage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*store.Stats)
		title  string
		kind   string
	}{
		"read-only": {func(s *store.Stats) { s.ReadOnly = "fdatasync failed on segments/1" }, "Larder is read-only", "bad"},
		"full":      {func(s *store.Stats) { s.TotalBytes, s.FreeBytes = 100<<30, 100<<20 }, "The disk is almost full", "bad"},
		"low":       {func(s *store.Stats) { s.TotalBytes, s.FreeBytes = 100<<30, 6<<30 }, "The disk is filling up", "warn"},
	} {
		_, b := claimed(t, reports(c.change))
		for _, page := range []string{"/", "/buckets", "/keys", "/system", "/account"} {
			a := b.get(page).has(t, c.title)
			if a.doc.Find(".notice-"+c.kind+", .health-"+c.kind).Length() == 0 {
				t.Errorf("%s: %s is not shown as %s", name, page, c.kind)
			}
		}
	}
}

func TestReadOnlyOffersNoWrites(t *testing.T) {
	t.Parallel()
	l, b := claimed(t, reports(func(s *store.Stats) { s.ReadOnly = "fdatasync failed" }))
	l.bucket("kept")
	l.put("kept", "a", "a")
	if a := b.get("/objects?bucket=kept"); a.doc.Find("#uploads, .bulk, [data-pick], .menu-item-bad").Length() != 0 {
		t.Error("uploads or deletes are offered")
	}
	if a := b.get("/"); strings.Contains(a.main(), "Create bucket") || a.doc.Find(".bar-bad").Length() != 0 {
		t.Error("writes are offered, or the disk is blamed")
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, c := range []struct {
		sum  admin.Summary
		want view.Kind
	}{
		{admin.Summary{FreeBytes: 500 * gib, TotalBytes: 1000 * gib}, view.Good},
		{admin.Summary{FreeBytes: 60 * gib, TotalBytes: 8000 * gib}, view.Good}, // a small share is still a lot
		{admin.Summary{FreeBytes: 40 * gib, TotalBytes: 8000 * gib}, view.Warn},
		{admin.Summary{FreeBytes: 4 * gib, TotalBytes: 8000 * gib}, view.Bad},
		{admin.Summary{FreeBytes: 4 * gib, TotalBytes: 8 * gib}, view.Good}, // half of a small disk
		{admin.Summary{FreeBytes: gib / 8, TotalBytes: gib}, view.Bad},
		{admin.Summary{FreeBytes: 500 * gib, TotalBytes: 1000 * gib, ReadOnly: "x"}, view.Bad},
	} {
		if got := web.HealthOf(c.sum); got.Kind != c.want || got.Title == "" || got.Text == "" {
			t.Errorf("%+v: %+v", c.sum, got)
		}
	}
}

func TestErrorsCarryTheRequest(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	a := b.get("/objects?bucket=nope").status(t, http.StatusNotFound)
	if id := a.Header.Get("X-Request-Id"); !strings.Contains(a.main(), "Request "+id) {
		t.Errorf("the page does not show request %s", id)
	}
	l.store.Close()
	a = b.post("/buckets/new", "/buckets/new", "name", "abc")
	if a.StatusCode < 500 {
		t.Errorf("with the store closed: %d", a.StatusCode)
	}
	if !strings.Contains(l.log.String(), a.Header.Get("X-Request-Id")) {
		t.Error("our own failure is not in the log under its request id")
	}
}

func TestSystemPage(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	a := b.get("/system").has(t, "1.2.3").has(t, "This connection is not encrypted")
	if a.doc.Find("#fingerprint").Text() != "AB:CD:EF" || value(a, "address-0") != "http://nas.test:9000" {
		t.Error("fingerprint or address missing")
	}
	if href, _ := a.doc.Find(".notice-info a").Attr("href"); href != strings.Replace(b.base, "http:", "https:", 1)+"/system" {
		t.Errorf("the encrypted page is at %q", href)
	}
	if proxied := b.get("/system", "X-Forwarded-Proto", "https"); proxied.doc.Find(".notice-info").Length() != 0 {
		t.Error("a page behind a TLS proxy is called not encrypted")
	}
	secure := l.browser(l.serve(true))
	secure.post("/login", "/login", "user", "admin", "password", password).leads(t, "/")
	secure.get("/system").has(t, "This connection is encrypted")
}

func TestAdminAPI(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	shown := makeKey(t, b, "name", "api", "rights", "full")
	bearer := "Bearer " + value(shown, "key-id") + ":" + value(shown, "key-secret")
	summary := func(a *answer) error {
		var v map[string]any
		if err := json.Unmarshal([]byte(a.body), &v); err != nil {
			return err
		}
		if v["version"] != "1.2.3" {
			return errors.New(a.body)
		}
		return nil
	}
	if err := summary(b.get("/api/v1/summary").status(t, http.StatusOK)); err != nil {
		t.Errorf("with a session: %v", err)
	}
	stranger := *b
	stranger.http = &http.Client{}
	if err := summary(stranger.get("/api/v1/summary", "Authorization", bearer).status(t, http.StatusOK)); err != nil {
		t.Errorf("with a bearer secret: %v", err)
	}
	stranger.get("/api/v1/summary").status(t, http.StatusUnauthorized)
	stranger.get("/api/v1/summary", "Authorization", bearer+"x").status(t, http.StatusUnauthorized)
	stranger.get("/api/v1/summary", "Authorization", "Bearer x").status(t, http.StatusUnauthorized)
	body := func() *strings.Reader { return strings.NewReader(`{"name":"by-api"}`) }
	b.do(http.MethodPost, "/api/v1/buckets", body(), "Content-Type", "application/json").status(t, http.StatusForbidden)
	b.do(http.MethodPost, "/api/v1/buckets", body(), "Content-Type", "application/json", "X-Larder-Form", b.token("/"), "Origin", "http://evil.test").
		status(t, http.StatusForbidden)
	b.do(http.MethodPost, "/api/v1/buckets", body(), "Content-Type", "application/json", "X-Larder-Form", b.token("/")).status(t, http.StatusCreated)
	b.get("/buckets").has(t, "by-api")
}

// TestAdminAPISigned changes something with a signature: the body must be under
// it. To read, it need not.
func TestAdminAPISigned(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	shown := makeKey(t, b, "name", "signer", "rights", "full")
	id, secret := value(shown, "key-id"), value(shown, "key-secret")
	b.http = &http.Client{}
	const body = `{"name":"by-signature"}`
	sum := sha256.Sum256([]byte(body))
	for _, c := range []struct {
		method, path, payload, text string
		want                        int
	}{
		{http.MethodGet, "/api/v1/summary", sigv4.UnsignedPayload, "", http.StatusOK},
		{http.MethodGet, "/api/v1/summary", sigv4.EmptyPayload, "", http.StatusOK},
		{http.MethodPost, "/api/v1/buckets", sigv4.UnsignedPayload, "An unsigned payload may only read", http.StatusForbidden},
		{http.MethodDelete, "/api/v1/buckets/none", sigv4.UnsignedPayload, "An unsigned payload may only read", http.StatusForbidden},
		{http.MethodPost, "/api/v1/buckets", "", "x-amz-content-sha256", http.StatusBadRequest},
		{http.MethodPost, "/api/v1/buckets", sigv4.EmptyPayload, "not the one whose SHA-256", http.StatusBadRequest},
		{http.MethodPost, "/api/v1/buckets", sigv4.UnsignedChunksAndTrailer, "not the one whose SHA-256", http.StatusBadRequest},
		{http.MethodPost, "/api/v1/buckets", hex.EncodeToString(sum[:]), "by-signature", http.StatusCreated},
	} {
		text := body
		if c.method != http.MethodPost {
			text = ""
		}
		header := append(signature(b.base, c.method, c.path, c.payload, id, secret), "Content-Type", "application/json")
		a := b.do(c.method, c.path, strings.NewReader(text), header...)
		if a.StatusCode != c.want || !strings.Contains(a.body, c.text) {
			t.Errorf("%s %s with payload %q: %d %s", c.method, c.path, c.payload, a.StatusCode, a.body)
		}
	}
}

// signature is the header of a request as an AWS client signs it.
func signature(base, method, path, payload, id, secret string) []string {
	stamp := time.Now().UTC().Format(sigv4.TimeFormat)
	scope := stamp[:8] + "/us-east-1/" + sigv4.Service + "/aws4_request"
	host, signed := strings.TrimPrefix(base, "http://"), "host;x-amz-content-sha256;x-amz-date"
	text, header := "host:"+host+"\nx-amz-content-sha256:"+payload+"\nx-amz-date:"+stamp+"\n", []string{"X-Amz-Date", stamp}
	if payload == "" {
		text, signed = "host:"+host+"\nx-amz-date:"+stamp+"\n", "host;x-amz-date"
	} else {
		header = append(header, "X-Amz-Content-Sha256", payload)
	}
	sum := sha256.Sum256([]byte(method + "\n" + path + "\n\n" + text + "\n" + signed + "\n" + payload))
	key := sigv4.DeriveKey(secret, stamp[:8], "us-east-1", sigv4.Service)
	proof := sigv4.Sign(key, sigv4.Algorithm+"\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
	return append(header, "Authorization", sigv4.Algorithm+" Credential="+id+"/"+scope+", SignedHeaders="+signed+", Signature="+proof)
}
