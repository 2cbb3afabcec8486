package sigv4_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"larder/auth/sigv4"
)

const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	region = "us-east-1"
)

func when() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// newRequest makes a client's request. target is the escaped path and query as
// they shall be sent.
func newRequest(t testing.TB, method, target string, header map[string]string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, "http://nas.local:9000"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

// arrive sends a request through its wire form, as a server reads it.
func arrive(t testing.TB, r *http.Request) *http.Request {
	t.Helper()
	var wire bytes.Buffer
	if err := r.Write(&wire); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// signAWS signs with the signer of the AWS SDK.
func signAWS(t testing.TB, r *http.Request, payload string, at time.Time) {
	t.Helper()
	r.Header.Set("X-Amz-Content-Sha256", payload)
	err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(
		context.Background(), aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}, r, payload, "s3", region, at)
	if err != nil {
		t.Fatal(err)
	}
}

// verified parses a request and tells whether its signature fits.
func verified(t testing.TB, r *http.Request, at time.Time) (sigv4.Request, bool) {
	t.Helper()
	req, err := sigv4.Parse(r, at)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	key := sigv4.DeriveKey(secret, req.Date, req.Region, req.Service)
	for _, s := range append([]string{req.StringToSign}, req.Alternates...) {
		if sigv4.Sign(key, s) == req.Signature {
			return req, true
		}
	}
	return req, false
}

// signed is a request that Parse takes, as it arrives.
func signed(t testing.TB, change func(*http.Request)) *http.Request {
	t.Helper()
	r := newRequest(t, http.MethodGet, "/photos/a.jpg?versionId=null", map[string]string{"Range": "bytes=0-9"})
	signAWS(t, r, sigv4.EmptyPayload, when())
	got := arrive(t, r)
	if change != nil {
		change(got)
	}
	return got
}

// edit replaces text in the Authorization header.
func edit(from, to string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), from, to, 1))
	}
}
