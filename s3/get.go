package s3

import (
	"io"
	"net/http"
	"strings"
	"time"

	"larder/fault"
	"larder/store"
)

// getObject streams an object or a part of it.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
func (c *call) getObject() error {
	o, err := c.s.gate.Get(c.ctx, c.caller, c.target.bucket, c.target.key)
	if err != nil {
		return err
	}
	defer o.Close()
	part, err := c.describe(o.Info())
	if err != nil {
		return err
	}
	w := &objectWriter{c: c, status: statusOf(part)}
	if part.n == 0 {
		w.start()
		return nil
	}
	if _, err := o.CopyRange(c.ctx, w, part.off, part.n); err != nil {
		return c.brokenOff(err)
	}
	if c.sent != part.n {
		return c.brokenOff(fault.New("s3.GetObject", fault.Internal, c.target.bucket+"/"+c.target.key, io.ErrShortWrite))
	}
	return nil
}

// headObject answers what getObject would, without the body.
func (c *call) headObject() error {
	info, err := c.s.gate.Head(c.ctx, c.caller, c.target.bucket, c.target.key)
	if err != nil {
		return err
	}
	part, err := c.describe(info)
	if err != nil {
		return err
	}
	c.begin(statusOf(part))
	return nil
}

func statusOf(part span) int {
	if part.partial {
		return http.StatusPartialContent
	}
	return http.StatusOK
}

// describe decides conditions and range and sets all headers of the answer.
func (c *call) describe(info store.Info) (span, error) {
	h := c.w.Header()
	if err := c.readConditions("").Check(info.ETag, info.Modified); err != nil {
		setETag(h, info.ETag)
		h.Set("Last-Modified", httpTime(info.Modified))
		return span{}, err
	}
	part, err := c.chooseSpan(info)
	if err != nil {
		h.Set("Content-Range", "bytes */"+itoa(info.Size))
		return span{}, err
	}
	overrides, err := c.overrides()
	if err != nil {
		return span{}, err
	}
	c.setObjectHeaders(info)
	for name, value := range overrides {
		h.Set(name, value)
	}
	h.Set("Content-Length", itoa(part.n))
	if part.partial {
		h.Set("Content-Range", part.contentRange(info.Size))
	}
	if !part.partial || c.r.Method == http.MethodHead && c.param("partNumber") == "" {
		c.setChecksum(info)
	}
	return part, nil
}

// chooseSpan reads Range, If-Range and partNumber.
func (c *call) chooseSpan(info store.Info) (span, error) {
	header := c.header("Range")
	if number, ok := c.query.Get("partNumber"); ok {
		if header != "" {
			return span{}, refuse(invalidRequest, "Cannot specify both Range header and partNumber query parameter.")
		}
		if n := len(info.PartSizes); n > 0 {
			c.w.Header().Set("X-Amz-Mp-Parts-Count", itoa(int64(n)))
		}
		return partSpan(info, number)
	}
	if header == "" || !c.ifRange(info) {
		return span{n: info.Size}, nil
	}
	return parseRange(header, info.Size)
}

// ifRange tells whether a Range counts: RFC 9110 section 13.1.5.
func (c *call) ifRange(info store.Info) bool {
	v := c.header("If-Range")
	if v == "" {
		return true
	}
	if t := parseDate(v); !t.IsZero() {
		return info.Modified.Truncate(time.Second).Equal(t)
	}
	return !strings.HasPrefix(v, "W/") && bareETag(v) == info.ETag
}

// overrides reads the response-* parameters, which only callers who have shown
// who they are may use.
func (c *call) overrides() (map[string]string, error) {
	var out map[string]string
	for _, p := range c.query {
		rest, ok := strings.CutPrefix(p.Name, "response-")
		if !ok || p.Value == "" {
			continue
		}
		if c.caller.IsZero() {
			return nil, refuse(invalidRequest, "Request specific response headers cannot be used for anonymous GET requests.")
		}
		if !printable(p.Value) {
			return nil, refuse(invalidArgument, "The value of "+p.Name+" must not hold control characters.")
		}
		name := map[string]string{
			"content-type": "Content-Type", "content-language": "Content-Language", "expires": "Expires",
			"cache-control": "Cache-Control", "content-disposition": "Content-Disposition",
			"content-encoding": "Content-Encoding",
		}[rest]
		if name == "" {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[name] = p.Value
	}
	return out, nil
}

// objectWriter is what a body is copied to. It begins the answer with the
// first byte, so that an object whose first bytes are broken still gets an
// error of its own, and passes ReadFrom on to net/http, which uses sendfile.
type objectWriter struct {
	c       *call
	status  int
	started bool
}

var _ io.ReaderFrom = (*objectWriter)(nil)

func (w *objectWriter) start() {
	if !w.started {
		w.started = true
		w.c.begin(w.status)
	}
}

// ready prepares for the next piece of the body: it begins the answer, or, when
// that has begun, asks again whether the caller may read, so that a long
// download ends soon after its key was revoked.
func (w *objectWriter) ready() error {
	if !w.started {
		w.start()
	} else if err := w.c.allowed(w.c.route); err != nil {
		return err
	}
	w.c.patience()
	return nil
}

// Write sends bytes.
func (w *objectWriter) Write(p []byte) (int, error) {
	if err := w.ready(); err != nil {
		return 0, err
	}
	n, err := w.c.w.Write(p)
	w.c.sent += int64(n)
	return n, err
}

// ReadFrom sends what src gives, by sendfile where src is a file.
func (w *objectWriter) ReadFrom(src io.Reader) (int64, error) {
	if err := w.ready(); err != nil {
		return 0, err
	}
	n, err := io.Copy(w.c.w, src)
	w.c.sent += n
	return n, err
}

// patience gives the client time to take the next megabyte.
func (c *call) patience() {
	now := time.Now()
	if c.writeBy.Sub(now) < c.s.pace.stall/2 {
		c.writeBy = now.Add(c.s.pace.stall)
		_ = http.NewResponseController(c.w).SetWriteDeadline(c.writeBy) // not every writer has deadlines
	}
}

// brokenOff deals with an error while a body is sent: before the first byte it
// is answered, later the connection is cut, so that the client cannot take
// what it has got for the whole.
func (c *call) brokenOff(err error) error {
	h := c.w.Header()
	if c.status == 0 {
		for _, name := range []string{"Content-Length", "Content-Range", "Content-Encoding", "Content-Disposition",
			"Content-Language", "Cache-Control", "Expires", "Last-Modified", "Accept-Ranges"} {
			h.Del(name)
		}
		delete(h, "ETag")
	}
	return err
}
