package s3_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"larder/auth"
	"larder/s3"
)

// CVE-2026-54917: a key of one bucket reaches no other one,
// however its path is written.
func TestDotsReachNoOtherBucket(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.bucket("secret")
	s.put("/secret/k", "secret")
	key := s.newKey(auth.Grant{Bucket: "pics", Rights: auth.ReadWrite})
	for _, path := range []string{"/pics/../secret/k", "/pics/%2e%2e/secret/k", "/pics/%2e%2e%2fsecret%2fk", "/pics/..%5csecret/k", "/pics/./../secret/k"} {
		s.refused(404, "NoSuchKey", request{method: "GET", target: path, as: &key})
		s.want(200, request{method: "PUT", target: path, body: "mine", as: &key})
		s.want(204, request{method: "DELETE", target: path, as: &key})
	}
	for _, path := range []string{"/pics%2F..%2Fsecret/k", "//secret/k", "/pics%2f/k"} {
		s.refused(400, "InvalidBucketName", request{method: "GET", target: path, as: &key})
	}
	s.refused(403, "AccessDenied", request{method: "GET", target: "/secret/k", as: &key})
	s.holds("/secret/k", "secret")
}

// CVE-2026-35605: a prefix ends at a slash.
func TestPrefixGrantsEndAtASlash(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	key := s.newKey(auth.Grant{Bucket: "pics", Prefix: "photos/", Rights: auth.ReadWrite})
	s.want(200, request{method: "PUT", target: "/pics/photos/x", body: "x", as: &key})
	for _, target := range []string{"/pics/photos2/x", "/pics/photos", "/pics/Photos/x", "/pics/a"} {
		s.refused(403, "AccessDenied", request{method: "PUT", target: target, body: "x", as: &key})
		s.refused(403, "AccessDenied", request{method: "GET", target: target, as: &key})
	}
	for _, query := range []string{"", "prefix=", "prefix=p", "prefix=photos2/", "delimiter=/"} {
		s.refused(403, "AccessDenied", request{method: "GET", target: "/pics?" + query, as: &key})
	}
	s.want(200, request{method: "GET", target: "/pics?prefix=photos/", as: &key})
}

// CVE-2022-31028: failures are limited, with an answer that
// makes SDKs wait.
func TestFailuresAreLimited(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for i := range 200 {
		r := s.build(request{method: "GET", target: "/", anonymous: true, header: map[string]string{"Authorization": fmt.Sprintf("Bearer %s:guess-%d", s.key.id, i)}})
		a := s.direct(r, "192.0.2.7:99")
		if a.status == 503 {
			if a.code() != "SlowDown" || a.header.Get("Retry-After") == "" {
				t.Error(a)
			}
			s.want(200, request{method: "GET", target: "/"}) // others go on
			return
		}
		if a.status != 403 {
			t.Fatal(a)
		}
	}
	t.Error("200 guesses were not limited")
}

// CORS is planned; until then a preflight is refused without side effects.
func TestPreflightIsRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	a := s.refused(403, "AccessForbidden", request{method: "OPTIONS", target: "/pics/k", anonymous: true,
		header: map[string]string{"Origin": "http://evil", "Access-Control-Request-Method": "PUT"}})
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Error(name)
		}
	}
}

// Deleting what is not there succeeds, but not when it should have an ETag.
func TestConditionalDeleteOfNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.refused(404, "NoSuchKey", request{method: "DELETE", target: "/pics/k", header: map[string]string{"If-Match": `"e"`}})
}

// Names of headers that clients compare byte for byte.
func TestETagIsSpelledAsOnAWS(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for _, q := range []request{{method: "PUT", target: "/pics/k"}, {method: "GET", target: "/pics/k"}} {
		w := s.dial(t)
		w.write(s.rawHead(q, 0))
		var head strings.Builder
		for line := ""; line != "\r\n"; {
			line, _ = w.r.ReadString('\n')
			if line == "" {
				t.Fatal("no head")
			}
			head.WriteString(line)
		}
		if !strings.Contains(head.String(), "\r\nETag: \"") {
			t.Error(head.String())
		}
	}
}

// The server is told what its http.Server should be set to.
func TestLimitsForTheListener(t *testing.T) {
	t.Parallel()
	if s3.MaxHeaderBytes != 32<<10 || s3.ReadHeaderTimeout.Seconds() > 10 || s3.IdleTimeout.Minutes() < 2 {
		t.Error("limits have changed")
	}
	s := newStack(t)
	a := s.send(request{method: "GET", target: "/", anonymous: true, change: func(r *http.Request) {
		r.Header.Set("X-Large", strings.Repeat("x", 1<<20))
	}})
	if a.status != 431 {
		t.Error(a.status)
	}
}

// Two lines of one metadata name are joined in the signature
// and in use.
func TestRepeatedMetadataIsJoined(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	r := s.build(request{method: "PUT", target: "/pics/k", anonymous: true})
	r.Header["X-Amz-Meta-A"] = []string{" one  two ", "three"}
	s.sign(r, request{})
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := s.head("/pics/k").header.Get("X-Amz-Meta-A"); resp.StatusCode != 200 || got != "one  two,three" {
		t.Errorf("%s: %q", resp.Status, got)
	}
}
