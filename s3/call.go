package s3

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"larder/auth"
	"larder/auth/sigv4"
	"larder/fault"
)

// call is one request on its way through the package. One goroutine uses it.
type call struct {
	s   *Server
	ctx context.Context
	w   http.ResponseWriter
	r   *http.Request

	id     string // x-amz-request-id
	start  time.Time
	route  *route
	target target
	query  sigv4.Query
	addr   netip.Addr

	caller auth.Caller
	signed *sigv4.Request // nil for other credentials
	key    []byte         // the signing key of a signed request

	body    *pacedReader // the raw body; nil until it is asked for
	writeBy time.Time    // the write deadline; zero when there is none
	status  int          // 0 until an answer has begun
	sent    int64        // bytes of the answer's body
	err     error        // what was answered or broke the answer off
}

func (s *Server) newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{s: s, ctx: r.Context(), w: w, r: r, id: strings.ToUpper(randomHex(8)), start: time.Now()}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.addr = ap.Addr().Unmap().WithZone("")
	}
	h := w.Header()
	h.Set("Server", "Larder")
	h.Set("X-Amz-Request-Id", c.id)
	h.Set("X-Amz-Id-2", s.instance)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	return c
}

// run answers the request or says why it cannot be.
func (c *call) run() error {
	if err := c.s.auth.Limiter().Take(c.addr, auth.CostRequest); err != nil {
		return err
	}
	if err := c.checkForm(); err != nil {
		return err
	}
	if c.r.Method == http.MethodOptions {
		return refuse(accessForbidden, "")
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.locate(); err != nil {
		return err
	}
	if err := c.checkOwner(); err != nil {
		return err
	}
	if c.caller.IsZero() { // before anything of a body is read
		if err := c.allowed(c.route); err != nil {
			return err
		}
	}
	return c.route.serve(c)
}

// locate finds what the request is for and how it is served.
func (c *call) locate() (err error) {
	c.target, err = c.s.parseTarget(c.r.Host, sigv4.RawPath(c.r))
	if err != nil {
		return err
	}
	c.route, err = c.s.find(c)
	return err
}

// checkForm refuses requests whose parts contradict each other, before anybody
// decides which of them counts.
func (c *call) checkForm() (err error) {
	if uri := c.r.RequestURI; uri != "" && uri[0] != '/' {
		return refuse(invalidURI, "The target of the request must be a path.")
	}
	for name, values := range c.r.Header {
		if len(values) > 1 && single(name) {
			return refuse(invalidArgument, "The header "+name+" may be given once only.")
		}
	}
	c.query, err = sigv4.ParseQuery(sigv4.RawQuery(c.r))
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(c.query))
	for _, p := range c.query {
		if seen[p.Name] {
			return refuse(invalidArgument, "A query parameter may be given once only.")
		}
		seen[p.Name] = true
	}
	return nil
}

// single tells whether Larder takes one value only of a header, named in
// canonical form.
func single(name string) bool {
	switch name {
	case "Authorization", "Content-Type", "Content-Md5", "Content-Disposition", "Content-Language",
		"Content-Length", "Date", "Expires", "Expect", "Host", "Range", "If-Range", "If-Modified-Since",
		"If-Unmodified-Since", "Transfer-Encoding":
		return true
	}
	list := name == "X-Amz-Trailer" || name == "X-Amz-Object-Attributes" || strings.HasPrefix(name, metaPrefix)
	return strings.HasPrefix(name, "X-Amz-") && !list
}

// header returns a header's value, its lines joined by commas. Presigned
// links may carry x-amz-* headers as parameters: SDKs move them there.
func (c *call) header(name string) string {
	values := c.r.Header[http.CanonicalHeaderKey(name)]
	if len(values) == 1 {
		return values[0]
	}
	if len(values) > 1 {
		return strings.Join(values, ",")
	}
	if c.signed == nil || !c.signed.Presigned || !strings.HasPrefix(strings.ToLower(name), "x-amz-") {
		return ""
	}
	for _, p := range c.query {
		if strings.EqualFold(p.Name, name) {
			return p.Value
		}
	}
	return ""
}

// amzNames lists the x-amz-* headers that count, in lower case: also those that
// a presigned link carries as parameters.
func (c *call) amzNames() []string {
	var names []string
	for name := range c.r.Header {
		if strings.HasPrefix(name, "X-Amz-") {
			names = append(names, strings.ToLower(name))
		}
	}
	if c.signed == nil || !c.signed.Presigned {
		return names
	}
	for _, p := range c.query {
		if low := strings.ToLower(p.Name); strings.HasPrefix(low, "x-amz-") {
			names = append(names, low)
		}
	}
	return names
}

