package sigv4

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// parsePresigned reads a signature from the query.
func parsePresigned(r *http.Request, now time.Time) (Request, error) {
	q, err := ParseQuery(RawQuery(r))
	if err != nil {
		return Request{}, err
	}
	req, stamp, err := splitQuery(q)
	if err != nil {
		return req, err
	}
	if err := req.judgeLife(now); err != nil {
		return req, err
	}
	if err := checkSignedHeaders(r, &req); err != nil {
		return req, err
	}
	req.PayloadHash = presignedPayload(r, q)
	err = req.computeStrings(r, stamp)
	return req, err
}

// splitQuery takes the parameters of a presigned link apart.
func splitQuery(q Query) (req Request, stamp string, err error) {
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date",
		"X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"} {
		if v, _ := q.Get(name); v == "" || q.count(name) != 1 {
			return req, "", refuse(MalformedQuery, "Query-string authentication requires "+name+", once and with a value.")
		}
	}
	if token, _ := q.Get("X-Amz-Security-Token"); token != "" {
		return req, "", refuse(ForeignToken, "The provided token is malformed or otherwise invalid: keys of this server have no session token.")
	}
	if algorithm, _ := q.Get("X-Amz-Algorithm"); algorithm != Algorithm {
		return req, "", refuse(MalformedQuery, "X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\".")
	}
	req.Presigned = true
	req.Signature, _ = q.Get("X-Amz-Signature")
	credential, _ := q.Get("X-Amz-Credential")
	signed, _ := q.Get("X-Amz-SignedHeaders")
	if err := req.take(credential, signed, MalformedQuery); err != nil {
		return req, "", err
	}
	stamp = req.takeLife(q)
	err = req.checkLife(q)
	return req, stamp, err
}

// takeLife reads the link's begin and duration and returns the former as sent.
func (req *Request) takeLife(q Query) string {
	stamp, _ := q.Get("X-Amz-Date")
	req.Time, _ = parseTime(stamp)
	expires, _ := q.Get("X-Amz-Expires")
	seconds, _ := strconv.ParseUint(expires, 10, 31)
	req.Expires = time.Duration(seconds) * time.Second
	return stamp
}

// checkLife judges the form of what takeLife has read.
func (req *Request) checkLife(q Query) error {
	stamp, _ := q.Get("X-Amz-Date")
	if req.Time.IsZero() || !strings.HasPrefix(stamp, req.Date) {
		return refuse(MalformedQuery, "X-Amz-Date must be of the form YYYYMMDDTHHMMSSZ, on the day that X-Amz-Credential names.")
	}
	if req.Expires <= 0 || req.Expires > MaxExpires {
		return refuse(MalformedQuery, "X-Amz-Expires must be a number of seconds from 1 to 604800.")
	}
	return nil
}

// judgeLife compares the link's life with now.
func (req *Request) judgeLife(now time.Time) error {
	if req.Time.Sub(now) > MaxSkew {
		return refuse(TooEarly, "Request is not valid yet: the link was signed in the future. Compare the two clocks.")
	}
	if now.Sub(req.Time) > req.Expires {
		return refuse(PastExpiry, "Request has expired.")
	}
	return nil
}

// presignedPayload is the payload hash that a link's signature covers. A
// header counts only because checkSignedHeaders has found it signed.
func presignedPayload(r *http.Request, q Query) string {
	if v, ok := q.Get("X-Amz-Content-Sha256"); ok && v != "" {
		return v
	}
	if v := r.Header.Get("X-Amz-Content-Sha256"); v != "" {
		return v
	}
	return UnsignedPayload
}
