package sigv4_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"larder/auth/sigv4"
)

// chain begins where the seed signature of the example of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html stands.
func chain(seed string) *sigv4.Chain {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	req := sigv4.Request{Date: "20130524", Region: "us-east-1", Service: "s3", Time: at, Signature: seed}
	return sigv4.NewChain(&req, sigv4.DeriveKey("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1", "s3"))
}

const (
	seed   = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
	first  = "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
	second = "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"
	last   = "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"
)

func sum(n int) []byte {
	s := sha256.Sum256([]byte(strings.Repeat("a", n)))
	return s[:]
}

func TestChainReproducesTheDocumentedExample(t *testing.T) {
	t.Parallel()
	c := chain(seed)
	if !c.VerifyChunk(sum(65536), first) || !c.VerifyChunk(sum(1024), second) || !c.VerifyChunk(sum(0), last) {
		t.Fatal("a documented signature does not fit")
	}
}

func TestChainRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		digest    []byte
		signature string
	}{
		"other data":      {sum(65535), first},
		"swapped chunk":   {sum(1024), second},
		"other signature": {sum(65536), strings.Replace(first, "a", "b", 1)},
		"none":            {sum(65536), ""},
	} {
		ch := chain(seed)
		if ch.VerifyChunk(c.digest, c.signature) {
			t.Errorf("%s: accepted", name)
		}
		if !ch.VerifyChunk(sum(65536), first) {
			t.Errorf("%s: a refused chunk moved the chain", name)
		}
	}
	if c := chain(strings.Repeat("0", 64)); c.VerifyChunk(sum(65536), first) {
		t.Error("another seed: accepted")
	}
}
