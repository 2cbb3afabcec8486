package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Link describes a presigned link to make.
type Link struct {
	Method string // "" = GET
	Base   string // scheme and host, as https://nas:9000
	Bucket string
	Key    string
	Query  map[string]string // further parameters, as response-content-disposition
	KeyID  string
	Region string // "" = us-east-1
	// Time is when the link begins to be valid, Expires how long it is: whole
	// seconds up to MaxExpires.
	Time    time.Time
	Expires time.Duration
}

// Presign returns the link, path style, signed with the key's secret. Whoever
// has it can do what it says until it expires or the key is revoked. It signs
// the host only; the payload stays unsigned.
func Presign(l Link, secret string) (string, error) {
	base, err := url.Parse(l.Base)
	if err != nil || base.Host == "" {
		return "", refuse(BadTarget, "The link needs a base with a scheme and a host.")
	}
	if l.Expires < time.Second || l.Expires > MaxExpires {
		return "", refuse(MalformedQuery, "A link lives from one second to seven days.")
	}
	if l.Method == "" {
		l.Method = http.MethodGet
	}
	if l.Region == "" {
		l.Region = "us-east-1"
	}
	return l.sign(base, secret), nil
}

func (l *Link) sign(base *url.URL, secret string) string {
	stamp := l.Time.UTC().Format(TimeFormat)
	req := Request{Date: stamp[:8], Region: l.Region, Service: Service}
	q := l.query(&req, stamp).canonical()
	path := "/" + Encode(l.Bucket, false) + "/" + Encode(l.Key, true)
	text := strings.Join([]string{l.Method, path, q, "host:" + base.Host, "", "host", UnsignedPayload}, "\n")
	sum := sha256.Sum256([]byte(text))
	key := DeriveKey(secret, req.Date, req.Region, req.Service)
	signature := Sign(key, Algorithm+"\n"+stamp+"\n"+req.scope()+"\n"+hex.EncodeToString(sum[:]))
	return base.Scheme + "://" + base.Host + path + "?" + q + "&X-Amz-Signature=" + signature
}

// query gathers the parameters that the link's signature covers.
func (l *Link) query(req *Request, stamp string) Query {
	q := Query{
		{"X-Amz-Algorithm", Algorithm},
		{"X-Amz-Credential", l.KeyID + "/" + req.scope()},
		{"X-Amz-Date", stamp},
		{"X-Amz-Expires", strconv.FormatInt(int64(l.Expires/time.Second), 10)},
		{"X-Amz-SignedHeaders", "host"},
	}
	for name, value := range l.Query {
		q = append(q, Parameter{name, value})
	}
	return q
}
