package s3_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"larder/auth/sigv4"
	"larder/s3"
)

// framer writes signed or unsigned chunks, from the protocol's description and
// apart from the code under test.
type framer struct {
	key      []byte
	scope    string // time and scope, a line each
	previous string
	b        bytes.Buffer
}

const (
	seedSignature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
	chunkScope    = "20261130T120000Z\n20261130/us-east-1/s3/aws4_request\n"
	crcTrailer    = "x-amz-checksum-crc32"
)

func chunkKey() []byte { return sigv4.DeriveKey("secret", "20261130", "us-east-1", "s3") }

func newFramer() *framer { return &framer{key: chunkKey(), scope: chunkScope, previous: seedSignature} }

func newChain() *sigv4.Chain {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return sigv4.NewChain(&sigv4.Request{
		Date: "20261130", Region: "us-east-1", Service: "s3", Time: at, Signature: seedSignature,
	}, chunkKey())
}

func (f *framer) chunk(data string) *framer {
	sum := sha256.Sum256([]byte(data))
	f.previous = sigv4.Sign(f.key, "AWS4-HMAC-SHA256-PAYLOAD\n"+f.scope+f.previous+"\n"+
		sigv4.EmptyPayload+"\n"+fmt.Sprintf("%x", sum))
	fmt.Fprintf(&f.b, "%x;chunk-signature=%s\r\n%s", len(data), f.previous, data)
	if data != "" {
		f.b.WriteString("\r\n")
	}
	return f
}

func (f *framer) trailer(lines string) *framer {
	sum := sha256.Sum256([]byte(lines))
	f.previous = sigv4.Sign(f.key, "AWS4-HMAC-SHA256-TRAILER\n"+f.scope+f.previous+"\n"+fmt.Sprintf("%x", sum))
	fmt.Fprintf(&f.b, "%sx-amz-trailer-signature:%s\r\n", strings.ReplaceAll(lines, "\n", "\r\n"), f.previous)
	return f
}

func (f *framer) end() string { return f.b.String() + "\r\n" }

// decode reads wire in pieces of every size that matters, and demands the same
// of each.
func decode(t *testing.T, wire string, size int64, signed bool, trailers []string, signedTrailer bool) (string, map[string]string, error) {
	t.Helper()
	var text string
	var trailer map[string]string
	var first error
	for i, src := range []io.Reader{
		strings.NewReader(wire), iotest.OneByteReader(strings.NewReader(wire)), iotest.DataErrReader(strings.NewReader(wire)),
	} {
		var chain *sigv4.Chain
		if signed {
			chain = newChain()
		}
		r := s3.NewChunkReader(src, size, chain, trailers, signedTrailer)
		got, err := io.ReadAll(r)
		if i > 0 && (string(got) != text && err == nil || (err == nil) != (first == nil)) {
			t.Fatalf("reading %d gives %q, %v; before %q, %v", i, got, err, text, first)
		}
		text, trailer, first = string(got), s3.Trailer(r), err
		if errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal("an error that looks like the end of a body")
		}
		if _, again := r.Read(make([]byte, 1)); err != nil && again != err {
			t.Fatalf("the error changed from %v to %v", err, again)
		}
	}
	return text, trailer, first
}

func TestSignedChunks(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 10_000)
	for _, parts := range [][]string{{}, {"a"}, {"hello ", "world"}, {big, big, "x"}} {
		f, whole := newFramer(), strings.Join(parts, "")
		for _, p := range parts {
			f.chunk(p)
		}
		got, _, err := decode(t, f.chunk("").end(), int64(len(whole)), true, nil, false)
		if err != nil || got != whole {
			t.Fatalf("%d parts: %d bytes, %v", len(parts), len(got), err)
		}
	}
}

