package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"larder/fault"
)

// secretKeySize is the size of secret.key in bytes.
const secretKeySize = 32

// keyring holds the keys derived from secret.key, one for each purpose.
type keyring struct {
	seal  cipher.AEAD // of S3 secrets
	audit []byte      // of the audit chain
	check []byte      // stored in system.db: proves that both files belong together
}

func newKeyring(secret []byte) (*keyring, error) {
	if len(secret) != secretKeySize {
		return nil, fault.New("auth.Open", fault.InvalidArgument, "secret.key", fmt.Errorf("%d bytes", len(secret))).
			WithHint("secret.key must hold exactly 32 bytes; put the right file back from a backup.")
	}
	derive := func(purpose string) []byte {
		k, err := hkdf.Key(sha256.New, secret, nil, "larder "+purpose+" v1", 32)
		if err != nil {
			panic(err) // only for lengths that do not occur
		}
		return k
	}
	block, err := aes.NewCipher(derive("seal"))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &keyring{seal: aead, audit: derive("audit"), check: derive("check")}, nil
}

// sealSecret encrypts the secret of an access key: a random nonce, then
// AES-256-GCM with the key's id as additional data, so that rows cannot be
// swapped.
func (k *keyring) sealSecret(keyID string, secret Secret) []byte {
	nonce := make([]byte, k.seal.NonceSize(), k.seal.NonceSize()+len(secret)+k.seal.Overhead())
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the process instead
	return k.seal.Seal(nonce, nonce, []byte(secret), []byte(keyID))
}

// openSecret decrypts what sealSecret made; fault.Corrupt when it was not made
// for this id under this secret.key.
func (k *keyring) openSecret(keyID string, sealed []byte) (Secret, error) {
	n := k.seal.NonceSize()
	if len(sealed) < n {
		return "", corruptKey(keyID, errors.New("short"))
	}
	plain, err := k.seal.Open(nil, sealed[:n], sealed[n:], []byte(keyID))
	if err != nil {
		return "", corruptKey(keyID, err)
	}
	return Secret(plain), nil
}

func corruptKey(keyID string, err error) error {
	return fault.New("auth.openSecret", fault.Corrupt, keyID, err).
		WithHint("The stored secret of this access key does not open; delete the key and make another.")
}

// matches tells whether the check value in system.db is of this secret.key.
func (k *keyring) matches(stored []byte) bool { return hmac.Equal(k.check, stored) }
