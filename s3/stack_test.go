package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"larder/auth"
	"larder/auth/sigv4"
	"larder/gate"
	"larder/s3"
	"larder/store"
)

// stack is the whole of Larder behind one S3 listener: a real store, real
// identities, the real gate and real sockets.
type stack struct {
	t      testing.TB
	url    string
	server *s3.Server
	http   *httptest.Server
	auth   *auth.Auth
	dir    string
	key    keyPair // with full rights
	client *http.Client
}

type keyPair struct{ id, secret string }

type options struct {
	tls    bool
	config func(*s3.Config)
	store  func(*store.Config)
}

// newStack starts a stack over plain HTTP.
func newStack(t testing.TB) *stack { return startStack(t, options{}) }

func startStack(t testing.TB, o options) *stack {
	t.Helper()
	dir := t.TempDir()
	cfg := store.Config{Dir: dir, SegmentSize: 4 << 20}
	if o.store != nil {
		o.store(&cfg)
	}
	st, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	au, err := auth.Open(t.Context(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32), BcryptCost: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t, auth: au, dir: dir}
	s.key = s.newKey(auth.Grant{Bucket: "*", Rights: auth.Full})
	sc := s3.Config{Gate: gate.New(gate.Config{Store: st, Guard: au.Guard()}), Auth: au}
	if o.config != nil {
		o.config(&sc)
	}
	s.server = s3.New(sc)
	s.listen(o.tls)
	t.Cleanup(func() {
		s.http.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if err := au.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stack) listen(tls bool) {
	s.http = httptest.NewUnstartedServer(s.server)
	s.http.Config.MaxHeaderBytes = s3.MaxHeaderBytes
	s.http.Config.ReadHeaderTimeout = s3.ReadHeaderTimeout
	if tls {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	s.url = s.http.URL
	s.client = s.http.Client()
	s.client.Transport.(*http.Transport).DisableCompression = true
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func (s *stack) newKey(grants ...auth.Grant) keyPair {
	s.t.Helper()
	k, secret, err := s.auth.CreateKey(context.Background(), auth.KeySpec{Name: "test", Grants: grants})
	if err != nil {
		s.t.Fatal(err)
	}
	return keyPair{k.ID, secret.Reveal()}
}

// answer is a response that has been read.
type answer struct {
	status int
	header http.Header
	body   string
}

// code is the Code of an error document.
func (a answer) code() string {
	var doc struct{ Code string }
	_ = xml.Unmarshal([]byte(a.body), &doc)
	return doc.Code
}

// request describes a request for send. Everything has a default.
type request struct {
	method, target string
	header         map[string]string
	body           string
	payload        string // x-amz-content-sha256; "" = the body's digest
	as             *keyPair
	anonymous      bool
	at             time.Time
	region         string
	change         func(*http.Request) // after signing
}

// send signs a request with the AWS SDK's signer and sends it.
func (s *stack) send(q request) answer {
	s.t.Helper()
	resp, err := s.client.Do(s.build(q))
	if err != nil {
		s.t.Fatalf("%s %s: %v", q.method, q.target, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", q.method, q.target, err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func (s *stack) build(q request) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), q.method, s.url+"/", strings.NewReader(q.body))
	if err != nil {
		s.t.Fatal(err)
	}
	path, query, _ := strings.Cut(q.target, "?")
	r.URL.RawPath, r.URL.RawQuery = path, query
	if r.URL.Path, err = url.PathUnescape(path); err != nil {
		s.t.Fatal(err)
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	if !q.anonymous {
		s.sign(r, q)
	}
	if q.change != nil {
		q.change(r)
	}
	return r
}

func (s *stack) sign(r *http.Request, q request) {
	s.t.Helper()
	key, at, region, payload := s.key, q.at, q.region, q.payload
	if q.as != nil {
		key = *q.as
	}
	if at.IsZero() {
		at = time.Now()
	}
	if region == "" {
		region = "us-east-1"
	}
	if payload == "" {
		sum := sha256.Sum256([]byte(q.body))
		payload = hex.EncodeToString(sum[:])
	}
	r.Header.Set("X-Amz-Content-Sha256", payload)
	err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(
		context.Background(), aws.Credentials{AccessKeyID: key.id, SecretAccessKey: key.secret}, r, payload, "s3", region, at)
	if err != nil {
		s.t.Fatal(err)
	}
}

// want sends and demands a status.
func (s *stack) want(status int, q request) answer {
	s.t.Helper()
	a := s.send(q)
	if a.status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", q.method, q.target, a.status, status, a.body)
	}
	return a
}

// refused sends and demands an error.
func (s *stack) refused(status int, code string, q request) answer {
	s.t.Helper()
	a := s.send(q)
	if a.status != status || a.code() != code {
		s.t.Errorf("%s %s: %d %s, want %d %s: %s", q.method, q.target, a.status, a.code(), status, code, a.body)
	}
	return a
}

func (s *stack) bucket(name string) {
	s.t.Helper()
	s.want(200, request{method: "PUT", target: "/" + name})
}

// put stores an object; target is escaped.
func (s *stack) put(target, body string, header ...string) answer {
	s.t.Helper()
	return s.want(200, request{method: "PUT", target: target, body: body, header: pairs(header)})
}

func (s *stack) get(target string, header ...string) answer {
	s.t.Helper()
	return s.send(request{method: "GET", target: target, header: pairs(header)})
}

func (s *stack) head(target string, header ...string) answer {
	s.t.Helper()
	return s.send(request{method: "HEAD", target: target, header: pairs(header)})
}

// holds demands that an object has a body.
func (s *stack) holds(target, body string) {
	s.t.Helper()
	if a := s.get(target); a.status != 200 || a.body != body {
		s.t.Errorf("%s: %d with %d bytes, want %d", target, a.status, len(a.body), len(body))
	}
}

// gone demands that there is no object.
func (s *stack) gone(target string) {
	s.t.Helper()
	if a := s.get(target); a.status != 404 || a.code() != "NoSuchKey" {
		s.t.Errorf("%s: %d %s, want NoSuchKey", target, a.status, a.code())
	}
}

func pairs(list []string) map[string]string {
	m := make(map[string]string)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// blobs counts the files of large bodies.
func (s *stack) blobs() (n int) {
	s.t.Helper()
	_ = filepath.WalkDir(filepath.Join(s.dir, "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(d.Name()) == 32 {
			n++
		}
		return nil
	})
	return n
}

// link makes a presigned link.
func (s *stack) link(method, bucket, key string, query map[string]string) string {
	s.t.Helper()
	text, err := sigv4.Presign(sigv4.Link{
		Method: method, Base: s.url, Bucket: bucket, Key: key, Query: query,
		KeyID: s.key.id, Time: time.Now(), Expires: time.Hour,
	}, s.key.secret)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// follow sends a request to an address, without credentials of its own.
func (s *stack) follow(method, address, body string) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(got)}
}

func escape(key string) string { return strings.ReplaceAll(url.PathEscape(key), "+", "%2B") }

func strconvItoa(n int) string { return strconv.Itoa(n) }
