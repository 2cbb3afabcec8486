package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/admin"
	"larder/web"
)

func TestSetupClaimsOnce(t *testing.T) {
	t.Parallel()
	l := newLarder(t)
	s := l.serve(false)
	b := l.browser(s)
	b.get("/setup").status(t, http.StatusOK).has(t, "One-time code")
	b.post("/setup", "/setup", "code", "WRONG-WRONG", "password", password, "again", password).
		status(t, http.StatusUnprocessableEntity).has(t, "This is not the code of this start")
	b.post("/setup", "/setup", "code", l.code, "password", password, "again", "another").
		status(t, http.StatusUnprocessableEntity).has(t, "The two passwords differ")
	b.post("/setup", "/setup", "code", l.code, "password", "short", "again", "short").
		status(t, http.StatusUnprocessableEntity).has(t, "at least 8 characters")
	b.setUp(l)
	b.get("/").status(t, http.StatusOK).has(t, "Larder is yours").has(t, "All is well")
	b.get("/setup").leads(t, "/")
	other := l.browser(s)
	other.get("/setup").leads(t, "/")
	token := other.token("/login")
	other.postForm("/setup", url.Values{"token": {token}, "code": {l.code}, "password": {password}, "again": {password}}).
		status(t, http.StatusConflict)
}

func TestSetupRace(t *testing.T) {
	t.Parallel()
	l := newLarder(t)
	s := l.serve(false)
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	browsers, tokens := make([]*browser, 8), make([]string, 8)
	for i := range browsers {
		browsers[i] = l.browser(s)
		tokens[i] = browsers[i].token("/setup")
	}
	for i, b := range browsers {
		token := tokens[i]
		wg.Go(func() {
			a := b.postForm("/setup", url.Values{"token": {token}, "code": {l.code}, "password": {password}, "again": {password}})
			mu.Lock()
			defer mu.Unlock()
			if a.StatusCode == http.StatusSeeOther && a.Header.Get("Location") == "/" {
				wins++
			} else if a.StatusCode != http.StatusConflict {
				t.Errorf("a loser got %d", a.StatusCode)
			}
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Errorf("%d browsers claimed the Larder", wins)
	}
}

func TestLoginAndLogout(t *testing.T) {
	t.Parallel()
	l, first := claimed(t)
	b := l.browser(l.serve(false))
	b.get("/keys?x=%2F").leads(t, "/login?next=%2Fkeys%3Fx%3D%252F")
	wrong := b.post("/login", "/login", "user", "admin", "password", "not this one").status(t, http.StatusUnprocessableEntity)
	nobody := b.post("/login", "/login", "user", "nobody", "password", "not this one").status(t, http.StatusUnprocessableEntity)
	if got := strings.ReplaceAll(nobody.main(), "nobody", "admin"); got != wrong.main() {
		t.Errorf("an unknown user reads %q, a wrong password %q", got, wrong.main())
	}
	b.post("/login", "/login", "user", "admin", "password", password, "next", "/keys?x=%2F").leads(t, "/keys?x=%2F")
	b.get("/keys").status(t, http.StatusOK)
	b.get("/login").leads(t, "/")
	b.post("/logout", "/").leads(t, "/login?out=1")
	b.get("/login?out=1").has(t, "You are logged out")
	b.get("/keys").status(t, http.StatusSeeOther)
	first.get("/keys").status(t, http.StatusOK) // another session is not touched
}

func TestLogoutEndsTheSessionInTheServer(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	u, _ := url.Parse(b.base)
	stolen := b.http.Jar.Cookies(u)
	b.post("/logout", "/").leads(t, "/login?out=1")
	thief := l.browser(l.serve(false))
	tu, _ := url.Parse(thief.base)
	thief.http.Jar.SetCookies(tu, stolen)
	if a := thief.get("/"); a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/login") {
		t.Errorf("a cookie from before the logout got %d", a.StatusCode)
	}
}

func TestSessionIsNewAtLogin(t *testing.T) {
	t.Parallel()
	l, _ := claimed(t)
	b := l.browser(l.serve(false))
	u, _ := url.Parse(b.base)
	b.http.Jar.SetCookies(u, []*http.Cookie{{Name: "larder-t", Value: "PLANTEDPLANTEDPLANTED", Path: "/"}})
	b.post("/login", "/login", "user", "admin", "password", password).leads(t, "/")
	for _, ck := range b.http.Jar.Cookies(u) {
		if ck.Name == "larder-t" && ck.Value == "PLANTEDPLANTEDPLANTED" {
			t.Error("the planted cookie became the session")
		}
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		l := newLarder(t)
		b := l.browser(l.serve(secure))
		a := b.post("/setup", "/setup", "code", l.code, "password", password, "again", password).leads(t, "/")
		name := map[bool]string{false: "larder-t", true: "__Host-larder-t"}[secure]
		found := false
		for _, ck := range a.Cookies() {
			found = found || ck.Name == name
			if ck.Secure != secure || !ck.HttpOnly || ck.SameSite != http.SameSiteStrictMode || ck.Path != "/" || ck.Domain != "" {
				t.Errorf("TLS %v: cookie %s", secure, ck.Raw)
			}
		}
		if !found {
			t.Errorf("TLS %v: no cookie %s among %v", secure, name, a.Cookies())
		}
		b.get("/").status(t, http.StatusOK)
	}
}

func TestPasswordChangeEndsEverySession(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	other := l.browser(l.serve(false))
	other.post("/login", "/login", "user", "admin", "password", password).leads(t, "/")
	const next = "another pantry with a door"
	b.post("/account", "/account", "current", "wrong wrong", "password", next, "again", next).
		status(t, http.StatusUnprocessableEntity).has(t, "This is not your password")
	b.post("/account", "/account", "current", password, "password", next, "again", next+"x").
		status(t, http.StatusUnprocessableEntity).has(t, "The two passwords differ")
	b.post("/account", "/account", "current", password, "password", "short", "again", "short").
		status(t, http.StatusUnprocessableEntity).has(t, "at least 8 characters")
	b.post("/account", "/account", "current", password, "password", next, "again", next).leads(t, "/login?changed=1")
	b.get("/").status(t, http.StatusSeeOther)
	other.get("/").status(t, http.StatusSeeOther)
	b.post("/login", "/login", "user", "admin", "password", next).leads(t, "/")
}

func TestLinkFromAnotherSiteKeepsTheSession(t *testing.T) {
	t.Parallel()
	l, _ := claimed(t)
	b := l.browser(l.serve(false))
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Referer", "http://dash.test/"}} {
		a := b.get("/buckets?a=1", header[0], header[1]).status(t, http.StatusOK)
		if got, _ := a.doc.Find(`meta[http-equiv="refresh"]`).Attr("content"); got != "0;url=/buckets?a=1" {
			t.Errorf("%s: the page leads to %q", header[0], got)
		}
	}
	b.get("/buckets", "Referer", b.base+"/").leads(t, "/login?next=%2Fbuckets")
}

