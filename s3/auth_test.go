package s3_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"larder/auth"
	"larder/auth/sigv4"
	"larder/s3"
)

// rowRequest makes a request that a route serves, but for who sends it.
func rowRequest(r s3.Row) request {
	q := request{method: r.Method, target: "/", header: map[string]string{}}
	if q.method == "" {
		q.method = "PUT"
	}
	switch r.Level {
	case 1:
		q.target = "/pics"
	case 2:
		q.target = "/pics/k"
	}
	if r.Selector != "" {
		q.target += "?" + r.Selector
	} else if r.Op == s3.NotImplemented {
		q.target += "?made-up"
	}
	if r.Selector == "uploadId" {
		q.target += "=abc&partNumber=1"
	}
	if r.Copies {
		q.header["x-amz-copy-source"] = "/secret/k"
	}
	if q.method == "PUT" || q.method == "POST" {
		q.body = "<x/>"
		q.header["Content-Md5"] = contentMD5(q.body)
	}
	return q
}

// impostor is a way to lack the right to a request.
type impostor struct {
	name  string
	sent  func(*stack, *request) // before signing
	after func(*http.Request)    // after it
}

func impostors() []impostor {
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	edit := func(from, to string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), from, to, 1))
		}
	}
	nobody := func(_ *stack, q *request) { q.anonymous = true }
	query := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&"+text, "&") }
	}
	today := time.Now().UTC().Format("20060102")
	forged := "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=" + time.Now().UTC().Format(sigv4.TimeFormat) + "&X-Amz-Expires=60&X-Amz-SignedHeaders=host" +
		"&X-Amz-Signature=" + strings.Repeat("0", 64) + "&X-Amz-Credential=KEY%2F" + today + "%2Fus-east-1%2Fs3%2Faws4_request"
	return []impostor{
		{"nobody", nobody, nil},
		{"a wrong secret", func(_ *stack, q *request) { q.as = &keyPair{"KEY", "guess"} }, nil},
		{"an unknown key", func(_ *stack, q *request) { q.as = &keyPair{"AKNOBODY", "guess"} }, nil},
		{"an invented signature", nil, func(r *http.Request) {
			head, _, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
			r.Header.Set("Authorization", head+"Signature="+strings.Repeat("0", 64))
		}},
		{"version 2", nobody, header("Authorization", "AWS KEY:c2lnbmF0dXJl")},
		{"version 2 in the query", nobody, query("AWSAccessKeyId=KEY&Signature=x&Expires=9999999999")},
		{"an empty header", nobody, header("Authorization", "")},
		{"two headers", nil, func(r *http.Request) { r.Header.Add("Authorization", "Bearer x:y") }},
		{"header and query", nil, query(forged)},
		{"a forged link", nobody, query(forged)},
		{"a wrong bearer", nobody, header("Authorization", "Bearer KEY:guess")},
		{"half a bearer", nobody, header("Authorization", "Bearer KEY")},
		{"basic", nobody, header("Authorization", "Basic S0VZOmd1ZXNz")},
		{"another algorithm", nil, edit("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")},
		{"another region", nil, edit("us-east-1", "eu-west-1")},
		{"another service", nil, edit("/s3/", "/iam/")},
		{"an old request", func(_ *stack, q *request) { q.at = time.Now().Add(-16 * time.Minute) }, nil},
		{"a request from the future", func(_ *stack, q *request) { q.at = time.Now().Add(16 * time.Minute) }, nil},
		{"a session token", nil, header("X-Amz-Security-Token", "token")},
		{"an added header", nil, header("X-Amz-Meta-Added", "x")},
		{"another path", nil, func(r *http.Request) { r.URL.Path += "x"; r.URL.RawPath = "" }},
		{"another query", nil, query("versionId=null")},
		{"an unsigned stream", nobody, header("X-Amz-Content-Sha256", sigv4.UnsignedChunksAndTrailer)},
		{"a forged link and an unsigned stream", nobody, func(r *http.Request) { // CVE-2026-41145
			query(forged)(r)
			header("X-Amz-Content-Sha256", sigv4.UnsignedChunksAndTrailer)(r)
		}},
	}
}

