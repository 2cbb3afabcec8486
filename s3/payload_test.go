package s3_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"larder/auth/sigv4"
	"larder/s3"
)

// upload is a chunked put: what is announced and how the wire is made.
type upload struct {
	target, body string
	mode         string
	trailer      string // the line, "name:value"
	header       map[string]string
	pieces       int                 // chunks to send the body in
	noLength     bool                // Transfer-Encoding: chunked, no Content-Length
	tamper       func(string) string // of the whole wire
	as           *keyPair
}

// upload sends a put in aws-chunked framing.
func (s *stack) upload(u upload) answer {
	s.t.Helper()
	q := request{method: "PUT", target: u.target, payload: u.mode, as: u.as, header: map[string]string{
		"Content-Encoding": "aws-chunked", "x-amz-decoded-content-length": strconvItoa(len(u.body)),
	}}
	if u.trailer != "" {
		q.header["x-amz-trailer"] = strings.SplitN(u.trailer, ":", 2)[0]
	}
	for name, value := range u.header {
		q.header[name] = value
	}
	r := s.build(q)
	wire := u.wire(s.framer(r))
	if u.tamper != nil {
		wire = u.tamper(wire)
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(wire)), int64(len(wire))
	if u.noLength {
		r.ContentLength = -1
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// framer continues the chain of a signed request.
func (s *stack) framer(r *http.Request) *framer {
	_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	stamp := r.Header.Get("X-Amz-Date")
	return &framer{
		key:   sigv4.DeriveKey(s.key.secret, stamp[:8], "us-east-1", "s3"),
		scope: stamp + "\n" + stamp[:8] + "/us-east-1/s3/aws4_request\n", previous: signature,
	}
}

func (u *upload) wire(f *framer) string {
	signed := u.mode != sigv4.UnsignedChunksAndTrailer
	n := max(u.pieces, 1)
	for i := range n {
		piece := u.body[len(u.body)*i/n : len(u.body)*(i+1)/n]
		switch {
		case piece == "":
		case signed:
			f.chunk(piece)
		default:
			fmt.Fprintf(&f.b, "%x\r\n%s\r\n", len(piece), piece)
		}
	}
	if signed {
		f.chunk("")
	} else {
		f.b.WriteString("0\r\n")
	}
	switch {
	case u.mode == sigv4.SignedChunksWithTrailer:
		f.trailer(u.trailer + "\n")
	case u.trailer != "":
		f.b.WriteString(u.trailer + "\r\n")
	}
	return f.end()
}

// All five modes, over both protocols, with and
// without a Content-Length.
func TestPayloadModes(t *testing.T) {
	t.Parallel()
	for _, tls := range []bool{false, true} {
		s := startStack(t, options{tls: tls})
		s.bucket("pics")
		for _, body := range []string{"", "hello", strings.Repeat("0123456789", 50_000)} {
			s.put("/pics/signed", body)
			s.want(200, request{method: "PUT", target: "/pics/unsigned", body: body, payload: sigv4.UnsignedPayload})
			s.holds("/pics/signed", body)
			s.holds("/pics/unsigned", body)
			for _, mode := range []string{sigv4.SignedChunks, sigv4.SignedChunksWithTrailer, sigv4.UnsignedChunksAndTrailer} {
				s.chunkedMode(mode, body)
			}
		}
	}
}

func (s *stack) chunkedMode(mode, body string) {
	s.t.Helper()
	trailer := ""
	if mode != sigv4.SignedChunks {
		trailer = "x-amz-checksum-crc32:" + crc32Of(body)
	}
	for _, noLength := range []bool{false, true} {
		a := s.upload(upload{target: "/pics/k", body: body, mode: mode, trailer: trailer, pieces: 3, noLength: noLength})
		if a.status != 200 {
			s.t.Errorf("%s, %d bytes: %d %s", mode, len(body), a.status, a.body)
		}
		h := s.head("/pics/k", "x-amz-checksum-mode", "ENABLED").header
		if trailer != "" && h.Get("X-Amz-Checksum-Crc32") != crc32Of(body) || h.Get("Content-Encoding") != "" {
			s.t.Errorf("%s: %v", mode, h)
		}
		s.holds("/pics/k", body)
	}
}

// aws-chunked is framing and not an encoding of the object (versitygw#2398).
func TestChunkedIsNoContentEncoding(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for in, want := range map[string]string{"aws-chunked,gzip": "gzip", "gzip, aws-chunked": "gzip", "aws-chunked": ""} {
		a := s.upload(upload{target: "/pics/k", body: "x", mode: sigv4.UnsignedChunksAndTrailer, trailer: crcTrailer + ":" + crc32Of("x"),
			header: map[string]string{"Content-Encoding": in}})
		if got := s.head("/pics/k").header.Get("Content-Encoding"); a.status != 200 || got != want {
			t.Errorf("%q: %d, %q", in, a.status, got)
		}
	}
}

// Nothing is stored, the old object stays, and the next
// request works.
func TestBrokenUploadsStoreNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "old")
	replace := func(from, to string) func(string) string {
		return func(w string) string {
			if !strings.Contains(w, from) {
				t.Errorf("no %q in the wire", from)
			}
			return strings.Replace(w, from, to, 1)
		}
	}
	large := strings.Repeat("new object ", 30_000)
	const signed, signedT, unsigned = sigv4.SignedChunks, sigv4.SignedChunksWithTrailer, sigv4.UnsignedChunksAndTrailer
	good := crcTrailer + ":" + crc32Of(large)
	for name, tc := range map[string]struct {
		status int
		code   string
		u      upload
	}{
		"flipped byte":           {403, "SignatureDoesNotMatch", upload{mode: signed, tamper: replace("object", "objekt")}},
		"flipped byte, trailer":  {403, "SignatureDoesNotMatch", upload{mode: signedT, trailer: good, tamper: replace("object", "objekt")}},
		"flipped byte, unsigned": {400, "BadDigest", upload{mode: unsigned, trailer: good, tamper: replace("object", "objekt")}},
		"wrong trailer":          {400, "BadDigest", upload{mode: unsigned, trailer: crcTrailer + ":AAAAAA=="}},
		"wrong signed trailer":   {400, "BadDigest", upload{mode: signedT, trailer: crcTrailer + ":AAAAAA=="}},
		"bad base64":             {400, "MalformedTrailerError", upload{mode: unsigned, trailer: crcTrailer + ":AAA"}},
		"trailer changed":        {403, "SignatureDoesNotMatch", upload{mode: signedT, trailer: good, tamper: replace(crcTrailer+":", crcTrailer+":A")}},
		"trailer missing":        {400, "MalformedTrailerError", upload{mode: unsigned, trailer: good, tamper: replace(good+"\r\n", "")}},
		"trailer unannounced":    {400, "MalformedTrailerError", upload{mode: unsigned, tamper: replace("0\r\n\r\n", "0\r\n"+good+"\r\n\r\n")}},
		"trailer of two":         {400, "InvalidRequest", upload{mode: unsigned, trailer: good, header: map[string]string{"x-amz-trailer": crcTrailer + ",x-amz-checksum-sha1"}}},
		"trailer of none":        {400, "InvalidRequest", upload{mode: unsigned, trailer: "x-amz-meta-a:b"}},
		"trailer unknown":        {400, "InvalidRequest", upload{mode: unsigned, trailer: "x-amz-checksum-xxhash3:AAAA"}},
		"trailer with signed":    {400, "InvalidRequest", upload{mode: signed, trailer: good}},
		"other SDK algorithm":    {400, "InvalidRequest", upload{mode: unsigned, trailer: good, header: map[string]string{"x-amz-sdk-checksum-algorithm": "SHA256"}}},
		"header and trailer":     {400, "InvalidRequest", upload{mode: unsigned, trailer: good, header: map[string]string{"x-amz-checksum-crc32": crc32Of(large)}}},
		"length too small":       {400, "IncompleteBody", upload{mode: unsigned, trailer: good, header: map[string]string{"x-amz-decoded-content-length": "5"}}},
		"length too large":       {400, "IncompleteBody", upload{mode: signed, header: map[string]string{"x-amz-decoded-content-length": "999999"}}},
		"length negative":        {411, "MissingContentLength", upload{mode: signed, header: map[string]string{"x-amz-decoded-content-length": "-1"}}},
		"length 2^63":            {411, "MissingContentLength", upload{mode: signed, header: map[string]string{"x-amz-decoded-content-length": "9223372036854775808"}}},
		"length over 5 GiB":      {400, "EntityTooLarge", upload{mode: signed, header: map[string]string{"x-amz-decoded-content-length": "5368709121"}}},
		"length empty":           {411, "MissingContentLength", upload{mode: signed, header: map[string]string{"x-amz-decoded-content-length": ""}}},
		"plain body":             {400, "InvalidRequest", upload{mode: signed, tamper: func(string) string { return large }}},
		"cut":                    {400, "IncompleteBody", upload{mode: signed, tamper: func(w string) string { return w[:len(w)/2] }}},
		"last chunk dropped":     {400, "IncompleteBody", upload{mode: signed, tamper: func(w string) string { return w[:strings.LastIndex(w, "\r\n0;")+2] }}},
		"wrong MD5":              {400, "BadDigest", upload{mode: signed, header: map[string]string{"Content-Md5": contentMD5("x")}}},
		"ECDSA":                  {501, "NotImplemented", upload{mode: "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"}},
		"smuggled request":       {400, "MalformedTrailerError", upload{mode: signed, tamper: func(w string) string { return w + "GET / HTTP/1.1\r\nHost: x\r\n\r\n" }}},
	} {
		tc.u.target, tc.u.body, tc.u.pieces = "/pics/k", large, 4
		if a := s.upload(tc.u); a.status != tc.status || a.code() != tc.code {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.body, tc.status, tc.code)
		}
		s.holds("/pics/k", "old")
	}
	if n := s.blobs(); n != 0 {
		t.Errorf("%d blobs are left behind", n)
	}
}

