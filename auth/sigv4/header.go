package sigv4

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// parseHeader reads a signature from the Authorization header.
func parseHeader(r *http.Request, now time.Time) (Request, error) {
	req, err := splitAuthorization(r.Header.Get("Authorization"))
	if err != nil {
		return req, err
	}
	stamp, err := headerTime(r, &req, now)
	if err != nil {
		return req, err
	}
	if err := checkSignedHeaders(r, &req); err != nil {
		return req, err
	}
	req.PayloadHash = r.Header.Get("X-Amz-Content-Sha256")
	if req.PayloadHash == "" {
		return req, refuse(NoPayloadHash, "Missing required header for this request: x-amz-content-sha256")
	}
	err = req.computeStrings(r, stamp)
	return req, err
}

// splitAuthorization takes the header apart. Blanks after the commas are
// optional, as some clients leave them out.
func splitAuthorization(value string) (req Request, err error) {
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(value), Algorithm))
	var credential, signed string
	fields := map[string]*string{
		"Credential": &credential, "SignedHeaders": &signed, "Signature": &req.Signature,
	}
	for piece := range strings.SplitSeq(rest, ",") {
		name, val, ok := strings.Cut(strings.TrimSpace(piece), "=")
		field := fields[name]
		if !ok || field == nil || *field != "" || val == "" {
			return req, refuse(MalformedAuth,
				"The authorization header is malformed; it needs Credential, SignedHeaders and Signature, each once.")
		}
		*field = val
	}
	if credential == "" || signed == "" || req.Signature == "" {
		return req, refuse(MalformedAuth,
			"The authorization header is malformed; Credential, SignedHeaders or Signature is missing.")
	}
	err = req.take(credential, signed, MalformedAuth)
	return req, err
}

// take fills in the credential, the signed headers and checks the signature's
// form.
func (req *Request) take(credential, signed string, reason Reason) error {
	if !isDigest(req.Signature) {
		return refuse(BadHeaders, "The signature is not 64 lower-case hexadecimal digits.")
	}
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || scope[0] == "" || len(scope[1]) != 8 {
		return refuse(reason, "The Credential is malformed; expecting \"KEYID/YYYYMMDD/REGION/s3/aws4_request\".")
	}
	req.KeyID, req.Date, req.Region, req.Service = scope[0], scope[1], scope[2], scope[3]
	if req.Service != Service {
		return refuse(reason, "The Credential names the wrong service; expecting \"s3\".")
	}
	if scope[4] != Terminator {
		return refuse(reason, "The Credential has the wrong ending; expecting \"aws4_request\".")
	}
	req.SignedHeaders = strings.Split(signed, ";")
	return nil
}

// headerTime reads and judges x-amz-date. A Date header alone is not enough:
// intermediaries rewrite it.
func headerTime(r *http.Request, req *Request, now time.Time) (string, error) {
	stamp := r.Header.Get("X-Amz-Date")
	t, ok := parseTime(stamp)
	if !ok {
		return "", refuse(NoDate, "AWS authentication requires a valid x-amz-date header.")
	}
	if stamp[:8] != req.Date {
		return "", refuse(MalformedAuth, "The Credential's date differs from the date in x-amz-date.")
	}
	if d := now.Sub(t); d > MaxSkew || d < -MaxSkew {
		return "", refuse(Skewed, "The difference between the request time and the server's time is too large. The server's time is "+
			now.UTC().Format(time.RFC3339)+": compare the two clocks.")
	}
	req.Time = t
	return stamp, nil
}

// checkSignedHeaders demands that the list is in form, covers host and all
// x-amz-* headers, and names nothing that the request lacks.
func checkSignedHeaders(r *http.Request, req *Request) error {
	list := req.SignedHeaders
	if len(list) > MaxParameters || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
		return refuse(BadHeaders, "SignedHeaders must be in ascending order and name each header once.")
	}
	if !req.Signs("host") {
		return refuse(NotSigned, "The header host must be signed.")
	}
	for _, name := range list {
		if name != strings.ToLower(name) || !present(r, name) {
			return refuse(BadHeaders, "SignedHeaders names "+quoted(name)+", which the request does not carry.")
		}
	}
	for name := range r.Header {
		if low := strings.ToLower(name); strings.HasPrefix(low, "x-amz-") && !req.Signs(low) {
			return refuse(NotSigned, "There were headers present in the request which were not signed: "+quoted(low)+".")
		}
	}
	return checkToken(r)
}

// checkToken refuses session tokens: no key of Larder's has one.
func checkToken(r *http.Request) error {
	if r.Header.Get("X-Amz-Security-Token") != "" {
		return refuse(ForeignToken, "The provided token is malformed or otherwise invalid: keys of this server have no session token.")
	}
	return nil
}

// present tells whether r carried a header when it was sent. net/http takes
// some out of the map, and proxies may drop Accept-Encoding.
func present(r *http.Request, name string) bool {
	switch name {
	case "host", "expect", "accept-encoding":
		return true
	case "content-length":
		return r.ContentLength >= 0
	case "transfer-encoding":
		return len(r.TransferEncoding) > 0
	}
	_, ok := r.Header[http.CanonicalHeaderKey(name)]
	return ok
}

// quoted makes a header's name safe to repeat in a message.
func quoted(name string) string {
	if len(name) > 64 {
		name = name[:64]
	}
	b := []byte(name)
	for i, c := range b {
		if c < 0x21 || c > 0x7e || c == '<' || c == '&' {
			b[i] = '?'
		}
	}
	return string(b)
}
