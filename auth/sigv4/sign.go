package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// DeriveKey makes the signing key of one day, region and service from a
// secret. The key is a secret too.
func DeriveKey(secret, date, region, service string) []byte {
	k := mac([]byte("AWS4"+secret), date)
	k = mac(k, region)
	k = mac(k, service)
	return mac(k, Terminator)
}

// Sign returns the signature of a string in lower-case hexadecimal digits.
func Sign(key []byte, stringToSign string) string {
	return hex.EncodeToString(mac(key, stringToSign))
}

func mac(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}
