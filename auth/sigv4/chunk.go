package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Chain verifies the signatures of a chunked payload. Each signature covers
// the one before it, the first that of the request, so that chunks cannot be
// swapped, dropped or repeated:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html.
// A Chain is for one goroutine.
type Chain struct {
	key      []byte
	scope    string // time and scope, the lines that all strings share
	previous string
}

// NewChain begins the chain of a verified request. key is its signing key.
func NewChain(req *Request, key []byte) *Chain {
	return &Chain{
		key:      key,
		scope:    req.Time.UTC().Format(TimeFormat) + "\n" + req.scope() + "\n",
		previous: req.Signature,
	}
}

// VerifyChunk tells whether signature is right for the next chunk, whose
// SHA-256 is digest, and moves on when it is.
func (c *Chain) VerifyChunk(digest []byte, signature string) bool {
	return c.verify("AWS4-HMAC-SHA256-PAYLOAD\n"+c.scope+c.previous+"\n"+EmptyPayload+"\n"+
		hex.EncodeToString(digest), signature)
}

// VerifyTrailer tells whether signature is right for the trailer, given as
// lines of "name:value\n" with names in lower case, in the order of sending.
func (c *Chain) VerifyTrailer(lines []byte, signature string) bool {
	sum := sha256.Sum256(lines)
	return c.verify("AWS4-HMAC-SHA256-TRAILER\n"+c.scope+c.previous+"\n"+
		hex.EncodeToString(sum[:]), signature)
}

func (c *Chain) verify(stringToSign, signature string) bool {
	want := Sign(c.key, stringToSign)
	if !hmac.Equal([]byte(want), []byte(signature)) {
		return false
	}
	c.previous = want
	return true
}
