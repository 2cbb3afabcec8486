package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"larder/auth/sigv4"
	"larder/fault"
)

// s3Target speaks S3 over plain HTTP, path style, as SDKs do: every request is
// signed, and its body with it by its SHA-256, which is computed for every put
// anew. With unsigned set the payload stays out of the signature.
//
// Keys hold nothing that has to be escaped: letters, digits and "/._-".
type s3Target struct {
	base     *url.URL
	signer   *signer
	client   *http.Client
	unsigned bool
	buffers  sync.Pool // of *[]byte, to read bodies into
}

const (
	spareConnections = 8 // of a client, above its workers
	readBuffer       = 256 << 10
	maxDocument      = 4 << 20 // bytes of an answer that is read whole
	linkLife         = time.Hour
)

func newS3Target(base *url.URL, keyID, secret string, workers int) *s3Target {
	transport := &http.Transport{
		MaxIdleConnsPerHost: workers + spareConnections, DisableCompression: true,
		WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10,
	}
	return &s3Target{
		base: base, signer: &signer{keyID: keyID, secret: secret},
		client:  &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		buffers: sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }},
	}
}

// s3Request is a request before it is signed.
type s3Request struct {
	method      string
	bucket, key string
	query       string // canonical
	body        *payload
	header      [2]string // one more header that needs no signature; none when ""
}

func (t *s3Target) build(ctx context.Context, q s3Request) *http.Request {
	u := &url.URL{Scheme: t.base.Scheme, Host: t.base.Host, Path: "/" + q.bucket, RawQuery: q.query}
	if q.key != "" {
		u.Path += "/" + q.key
	}
	r := (&http.Request{Method: q.method, URL: u, Host: u.Host, Header: make(http.Header, 6)}).WithContext(ctx)
	hash := sigv4.EmptyPayload
	if q.body != nil {
		hash = sigv4.UnsignedPayload
		if !t.unsigned {
			hash = q.body.sha256()
		}
		r.ContentLength = q.body.size()
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(q.body.reader()), nil }
		r.Body = io.NopCloser(q.body.reader())
	}
	if q.header[0] != "" {
		r.Header[q.header[0]] = []string{q.header[1]}
	}
	t.signer.sign(r, hash)
	return r
}

// do sends a request. The caller closes the answer's body; an answer that is an
// error has been read.
func (t *s3Target) do(ctx context.Context, q s3Request) (*http.Response, error) {
	resp, err := t.client.Do(t.build(ctx, q))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, s3Error(q.method+" "+q.bucket+"/"+q.key, resp)
}

// s3Error makes a fault of an answer.
func s3Error(what string, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // what came has to do
	code := fault.Internal
	switch resp.StatusCode {
	case http.StatusPreconditionFailed:
		code = fault.Precondition
	case http.StatusNotFound:
		code = fault.NoSuchKey
	case http.StatusConflict:
		code = fault.Conflict
	case http.StatusForbidden:
		code = fault.Denied
	case http.StatusServiceUnavailable:
		code = fault.Unavailable
	}
	return fault.New("bench.s3", code, what, fmt.Errorf("%s %s", resp.Status, element(text, "Code")+": "+element(text, "Message")))
}

// element is the text of the first XML element of a name.
func element(text []byte, name string) string {
	_, rest, _ := bytes.Cut(text, []byte("<"+name+">"))
	value, _, _ := bytes.Cut(rest, []byte("</"+name+">"))
	return string(value)
}

// done sends a request whose answer is of no interest but for a header.
func (t *s3Target) done(ctx context.Context, q s3Request, header string) (string, error) {
	resp, err := t.do(ctx, q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	return resp.Header.Get(header), err
}

// document sends a request and returns the XML that comes.
func (t *s3Target) document(ctx context.Context, q s3Request) ([]byte, error) {
	resp, err := t.do(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, maxDocument))
}

func (t *s3Target) CreateBucket(ctx context.Context, bucket string) error {
	_, err := t.done(ctx, s3Request{method: http.MethodPut, bucket: bucket}, "")
	return err
}

func (t *s3Target) DeleteBucket(ctx context.Context, bucket string) error {
	_, err := t.done(ctx, s3Request{method: http.MethodDelete, bucket: bucket}, "")
	return err
}

func (t *s3Target) Put(ctx context.Context, bucket, key string, body payload, only condition) (string, error) {
	q := s3Request{method: http.MethodPut, bucket: bucket, key: key, body: &body}
	switch {
	case only.absent:
		q.header = [2]string{"If-None-Match", "*"}
	case only.etag != "":
		q.header = [2]string{"If-Match", only.etag}
	}
	return t.done(ctx, q, "Etag")
}

