// Package sigv4 reads AWS Signature Version 4 as Amazon S3 speaks it, from the
// Authorization header and from the query of a presigned link, and turns a
// request into the string that its sender must have signed.
//
// It holds no secrets and decides nothing: Parse says who claims to have sent
// a request and what to verify; auth verifies. Everything is computed from the
// target as it stood on the wire, never from a cleaned path.
//
// The rules are those of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html.
package sigv4

import (
	"net/http"
	"strings"
	"time"
)

// What the protocol fixes.
const (
	Algorithm  = "AWS4-HMAC-SHA256"
	Service    = "s3"
	Terminator = "aws4_request"

	// TimeFormat is the form of x-amz-date and X-Amz-Date, always in UTC.
	TimeFormat = "20060102T150405Z"

	// MaxSkew is how far a sender's clock may be off.
	MaxSkew = 15 * time.Minute
	// MaxExpires is how long a presigned link may live.
	MaxExpires = 7 * 24 * time.Hour

	// MaxParameters bounds the parameters of a query and the names in
	// SignedHeaders.
	MaxParameters = 128
)

// Payload hashes that are names and not digests.
const (
	EmptyPayload             = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	UnsignedPayload          = "UNSIGNED-PAYLOAD"
	SignedChunks             = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	SignedChunksWithTrailer  = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	UnsignedChunksAndTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// Request is what a signed request says about itself. Nothing in it is
// verified but its form and its time.
type Request struct {
	KeyID   string
	Date    string // yyyymmdd, the date of the scope
	Region  string // any: a server at home has no region to insist on
	Service string // always Service

	Signature     string   // 64 lower-case hexadecimal digits
	SignedHeaders []string // lower case, ascending
	StringToSign  string
	// Alternates are other strings that the sender may have signed for the very
	// same request: its path encoded as it was sent, and its Accept-Encoding as
	// it may have stood before a proxy changed it. At most 8.
	Alternates []string

	Time        time.Time
	Presigned   bool
	Expires     time.Duration // of a presigned link
	PayloadHash string        // as signed: a hex digest or one of the names above
}

// Signs tells whether the signature covers a header, named in lower case.
func (r *Request) Signs(name string) bool {
	for _, h := range r.SignedHeaders {
		if h == name {
			return true
		}
	}
	return false
}

// Scheme is the way in which a request brings credentials.
type Scheme uint8

// The schemes.
const (
	Anonymous Scheme = iota // no credentials at all
	Header                  // Authorization: AWS4-HMAC-SHA256 …
	Presigned               // X-Amz-Algorithm and its companions in the query
	Version2                // the obsolete Signature Version 2, in either place
	Bearer                  // Authorization: Bearer …
	Several                 // more than one of them, or several Authorization headers
	Other                   // an Authorization header of another kind
)

// SchemeOf tells how r brings credentials, without looking at them closely. A
// query that cannot be read has none.
func SchemeOf(r *http.Request) Scheme {
	inQuery := Anonymous
	if q, err := ParseQuery(RawQuery(r)); err == nil {
		inQuery = querySchemeOf(q)
	}
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return inQuery
	case len(values) > 1 || inQuery != Anonymous:
		return Several
	}
	return headerSchemeOf(values[0])
}

func querySchemeOf(q Query) Scheme {
	_, signed := q.Get("X-Amz-Signature")
	_, algorithm := q.Get("X-Amz-Algorithm")
	_, credential := q.Get("X-Amz-Credential")
	if signed || algorithm || credential {
		return Presigned
	}
	_, key := q.Get("AWSAccessKeyId")
	_, signature := q.Get("Signature")
	if key && signature {
		return Version2
	}
	return Anonymous
}

func headerSchemeOf(value string) Scheme {
	word, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	switch {
	case word == Algorithm:
		return Header
	case word == "AWS":
		return Version2
	case strings.EqualFold(word, "Bearer"):
		return Bearer
	}
	return Other
}

// Parse reads the signature of r, in the header or in the query, and computes
// what must have been signed. now is compared with the request's own time. Its
// errors are of type *Error.
//
// Parse demands what S3 demands: host and every x-amz-* header under the
// signature, an x-amz-date within MaxSkew or a link within its life, a scope of
// the same day and of the service s3.
func Parse(r *http.Request, now time.Time) (Request, error) {
	switch SchemeOf(r) {
	case Header:
		return parseHeader(r, now)
	case Presigned:
		return parsePresigned(r, now)
	case Anonymous:
		return Request{}, refuse(NoCredentials, "The request is not signed.")
	case Version2:
		return Request{}, refuse(Obsolete,
			"The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.")
	case Several:
		return Request{}, refuse(Ambiguous,
			"Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter or the Authorization header should be specified.")
	}
	return Request{}, refuse(Unsupported, "Unsupported Authorization Type. Use AWS4-HMAC-SHA256.")
}

// parseTime reads an x-amz-date.
func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(TimeFormat, s)
	return t, err == nil && len(s) == len(TimeFormat)
}

// isDigest tells whether s is a SHA-256 in lower-case hexadecimal digits.
func isDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
