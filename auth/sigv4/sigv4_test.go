package sigv4_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"

	"larder/auth/sigv4"
	"larder/fault"
)

func targets() []string {
	return []string{
		"/", "/photos", "/photos/", "/photos/?list-type=2&prefix=a%2Fb&delimiter=%2F&encoding-type=url",
		"/photos/a.jpg", "/photos/a%20b%2Bc.jpg", "/photos/%C3%BC%E2%82%AC", "/photos/a//b/./../c", "/photos//a",
		"/photos/x?uploads", "/photos/x?uploads=&b=2&a=1&a-b=3", "/photos/x?partNumber=2&uploadId=abc~_-.",
		"/photos/urn:oid:1", "/photos/(a)'!*;@$,=&b", "/photos?prefix=a%20b&marker=%25",
	}
}

func TestParseAgreesWithTheAWSSigner(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		for _, target := range targets() {
			r := newRequest(t, method, target, map[string]string{
				"X-Amz-Meta-Two": "a  b   c", "Content-Type": "text/plain; charset=utf-8", "X-Amz-Acl": "private",
			})
			signAWS(t, r, sigv4.UnsignedPayload, when())
			if _, ok := verified(t, arrive(t, r), when()); !ok {
				t.Errorf("%s %s: another signature than the AWS SDK's", method, target)
			}
		}
	}
}

func TestParseAgreesWithTheMinioSigner(t *testing.T) {
	t.Parallel()
	for _, target := range targets() {
		r := newRequest(t, http.MethodPut, target, map[string]string{
			"X-Amz-Content-Sha256": sigv4.UnsignedPayload, "X-Amz-Meta-One": " x  y ", "Content-Md5": "1B2M2Y8AsgTpgAmY7PhCfg==",
		})
		got := arrive(t, signer.SignV4(*r, keyID, secret, "", "eu"))
		if req, ok := verified(t, got, time.Now()); !ok || req.Region != "eu" {
			t.Errorf("%s: another signature than minio-go's", target)
		}
		p := newRequest(t, http.MethodGet, target, nil)
		got = arrive(t, signer.PreSignV4(*p, keyID, secret, "", region, 60))
		if req, ok := verified(t, got, time.Now()); !ok || !req.Presigned || req.Expires != time.Minute {
			t.Errorf("%s: another presigned signature than minio-go's", target)
		}
	}
}