func TestLoginIsLimited(t *testing.T) {
	t.Parallel()
	l, _ := claimed(t)
	b := l.browser(l.serve(false))
	token := b.token("/login")
	last := 0
	for range 40 {
		last = b.postForm("/login", url.Values{"token": {token}, "user": {"admin"}, "password": {"guess guess"}}).StatusCode
		if last == http.StatusTooManyRequests {
			break
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("forty guesses end with %d", last)
	}
}

func TestSafeNext(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/": "/", "": "/", "/keys": "/keys", "/objects?bucket=a&key=a%2F%2Fb": "/objects?bucket=a&key=a%2F%2Fb",
		"//evil.test": "/", `/\evil.test`: "/", `\\evil`: "/", "https:evil": "/", "https://evil": "/", "evil": "/",
		"javascript:alert(1)": "/", "/a\nb": "/", "/a\\b": "/", "/\tevil": "/", " /a": "/", "/" + strings.Repeat("a", 5000): "/",
	} {
		if got := web.SafeNext(next); got != want {
			t.Errorf("SafeNext(%q) = %q, want %q", next, got, want)
		}
	}
}

func TestThemeIsKept(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	b.post("/theme", "/", "theme", "dark", "next", "/buckets").leads(t, "/buckets")
	if got, _ := b.get("/").doc.Find("html").Attr("data-theme"); got != "dark" {
		t.Errorf("theme is %q", got)
	}
	b.post("/theme", "/", "theme", "", "next", "//evil.test").leads(t, "/")
	if got, _ := b.get("/").doc.Find("html").Attr("data-theme"); got != "" {
		t.Errorf("theme is %q after the way back", got)
	}
	stranger := l.browser(l.serve(false))
	stranger.post("/theme", "/login", "theme", "light", "next", "/login").leads(t, "/login")
}

func TestHostNames(t *testing.T) {
	t.Parallel()
	l := newLarder(t, func(_ *larder, cfg *web.Config, _ *admin.Config) { cfg.Hosts = []string{"nas.test"} })
	b := l.browser(l.serve(false))
	b.get("/setup").status(t, http.StatusOK) // an address
	for host, want := range map[string]int{"nas.test": 200, "NAS.test:9001": 200, "localhost:9001": 200, "[::1]:9001": 200, "evil.test": 421, "nas.test.evil.test": 421} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/setup", nil)
		req.Host = host
		resp, err := b.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, resp.StatusCode, want)
		}
	}
}

func TestFlashCannotBeForged(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	b.get("/") // takes the message of the set-up
	u, _ := url.Parse(b.base)
	b.http.Jar.SetCookies(u, []*http.Cookie{{Name: "larder-t-flash", Value: "Z29vZAphbGwgZ29uZQ.00112233445566778899aabbccddeeff", Path: "/"}})
	if a := b.get("/").status(t, http.StatusOK); strings.Contains(a.body, "all gone") {
		t.Error("a planted message was shown")
	}
}

// TestStalledForm sends half a form. When the server's patience ends, net/http
// takes the request's context away, and yet the answer is an error.
func TestStalledForm(t *testing.T) {
	t.Parallel()
	l, _ := claimed(t)
	gone := make(chan bool, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		l.web.ServeHTTP(w, r)
		gone <- r.Context().Err() != nil
	}))
	t.Cleanup(s.Close)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /login HTTP/1.1\r\nHost: nas.test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nuser=admin")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(page), "cut on the way") {
		t.Errorf("status %d, %v: %s", resp.StatusCode, err, page)
	}
	if !<-gone {
		t.Error("the context was still there, so nothing was tried")
	}
}