// Every route refuses every kind of bad credentials, and nothing happens.
func TestEveryRouteRefusesEveryImpostor(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fillForMatrix()
	count := 0
	for _, row := range s3.Rows() {
		for _, im := range impostors() {
			q := rowRequest(row)
			if im.sent != nil {
				im.sent(s, &q)
			}
			if q.as != nil && q.as.id == "KEY" {
				q.as.id = s.key.id
			}
			r := s.build(q)
			if im.after != nil {
				im.after(r)
			}
			s.withKeyID(r)
			count++
			a := s.direct(r, fmt.Sprintf("10.%d.%d.1:99", count/200, count%200))
			if a.status != 403 && a.status != 400 || q.method == "HEAD" && a.body != "" || q.method != "HEAD" && a.code() == "" {
				t.Errorf("%s by %s: %d %s", row.Name, im.name, a.status, a.body)
			}
		}
	}
	s.checkMatrix()
	t.Logf("%d requests refused", count)
	if count < 900 {
		t.Error("the matrix has shrunk")
	}
}

// withKeyID puts the real key's id where an impostor knows it.
func (s *stack) withKeyID(r *http.Request) {
	if v := r.Header.Get("Authorization"); strings.Contains(v, "KEY") {
		r.Header["Authorization"][0] = strings.Replace(v, "KEY", s.key.id, 1)
	}
	r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "KEY", s.key.id, 1)
}

func (s *stack) fillForMatrix() {
	s.bucket("pics")
	s.bucket("secret")
	s.put("/pics/k", "kept")
	s.put("/secret/k", "secret")
}

func (s *stack) checkMatrix() {
	s.t.Helper()
	s.holds("/pics/k", "kept")
	if l := s.list(""); len(l.Contents) != 1 {
		s.t.Errorf("the bucket holds %v", l.keys())
	}
	if body := s.want(200, request{method: "GET", target: "/pics?uploads"}).body; strings.Contains(body, "<Upload>") {
		s.t.Error(body)
	}
}

// A key of another bucket may do nothing here, and learns nothing.
func TestEveryRouteRefusesAPowerlessKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fillForMatrix()
	other := s.newKey(auth.Grant{Bucket: "elsewhere", Rights: auth.ReadWrite})
	for _, row := range s3.Rows() {
		q := rowRequest(row)
		q.as = &other
		if row.Op == s3.DeleteObjects {
			q.body = "<Delete><Object><Key>k</Key></Object></Delete>"
			q.header["Content-Md5"] = contentMD5(q.body)
			if a := s.want(200, q); !strings.Contains(a.body, "<Code>AccessDenied</Code>") {
				t.Error(a.body)
			}
			continue
		}
		if row.Op == s3.ListBuckets {
			if a := s.want(200, q); strings.Contains(a.body, "<Bucket>") {
				t.Error("a powerless key sees buckets:", a.body)
			}
			continue
		}
		if a := s.send(q); a.status != 403 {
			t.Errorf("%s: %d %s", row.Name, a.status, a.body)
		}
	}
	for _, target := range []string{"/none", "/none/k", "/pics/none"} { // no existence oracle
		s.refused(403, "AccessDenied", request{method: "GET", target: target, as: &other})
	}
	s.checkMatrix()
}

// CVE-2026-39360: a copy is a read of its source.
func TestCopyNeedsTheRightToRead(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fillForMatrix()
	writer := s.newKey(auth.Grant{Bucket: "pics", Rights: auth.Full})
	id := s.create("/pics/up")
	for _, target := range []string{"/pics/stolen", "/pics/up?partNumber=1&uploadId=" + id} {
		s.refused(403, "AccessDenied", request{method: "PUT", target: target, as: &writer, header: map[string]string{"x-amz-copy-source": "secret/k"}})
	}
}

