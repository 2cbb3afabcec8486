package auth

import (
	"crypto/rand"
	"encoding/base64"
)

// The alphabets of generated texts.
const (
	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base32    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" // as in AWS access key ids
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // without I, L, O and U: read aloud and typed
)

// randomText returns n characters of the alphabet, each equally likely.
func randomText(alphabet string, n int) string {
	limit := 256 - 256%len(alphabet) // bytes above would favour the first letters
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:])
		for _, b := range buf {
			if int(b) < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}

// newKeyID returns an id that looks like AWS's: 20 letters and digits, 90 of
// its bits random.
func newKeyID() string { return "LK" + randomText(base32, 18) }

// newSecret returns 40 characters with 238 bits of chance.
func newSecret() Secret { return Secret(randomText(base62, 40)) }

// newToken returns 256 random bits for a cookie.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
