package web_test

import (
	"net/http"
	"strings"
	"testing"

	"larder/fault"
	"larder/web"
)

// path fills the table's parameters in.
func path(r web.Route) string { return strings.ReplaceAll(r.Path, ":file", "nothing.css") }

func TestEveryRouteRefusesWithoutSession(t *testing.T) {
	t.Parallel()
	l, _ := claimed(t)
	l.bucket("kept")
	l.put("kept", "a", "a")
	b := l.browser(l.serve(false))
	n := 0
	for _, r := range l.web.Routes() {
		if r.Public {
			continue
		}
		n++
		a := b.do(r.Method, at(path(r), "kept", "a"), strings.NewReader("bucket=kept&key=a&pick=a&id=x&name=admin"),
			"Content-Type", "application/x-www-form-urlencoded")
		switch {
		case r.Method == http.MethodGet && a.StatusCode == http.StatusSeeOther && strings.HasPrefix(a.Header.Get("Location"), "/login"):
		case r.Method != http.MethodGet && a.StatusCode == http.StatusUnauthorized:
		default:
			t.Errorf("%s %s without a session: %d %q", r.Method, r.Path, a.StatusCode, a.Header.Get("Location"))
		}
	}
	if got := l.keys("kept"); got != `"a"` || n < 30 {
		t.Errorf("after %d routes the bucket holds %s", n, got)
	}
	t.Logf("%d routes refused", n)
}

func TestEveryRouteRefusesAnEndedOrForgedSession(t *testing.T) {
	t.Parallel()
	l, _ := claimed(t)
	b := l.browser(l.serve(false))
	for _, cookie := range []string{"", "x", "larder", strings.Repeat("A", 26), strings.Repeat("A", 5000), "a.b", "'; drop table"} {
		for _, r := range l.web.Routes() {
			if r.Public {
				continue
			}
			a := b.do(r.Method, path(r), nil, "Cookie", "larder-t="+cookie)
			// A forger runs into the limiter after some tries.
			if a.StatusCode != http.StatusSeeOther && a.StatusCode != http.StatusUnauthorized && a.StatusCode != http.StatusTooManyRequests {
				t.Fatalf("%s %s with the cookie %.20q: %d", r.Method, r.Path, cookie, a.StatusCode)
			}
		}
	}
}

func TestEveryChangeRefusesOtherOrigins(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("kept")
	token := b.token("/")
	n := 0
	for _, r := range l.web.Routes() {
		if r.Method == http.MethodGet {
			continue
		}
		for _, header := range [][2]string{
			{"Origin", "http://evil.test"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1:1"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		} {
			n++
			a := b.do(r.Method, at(r.Path, "kept", "x"), strings.NewReader("bucket=kept&token="+token),
				"Content-Type", "application/x-www-form-urlencoded", "X-Larder-Form", token, header[0], header[1])
			if a.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s with %s: %s got %d", r.Method, r.Path, header[0], header[1], a.StatusCode)
			}
		}
	}
	if l.keys("kept") != "" || n < 50 {
		t.Errorf("%d requests, bucket holds %s", n, l.keys("kept"))
	}
}

func TestEveryChangeNeedsTheFormToken(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("kept")
	for _, r := range l.web.Routes() {
		if r.Method == http.MethodGet || r.Path == "/setup" || r.Path == "/login" {
			continue
		}
		for _, token := range []string{"", "x", strings.Repeat("0", 32)} {
			a := b.do(r.Method, at(r.Path, "kept", "x"), strings.NewReader("bucket=kept&token="+token),
				"Content-Type", "application/x-www-form-urlencoded", "X-Larder-Form", token)
			if a.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s with the token %q: %d", r.Method, r.Path, token, a.StatusCode)
			}
		}
	}
	b.get("/buckets").status(t, http.StatusOK).has(t, "kept")
}

func TestNoRouteChangesAnythingOnGet(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("kept")
	l.put("kept", "a", "a")
	before := l.store.Stats().Sequence
	for _, r := range l.web.Routes() {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			b.do(method, at(path(r), "kept", "a")+"&name=admin&id=x&pick=a&theme=dark", nil)
		}
	}
	if got := l.store.Stats().Sequence; got != before {
		t.Errorf("reading moved the store from change %d to %d", before, got)
	}
	b.get("/users").status(t, http.StatusOK).has(t, "admin")
}

func TestBeforeSetupEverythingLeadsThere(t *testing.T) {
	t.Parallel()
	l := newLarder(t)
	b := l.browser(l.serve(false))
	for _, r := range l.web.Routes() {
		a := b.do(r.Method, path(r), nil)
		switch {
		case strings.HasPrefix(r.Path, "/assets"), r.Path == "/healthz", r.Path == "/theme", r.Path == "/setup":
		case r.Method == http.MethodGet:
			a.leads(t, "/setup")
		default:
			a.status(t, http.StatusUnauthorized)
		}
	}
}

func TestUnknownPages(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	b.get("/nothing/here").status(t, http.StatusNotFound).has(t, "No such page")
	b.get("/debug/pprof/").status(t, http.StatusNotFound)
	b.get("/metrics").status(t, http.StatusNotFound)
	b.get("/assets/../console.go").status(t, http.StatusNotFound)
	b.do(http.MethodDelete, "/buckets", nil).status(t, http.StatusMethodNotAllowed)
}

func TestAnswersAreComplete(t *testing.T) {
	t.Parallel()
	for _, code := range fault.Codes() {
		status, text, ok := web.AnswerStatus(code)
		if !ok || status < 300 || status > 599 || text == "" || strings.Contains(text, "!") {
			t.Errorf("%v: status %d, text %q", code, status, text)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	for _, p := range []string{"/", "/login", "/nothing", "/buckets", "/api/v1/summary"} {
		h := b.get(p).Header
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", p, csp)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", p, name, h.Get(name), want)
			}
		}
		if h.Get("X-Request-Id") == "" {
			t.Errorf("%s has no request id", p)
		}
	}
}
