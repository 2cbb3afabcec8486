package s3

import (
	"io"
	"time"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/store"
)

// What tests reach into.
type (
	// Target is a parsed target.
	Target struct{ Bucket, Key string }
	// Span is a parsed range.
	Span struct {
		Off, N  int64
		Partial bool
	}
)

// Limits that tests go up to.
const (
	MaxSignedChunk = maxSignedChunk
	MaxChunkLine   = maxChunkLine
	MaxTrailer     = maxTrailer
	OwnerID        = ownerID
)

// NewChunkReader decodes without a request around it.
func NewChunkReader(src io.Reader, size int64, chain *sigv4.Chain, trailers []string, signed bool) io.Reader {
	return newChunkReader(src, size, chain, trailers, signed)
}

// Trailer gives a decoder's trailer.
func Trailer(r io.Reader) map[string]string { return r.(*chunkReader).trailer }

// ParseTarget parses for a server with base domains.
func ParseTarget(domains []string, host, path string) (Target, error) {
	s := &Server{domains: normalDomains(domains)}
	t, err := s.parseTarget(host, path)
	return Target{t.bucket, t.key}, err
}

// ParseRange parses a Range header.
func ParseRange(header string, size int64) (Span, error) {
	p, err := parseRange(header, size)
	return Span{p.off, p.n, p.partial}, err
}

// ParseCopyRange parses x-amz-copy-source-range.
func ParseCopyRange(header string) (off, n int64, err error) { return parseCopyRange(header) }

// ParseCopySource parses x-amz-copy-source.
func ParseCopySource(header string) (bucket, key, version string, err error) {
	return parseCopySource(header)
}

// ParseDelete counts the keys of a Delete document.
func ParseDelete(body []byte) (keys []string, quiet bool, err error) {
	list, quiet, err := parseDelete(body)
	for _, d := range list {
		keys = append(keys, d.req.Key)
	}
	return keys, quiet, err
}

// ParseParts reads a CompleteMultipartUpload document.
func ParseParts(body []byte) ([]store.CompletePart, error) { return parseParts(body) }

// Escape escapes text for XML.
func Escape(s string) string { return string(appendEscaped(nil, s)) }

// EncodeListed is the encoding of encoding-type=url.
func EncodeListed(s string) string { return encodeListed(s) }

// Tokens.
func MakeToken(scope, after string) string                     { return makeToken(scope, after) }
func OpenToken(scope, token string) (after string, ok bool)    { return openToken(scope, token) }
func StripChunked(encoding string) (rest string, chunked bool) { return stripChunked(encoding) }

// ErrorCode and ErrorStatus are how an error is answered.
func ErrorCode(err error) string { return string(judge(err).code) }
func ErrorStatus(err error) int  { return judge(err).status }

// CodeFor looks into the table from Larder's codes.
func CodeFor(c fault.Code) (string, bool) { s, ok := codeOf(c); return string(s), ok }

// ReasonCode looks into the table from sigv4's reasons.
func ReasonCode(r sigv4.Reason) (string, bool) { c, ok := signatureCodes[r]; return string(c), ok }

// StatusFor looks into the table of codes.
func StatusFor(name string) (status int, message string) {
	a := answers[code(name)]
	return a.status, a.message
}

// Row is a route as tests see it.
type Row struct {
	Name, Method, Selector string
	Level                  int
	Copies                 bool
	HasAction, HasHandler  bool
	Params                 []string
	Op                     Operation
}

// Rows lists the table of routes and what is served without one.
func Rows() []Row {
	var out []Row
	for _, r := range append(routes(), *missingRoute(atObject)) {
		out = append(out, Row{r.name, r.method, r.selector, int(r.level), r.copies, r.action != 0, r.serve != nil, r.params, r.op})
	}
	return out
}

// SetPace makes a server less patient.
func (s *Server) SetPace(window, stall time.Duration, least int64) {
	s.pace = pace{window: window, least: least, stall: stall}
}
