package s3

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"strings"

	"larder/auth/sigv4"
)

// Limits of the aws-chunked framing.
const (
	maxChunkLine   = 1 << 10  // bytes of a chunk's header line
	maxTrailer     = 4 << 10  // bytes of everything behind the last chunk
	maxSignedChunk = 16 << 20 // bytes of a chunk that is held back until its signature is verified
)

// chunkReader decodes the aws-chunked framing of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html.
//
// With a chain it hands out no byte of a chunk before the chunk's signature is
// verified; the buffer for that grows with what arrives, not with what a
// header announces. Without a chain, bytes pass as they come. It gives exactly
// size bytes and then io.EOF, or an error that is neither io.EOF nor
// io.ErrUnexpectedEOF. Behind io.EOF the trailer is there.
type chunkReader struct {
	src     *bufio.Reader
	chain   *sigv4.Chain // nil when chunks are not signed
	size    int64        // decoded bytes that must come
	given   int64        // decoded bytes whose headers have come
	left    int64        // unread bytes of an unsigned chunk
	ready   []byte       // verified bytes of a signed chunk
	buf     []byte       // backs ready
	begun   bool
	err     error
	trailer map[string]string // set at the end; names in lower case
	names   []string          // trailers that were announced
	signed  bool              // a trailer must be signed
}

// newChunkReader decodes src. names are the announced trailers in lower case.
// signedTrailer says that the trailer ends with a signature of its own.
func newChunkReader(src io.Reader, size int64, chain *sigv4.Chain, names []string, signedTrailer bool) *chunkReader {
	window := int(min(64<<10, 2*maxChunkLine+max(size, 0)))
	return &chunkReader{src: bufio.NewReaderSize(src, window), size: size, chain: chain,
		names: names, signed: signedTrailer}
}

// Read gives decoded bytes. Its first error is also every later one.
func (c *chunkReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for c.err == nil {
		if n, ok := c.give(p); ok {
			return n, c.err
		}
		if c.err == nil {
			c.err = c.next()
		}
	}
	return 0, c.err
}

// give hands out bytes of the chunk that is open. ok is false when there are
// none.
func (c *chunkReader) give(p []byte) (n int, ok bool) {
	if len(c.ready) > 0 {
		n = copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, true
	}
	if c.left == 0 {
		return 0, false
	}
	n, err := c.src.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err != nil {
		c.err = cut(err)
	}
	return n, true
}

// next opens the next chunk, or reads the trailer behind the last one. It
// returns io.EOF when all is well and over.
func (c *chunkReader) next() error {
	if c.begun {
		if err := c.expectLineEnd(); err != nil {
			return err
		}
	}
	n, signature, err := c.readHeader()
	if err != nil {
		return err
	}
	c.begun = true
	if n == 0 {
		return c.finish(signature)
	}
	if n > c.size-c.given {
		return errTooMuch
	}
	c.given += n
	if c.chain == nil {
		c.left = n
		return nil
	}
	return c.readSigned(n, signature)
}

// expectLineEnd reads the CRLF behind a chunk's data.
func (c *chunkReader) expectLineEnd() error {
	var end [2]byte
	if _, err := io.ReadFull(c.src, end[:]); err != nil {
		return cut(err)
	}
	if end != [2]byte{'\r', '\n'} {
		return errChunk
	}
	return nil
}

// readHeader reads "hex" or "hex;chunk-signature=hex" and CRLF.
func (c *chunkReader) readHeader() (n int64, signature string, err error) {
	line, err := c.readLine(maxChunkLine)
	if err != nil {
		return 0, "", err
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok {
		return 0, "", errChunk
	}
	digits, extension, extended := strings.Cut(text, ";")
	if n, ok = parseHex(digits); !ok {
		return 0, "", errChunk
	}
	if c.chain == nil {
		if extended {
			return 0, "", errChunk
		}
		return n, "", nil
	}
	signature, ok = strings.CutPrefix(extension, "chunk-signature=")
	if !ok || len(signature) != 64 {
		return 0, "", errChunkSignature
	}
	return n, signature, nil
}

// readLine reads up to and including a line feed, at most limit bytes. The
// bytes are valid until the next read.
func (c *chunkReader) readLine(limit int) ([]byte, error) {
	line, err := c.src.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull), err == nil && len(line) > limit:
		return nil, errChunk
	case err != nil:
		if len(line) > limit {
			return nil, errChunk
		}
		return nil, cut(err)
	}
	return line, nil
}

// parseHex reads 1 to 16 hexadecimal digits that fit an int64.
func parseHex(s string) (int64, bool) {
	if len(s) < 1 || len(s) > 16 {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		d := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if d < 0 || s[i] < '0' {
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return int64(n), n <= math.MaxInt64
}

// readSigned reads a whole chunk and verifies it.
func (c *chunkReader) readSigned(n int64, signature string) error {
	if n > maxSignedChunk {
		return errChunkSize
	}
	c.buf = c.buf[:0]
	for int64(len(c.buf)) < n {
		step := min(n-int64(len(c.buf)), max(64<<10, int64(len(c.buf))))
		at := len(c.buf)
		c.buf = append(c.buf, make([]byte, step)...)
		if _, err := io.ReadFull(c.src, c.buf[at:]); err != nil {
			return cut(err)
		}
	}
	sum := sha256.Sum256(c.buf)
	if !c.chain.VerifyChunk(sum[:], signature) {
		return errChunkSignature
	}
	c.ready = c.buf
	return nil
}

// finish verifies the empty last chunk, the total and the trailer.
func (c *chunkReader) finish(signature string) error {
	if c.chain != nil {
		empty := sha256.Sum256(nil)
		if !c.chain.VerifyChunk(empty[:], signature) {
			return errChunkSignature
		}
	}
	if c.given != c.size {
		return errTooLittle
	}
	rest, err := io.ReadAll(io.LimitReader(c.src, maxTrailer+1))
	if err != nil {
		return cut(err)
	}
	if len(rest) > maxTrailer {
		return errTrailer
	}
	if err := c.readTrailer(rest); err != nil {
		return err
	}
	return io.EOF
}

// readTrailer reads the lines behind the last chunk. Blank lines between them
// and bare line feeds are taken, as minio-go sends both.
func (c *chunkReader) readTrailer(rest []byte) error {
	c.trailer = make(map[string]string)
	var signedLines []byte
	var signature string
	for line := range bytes.SplitSeq(rest, []byte("\n")) {
		text := strings.TrimSuffix(string(line), "\r")
		if text == "" {
			continue
		}
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		_, twice := c.trailer[name]
		if !ok || twice || signature != "" || strings.ContainsRune(value, '\r') {
			return errTrailer
		}
		if c.signed && name == "x-amz-trailer-signature" {
			signature = value
			continue
		}
		c.trailer[name] = value
		signedLines = append(signedLines, name+":"+value+"\n"...)
	}
	if err := c.checkTrailer(); err != nil {
		return err
	}
	if c.signed && !c.chain.VerifyTrailer(signedLines, signature) {
		return errTrailerSignature
	}
	return nil
}

// checkTrailer demands that exactly what was announced has come.
func (c *chunkReader) checkTrailer() error {
	if len(c.trailer) != len(c.names) {
		return errTrailer
	}
	for _, name := range c.names {
		if _, ok := c.trailer[name]; !ok {
			return errTrailer
		}
	}
	return nil
}