// param returns a query parameter's value, "" when it is not there.
func (c *call) param(name string) string {
	v, _ := c.query.Get(name)
	return v
}

// number reads a parameter that is a count or a number from 0 to limit.
func (c *call) number(name string, absent, limit int) (int, error) {
	n, err := parseCount(c.param(name), absent)
	if err != nil {
		return 0, refuse(invalidArgument, "Argument "+name+" must be an integer between 0 and 2147483647.")
	}
	return min(n, limit), nil
}

// parseCount reads a number from 0 to 2^31-1; "" is absent.
func parseCount(s string, absent int) (int, error) {
	if s == "" {
		return absent, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, refuse(invalidArgument, "A count must be an integer between 0 and 2147483647.")
	}
	return int(n), nil
}

// checkOwner compares x-amz-expected-bucket-owner with the only owner there is.
func (c *call) checkOwner() error {
	for _, name := range []string{"x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"} {
		if v := c.header(name); v != "" && v != ownerID {
			return refuse(accessDenied, "The bucket is owned by another account than "+name+" says.")
		}
	}
	return nil
}

// fail answers an error. An answer that has begun is broken off instead, so
// that nobody takes it for a whole one.
func (c *call) fail(err error) {
	c.err = err
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.answerError(err)
}

// settleBody decides, before an answer begins, what becomes of a body that was
// not read to its end: a small one of a known caller is read, so that the
// connection can be used again; in all other cases the connection is closed,
// so that nothing in the body can be taken for a next request. It is not left
// to net/http, which would wait for the body without any deadline.
func (c *call) settleBody(status int) {
	const drain = 64 << 10
	n := c.r.ContentLength
	if n == 0 || c.body != nil && c.body.ended || c.w.Header().Get("Connection") == "close" {
		return
	}
	untouched := c.body == nil
	waiting := untouched && c.r.Header.Get("Expect") != ""
	if untouched && !waiting && !c.caller.IsZero() && 0 < n && n <= drain && status != http.StatusServiceUnavailable {
		if _, err := io.Copy(io.Discard, c.rawBody()); err == nil {
			return
		}
	}
	c.w.Header().Set("Connection", "close")
}

// end recovers from panics, puts the connection's deadlines back and logs.
func (c *call) end() {
	defer c.log()
	defer c.resetDeadlines()
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(http.ErrAbortHandler)
	}
	c.err = fault.New("s3", fault.Internal, "", errors.New("panic"))
	c.s.log.Error("panic while answering", "request", c.id, "panic", p, "stack", string(debug.Stack()))
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.w.Header().Set("Connection", "close")
	c.answerError(c.err)
}

// log writes the request's one line: an error for what the server must answer
// for, debug for all else. Queries are left out, since they may be secrets.
func (c *call) log() {
	level := slog.LevelDebug
	if c.serverFailed() {
		level = slog.LevelError
	}
	if !c.s.log.Enabled(c.ctx, level) {
		return
	}
	name := "Unknown"
	if c.route != nil {
		name = c.route.name
	}
	attrs := []slog.Attr{
		slog.String("request", c.id), slog.String("operation", name), slog.String("method", c.r.Method),
		slog.String("bucket", clip(c.target.bucket)), slog.String("key", clip(c.target.key)), slog.Int("status", c.status),
		slog.Int64("sent", c.sent), slog.Duration("took", time.Since(c.start)),
		slog.String("caller", c.caller.ID()), slog.String("addr", c.addr.String()),
	}
	if c.err != nil {
		attrs = append(attrs, slog.String("error", clip(c.err.Error())))
	}
	c.s.log.LogAttrs(c.ctx, level, "s3 request", attrs...)
}

// serverFailed tells whether the server, and not the client, is to blame for
// how the request ended.
func (c *call) serverFailed() bool {
	var f *fault.Error
	if c.status < 300 { // an answer that had begun
		return errors.As(c.err, &f) && f.Code != fault.Canceled && f.Code != fault.Denied
	}
	switch c.status {
	case http.StatusServiceUnavailable, http.StatusNotImplemented, http.StatusInsufficientStorage: // states, which the log has once
		return false
	}
	return c.status >= 500
}

// clip bounds what a client can put into a line of the log.
func clip(s string) string {
	const most = 1024
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