func TestAppendOnlyKeys(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	key := s.newKey(auth.Grant{Bucket: "pics", Rights: auth.AppendOnly})
	s.want(200, request{method: "PUT", target: "/pics/data/1", body: "a", as: &key})
	s.refused(403, "AccessDenied", request{method: "PUT", target: "/pics/data/1", body: "b", as: &key})
	s.refused(403, "AccessDenied", request{method: "DELETE", target: "/pics/data/1", as: &key})
	s.want(200, request{method: "PUT", target: "/pics/locks/1", body: "a", as: &key})
	s.want(204, request{method: "DELETE", target: "/pics/locks/1", as: &key})
	s.holds("/pics/data/1", "a")
}

// Clients that cannot be told a region (minio-java#289) send any region, also none that AWS has.
func TestAnyRegion(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for _, region := range []string{"us-east-1", "eu", "auto", "garage", "made-up-region"} {
		s.want(200, request{method: "GET", target: "/", region: region})
		s.want(200, request{method: "HEAD", target: "/pics", region: region})
		s.want(200, request{method: "GET", target: "/pics?location", region: region})
	}
}

// s3cmd (minio#987) and old backup boxes speak version 2: clients fall back to version 4 when they are told so.
func TestVersion2IsToldToUseVersion4(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	a := s.refused(400, "InvalidRequest", request{method: "GET", target: "/", anonymous: true,
		header: map[string]string{"Authorization": "AWS AKID:c2ln", "Date": time.Now().UTC().Format(http.TimeFormat)}})
	if !strings.Contains(a.body, "AWS4-HMAC-SHA256") {
		t.Error(a.body)
	}
}

// Proxies change or drop an Accept-Encoding that was signed, litestream#1424.
func TestAcceptEncodingChangedOnTheWay(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, arrives := range []string{"gzip", "gzip, br", "identity"} {
		s.want(200, request{method: "GET", target: "/", header: map[string]string{"Accept-Encoding": "identity"},
			change: func(r *http.Request) { r.Header.Set("Accept-Encoding", arrives) }})
	}
	a := s.refused(403, "SignatureDoesNotMatch", request{method: "GET", target: "/", header: map[string]string{"Accept-Encoding": "zstd"},
		change: func(r *http.Request) { r.Header.Set("Accept-Encoding", "br") }})
	if !strings.Contains(a.body, "accept-encoding") {
		t.Error(a.body)
	}
}

func TestErrorCodesOfSignatures(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	q := request{method: "GET", target: "/"}
	with := func(f func(*request)) request { c := q; f(&c); return c }
	s.refused(403, "AccessDenied", with(func(q *request) { q.anonymous = true }))
	s.refused(403, "InvalidAccessKeyId", with(func(q *request) { q.as = &keyPair{"AKNOBODY", "x"} }))
	s.refused(403, "SignatureDoesNotMatch", with(func(q *request) { q.as = &keyPair{s.key.id, "x"} }))
	s.refused(403, "RequestTimeTooSkewed", with(func(q *request) { q.at = time.Now().Add(-time.Hour) }))
	s.refused(400, "InvalidToken", with(func(q *request) { q.header = map[string]string{"X-Amz-Security-Token": "t"} }))
	s.refused(400, "InvalidRequest", with(func(q *request) {
		q.change = func(r *http.Request) {
			r.Header.Del("X-Amz-Content-Sha256")
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "x-amz-content-sha256;", "", 1))
		}
	}))
	s.refused(400, "AuthorizationHeaderMalformed", with(func(q *request) {
		q.change = func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "Credential=", "Credentials=", 1))
		}
	}))
}

func TestBearer(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	good := bearer(s.key.id + ":" + s.key.secret)
	s.want(200, request{method: "PUT", target: "/pics", anonymous: true, change: good})
	s.want(200, request{method: "PUT", target: "/pics/k", body: "hello", anonymous: true, change: good})
	s.holds("/pics/k", "hello")
	if a := s.want(200, request{method: "GET", target: "/pics/k?response-content-type=a%2Fb", anonymous: true, change: good}); a.header.Get("Content-Type") != "a/b" {
		t.Error(a.header)
	}
	digest := func(r *http.Request) { good(r); r.Header.Set("X-Amz-Content-Sha256", strings.Repeat("0", 64)) }
	s.refused(400, "XAmzContentSHA256Mismatch", request{method: "PUT", target: "/pics/k", body: "x", anonymous: true, change: digest})
	signed := func(r *http.Request) { good(r); r.Header.Set("X-Amz-Content-Sha256", sigv4.SignedChunks) }
	s.refused(400, "InvalidRequest", request{method: "PUT", target: "/pics/k", body: "x", anonymous: true, change: signed})
	s.refused(400, "AuthorizationHeaderMalformed", request{method: "GET", target: "/", anonymous: true, change: bearer("nocolon")})
	if a := s.send(request{method: "GET", target: "/", anonymous: true, change: bearer(s.key.id + ":wrong")}); a.status != 403 {
		t.Error(a)
	}
	s.holds("/pics/k", "hello")
}