func TestSignedTrailer(t *testing.T) {
	t.Parallel()
	wire := newFramer().chunk("hello").chunk("").trailer(crcTrailer + ":NhCmhg==\n").end()
	got, trailer, err := decode(t, wire, 5, true, []string{crcTrailer}, true)
	if err != nil || got != "hello" || trailer[crcTrailer] != "NhCmhg==" {
		t.Fatal(got, trailer, err)
	}
	for name, broken := range map[string]string{
		"other value":     strings.Replace(wire, "NhCmhg==", "NhCmhQ==", 1),
		"other signature": strings.Replace(wire, "trailer-signature:", "trailer-signature:0", 1),
		"no signature":    wire[:strings.Index(wire, "x-amz-trailer-signature")] + "\r\n",
		"no trailer":      strings.Replace(wire, crcTrailer+":NhCmhg==\r\n", "", 1),
		"line behind it":  strings.TrimSuffix(wire, "\r\n") + "x-amz-meta-a:b\r\n\r\n",
	} {
		if _, _, err := decode(t, broken, 5, true, []string{crcTrailer}, true); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestUnsignedChunks(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string]string{
		"AWS":      "5\r\nhello\r\n6\r\n world\r\n0\r\n" + crcTrailer + ":DUoRhQ==\r\n\r\n",
		"minio-go": "B\r\nhello world\r\n0\r\n" + crcTrailer + ":DUoRhQ==\n\r\n\r\n",
		"blank":    "0b\r\nhello world\r\n000\r\n" + crcTrailer + ": DUoRhQ== \r\n",
	} {
		got, trailer, err := decode(t, wire, 11, false, []string{crcTrailer}, false)
		if err != nil || got != "hello world" || trailer[crcTrailer] != "DUoRhQ==" {
			t.Errorf("%s: %q %v %v", name, got, trailer, err)
		}
	}
	if got, _, err := decode(t, "2\r\nab\r\n0\r\n\r\n", 2, false, nil, false); err != nil || got != "ab" {
		t.Error("without a trailer:", got, err)
	}
}

// The framing alone, without signatures of requests.
func TestBrokenFraming(t *testing.T) {
	t.Parallel()
	good := "5\r\nhello\r\n0\r\n\r\n"
	for name, tc := range map[string]struct {
		wire string
		size int64
		code string
	}{
		"negative size":    {"-5\r\nhello\r\n0\r\n\r\n", 5, "InvalidRequest"},
		"signed size":      {"+5\r\nhello\r\n0\r\n\r\n", 5, "InvalidRequest"},
		"prefixed size":    {"0x5\r\nhello\r\n0\r\n\r\n", 5, "InvalidRequest"},
		"overflow":         {"ffffffffffffffff\r\nhello", 5, "InvalidRequest"},
		"17 digits":        {"00000000000000005\r\nhello\r\n0\r\n\r\n", 5, "InvalidRequest"},
		"no size":          {"\r\nhello\r\n0\r\n\r\n", 5, "InvalidRequest"},
		"a KiB of zeros":   {strings.Repeat("0", 1024) + "5\r\nhello", 5, "InvalidRequest"},
		"64 KiB line":      {strings.Repeat("a", 64<<10), 5, "InvalidRequest"},
		"extension":        {"5;a=b\r\nhello\r\n0\r\n\r\n", 5, "InvalidRequest"},
		"bare LF":          {"5\nhello\n0\n\n", 5, "InvalidRequest"},
		"no CRLF":          {"5\r\nhello0\r\n\r\n", 5, "InvalidRequest"},
		"too long a chunk": {"6\r\nhello\r\n0\r\n\r\n", 6, "InvalidRequest"},
		"too short":        {"4\r\nhello\r\n0\r\n\r\n", 4, "InvalidRequest"},
		"more than said":   {good, 4, "IncompleteBody"},
		"less than said":   {good, 6, "IncompleteBody"},
		"cut in a line":    {"5", 5, "IncompleteBody"},
		"cut in data":      {"5\r\nhel", 5, "IncompleteBody"},
		"cut after data":   {"5\r\nhello\r", 5, "IncompleteBody"},
		"no last chunk":    {"5\r\nhello\r\n", 5, "IncompleteBody"},
		"nothing":          {"", 5, "IncompleteBody"},
		"trailing bytes":   {good + "GET / HTTP/1.1\r\n", 5, "MalformedTrailerError"},
		"unasked trailer":  {"5\r\nhello\r\n0\r\n" + crcTrailer + ":a\r\n\r\n", 5, "MalformedTrailerError"},
		"huge trailer":     {good + strings.Repeat("\r\n", s3.MaxTrailer), 5, "MalformedTrailerError"},
	} {
		_, _, err := decode(t, tc.wire, tc.size, false, nil, false)
		if err == nil || s3.ErrorCode(err) != tc.code {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}

func TestBrokenTrailers(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{
		"absent":        "",
		"another":       "x-amz-checksum-crc32c:AAAA\r\n",
		"two":           crcTrailer + ":AAAA\r\nx-amz-checksum-sha1:AAAA\r\n",
		"twice":         crcTrailer + ":AAAA\r\n" + crcTrailer + ":AAAA\r\n",
		"no colon":      crcTrailer + "\r\n",
		"CR inside":     crcTrailer + ":AA\rAA\r\n",
		"signature too": crcTrailer + ":AAAA\r\nx-amz-trailer-signature:00\r\n",
	} {
		_, _, err := decode(t, "5\r\nhello\r\n0\r\n"+tail+"\r\n", 5, false, []string{crcTrailer}, false)
		if err == nil || s3.ErrorCode(err) != "MalformedTrailerError" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CVE-2021-21390: chunks changed, dropped, swapped or repeated on the way.
func TestTamperedChunks(t *testing.T) {
	t.Parallel()
	one := newFramer().chunk("hello").b.String()
	two := newFramer().chunk("hello").chunk("world").b.String()[len(one):]
	all := newFramer().chunk("hello").chunk("world").chunk("").end()
	end := all[len(one)+len(two):]
	for name, wire := range map[string]string{
		"flipped byte":    strings.Replace(all, "hello", "hellp", 1),
		"swapped":         two + one + end,
		"last dropped":    one + end,
		"first dropped":   two + end,
		"repeated":        one + one + end,
		"no end":          one + two,
		"forged end":      one + two + "0;chunk-signature=" + strings.Repeat("0", 64) + "\r\n\r\n",
		"unsigned chunk":  "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n",
		"short signature": strings.Replace(all, "chunk-signature=", "chunk-signature=0", 1),
	} {
		got, _, err := decode(t, wire, 10, true, nil, false)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if strings.Contains(got, "hellp") || strings.HasPrefix(got, "world") {
			t.Errorf("%s: unverified bytes were handed out: %q", name, got)
		}
	}
}

// An announced chunk of 16 MiB must not cost memory before its bytes come.
func TestChunkLimits(t *testing.T) {
	t.Parallel()
	over := fmt.Sprintf("%x;chunk-signature=%s\r\n", s3.MaxSignedChunk+1, seedSignature)
	if _, _, err := decode(t, over, 1<<40, true, nil, false); s3.ErrorCode(err) != "InvalidChunkSizeError" {
		t.Error(err)
	}
	announced := fmt.Sprintf("%x;chunk-signature=%s\r\nfew bytes", s3.MaxSignedChunk, seedSignature)
	src := &askedFor{src: strings.NewReader(announced)}
	if _, err := io.ReadAll(s3.NewChunkReader(src, 1<<40, newChain(), nil, false)); s3.ErrorCode(err) != "IncompleteBody" {
		t.Error(err)
	}
	if src.most > 128<<10 {
		t.Errorf("a buffer of %d bytes for 9 bytes of a chunk", src.most)
	}
}

// askedFor remembers the largest buffer that it was given.
type askedFor struct {
	src  io.Reader
	most int
}

func (a *askedFor) Read(p []byte) (int, error) {
	a.most = max(a.most, len(p))
	return a.src.Read(p)
}

// FuzzChunkReader: whatever arrives, the decoder gives exactly the announced
// bytes or an error, and never reads on for ever.
func FuzzChunkReader(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), int64(5), false)
	f.Add([]byte("5\r\nhello\r\n0\r\n"+crcTrailer+":AAAA\r\n\r\n"), int64(5), true)
	f.Add([]byte(newFramer().chunk("hello").chunk("").end()), int64(5), false)
	f.Fuzz(func(t *testing.T, wire []byte, size int64, trailer bool) {
		if size < 0 {
			return
		}
		var names []string
		if trailer {
			names = []string{crcTrailer}
		}
		for _, chain := range []*sigv4.Chain{nil, newChain()} {
			got, err := io.ReadAll(s3.NewChunkReader(bytes.NewReader(wire), size, chain, names, false))
			if err == nil && int64(len(got)) != size || int64(len(got)) > size {
				t.Fatalf("%d bytes of %d, %v", len(got), size, err)
			}
		}
	})
}