// The first example of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
func TestParseReproducesTheDocumentedExample(t *testing.T) {
	t.Parallel()
	const want = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	r, _ := http.NewRequest(http.MethodGet, "http://examplebucket.s3.amazonaws.com/test.txt", nil)
	r.Header.Set("Range", "bytes=0-9")
	r.Header.Set("X-Amz-Content-Sha256", sigv4.EmptyPayload)
	r.Header.Set("X-Amz-Date", "20130524T000000Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"+
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature="+want)
	req, err := sigv4.Parse(arrive(t, r), time.Date(2013, 5, 24, 0, 5, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	key := sigv4.DeriveKey("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", req.Date, req.Region, req.Service)
	if got := sigv4.Sign(key, req.StringToSign); got != want {
		t.Fatalf("signature %s, want %s", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, tc := range map[string]struct {
		change func(*http.Request)
		reason sigv4.Reason
		code   fault.Code
	}{
		"no credentials":     {func(r *http.Request) { r.Header.Del("Authorization") }, sigv4.NoCredentials, fault.Unauthenticated},
		"empty header":       {set("Authorization", ""), sigv4.Unsupported, fault.Unauthenticated},
		"basic":              {set("Authorization", "Basic YTpi"), sigv4.Unsupported, fault.Unauthenticated},
		"version 2":          {set("Authorization", "AWS AKID:c2ln"), sigv4.Obsolete, fault.InvalidArgument},
		"ecdsa":              {edit("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), sigv4.Unsupported, fault.Unauthenticated},
		"two headers":        {func(r *http.Request) { r.Header.Add("Authorization", "x") }, sigv4.Ambiguous, fault.InvalidArgument},
		"header and query":   {func(r *http.Request) { r.RequestURI += "&X-Amz-Signature=00" }, sigv4.Ambiguous, fault.InvalidArgument},
		"no credential":      {edit("Credential=", "Credentials="), sigv4.MalformedAuth, fault.InvalidArgument},
		"a field twice":      {edit("Signature=", "Signature=00, Signature="), sigv4.MalformedAuth, fault.InvalidArgument},
		"short scope":        {edit("/aws4_request", ""), sigv4.MalformedAuth, fault.InvalidArgument},
		"wrong ending":       {edit("/aws4_request", "/aws5_request"), sigv4.MalformedAuth, fault.InvalidArgument},
		"wrong service":      {edit("/s3/", "/iam/"), sigv4.MalformedAuth, fault.InvalidArgument},
		"date of the scope":  {edit("/20261130/", "/20261129/"), sigv4.MalformedAuth, fault.InvalidArgument},
		"upper-case digits":  {func(r *http.Request) { upperSignature(r) }, sigv4.BadHeaders, fault.BadSignature},
		"short signature":    {edit("Signature=", "Signature=0"), sigv4.BadHeaders, fault.BadSignature},
		"no x-amz-date":      {func(r *http.Request) { r.Header.Del("X-Amz-Date") }, sigv4.NoDate, fault.Unauthenticated},
		"only Date":          {func(r *http.Request) { onlyDate(r) }, sigv4.NoDate, fault.Unauthenticated},
		"odd date":           {set("X-Amz-Date", "20261130T120000+0000"), sigv4.NoDate, fault.Unauthenticated},
		"host unsigned":      {edit("SignedHeaders=host;", "SignedHeaders="), sigv4.NotSigned, fault.BadSignature},
		"unsorted":           {edit("host;range", "range;host"), sigv4.BadHeaders, fault.BadSignature},
		"a name twice":       {edit("host;range", "host;host;range"), sigv4.BadHeaders, fault.BadSignature},
		"an absent header":   {edit("host;range", "host;if-match;range"), sigv4.BadHeaders, fault.BadSignature},
		"an upper-case name": {edit("host;range", "Host;host;range"), sigv4.BadHeaders, fault.BadSignature},
		"unsigned copy":      {set("X-Amz-Copy-Source", "/b/k"), sigv4.NotSigned, fault.BadSignature},
		"unsigned metadata":  {set("X-Amz-Meta-A", "b"), sigv4.NotSigned, fault.BadSignature},
		"unsigned ACL":       {set("X-Amz-Acl", "private"), sigv4.NotSigned, fault.BadSignature},
		"no payload hash":    {func(r *http.Request) { noPayloadHash(r) }, sigv4.NoPayloadHash, fault.InvalidArgument},
		"broken query":       {func(r *http.Request) { r.RequestURI = "/a?b=%zz" }, sigv4.BadTarget, fault.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkReason(t, signed(t, tc.change), when(), tc.reason, tc.code)
		})
	}
}

func checkReason(t *testing.T, r *http.Request, now time.Time, reason sigv4.Reason, code fault.Code) {
	t.Helper()
	_, err := sigv4.Parse(r, now)
	var e *sigv4.Error
	if !errors.As(err, &e) || e.Reason != reason || fault.CodeOf(err) != code {
		t.Fatalf("got %v (%v), want reason %d and %v", err, fault.CodeOf(err), reason, code)
	}
	if fault.HintOf(err) == "" || strings.Contains(err.Error(), secret) {
		t.Fatalf("a poor message: %v", err)
	}
}

func upperSignature(r *http.Request) {
	head, sig, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	r.Header.Set("Authorization", head+"Signature=F"+strings.ToUpper(sig[1:]))
}

func onlyDate(r *http.Request) {
	r.Header.Del("X-Amz-Date")
	r.Header.Set("Date", when().Format(http.TimeFormat))
}

func noPayloadHash(r *http.Request) {
	r.Header.Del("X-Amz-Content-Sha256")
	edit(";x-amz-content-sha256", "")(r)
}

func TestParseJudgesTheClock(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-14 * time.Minute, 0, 14 * time.Minute} {
		if _, ok := verified(t, signed(t, nil), when().Add(off)); !ok {
			t.Errorf("refused %v off", off)
		}
	}
	for _, off := range []time.Duration{-16 * time.Minute, 16 * time.Minute, 24 * time.Hour} {
		checkReason(t, signed(t, nil), when().Add(off), sigv4.Skewed, fault.ClockSkew)
	}
}

// Clients sign headers that net/http keeps outside the map.
func TestParseTakesBackWhatNetHTTPTakesOut(t *testing.T) {
	t.Parallel()
	r := newRequest(t, http.MethodPut, "/b/k", nil)
	r.Body, r.ContentLength = http.NoBody, 0
	r.Header.Set("Expect", "100-continue")
	signAWS(t, r, sigv4.UnsignedPayload, when())
	got := signed(t, nil)
	got.Header.Del("Content-Length")
	got.ContentLength = 5
	got.TransferEncoding = []string{"chunked"}
	edit("SignedHeaders=", "SignedHeaders=content-length;expect;")(got)
	edit(";range;", ";range;transfer-encoding;")(got)
	req, err := sigv4.Parse(got, when())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(req.SignedHeaders[:2], []string{"content-length", "expect"}) || !req.Signs("transfer-encoding") {
		t.Fatal(req.SignedHeaders)
	}
}

// A proxy changes or drops Accept-Encoding, which was signed.
func TestParseOffersAlternatesForAcceptEncoding(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{"identity", "gzip"} {
		for _, arrived := range []string{"", "gzip, br", "gzip", "identity", "br"} {
			got := acceptEncoding(t, sent, arrived)
			req, ok := verified(t, got, when())
			if !ok || len(req.Alternates) > 8 {
				t.Errorf("signed %q, arrived as %q: refused", sent, arrived)
			}
		}
	}
}

func acceptEncoding(t *testing.T, sent, arrived string) *http.Request {
	r := newRequest(t, http.MethodGet, "/b/k", map[string]string{"Accept-Encoding": sent})
	signAWS(t, r, sigv4.EmptyPayload, when())
	if !strings.Contains(r.Header.Get("Authorization"), "accept-encoding") {
		t.Fatal("the signer did not sign accept-encoding")
	}
	got := arrive(t, r)
	got.Header.Del("Accept-Encoding")
	if arrived != "" {
		got.Header.Set("Accept-Encoding", arrived)
	}
	return got
}

func TestASignatureCoversTheRequest(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*http.Request){
		"method":  func(r *http.Request) { r.Method = http.MethodDelete },
		"key":     func(r *http.Request) { r.RequestURI = "/photos/b.jpg?versionId=null" },
		"dots":    func(r *http.Request) { r.RequestURI = "/photos/./a.jpg?versionId=null" },
		"query":   func(r *http.Request) { r.RequestURI += "&uploadId=x" },
		"host":    func(r *http.Request) { r.Host = "other:9000" },
		"header":  func(r *http.Request) { r.Header.Set("Range", "bytes=0-99") },
		"payload": func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", sigv4.UnsignedPayload) },
		"time":    func(r *http.Request) { r.Header.Set("X-Amz-Date", "20261130T120001Z") },
		"region":  edit("/us-east-1/", "/eu-west-1/"),
	} {
		if _, ok := verified(t, signed(t, change), when()); ok {
			t.Errorf("%s: changed without breaking the signature", name)
		}
	}
}

func TestReasonsAreComplete(t *testing.T) {
	t.Parallel()
	if n := len(sigv4.Reasons()); n != int(sigv4.BadTarget) {
		t.Fatalf("%d reasons", n)
	}
}
