package s3

import (
	"net/http"
	"strconv"

	"larder/fault"
)

// ownerID is the canonical id of the owner of everything: Larder has one
// account. Its form is AWS's.
const (
	ownerID   = "6c61726465720000000000000000000000000000000000000000000000000000"
	ownerName = "larder"
)

const (
	xmlType   = "application/xml"
	namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// begin sends the status line. Headers must be set before.
func (c *call) begin(status int) {
	c.settleBody(status)
	c.status = status
	c.w.WriteHeader(status)
}

// empty answers without a body.
func (c *call) empty(status int) error {
	if status != http.StatusNoContent {
		c.w.Header().Set("Content-Length", "0")
	}
	c.begin(status)
	return nil
}

// xml answers 200 with a document.
func (c *call) xml(doc *document) error { return c.sendXML(http.StatusOK, doc) }

func (c *call) sendXML(status int, doc *document) error {
	h := c.w.Header()
	h.Set("Content-Type", xmlType)
	h.Set("Content-Length", itoa(int64(len(doc.b))))
	c.begin(status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	n, err := c.w.Write(doc.b)
	c.sent += int64(n)
	return err
}

// answerError answers an error as S3 does: an XML document, or the bare status
// to HEAD and for 304.
func (c *call) answerError(err error) {
	v := judge(err)
	h := c.w.Header()
	switch v.code {
	case slowDown, serviceUnavailable:
		h.Set("Retry-After", "1")
	case methodNotAllowed:
		h.Set("Allow", "GET, HEAD, PUT, POST, DELETE")
	}
	if c.r.Method == http.MethodHead || v.status == http.StatusNotModified {
		c.begin(v.status)
		return
	}
	_ = c.sendXML(v.status, c.errorDocument(v, err))
}

func (c *call) errorDocument(v verdict, err error) *document {
	resource := c.r.URL.Path
	doc := newDocument()
	doc.open("Error")
	doc.text("Code", string(v.code))
	doc.text("Message", c.explain(v))
	switch {
	case v.code == noSuchBucket && c.target.bucket != "":
		doc.text("BucketName", c.target.bucket)
	case v.code == noSuchKey && c.target.key != "":
		doc.text("Key", c.target.key)
	case v.code == invalidPart, v.code == entityTooSmall:
		doc.text("PartNumber", fault.ResourceOf(err))
	}
	doc.text("Resource", clip(resource))
	doc.text("RequestId", c.id)
	doc.text("HostId", c.s.instance)
	doc.close("Error")
	return doc
}

// explain adds to a message what only the request can tell.
func (c *call) explain(v verdict) string {
	if v.code == signatureMismatch && c.signed != nil && c.signed.Signs("accept-encoding") {
		return v.message + " The signature covers accept-encoding, which a proxy on the way may have changed."
	}
	return v.message
}
