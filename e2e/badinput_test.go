package e2e_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"
	"time"
)

// refusalCase is a request that must be refused. It aims at /bad/old, which
// has to stay as it was, or at /bad/new, which has to stay absent.
type refusalCase struct {
	name   string
	status int
	code   string
	send   func(*s3Client) answer
}

// badBody is large enough to stand in a file of its own, so that a file that
// stays behind is seen.
func badBody() []byte { return payloadBytes("bad", 0, 300_000) }

// put sends badBody to both targets and returns the second answer; both must
// be the same.
func put(edits ...edit) func(*s3Client) answer {
	return func(c *s3Client) answer {
		first := c.do(http.MethodPut, "/bad/old", badBody(), edits...)
		second := c.do(http.MethodPut, "/bad/new", badBody(), edits...)
		if first.status != second.status || first.code != second.code {
			c.t.Errorf("over an old object: %v; as a new one: %v", first, second)
		}
		return second
	}
}

func putChunked(b chunked, edits ...edit) func(*s3Client) answer {
	return func(c *s3Client) answer {
		a, err := c.send(b.request(c, "/bad/old", edits...))
		if err != nil {
			c.t.Fatal(err)
		}
		return a
	}
}

// signedAt signs with another clock.
func signedAt(shift time.Duration) func(*s3Client) answer {
	return func(c *s3Client) answer {
		r := c.request(c.t.Context(), http.MethodPut, "/bad/old", badBody(), 0)
		r.Header.Del("Authorization")
		c.sign(r, time.Now().Add(shift))
		a, err := c.send(r)
		if err != nil {
			c.t.Fatal(err)
		}
		return a
	}
}

// as sends a put with other credentials.
func as(key, secret string) func(*s3Client) answer {
	return func(c *s3Client) answer {
		other := *c
		other.signer = newSigner() // a signer keeps derived keys by the key's id
		other.creds.AccessKeyID = key
		if secret != "" {
			other.creds.SecretAccessKey = secret
		}
		return put()(&other)
	}
}

func do(method, target string, body []byte, edits ...edit) func(*s3Client) answer {
	return func(c *s3Client) answer { return c.do(method, target, body, edits...) }
}

// deleteMany sends a document to DeleteObjects with the digest that it wants.
func deleteMany(doc []byte) func(*s3Client) answer {
	sum := md5.Sum(doc)
	return do(http.MethodPost, "/bad?delete=", doc, header("Content-MD5", base64.StdEncoding.EncodeToString(sum[:])))
}

func credentialCases(key string) []refusalCase {
	return []refusalCase{
		{"wrong secret", 403, "SignatureDoesNotMatch", as(key, "not the secret")},
		{"unknown key", 403, "InvalidAccessKeyId", as("NOSUCHKEY", "")},
		{"clock behind", 403, "RequestTimeTooSkewed", signedAt(-20 * time.Minute)},
		{"clock ahead", 403, "RequestTimeTooSkewed", signedAt(20 * time.Minute)},
		{"header changed after signing", 403, "SignatureDoesNotMatch", func(c *s3Client) answer {
			r := c.request(c.t.Context(), http.MethodPut, "/bad/old", badBody(), 0, header("X-Amz-Meta-Note", "signed"))
			r.Header.Set("X-Amz-Meta-Note", "changed")
			a, err := c.send(r)
			if err != nil {
				c.t.Fatal(err)
			}
			return a
		}},
		{"no credentials", 403, "AccessDenied", func(c *s3Client) answer {
			r := c.request(c.t.Context(), http.MethodPut, "/bad/old", badBody(), 0)
			r.Header.Del("Authorization")
			a, err := c.send(r)
			if err != nil {
				c.t.Fatal(err)
			}
			return a
		}},
	}
}

