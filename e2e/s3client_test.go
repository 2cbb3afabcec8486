package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	region          = "us-east-1"
	unsignedPayload = "UNSIGNED-PAYLOAD"
	amzContentHash  = "X-Amz-Content-Sha256"
)

// s3Client speaks S3 request by request, signed with AWS's own signer, and
// shows every header and byte. It neither retries nor follows.
type s3Client struct {
	t        *testing.T
	endpoint string
	creds    aws.Credentials
	signer   *v4.Signer
	http     *http.Client
}

func newS3Client(t *testing.T, endpoint, key, secret string) *s3Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true, ExpectContinueTimeout: stopWithin}
	t.Cleanup(transport.CloseIdleConnections)
	return &s3Client{
		t: t, endpoint: endpoint, creds: aws.Credentials{AccessKeyID: key, SecretAccessKey: secret},
		signer: newSigner(),
		http:   &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// newSigner signs the path as it is, which S3 wants unlike AWS's other services.
func newSigner() *v4.Signer {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
	code   string // of an S3 error document
	closes bool   // the server ends the connection behind it
}

func (a answer) String() string { return fmt.Sprintf("%d %s %.300q", a.status, a.code, a.body) }

// edit changes a request before it is signed.
type edit func(*http.Request)

func header(name, value string) edit {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// withContinue holds the body back until the server asks for it.
func withContinue(r *http.Request) { r.Header.Set("Expect", "100-continue") }

// request makes a signed request. target is the escaped path and query. With a
// []byte body the payload is signed by its hash, with a reader it is not.
func (c *s3Client) request(ctx context.Context, method, target string, body any, size int64, edits ...edit) *http.Request {
	hash, reader := unsignedPayload, io.Reader(nil)
	switch b := body.(type) {
	case []byte:
		sum := sha256.Sum256(b)
		hash, reader, size = hex.EncodeToString(sum[:]), bytes.NewReader(b), int64(len(b))
	case io.Reader:
		reader = b
	}
	r, err := http.NewRequestWithContext(ctx, method, c.endpoint+target, reader)
	if err != nil {
		panic(err) // a target that no test may write
	}
	if reader != nil {
		r.ContentLength = size
	}
	r.Header.Set(amzContentHash, hash)
	for _, e := range edits {
		e(r)
	}
	c.sign(r, time.Now())
	return r
}

// sign signs what stands in the request, with its own payload hash.
func (c *s3Client) sign(r *http.Request, at time.Time) {
	if err := c.signer.SignHTTP(r.Context(), c.creds, r, r.Header.Get(amzContentHash), "s3", region, at); err != nil {
		panic(err) // the signer fails on malformed requests only
	}
}

// try sends a request and reads the answer.
func (c *s3Client) try(ctx context.Context, method, target string, body any, size int64, edits ...edit) (answer, error) {
	return c.send(c.request(ctx, method, target, body, size, edits...))
}

func (c *s3Client) send(r *http.Request) (answer, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(resp)
}

func readAnswer(resp *http.Response) (answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	a := answer{status: resp.StatusCode, header: resp.Header, body: body, closes: resp.Close}
	if resp.StatusCode >= 300 {
		var doc struct{ Code string }
		if xml.Unmarshal(body, &doc) == nil {
			a.code = doc.Code
		}
	}
	return a, err
}

// do is try for the test's own goroutine: an error of the connection ends the test.
func (c *s3Client) do(method, target string, body []byte, edits ...edit) answer {
	c.t.Helper()
	a, err := c.try(c.t.Context(), method, target, body, 0, edits...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, target, err)
	}
	return a
}

// must is do with a status that has to come.
func (c *s3Client) must(status int, method, target string, body []byte, edits ...edit) answer {
	c.t.Helper()
	a := c.do(method, target, body, edits...)
	if a.status != status {
		c.t.Fatalf("%s %s: %v, want %d", method, target, a, status)
	}
	return a
}

// page is a listing of either version.
type page struct {
	IsTruncated           bool
	NextMarker            string
	NextContinuationToken string
	KeyCount              int
	Contents              []struct {
		Key  string
		Size int64
		ETag string
	}
	CommonPrefixes []struct{ Prefix string }
}

// list reads one page.
func (c *s3Client) list(target string) page {
	c.t.Helper()
	a := c.must(http.StatusOK, http.MethodGet, target, nil)
	var p page
	if err := xml.Unmarshal(a.body, &p); err != nil {
		c.t.Fatalf("GET %s: %v in %.300q", target, err, a.body)
	}
	return p
}

// names are a page's keys and common prefixes, each in the order given.
func (p page) names() (keys, prefixes []string) {
	for _, o := range p.Contents {
		keys = append(keys, o.Key)
	}
	for _, x := range p.CommonPrefixes {
		prefixes = append(prefixes, x.Prefix)
	}
	return keys, prefixes
}

// allKeys lists a bucket flat, over all pages.
func (c *s3Client) allKeys(bucket string) []string {
	c.t.Helper()
	var all []string
	for token := ""; ; {
		p := c.list("/" + bucket + "?list-type=2" + token)
		keys, _ := p.names()
		all = append(all, keys...)
		if !p.IsTruncated {
			return all
		}
		token = "&continuation-token=" + url.QueryEscape(p.NextContinuationToken)
	}
}

// timeOf is the time for which a request was signed.
func timeOf(t *testing.T, r *http.Request) time.Time {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
