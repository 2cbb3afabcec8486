package sigv4_test

import (
	"net/http"
	"strings"
	"testing"

	"larder/auth/sigv4"
)

func TestCanonicalQuery(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                             "",
		"uploads":                      "uploads=",
		"b=2&a=1":                      "a=1&b=2",
		"a=2&a=1":                      "a=1&a=2",
		"a-b=1&a=2":                    "a=2&a-b=1",
		"prefix=a/b&marker=c d":        "marker=c%20d&prefix=a%2Fb",
		"prefix=a+b":                   "prefix=a%20b",
		"a=%7E%2a":                     "a=~%2A",
		"a=1&X-Amz-Signature=0&b":      "a=1&b=",
		"&&a=1&":                       "a=1",
		"a=b=c":                        "a=b%3Dc",
		"%C3%BC=%E2%82%AC&semi;colon=": "%C3%BC=%E2%82%AC&semi%3Bcolon=",
	} {
		q, err := sigv4.ParseQuery(raw)
		if err != nil || q.Canonical() != want {
			t.Errorf("%q: got %q, %v, want %q", raw, q.Canonical(), err, want)
		}
	}
}

func TestParseQueryRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"a=%", "%z=1", strings.Repeat("a&", sigv4.MaxParameters)} {
		if _, err := sigv4.ParseQuery(raw); err == nil {
			t.Errorf("%.20q: no error", raw)
		}
	}
}

func TestSchemeOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		target string
		header []string
		want   sigv4.Scheme
	}{
		{"/", nil, sigv4.Anonymous},
		{"/?X-Amz-Signature=0", nil, sigv4.Presigned},
		{"/?AWSAccessKeyId=a&Signature=b&Expires=1", nil, sigv4.Version2},
		{"/?Signature=b", nil, sigv4.Anonymous},
		{"/", []string{"AWS4-HMAC-SHA256 x"}, sigv4.Header},
		{"/", []string{"AWS a:b"}, sigv4.Version2},
		{"/", []string{"bearer a:b"}, sigv4.Bearer},
		{"/", []string{"Digest a"}, sigv4.Other},
		{"/", []string{""}, sigv4.Other},
		{"/", []string{"Bearer a", "Bearer b"}, sigv4.Several},
		{"/?X-Amz-Credential=0", []string{"Bearer a"}, sigv4.Several},
	} {
		r := newRequest(t, http.MethodGet, tc.target, nil)
		r.Header["Authorization"] = tc.header
		if tc.header == nil {
			delete(r.Header, "Authorization")
		}
		if got := sigv4.SchemeOf(r); got != tc.want {
			t.Errorf("%s %q: scheme %d, want %d", tc.target, tc.header, got, tc.want)
		}
	}
}