func bodyCases() []refusalCase {
	wrong32 := base64.StdEncoding.EncodeToString(make([]byte, 32))
	wrong16, wrong4 := base64.StdEncoding.EncodeToString(make([]byte, 16)), base64.StdEncoding.EncodeToString(make([]byte, 4))
	halves := [][]byte{badBody()[:150_000], badBody()[150_000:]}
	return []refusalCase{
		{"wrong payload hash", 400, "XAmzContentSHA256Mismatch", put(header(amzContentHash, strings.Repeat("0", 64)))},
		{"wrong Content-MD5", 400, "BadDigest", put(header("Content-MD5", wrong16))},
		{"Content-MD5 that is none", 400, "InvalidDigest", put(header("Content-MD5", "AAAA"))},
		{"wrong CRC32", 400, "BadDigest", put(header("X-Amz-Checksum-Crc32", wrong4))},
		{"wrong CRC32C", 400, "BadDigest", put(header("X-Amz-Checksum-Crc32c", wrong4))},
		{"wrong SHA256", 400, "BadDigest", put(header("X-Amz-Checksum-Sha256", wrong32))},
		{"wrong trailer", 400, "BadDigest", putChunked(chunked{chunks: halves, mode: unsignedTrailer, trailer: "x-amz-checksum-crc32:" + wrong4})},
		{"no trailer although announced", 400, "MalformedTrailerError", putChunked(chunked{chunks: halves, mode: unsignedTrailer,
			trailer: "x-amz-checksum-crc32:" + wrong4, spoil: func(f []byte) []byte { return append(f[:bytes.LastIndex(f, []byte("x-amz"))], "\r\n"...) }})},
		{"byte of a chunk changed", 403, "SignatureDoesNotMatch", putChunked(chunked{chunks: halves, mode: signedChunks,
			spoil: func(f []byte) []byte { f[200_000] ^= 1; return f }})},
		{"framing broken", 400, "InvalidRequest", putChunked(chunked{chunks: halves, mode: signedChunks,
			spoil: func(f []byte) []byte { copy(f, "zzzz"); return f }})},
		{"last chunk missing", 400, "IncompleteBody", putChunked(chunked{chunks: halves, mode: signedChunks,
			spoil: func(f []byte) []byte { return f[:bytes.LastIndex(f, []byte("0;chunk"))] }})},
		{"cut in a chunk", 400, "IncompleteBody", putChunked(chunked{chunks: halves, mode: signedChunks,
			spoil: func(f []byte) []byte { return f[:200_000] }})},
		{"more than declared in chunks", 400, "IncompleteBody", putChunked(chunked{chunks: halves, mode: signedChunks, decoded: 200_000})},
		{"less than declared in chunks", 400, "IncompleteBody", putChunked(chunked{chunks: halves, mode: signedChunks, decoded: 400_000})},
		{"more than 5 GiB declared", 400, "EntityTooLarge", putChunked(chunked{chunks: halves, mode: unsignedTrailer, decoded: 5<<30 + 1,
			trailer: "x-amz-checksum-crc32:" + wrong4})},
		{"too much metadata", 400, "MetadataTooLarge", put(header("X-Amz-Meta-Long", strings.Repeat("x", 2100)))},
	}
}

func targetCases() []refusalCase {
	long := strings.Repeat("k", 1025)
	bomb := `<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a0 "aaaaaaaaaa">` + entities(30) + `]><Delete><Object><Key>&a30;</Key></Object></Delete>`
	part := "<Part><PartNumber>1</PartNumber><ETag>x</ETag></Part>"
	return []refusalCase{
		{"range behind the end", 416, "InvalidRange", do(http.MethodGet, "/bad/old", nil, header("Range", "bytes=999999999-"))},
		{"range of nothing", 416, "InvalidRange", do(http.MethodGet, "/bad/old", nil, header("Range", "bytes=-0"))},
		{"key of 1,025 bytes", 400, "KeyTooLongError", do(http.MethodPut, "/bad/"+long, badBody())},
		{"key of 1,026 bytes in 2-byte letters", 400, "KeyTooLongError", do(http.MethodPut, "/bad/"+strings.Repeat("%C3%BC", 513), badBody())},
		{"key that is not UTF-8", 400, "InvalidURI", do(http.MethodPut, "/bad/%ff%fe", badBody())},
		{"key with a cut letter", 400, "InvalidURI", do(http.MethodPut, "/bad/x%C3", badBody())},
		{"XML bomb", 400, "MalformedXML", deleteMany([]byte(bomb))},
		{"XML that asks for a file", 400, "MalformedXML", deleteMany([]byte(
			`<?xml version="1.0"?><!DOCTYPE d [<!ENTITY f SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&f;</Key></Object></Delete>`))},
		{"deep XML", 400, "MalformedXML", deleteMany([]byte(strings.Repeat("<Delete>", 50_000)))},
		{"XML that is not UTF-8", 400, "MalformedXML", deleteMany([]byte("<Delete><Object><Key>\xff</Key></Object></Delete>"))},
		{"more than 1,000 to delete", 400, "MalformedXML", deleteMany([]byte(
			"<Delete>" + strings.Repeat("<Object><Key>old</Key></Object>", 1001) + "</Delete>"))},
		{"Complete of no upload", 404, "NoSuchUpload", do(http.MethodPost, "/bad/old?uploadId=nothing", []byte("<CompleteMultipartUpload>"+part+"</CompleteMultipartUpload>"))},
		{"no such bucket", 404, "NoSuchBucket", do(http.MethodPut, "/nosuch/new", badBody())},
		{"bucket name", 400, "InvalidBucketName", do(http.MethodPut, "/Not_A_Bucket", nil)},
		{"precondition", 412, "PreconditionFailed", do(http.MethodPut, "/bad/old", badBody(), header("If-None-Match", "*"))},
	}
}

