package web

import (
	"io"
	"net/http"
	"time"

	"larder/fault"
	"larder/store"
)

// Patience with a slow or refused upload.
const (
	uploadIdle = 60 * time.Second // the longest pause between two pieces of a body
	drainBytes = 8 << 20          // what of a refused body is still read, so that the browser sees the answer
)

// mayUpload tells the script before it sends a large body whether it would be
// taken: 204, or the refusal that the upload would get.
func (c *Console) mayUpload(x *exchange) error {
	x.raw = true
	at := x.place()
	cond := store.Condition{IfNoneMatch: x.query("new") != ""}
	if err := c.cfg.Gate.MayPut(x.ctx(), x.caller, at.bucket, at.key, cond); err != nil {
		return err
	}
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// upload stores the body under the key: 201 when it is durable.
func (c *Console) upload(x *exchange) error {
	body := &patientReader{r: x.r.Body, rc: http.NewResponseController(x.w)}
	info, err := c.store(x, body)
	if err != nil {
		io.CopyN(io.Discard, body, drainBytes) // what fails here fails the answer too
		return err
	}
	x.w.Header().Set("ETag", `"`+info.ETag+`"`)
	x.w.WriteHeader(http.StatusCreated)
	return nil
}

func (c *Console) store(x *exchange, body io.Reader) (store.Info, error) {
	at := x.place()
	if at.key == "" {
		return store.Info{}, fault.New("web.upload", fault.InvalidKey, "", nil)
	}
	if x.r.ContentLength > store.MaxPutBytes {
		return store.Info{}, fault.New("web.upload", fault.EntityTooLarge, at.key, nil)
	}
	cond := store.Condition{IfNoneMatch: x.r.Header.Get("If-None-Match") == "*"}
	if err := c.cfg.Gate.MayPut(x.ctx(), x.caller, at.bucket, at.key, cond); err != nil {
		return store.Info{}, err
	}
	return c.cfg.Gate.Put(x.ctx(), x.caller, store.PutRequest{
		Bucket: at.bucket, Key: at.key, Body: body, Size: x.r.ContentLength, Cond: cond,
		Meta: store.Meta{Headers: store.Headers{ContentType: contentType(x.r)}},
	})
}

// contentType is what the browser takes the file for, if that can be a header.
func contentType(r *http.Request) string {
	t := r.Header.Get("Content-Type")
	if t == "" || len(t) > 200 {
		return "application/octet-stream"
	}
	return t
}

// patientReader moves the read deadline on with every piece, so that a large
// upload may take hours but a dead one ends.
type patientReader struct {
	r  io.Reader
	rc *http.ResponseController
}

func (p *patientReader) Read(b []byte) (int, error) {
	// Not every test server has deadlines; without one the server's stays.
	_ = p.rc.SetReadDeadline(time.Now().Add(uploadIdle))
	return p.r.Read(b)
}
