package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"larder/auth/sigv4"
)

const region = "us-east-1"

// signer signs requests as SDKs do. The key of a day is derived once.
type signer struct {
	keyID, secret string

	mu  sync.Mutex
	day string // guarded by mu, as is key
	key []byte
}

// sign adds the headers of a signature to a request whose path and query are
// canonical as they are. payload is the SHA-256 of the body, or
// sigv4.UnsignedPayload.
func (s *signer) sign(r *http.Request, payload string) {
	stamp := time.Now().UTC().Format(sigv4.TimeFormat)
	day := stamp[:8]
	const names = "host;x-amz-content-sha256;x-amz-date"
	canonical := r.Method + "\n" + r.URL.Path + "\n" + r.URL.RawQuery +
		"\nhost:" + r.URL.Host + "\nx-amz-content-sha256:" + payload + "\nx-amz-date:" + stamp +
		"\n\n" + names + "\n" + payload
	sum := sha256.Sum256([]byte(canonical))
	scope := day + "/" + region + "/" + sigv4.Service + "/" + sigv4.Terminator
	signature := sigv4.Sign(s.signingKey(day), sigv4.Algorithm+"\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
	r.Header["X-Amz-Date"] = []string{stamp}
	r.Header["X-Amz-Content-Sha256"] = []string{payload}
	r.Header["Authorization"] = []string{sigv4.Algorithm + " Credential=" + s.keyID + "/" + scope +
		", SignedHeaders=" + names + ", Signature=" + signature}
}

func (s *signer) signingKey(day string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.day != day {
		s.day, s.key = day, sigv4.DeriveKey(s.secret, day, region, sigv4.Service)
	}
	return s.key
}

// canonicalQuery encodes parameters, given as name and value in turn, in the order
// and the form that signatures are taken over.
func canonicalQuery(parameters ...string) string {
	var pairs []string
	for i := 0; i+1 < len(parameters); i += 2 {
		pairs = append(pairs, sigv4.Encode(parameters[i], false)+"="+sigv4.Encode(parameters[i+1], false))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}