func (t *s3Target) Get(ctx context.Context, bucket, key string, unlessETag string, sink io.Writer) (gotten, error) {
	q := s3Request{method: http.MethodGet, bucket: bucket, key: key}
	if unlessETag != "" {
		q.header = [2]string{"If-None-Match", unlessETag}
	}
	began := time.Now()
	resp, err := t.do(ctx, q)
	if err != nil {
		return gotten{}, err
	}
	return t.read(resp, began, sink)
}

// read reads a body to its end and compares its length with what was announced.
func (t *s3Target) read(resp *http.Response, began time.Time, sink io.Writer) (gotten, error) {
	defer resp.Body.Close()
	g := gotten{etag: resp.Header.Get("Etag"), same: resp.StatusCode == http.StatusNotModified}
	buf := t.buffers.Get().(*[]byte)
	defer t.buffers.Put(buf)
	for {
		n, err := resp.Body.Read(*buf)
		if n > 0 && g.size == 0 {
			g.firstByte = time.Since(began)
		}
		g.size += int64(n)
		if sink != nil && n > 0 {
			if _, err := sink.Write((*buf)[:n]); err != nil {
				return g, err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return g, err
		}
	}
	if !g.same && resp.ContentLength != g.size {
		return g, fault.New("bench.s3", fault.IncompleteBody, resp.Request.URL.Path, fmt.Errorf("%d bytes of %d", g.size, resp.ContentLength))
	}
	return g, nil
}

func (t *s3Target) Head(ctx context.Context, bucket, key string) (int64, error) {
	length, err := t.done(ctx, s3Request{method: http.MethodHead, bucket: bucket, key: key}, "Content-Length")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(length, 10, 64)
}

func (t *s3Target) Delete(ctx context.Context, bucket, key string) error {
	_, err := t.done(ctx, s3Request{method: http.MethodDelete, bucket: bucket, key: key}, "")
	return err
}

func (t *s3Target) List(ctx context.Context, bucket, prefix, after string) (listed, error) {
	text, err := t.document(ctx, s3Request{
		method: http.MethodGet, bucket: bucket,
		query: canonicalQuery("list-type", "2", "prefix", prefix, "start-after", after),
	})
	if err != nil {
		return listed{}, err
	}
	return listed{keys: elements(text, "Key"), more: element(text, "IsTruncated") == "true"}, nil
}

// elements are the texts of all XML elements of a name. Decoding the document as
// XML would take the client longer than making it takes the server.
func elements(text []byte, name string) []string {
	begin, end := []byte("<"+name+">"), []byte("</"+name+">")
	var out []string
	for {
		i := bytes.Index(text, begin)
		if i < 0 {
			return out
		}
		text = text[i+len(begin):]
		i = bytes.Index(text, end)
		if i < 0 {
			return out
		}
		out = append(out, string(text[:i]))
		text = text[i:]
	}
}

func (t *s3Target) CreateUpload(ctx context.Context, bucket, key string) (string, error) {
	text, err := t.document(ctx, s3Request{method: http.MethodPost, bucket: bucket, key: key, query: "uploads="})
	return element(text, "UploadId"), err
}

func (t *s3Target) PutPart(ctx context.Context, bucket, key, upload string, number int, body payload) (string, error) {
	return t.done(ctx, s3Request{
		method: http.MethodPut, bucket: bucket, key: key, body: &body,
		query: canonicalQuery("partNumber", strconv.Itoa(number), "uploadId", upload),
	}, "Etag")
}

func (t *s3Target) CompleteUpload(ctx context.Context, bucket, key, upload string, etags []string) error {
	var doc strings.Builder
	doc.WriteString("<CompleteMultipartUpload>")
	for i, etag := range etags {
		fmt.Fprintf(&doc, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", i+1, etag)
	}
	doc.WriteString("</CompleteMultipartUpload>")
	text, err := t.document(ctx, s3Request{
		method: http.MethodPost, bucket: bucket, key: key, query: canonicalQuery("uploadId", upload),
		body: &payload{block: []byte(doc.String()), times: 1},
	})
	if err == nil && element(text, "ETag") == "" { // S3 may answer 200 and then an error
		err = fault.New("bench.s3", fault.Internal, key, fmt.Errorf("the upload was not completed: %.300s", text))
	}
	return err
}

// Presign makes a link to read an object.
func (t *s3Target) Presign(bucket, key string) (string, error) {
	return sigv4.Presign(sigv4.Link{
		Base: t.base.Scheme + "://" + t.base.Host, Bucket: bucket, Key: key, KeyID: t.signer.keyID, Region: region,
		Time: time.Now(), Expires: linkLife,
	}, t.signer.secret)
}

// GetLink reads what a link leads to.
func (t *s3Target) GetLink(ctx context.Context, link string) (gotten, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return gotten{}, err
	}
	began := time.Now()
	resp, err := t.client.Do(r)
	if err != nil {
		return gotten{}, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return gotten{}, s3Error("link", resp)
	}
	return t.read(resp, began, nil)
}

func (t *s3Target) Close() error {
	t.client.CloseIdleConnections()
	return nil
}
