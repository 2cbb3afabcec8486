package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// encodings are the values of Accept-Encoding that clients sign and proxies
// change. A wrong guess can never help a forger: the secret is still missing.
func encodings() []string { return []string{"identity", "gzip", "gzip, br", "gzip, deflate", ""} }

// computeStrings fills in StringToSign and Alternates.
func (req *Request) computeStrings(r *http.Request, stamp string) error {
	rawPath := RawPath(r)
	path, err := url.PathUnescape(rawPath)
	if err != nil || rawPath == "" || rawPath[0] != '/' {
		return refuse(BadTarget, "The path of the request cannot be decoded.")
	}
	q, err := ParseQuery(RawQuery(r))
	if err != nil {
		return err
	}
	c := canonicalRequest{method: r.Method, path: Encode(path, true), query: q.canonical(), payload: req.PayloadHash}
	head := Algorithm + "\n" + stamp + "\n" + req.scope() + "\n"
	sum := func() string { return head + c.digest(r, req.SignedHeaders) }
	req.StringToSign = sum()
	if rawPath != c.path {
		encoded := c.path
		c.path = rawPath
		req.Alternates = append(req.Alternates, sum())
		c.path = encoded
	}
	if req.Signs("accept-encoding") {
		for _, value := range encodings() {
			c.acceptEncoding = &value
			req.Alternates = append(req.Alternates, sum())
		}
	}
	return nil
}

func (req *Request) scope() string {
	return req.Date + "/" + req.Region + "/" + req.Service + "/" + Terminator
}

// canonicalRequest is what the signature is taken over, but for the headers,
// which are read from the request.
type canonicalRequest struct {
	method, path, query, payload string
	acceptEncoding               *string // instead of the header that arrived
}

// digest is the SHA-256 of the canonical request in hexadecimal digits.
func (c *canonicalRequest) digest(r *http.Request, signed []string) string {
	sum := sha256.Sum256(c.bytes(r, signed))
	return hex.EncodeToString(sum[:])
}

// bytes lays the canonical request out.
func (c *canonicalRequest) bytes(r *http.Request, signed []string) []byte {
	b := make([]byte, 0, 1024)
	for _, s := range []string{c.method, c.path, c.query} {
		b = append(append(b, s...), '\n')
	}
	for _, name := range signed {
		b = append(append(b, name...), ':')
		if name == "accept-encoding" && c.acceptEncoding != nil {
			b = append(b, *c.acceptEncoding...)
		} else {
			b = appendValue(b, r, name)
		}
		b = append(b, '\n')
	}
	b = append(b, '\n')
	b = append(b, strings.Join(signed, ";")...)
	return append(append(b, '\n'), c.payload...)
}

// appendValue appends a header's canonical value: trimmed, runs of blanks made
// one, several lines of one name joined by commas.
func appendValue(b []byte, r *http.Request, name string) []byte {
	for i, v := range headerValues(r, name) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTrimmed(b, v)
	}
	return b
}

// headerValues gives a header's values as they were sent, taking back what
// net/http keeps outside the map.
func headerValues(r *http.Request, name string) []string {
	values := r.Header[http.CanonicalHeaderKey(name)]
	switch {
	case name == "host":
		return []string{r.Host}
	case name == "transfer-encoding":
		return r.TransferEncoding
	case name == "content-length" && len(values) == 0:
		return []string{strconv.FormatInt(r.ContentLength, 10)}
	case name == "expect" && len(values) == 0:
		return []string{"100-continue"}
	}
	return values
}

func appendTrimmed(b []byte, v string) []byte {
	v = strings.Trim(v, " \t")
	for i := range len(v) {
		if v[i] == ' ' && i > 0 && v[i-1] == ' ' {
			continue
		}
		b = append(b, v[i])
	}
	return b
}