func TestPlainBodiesInTheWrongMode(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	framed := "3\r\nabc\r\n0\r\n\r\n"
	for _, h := range []map[string]string{{"Content-Encoding": "aws-chunked"}, {"x-amz-decoded-content-length": "3"}, {"x-amz-trailer": crcTrailer}} {
		s.refused(400, "InvalidRequest", request{method: "PUT", target: "/pics/k", body: framed, header: h})
		s.refused(400, "InvalidRequest", request{method: "PUT", target: "/pics/k", body: framed, header: h, payload: sigv4.UnsignedPayload})
	}
	unknown := func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader("abc")) }
	s.refused(411, "MissingContentLength", request{method: "PUT", target: "/pics/k", payload: sigv4.UnsignedPayload, change: unknown})
	s.gone("/pics/k")
}

// The default takes unsigned payloads over plain HTTP, the
// setting refuses them, but not from the machine itself.
func TestRefuseUnsigned(t *testing.T) {
	t.Parallel()
	s := startStack(t, options{config: func(c *s3.Config) { c.RefuseUnsigned = true }})
	s.bucket("pics")
	s.want(200, request{method: "PUT", target: "/pics/k", body: "x", payload: sigv4.UnsignedPayload})
	r := s.build(request{method: "PUT", target: "/pics/k", body: "y", payload: sigv4.UnsignedPayload})
	for addr, want := range map[string]int{"192.0.2.1:1234": 400, "127.0.0.1:1234": 200, "[2001:db8::1]:1": 400} {
		if got := s.direct(r, addr); got.status != want || want == 400 && !strings.Contains(got.body, "refuse-unsigned") {
			t.Errorf("%s: %d %s", addr, got.status, got.body)
		}
	}
}

// direct hands a request to the server as if it came from an address.
func (s *stack) direct(r *http.Request, addr string) answer {
	var wire bytes.Buffer
	body, _ := r.GetBody()
	r = r.Clone(r.Context())
	r.Body, r.RemoteAddr, r.Host, r.RequestURI = body, addr, r.URL.Host, r.URL.RequestURI()
	w := &recorder{header: http.Header{}, body: &wire, status: 200}
	s.server.ServeHTTP(w, r)
	return answer{w.status, w.header, wire.String()}
}

// recorder is a ResponseWriter without a connection.
type recorder struct {
	header http.Header
	body   *bytes.Buffer
	status int
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
