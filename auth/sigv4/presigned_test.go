package sigv4_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"larder/auth/sigv4"
	"larder/fault"
)

// link makes a presigned request of ours, as it arrives.
func link(t testing.TB, change func(*sigv4.Link)) *http.Request {
	t.Helper()
	l := sigv4.Link{
		Base: "http://nas.local:9000", Bucket: "photos", Key: "a b/ü+.jpg", KeyID: keyID,
		Query: map[string]string{"response-content-type": "image/png"}, Time: when(), Expires: time.Hour,
	}
	if change != nil {
		change(&l)
	}
	text, err := sigv4.Presign(l, secret)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodGet, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return arrive(t, r)
}

func TestPresignMakesLinksThatParse(t *testing.T) {
	t.Parallel()
	req, ok := verified(t, link(t, nil), when())
	if !ok || !req.Presigned || req.PayloadHash != sigv4.UnsignedPayload || req.KeyID != keyID {
		t.Fatalf("%+v", req)
	}
}

// The AWS SDK's own presigner must make the very same link.
func TestPresignAgreesWithTheAWSSigner(t *testing.T) {
	t.Parallel()
	ours := link(t, nil)
	r := newRequest(t, http.MethodGet, "/photos/a%20b/%C3%BC%2B.jpg?X-Amz-Expires=3600&response-content-type=image%2Fpng", nil)
	theirs, _, err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).PresignHTTP(
		context.Background(), aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}, r,
		sigv4.UnsignedPayload, "s3", region, when())
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(theirs)
	want, got := u.Query().Get("X-Amz-Signature"), ours.URL.Query().Get("X-Amz-Signature")
	if got != want {
		t.Fatalf("signature %s, the SDK has %s", got, want)
	}
}

func TestPresignRefuses(t *testing.T) {
	t.Parallel()
	for _, l := range []sigv4.Link{
		{Base: "nas", Expires: time.Hour}, {Base: "http://nas", Expires: 0}, {Base: "http://nas", Expires: 8 * 24 * time.Hour},
	} {
		if _, err := sigv4.Presign(l, secret); err == nil {
			t.Errorf("%+v: no error", l)
		}
	}
}

func TestALinkCoversItsRequest(t *testing.T) {
	t.Parallel()
	replace := func(from, to string) func(*http.Request) {
		return func(r *http.Request) { r.RequestURI = strings.Replace(r.RequestURI, from, to, 1) }
	}
	for name, change := range map[string]func(*http.Request){
		"method":     func(r *http.Request) { r.Method = http.MethodPut },
		"key":        replace("/a%20b/", "/a/"),
		"override":   replace("image%2Fpng", "text%2Fhtml"),
		"version":    replace("?", "?versionId=1&"),
		"upload":     replace("?", "?uploadId=1&"),
		"expiry":     replace("Expires=3600", "Expires=3601"),
		"plus":       replace("%2B.jpg", "%2520.jpg"),
		"host":       func(r *http.Request) { r.Host = "evil" },
		"no payload": func(r *http.Request) { r.RequestURI += "&X-Amz-Content-Sha256=" + sigv4.EmptyPayload },
	} {
		r := link(t, nil)
		change(r)
		if _, ok := verified(t, r, when()); ok {
			t.Errorf("%s: changed without breaking the signature", name)
		}
	}
	reordered := link(t, nil)
	path, query, _ := strings.Cut(reordered.RequestURI, "?")
	first, rest, _ := strings.Cut(query, "&")
	reordered.RequestURI = path + "?" + rest + "&" + first
	if _, ok := verified(t, reordered, when()); !ok {
		t.Error("a reordered query must still fit")
	}
}

func TestParseRefusesLinks(t *testing.T) {
	t.Parallel()
	param := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			u, _ := url.Parse(r.RequestURI)
			q := u.Query()
			q.Set(name, value)
			r.RequestURI = u.EscapedPath() + "?" + q.Encode()
		}
	}
	add := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.RequestURI += text }
	}
	for name, tc := range map[string]struct {
		change func(*http.Request)
		reason sigv4.Reason
		code   fault.Code
	}{
		"too long a life":  {param("X-Amz-Expires", "604801"), sigv4.MalformedQuery, fault.InvalidArgument},
		"no life":          {param("X-Amz-Expires", "0"), sigv4.MalformedQuery, fault.InvalidArgument},
		"negative life":    {param("X-Amz-Expires", "-1"), sigv4.MalformedQuery, fault.InvalidArgument},
		"huge life":        {param("X-Amz-Expires", "1e9"), sigv4.MalformedQuery, fault.InvalidArgument},
		"empty life":       {param("X-Amz-Expires", ""), sigv4.MalformedQuery, fault.InvalidArgument},
		"two lives":        {add("&X-Amz-Expires=3600"), sigv4.MalformedQuery, fault.InvalidArgument},
		"algorithm":        {param("X-Amz-Algorithm", "AWS4-ECDSA-P256-SHA256"), sigv4.MalformedQuery, fault.InvalidArgument},
		"credential":       {param("X-Amz-Credential", "a/b"), sigv4.MalformedQuery, fault.InvalidArgument},
		"date":             {param("X-Amz-Date", "20261131T000000Z"), sigv4.MalformedQuery, fault.InvalidArgument},
		"date of scope":    {param("X-Amz-Date", "20261129T000000Z"), sigv4.MalformedQuery, fault.InvalidArgument},
		"host unsigned":    {param("X-Amz-SignedHeaders", "range"), sigv4.NotSigned, fault.BadSignature},
		"session token":    {param("X-Amz-Security-Token", "t"), sigv4.ForeignToken, fault.Unauthenticated},
		"no signature":     {param("X-Amz-Signature", ""), sigv4.MalformedQuery, fault.InvalidArgument},
		"odd signature":    {param("X-Amz-Signature", "zz"), sigv4.BadHeaders, fault.BadSignature},
		"unsigned content": {func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", sigv4.EmptyPayload) }, sigv4.NotSigned, fault.BadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := link(t, nil)
			tc.change(r)
			checkReason(t, r, when(), tc.reason, tc.code)
		})
	}
}

func TestALinkLivesAsLongAsItSays(t *testing.T) {
	t.Parallel()
	week := link(t, func(l *sigv4.Link) { l.Expires = sigv4.MaxExpires })
	if _, ok := verified(t, week, when().Add(sigv4.MaxExpires)); !ok {
		t.Error("604800 seconds are allowed")
	}
	checkReason(t, link(t, nil), when().Add(time.Hour+time.Second), sigv4.PastExpiry, fault.Expired)
	checkReason(t, link(t, nil), when().Add(-time.Hour), sigv4.TooEarly, fault.ClockSkew)
}
