package s3

import (
	"net/http"

	"larder/store"
)

// putObject stores an object. Who may not, and what cannot be, is refused
// before the first byte of the body is asked for; nothing is stored unless
// every digest fits.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
func (c *call) putObject() error {
	cond, err := c.writeCondition()
	if err != nil {
		return err
	}
	if err := c.s.gate.MayPut(c.ctx, c.caller, c.target.bucket, c.target.key, cond); err != nil {
		return err
	}
	if err := c.checkUnsupported(); err != nil {
		return err
	}
	meta, err := c.readMeta()
	if err != nil {
		return err
	}
	p, err := c.openPayload(store.MaxPutBytes)
	if err != nil {
		return err
	}
	info, err := c.s.gate.Put(c.ctx, c.caller, store.PutRequest{
		Bucket: c.target.bucket, Key: c.target.key, Body: p, Size: p.size, Meta: meta,
		Checksum: p.expect.algorithm, Verify: p.verify, Cond: cond,
	})
	if err != nil {
		return p.cause(err)
	}
	setETag(c.w.Header(), info.ETag)
	c.addChecksum(info.Checksum, 0)
	return c.empty(http.StatusOK)
}

// deleteObject removes an object; one that is not there is removed as well.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObject.html
func (c *call) deleteObject() error {
	etag, err := c.ifMatch()
	if err != nil {
		return err
	}
	if c.header("X-Amz-If-Match-Size") != "" || c.header("X-Amz-If-Match-Last-Modified-Time") != "" {
		return refuse(notImplemented, "Of the conditions of a deletion, If-Match is implemented only.")
	}
	req := store.DeleteRequest{Bucket: c.target.bucket, Key: c.target.key, IfMatch: etag}
	if err := c.s.gate.Delete(c.ctx, c.caller, req); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