// entities makes each entity ten times the one before.
func entities(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `<!ENTITY a%d "%s">`, i, strings.Repeat(fmt.Sprintf("&a%d;", i-1), 10))
	}
	return b.String()
}

// TestBadInput sends what must be refused. Each time: S3's own code, a message
// for a person, nothing stored, the old object as it was, the next request fine.
func TestBadInput(t *testing.T) {
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/bad", nil)
	old := payloadBytes("old", 0, 200_000)
	c.must(http.StatusOK, http.MethodPut, "/bad/old", old)
	files := blobFiles(t, s.dir)
	goodFrames(c)
	await(t, "the file of a deleted object to go", wireWithin, func() bool { return len(blobFiles(t, s.dir)) == len(files) })
	cases := append(append(credentialCases(s.key), bodyCases()...), targetCases()...)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := s.client()
			c.t = t
			a := tc.send(c)
			checkRefusal(t, tc, a)
			unharmed(t, c, old)
			await(t, "the refused body's file to go", wireWithin, func() bool { return len(blobFiles(t, s.dir)) == len(files) })
		})
	}
	c.must(http.StatusOK, http.MethodPut, "/bad/"+strings.Repeat("k", 1024), []byte("the longest key"))
	t.Logf("%d kinds of bad input refused; afterwards %s resident", len(cases), mib(memoryOf(t, s.pid()).now))
}

// goodFrames is the control of the cases with chunks: the same frames unspoilt
// are taken.
func goodFrames(c *s3Client) {
	c.t.Helper()
	halves := [][]byte{badBody()[:150_000], badBody()[150_000:]}
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(badBody()))
	trailer := "x-amz-checksum-crc32:" + base64.StdEncoding.EncodeToString(sum)
	for _, b := range []chunked{{chunks: halves, mode: signedChunks}, {chunks: halves, mode: unsignedTrailer, trailer: trailer}} {
		a, err := c.send(b.request(c, "/bad/good"))
		if err != nil || a.status != http.StatusOK {
			c.t.Fatalf("a good body in chunks (%s): %v, %v", b.mode, a, err)
		}
		if got := c.must(http.StatusOK, http.MethodGet, "/bad/good", nil); !bytes.Equal(got.body, badBody()) {
			c.t.Fatalf("a good body in chunks (%s) came back with other bytes", b.mode)
		}
		c.must(http.StatusNoContent, http.MethodDelete, "/bad/good", nil)
	}
}

func checkRefusal(t *testing.T, tc refusalCase, a answer) {
	t.Helper()
	if a.status != tc.status || a.code != tc.code {
		t.Errorf("answered %v, want %d %s", a, tc.status, tc.code)
	}
	var doc struct{ Message, RequestID string }
	if err := xml.Unmarshal(a.body, &doc); err != nil || len(doc.Message) < 10 {
		t.Errorf("the message is %q (%v)", doc.Message, err)
	}
}

// unharmed looks that the old object stands, that there is no other, and that
// a good put works.
func unharmed(t *testing.T, c *s3Client, old []byte) {
	t.Helper()
	if a := c.do(http.MethodGet, "/bad/old", nil); !bytes.Equal(a.body, old) {
		t.Fatalf("the old object is now %d %s, %d bytes", a.status, a.code, len(a.body))
	}
	if keys := c.allKeys("bad"); len(keys) != 1 {
		t.Errorf("the bucket holds %d objects: %.300q", len(keys), keys)
	}
	c.must(http.StatusOK, http.MethodPut, "/bad/next", []byte("works"))
	c.must(http.StatusNoContent, http.MethodDelete, "/bad/next", nil)
}
