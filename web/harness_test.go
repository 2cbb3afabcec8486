package web_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/crypto/bcrypt"

	"larder/admin"
	"larder/auth"
	"larder/gate"
	"larder/scrubber"
	"larder/store"
	"larder/web"
)

const password = "a pantry with a door"

// larder is a console over the real store, gate, auth and admin in a folder of
// the test's own.
type larder struct {
	t     *testing.T
	store *store.Store
	auth  *auth.Auth
	gate  *gate.Gate
	admin *admin.Service
	web   *web.Console
	log   *bytes.Buffer
	code  string // of set-up
	dir   string // the data folder

	scrubber *scrubber.Scrubber // whose passes the tests run

	release chan struct{} // until it is closed, bodies of keys that end with .held stop after a MiB
}

// held is a body that stops in the middle until it is released.
type held struct {
	io.ReadCloser
	left    int
	release <-chan struct{}
}

func (h *held) Read(p []byte) (int, error) {
	if h.left <= 0 {
		<-h.release
	}
	n, err := h.ReadCloser.Read(p)
	h.left -= n
	return n, err
}

func (l *larder) hold(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Query().Get("key"), ".held") {
		r.Body = &held{ReadCloser: r.Body, left: 1 << 20, release: l.release}
	}
	l.web.ServeHTTP(w, r)
}

// statFunc lets a test say what the store reports about the disk.
type statFunc func() store.Stats

func (f statFunc) Stats() store.Stats { return f() }

type option func(*larder, *web.Config, *admin.Config)

func newLarder(t *testing.T, options ...option) *larder {
	t.Helper()
	dir := t.TempDir()
	l := &larder{t: t, log: &bytes.Buffer{}, release: make(chan struct{})}
	var err error
	if l.store, err = store.Open(t.Context(), store.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.store.Close() })
	l.auth, err = auth.Open(context.Background(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32), BcryptCost: bcrypt.MinCost,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.auth.Close() })
	l.gate = gate.New(gate.Config{Store: l.store, Guard: l.auth.Guard()})
	l.dir = dir
	if l.scrubber, err = scrubber.New(t.Context(), scrubber.Config{Store: l.store}); err != nil {
		t.Fatal(err)
	}
	control := admin.Config{Auth: l.auth, Store: l.store, Scrubber: l.scrubber, Version: "1.2.3", Started: time.Now()}
	cfg := web.Config{
		Gate: l.gate, Auth: l.auth, Version: "1.2.3", CertFingerprint: "AB:CD:EF", Instance: "t",
		S3URL: func(r *http.Request) string { return "http://nas.test:9000" },
		Log:   slog.New(slog.NewTextHandler(l.log, nil)),
	}
	for _, o := range options {
		o(l, &cfg, &control)
	}
	l.admin = admin.New(control)
	cfg.Admin = l.admin
	if l.web, err = web.New(cfg); err != nil {
		t.Fatal(err)
	}
	l.code = l.auth.NewSetupCode()
	return l
}

// serve puts the console on a socket. tls chooses the scheme.
func (l *larder) serve(secure bool) *httptest.Server {
	var s *httptest.Server
	if secure {
		s = httptest.NewTLSServer(http.HandlerFunc(l.hold))
	} else {
		s = httptest.NewServer(http.HandlerFunc(l.hold))
	}
	l.t.Cleanup(s.Close)
	return s
}

// browser is an HTTP client that keeps cookies, sends Origin as browsers do,
// and follows redirects only when told.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func (l *larder) browser(s *httptest.Server) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return &browser{t: l.t, base: s.URL, http: &http.Client{
		Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       20 * time.Second,
	}}
}

// answer is a read response.
type answer struct {
	*http.Response
	body string
	doc  *goquery.Document
}

func (b *browser) do(method, path string, body io.Reader, header ...string) *answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if method != http.MethodGet && method != http.MethodHead {
		req.Header.Set("Origin", b.base)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	page := text
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		page = nil
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{Response: resp, body: string(text), doc: doc}
}

func (b *browser) get(path string, header ...string) *answer {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil, header...)
}

// token is the form token of a page.
func (b *browser) token(path string) string {
	b.t.Helper()
	token, ok := b.get(path).doc.Find(`input[name="token"]`).First().Attr("value")
	if !ok {
		b.t.Fatalf("no form on %s", path)
	}
	return token
}

// post sends a form with the token of the page at "from".
func (b *browser) post(path, from string, fields ...string) *answer {
	b.t.Helper()
	form := url.Values{"token": {b.token(from)}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.postForm(path, form)
}

func (b *browser) postForm(path string, form url.Values, header ...string) *answer {
	b.t.Helper()
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)
	return b.do(http.MethodPost, path, strings.NewReader(form.Encode()), header...)
}

// status fails the test unless the answer has the status.
func (a *answer) status(t *testing.T, want int) *answer {
	t.Helper()
	if a.StatusCode != want {
		t.Fatalf("%s %s: status %d, want %d\n%s", a.Request.Method, a.Request.URL, a.StatusCode, want, a.doc.Find("main").Text())
	}
	return a
}

// leads fails the test unless the answer sends the browser to the path.
func (a *answer) leads(t *testing.T, want string) *answer {
	t.Helper()
	a.status(t, http.StatusSeeOther)
	if got := a.Header.Get("Location"); got != want {
		t.Fatalf("%s %s leads to %q, want %q", a.Request.Method, a.Request.URL, got, want)
	}
	return a
}

func (a *answer) main() string { return strings.Join(strings.Fields(a.doc.Find("main").Text()), " ") }

// has fails the test unless the page's main part shows the text.
func (a *answer) has(t *testing.T, text string) *answer {
	t.Helper()
	if !strings.Contains(a.main(), text) {
		t.Fatalf("%s %s does not show %q:\n%s", a.Request.Method, a.Request.URL, text, a.main())
	}
	return a
}

// setUp claims the Larder and leaves the browser logged in as admin.
func (b *browser) setUp(l *larder) *browser {
	b.t.Helper()
	b.post("/setup", "/setup", "code", l.code, "password", password, "again", password).leads(b.t, "/")
	return b
}

// claimed is a Larder with its administrator's browser.
func claimed(t *testing.T, options ...option) (*larder, *browser) {
	t.Helper()
	l := newLarder(t, options...)
	return l, l.browser(l.serve(false)).setUp(l)
}

// put stores an object beside the console.
func (l *larder) put(bucket, key, body string) {
	l.t.Helper()
	_, err := l.gate.Put(l.t.Context(), l.auth.Local(), store.PutRequest{
		Bucket: bucket, Key: key, Body: strings.NewReader(body), Size: int64(len(body)),
		Meta: store.Meta{Headers: store.Headers{ContentType: "text/html"}, User: map[string]string{"who": "<b>me</b>"}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *larder) bucket(name string) {
	l.t.Helper()
	if _, err := l.gate.CreateBucket(l.t.Context(), l.auth.Local(), name); err != nil {
		l.t.Fatal(err)
	}
}

// keys lists everything in a bucket, quoted, for comparison.
func (l *larder) keys(bucket string) string {
	l.t.Helper()
	page, err := l.gate.List(l.t.Context(), l.auth.Local(), store.ListRequest{Bucket: bucket, Max: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, o := range page.Objects {
		out = append(out, fmt.Sprintf("%q", o.Key))
	}
	return strings.Join(out, " ")
}

func at(path, bucket, key string) string {
	return path + "?bucket=" + url.QueryEscape(bucket) + "&key=" + url.QueryEscape(key)
}
