package s3

import (
	"net"
	"net/url"
	"strings"
	"unicode/utf8"

	"larder/store"
)

// target is what a request is for: the service when bucket is "", a bucket
// when key is "", else an object. Authorization and storage both take this
// value and no other.
type target struct {
	bucket, key string
	virtual     bool // the bucket stood in the host
}

// parseTarget reads a target from the host and the escaped path as sent. It is
// the only place that does. Nothing is cleaned: dots and slashes in a key are
// data. An escaped slash in the bucket's segment stays part of a name that no
// bucket can have.
func (s *Server) parseTarget(host, rawPath string) (target, error) {
	if rawPath == "" || rawPath[0] != '/' {
		return target{}, refuse(invalidURI, "")
	}
	rest := rawPath[1:]
	if bucket, ok := s.bucketOfHost(host); ok {
		key, err := unescapeKey(rest)
		return target{bucket: bucket, key: key, virtual: true}, err
	}
	if rest == "" {
		return target{}, nil
	}
	rawBucket, rawKey, _ := strings.Cut(rest, "/")
	bucket, err := url.PathUnescape(rawBucket)
	if err != nil || !bucketLike(bucket) {
		return target{bucket: "", key: ""}, refuse(invalidBucketName, "")
	}
	key, err := unescapeKey(rawKey)
	return target{bucket: bucket, key: key}, err
}

// bucketLike refuses what cannot be the name of a bucket at all, so that later
// code never sees slashes or control characters there. The store has the exact
// rule.
func bucketLike(name string) bool {
	if name == "" || len(name) > 255 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`/\"'<>&?#%`, c) >= 0 {
			return false
		}
	}
	return true
}

// unescapeKey decodes a key and enforces the limits that hold for every
// operation.
func unescapeKey(raw string) (string, error) {
	key, err := url.PathUnescape(raw)
	if err != nil {
		return "", refuse(invalidURI, "")
	}
	return key, checkKey(key)
}

func checkKey(key string) error {
	switch {
	case len(key) > store.MaxKeyBytes:
		return refuse(keyTooLong, "")
	case !utf8.ValidString(key):
		return refuse(invalidURI, "A key must be valid UTF-8.")
	case strings.IndexByte(key, 0) >= 0:
		return refuse(invalidURI, "A key must not hold NUL characters.")
	}
	return nil
}

// bucketOfHost finds the bucket in a host of virtual-host style.
func (s *Server) bucketOfHost(host string) (string, bool) {
	host = strings.ToLower(host)
	bare := withoutPort(host)
	for _, domain := range s.domains {
		name := bare
		if strings.Contains(domain, ":") {
			name = host
		}
		if bucket, ok := strings.CutSuffix(name, "."+domain); ok && bucketLike(bucket) {
			return bucket, true
		}
		if name == domain {
			return "", false
		}
	}
	return "", false
}

func withoutPort(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}

// normalDomains puts longer domains first, so that the most specific one
// decides.
func normalDomains(domains []string) []string {
	var out []string
	for _, d := range domains {
		d = strings.ToLower(strings.Trim(strings.TrimSpace(d), "."))
		if d == "" {
			continue
		}
		at := 0
		for at < len(out) && len(out[at]) >= len(d) {
			at++
		}
		out = append(out[:at], append([]string{d}, out[at:]...)...)
	}
	return out
}
