package sigv4

import (
	"net/http"
	"net/url"
	"sort"
	"strings"
)

// Parameter is one parameter of a query, decoded.
type Parameter struct{ Name, Value string }

// Query is a query's parameters in the order in which they were sent.
type Query []Parameter

// ParseQuery splits and decodes a raw query: percent escapes, and a plus sign
// for a blank. A parameter without an equals sign has the empty value. Errors
// are of type *Error with the reason BadTarget.
func ParseQuery(raw string) (Query, error) {
	if raw == "" {
		return nil, nil
	}
	if strings.Count(raw, "&") >= MaxParameters {
		return nil, refuse(BadTarget, "The query has too many parameters.")
	}
	var q Query
	for piece := range strings.SplitSeq(raw, "&") {
		if piece == "" {
			continue
		}
		name, value, _ := strings.Cut(piece, "=")
		p, err := decodeParameter(name, value)
		if err != nil {
			return nil, err
		}
		q = append(q, p)
	}
	return q, nil
}

func decodeParameter(name, value string) (p Parameter, err error) {
	if p.Name, err = url.QueryUnescape(name); err == nil {
		p.Value, err = url.QueryUnescape(value)
	}
	if err != nil {
		return p, refuse(BadTarget, "The query holds an invalid percent escape.")
	}
	return p, nil
}

// Get returns the first value of a parameter and whether it is there.
func (q Query) Get(name string) (string, bool) {
	for _, p := range q {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// count tells how often a parameter is there.
func (q Query) count(name string) (n int) {
	for _, p := range q {
		if p.Name == name {
			n++
		}
	}
	return n
}

// canonical is the query in canonical form: encoded, sorted, and without the
// signature itself.
func (q Query) canonical() string {
	pairs := make([]string, 0, len(q))
	for _, p := range q {
		if p.Name == "X-Amz-Signature" {
			continue
		}
		pairs = append(pairs, Encode(p.Name, false)+"="+Encode(p.Value, false))
	}
	// "=" sorts between characters that names may hold, so that sorting whole
	// pairs would differ from sorting by name.
	sort.Slice(pairs, func(i, j int) bool {
		a, va, _ := strings.Cut(pairs[i], "=")
		b, vb, _ := strings.Cut(pairs[j], "=")
		if a != b {
			return a < b
		}
		return va < vb
	})
	return strings.Join(pairs, "&")
}

// RawPath returns the path of r's target as it was sent, still escaped.
func RawPath(r *http.Request) string {
	path, _ := target(r)
	return path
}

// RawQuery returns the query of r's target as it was sent.
func RawQuery(r *http.Request) string {
	_, query := target(r)
	return query
}

// target splits the request line's target. Only a request that was never sent
// lacks a RequestURI.
func target(r *http.Request) (path, query string) {
	if r.RequestURI == "" {
		return r.URL.EscapedPath(), r.URL.RawQuery
	}
	path, query, _ = strings.Cut(r.RequestURI, "?")
	return path, query
}

const upperHex = "0123456789ABCDEF"

// Encode is AWS's UriEncode: everything but A-Z, a-z, 0-9 and "-._~" becomes a
// percent escape with upper-case digits; "/" is kept when keepSlash is set.
func Encode(s string, keepSlash bool) string {
	n := 0
	for i := range len(s) {
		if !plain(s[i], keepSlash) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; plain(c, keepSlash) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

func plain(c byte, keepSlash bool) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '-', c == '.', c == '_', c == '~':
		return true
	}
	return keepSlash && c == '/'
}
