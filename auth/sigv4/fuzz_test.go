package sigv4_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"larder/auth/sigv4"
)

// FuzzAuthorization looks for panics, and for signatures without all that
// Parse promises.
func FuzzAuthorization(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=a/20261130/r/s3/aws4_request,SignedHeaders=host;x-amz-date,Signature=" + strings.Repeat("0", 64))
	f.Add("AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=")
	f.Add("AWS a:b")
	f.Add("Bearer a:b")
	f.Fuzz(func(t *testing.T, value string) {
		r := signed(t, nil)
		r.Header.Set("Authorization", value)
		req, err := sigv4.Parse(r, when())
		if err != nil {
			return
		}
		if req.KeyID == "" || !req.Signs("host") || !req.Signs("x-amz-date") || len(req.Signature) != 64 {
			t.Fatalf("accepted %q as %+v", value, req)
		}
	})
}

// FuzzCanonicalQuery compares the canonical query with net/url's view.
func FuzzCanonicalQuery(f *testing.F) {
	f.Add("a=b&c=d")
	f.Add("uploads")
	f.Add("b=2&a=%20+&a=%2B&a-=x&X-Amz-Signature=1")
	f.Add("%zz")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := sigv4.ParseQuery(raw)
		if err != nil || strings.Contains(raw, ";") {
			return
		}
		values, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatalf("net/url refuses %q: %v", raw, err)
		}
		values.Del("X-Amz-Signature")
		if got, again := q.Canonical(), mustCanonical(t, q.Canonical()); got != again {
			t.Fatalf("%q: canonical %q becomes %q", raw, got, again)
		}
		if n := strings.Count(q.Canonical(), "="); n < len(values) {
			t.Fatalf("%q: lost parameters: %q", raw, q.Canonical())
		}
	})
}

func mustCanonical(t *testing.T, raw string) string {
	q, err := sigv4.ParseQuery(raw)
	if err != nil {
		t.Fatal(err)
	}
	return q.Canonical()
}

// FuzzTarget looks for targets that make Parse panic.
func FuzzTarget(f *testing.F) {
	f.Add("/b/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=1", "host")
	f.Add("/%zz", "h")
	f.Add("b?&&=", "")
	f.Fuzz(func(_ *testing.T, uri, host string) {
		r := &http.Request{Method: http.MethodGet, RequestURI: uri, Host: host, Header: http.Header{}, URL: &url.URL{}}
		_, _ = sigv4.Parse(r, when())
	})
}