// Links of the server's own making.
func TestPresignedLinks(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	if a := s.follow("PUT", s.link("PUT", "pics", "a b/ü+", nil), "hello"); a.status != 200 {
		t.Fatal(a)
	}
	get := s.link("GET", "pics", "a b/ü+", map[string]string{"response-content-disposition": "attachment"})
	if a := s.follow("GET", get, ""); a.body != "hello" || a.header.Get("Content-Disposition") != "attachment" {
		t.Fatal(a)
	}
	for name, link := range map[string]string{
		"key":     strings.Replace(get, "a%20b", "a%20c", 1),
		"value":   strings.Replace(get, "=attachment", "=inline", 1),
		"version": get + "&versionId=null",
		"upload":  get + "&uploadId=1",
		"secret":  strings.Replace(get, "/pics/", "/secret/", 1),
	} {
		if a := s.follow("GET", link, ""); a.status != 403 || a.code() != "SignatureDoesNotMatch" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.follow("DELETE", get, ""); a.status != 403 {
		t.Error(a)
	}
	if err := s.auth.SetKeyDisabled(t.Context(), s.key.id, true); err != nil {
		t.Fatal(err)
	}
	if a := s.follow("GET", get, ""); a.status != 403 {
		t.Error("the link of a disabled key works:", a)
	}
}

// SDKs move x-amz-* headers into the query of a link. They count there, and
// are under the signature.
func TestPresignedHeadersInTheQuery(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	good := s.link("PUT", "pics", "k", map[string]string{"x-amz-meta-a": "b", "X-Amz-Checksum-Crc32": crc32Of("hello")})
	if a := s.follow("PUT", good, "hullo"); a.code() != "BadDigest" {
		t.Error(a)
	}
	if a := s.follow("PUT", good, "hello"); a.status != 200 || s.head("/pics/k").header.Get("X-Amz-Meta-A") != "b" {
		t.Error(a)
	}
	hashed := s.link("PUT", "pics", "k", map[string]string{"X-Amz-Content-Sha256": strings.Repeat("0", 64)})
	if a := s.follow("PUT", hashed, "x"); a.status == 200 {
		t.Error("a digest in the query was passed over")
	}
	lock := s.link("PUT", "pics", "k", map[string]string{"x-amz-object-lock-mode": "COMPLIANCE"})
	if a := s.follow("PUT", lock, "x"); a.status != 501 {
		t.Error("a lock in the query was passed over:", a)
	}
	for _, name := range []string{"x-amz-meta-a\r\nSet-Cookie: b", "x-amz-meta-a:b", "x-amz-meta- ", "x-amz-meta-ü", "x-amz-meta-<b>"} {
		if a := s.follow("PUT", s.link("PUT", "pics", "k", map[string]string{name: "v"}), "x"); a.code() != "InvalidArgument" {
			t.Errorf("%q as the name of metadata: %d %s", name, a.status, a.body)
		}
	}
	s.holds("/pics/k", "hello")
}

// A flood of parameters costs nothing.
func TestFloodsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, target := range []string{"/?" + strings.Repeat("a&", 10_000), "/" + strings.Repeat("x", 64<<10)} {
		r, _ := http.NewRequest("GET", s.url+target, nil)
		resp, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Error(resp.Status)
		}
	}
	many := url.Values{}
	for i := range 200 {
		many.Set(fmt.Sprint(i), "")
	}
	s.refused(400, "InvalidURI", request{method: "GET", target: "/?" + many.Encode()})
}
