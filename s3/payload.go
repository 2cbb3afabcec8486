package s3

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/store"
)

// payload is a request's body, decoded: it gives exactly size bytes and then
// io.EOF, or an error. Behind io.EOF, verify compares the digests.
type payload struct {
	src     io.Reader
	size    int64
	expect  expected
	chunks  *chunkReader // nil for a plain body
	trailer string       // the trailer that brings the checksum, "" when none does
	ended   bool
	err     error // the first error but io.EOF: the truth about a failed put
}

// Read gives decoded bytes.
func (p *payload) Read(b []byte) (int, error) {
	n, err := p.src.Read(b)
	switch {
	case err == io.EOF:
		p.ended = true
	case err != nil && p.err == nil:
		p.err = err
	}
	return n, err
}

// verify is store.PutRequest.Verify.
func (p *payload) verify(d store.Digests) error {
	if !p.ended {
		return errTooLittle
	}
	if p.trailer != "" {
		value, err := decodeChecksum(p.expect.algorithm, p.chunks.trailer[p.trailer])
		if err != nil {
			return errTrailer
		}
		p.expect.value = value
	}
	return p.expect.check(d)
}

// cause prefers what was wrong with the body to what the store made of it.
func (p *payload) cause(err error) error {
	if err != nil && p.err != nil {
		return p.err
	}
	return err
}

// openPayload finds out how the body is encoded and what it must be. It reads
// nothing, so that a client that waits for "100 Continue" goes on waiting.
// limit bounds the decoded bytes.
func (c *call) openPayload(limit int64) (*payload, error) {
	p := &payload{}
	if err := c.readMD5(&p.expect); err != nil {
		return nil, err
	}
	if err := c.readChecksum(&p.expect); err != nil {
		return nil, err
	}
	return p, c.openBody(p, limit)
}

// openDocument is openPayload for a request whose x-amz-checksum-* headers are
// about something else than its body.
func (c *call) openDocument(limit int64) (*payload, error) {
	p := &payload{}
	if err := c.readMD5(&p.expect); err != nil {
		return nil, err
	}
	return p, c.openBody(p, limit)
}

func (c *call) openBody(p *payload, limit int64) error {
	if err := c.readTrailerName(p); err != nil {
		return err
	}
	mode, err := c.payloadMode()
	if err != nil {
		return err
	}
	if strings.HasPrefix(mode, "STREAMING-") {
		err = c.openChunks(p, mode)
	} else {
		err = c.openPlain(p, mode)
	}
	if err == nil && p.size > limit {
		err = refuse(entityTooLarge, "")
	}
	return err
}

// payloadMode is the x-amz-content-sha256 that holds for the request.
func (c *call) payloadMode() (string, error) {
	mode := c.r.Header.Get("X-Amz-Content-Sha256")
	if c.signed != nil {
		mode = c.signed.PayloadHash
	}
	if mode == "" {
		mode = sigv4.UnsignedPayload
	}
	presigned := c.signed != nil && c.signed.Presigned
	if presigned && strings.HasPrefix(mode, "STREAMING-") {
		return "", refuse(accessDenied, "A presigned request cannot have a chunked payload.")
	}
	unsigned := mode == sigv4.UnsignedPayload || mode == sigv4.UnsignedChunksAndTrailer
	if c.s.refuse && unsigned && !presigned && c.r.TLS == nil && !c.addr.IsLoopback() {
		return "", refuse(invalidRequest,
			"Unsigned payloads over plain HTTP are refused by the setting refuse-unsigned. Use HTTPS, or sign payloads.")
	}
	return mode, nil
}

// openPlain is a body as it is.
func (c *call) openPlain(p *payload, mode string) error {
	if mode != sigv4.UnsignedPayload {
		sum, err := hex.DecodeString(mode)
		if err != nil || len(sum) != sha256.Size || mode != strings.ToLower(mode) {
			return refuse(invalidArgument, "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, "+
				"STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER, "+
				"STREAMING-UNSIGNED-PAYLOAD-TRAILER or a valid sha256 value.")
		}
		p.expect.sha256 = sum
	}
	_, chunked := stripChunked(c.header("Content-Encoding"))
	if chunked || c.header("X-Amz-Decoded-Content-Length") != "" || p.trailer != "" {
		return refuse(invalidRequest, "An aws-chunked body or a trailer needs an x-amz-content-sha256 of STREAMING-….")
	}
	if c.r.ContentLength < 0 {
		return refuse(missingContentLength, "")
	}
	p.size = c.r.ContentLength
	p.src = &plainReader{src: c.rawBody(), left: p.size}
	return nil
}

// openChunks is a body in aws-chunked framing.
func (c *call) openChunks(p *payload, mode string) error {
	var chain *sigv4.Chain
	switch mode {
	case sigv4.UnsignedChunksAndTrailer:
	case sigv4.SignedChunks, sigv4.SignedChunksWithTrailer:
		if c.signed == nil {
			return refuse(invalidRequest, "Signed chunks need a request that is signed with AWS4-HMAC-SHA256.")
		}
		chain = sigv4.NewChain(c.signed, c.key)
	default:
		return refuse(notImplemented, "This x-amz-content-sha256 is not supported: "+strconv.Quote(clip(mode)))
	}
	signedTrailer := mode == sigv4.SignedChunksWithTrailer
	if mode == sigv4.SignedChunks && p.trailer != "" || signedTrailer && p.trailer == "" {
		return refuse(invalidRequest, "x-amz-trailer and x-amz-content-sha256 contradict each other.")
	}
	size, err := strconv.ParseUint(c.header("X-Amz-Decoded-Content-Length"), 10, 63)
	if err != nil {
		return refuse(missingContentLength, "You must provide the x-amz-decoded-content-length HTTP header.")
	}
	p.size = int64(size)
	var names []string
	if p.trailer != "" {
		names = []string{p.trailer}
	}
	p.chunks = newChunkReader(c.rawBody(), p.size, chain, names, signedTrailer)
	p.src = p.chunks
	return nil
}

// plainReader gives exactly left bytes.
type plainReader struct {
	src  io.Reader
	left int64
}

// Read turns every early end into a refusal.
func (p *plainReader) Read(b []byte) (int, error) {
	n, err := p.src.Read(b)
	p.left -= int64(n)
	switch {
	case p.left < 0:
		return 0, errTooMuch
	case err == io.EOF && p.left == 0:
		return n, io.EOF
	case err != nil:
		return n, cut(err)
	}
	return n, nil
}

func (c *call) readMD5(e *expected) error {
	values, ok := c.r.Header["Content-Md5"]
	if !ok {
		return nil
	}
	sum, err := base64.StdEncoding.DecodeString(values[0])
	if err != nil || len(sum) != md5.Size {
		return refuse(invalidDigest, "The Content-MD5 you specified is not valid.")
	}
	e.md5 = sum
	return nil
}

// readChecksum reads the one x-amz-checksum-* header of an algorithm. Values of
// algorithms that Larder lacks are refused, since nothing would check them.
func (c *call) readChecksum(e *expected) error {
	for _, name := range c.amzNames() {
		if err := refuseForeignChecksum(name); err != nil {
			return err
		}
	}
	for _, a := range algorithms() {
		value := c.header(checksumHeader(a))
		if value == "" {
			continue
		}
		if e.algorithm != store.NoChecksum {
			return errSeveralChecksums
		}
		sum, err := decodeChecksum(a, value)
		if err != nil {
			return err
		}
		e.algorithm, e.value = a, sum
	}
	return nil
}

func refuseForeignChecksum(name string) error {
	rest, ok := strings.CutPrefix(name, checksumPrefix)
	if !ok || rest == "type" || rest == "algorithm" || rest == "mode" {
		return nil
	}
	if _, known := parseAlgorithm(rest); known {
		return nil
	}
	return errAlgorithm
}

var (
	errAlgorithm = refuse(invalidRequest,
		"This checksum algorithm is not supported. Use CRC32, CRC32C, CRC64NVME, SHA1 or SHA256.")
	errSeveralChecksums = refuse(invalidRequest,
		"Expecting a single x-amz-checksum- header. Multiple checksum types are not allowed.")
)

// readTrailerName reads x-amz-trailer: at most one checksum, and none beside a
// header's.
func (c *call) readTrailerName(p *payload) error {
	announced := strings.ToLower(strings.TrimSpace(c.header("X-Amz-Trailer")))
	asked, known := parseAlgorithm(c.header("X-Amz-Sdk-Checksum-Algorithm"))
	if announced == "" {
		if p.expect.algorithm == store.NoChecksum && known {
			p.expect.algorithm = asked // computed and kept, though there is no value to compare
		}
		return nil
	}
	rest, ok := strings.CutPrefix(announced, checksumPrefix)
	a, supported := parseAlgorithm(rest)
	switch {
	case !ok || strings.Contains(rest, ","):
		return refuse(invalidRequest, "The value specified in the x-amz-trailer header is not supported.")
	case !supported:
		return errAlgorithm
	case p.expect.algorithm != store.NoChecksum:
		return errSeveralChecksums
	case known && asked != a:
		return refuse(invalidRequest, "x-amz-sdk-checksum-algorithm and x-amz-trailer name different algorithms.")
	}
	p.expect.algorithm, p.trailer = a, announced
	return nil
}

// hasDigest tells whether the request brings a digest of its body.
func (p *payload) hasDigest() bool {
	return p.expect.md5 != nil || p.expect.value != nil || p.trailer != ""
}

// readAll reads a body of at most limit bytes and verifies its digests.
func (p *payload) readAll() ([]byte, error) {
	body, err := io.ReadAll(p)
	if err != nil {
		return nil, err
	}
	m, s := md5.Sum(body), sha256.Sum256(body)
	d := store.Digests{Size: int64(len(body)), MD5: m[:], SHA256: s[:]}
	if a := p.expect.algorithm; a != store.NoChecksum {
		h := a.New()
		h.Write(body)
		d.Checksum = store.Checksum{Algorithm: a, Type: store.FullObject, Value: h.Sum(nil)}
	}
	return body, p.verify(d)
}

// smallBody opens and reads a document of at most limit bytes.
func (c *call) smallBody(limit int64) ([]byte, error) {
	p, err := c.openPayload(limit)
	if err != nil {
		return nil, asMessage(err)
	}
	return p.readAll()
}

// asMessage says of a document what entityTooLarge says of an object.
func asMessage(err error) error {
	var own *refusal
	if errors.As(err, &own) && own.code == entityTooLarge || fault.CodeOf(err) == fault.EntityTooLarge {
		return refuse(maxMessageExceeded, "")
	}
	return err
}
