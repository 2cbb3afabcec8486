package s3

import (
	"net/http"
	"strconv"

	"larder/store"
)

// createUpload starts a multipart upload.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html
func (c *call) createUpload() error {
	req, err := c.readUpload()
	if err != nil {
		return err
	}
	upload, err := c.s.gate.CreateUpload(c.ctx, c.caller, req)
	if err != nil {
		return err
	}
	if req.Checksum != store.NoChecksum {
		c.w.Header().Set("X-Amz-Checksum-Algorithm", algorithmName(upload.Checksum))
		setUnlessEmpty(c.w.Header(), "X-Amz-Checksum-Type", typeName(upload.ChecksumType))
	}
	doc := newDocument()
	doc.root("InitiateMultipartUploadResult")
	doc.text("Bucket", c.target.bucket)
	doc.text("Key", c.target.key)
	doc.text("UploadId", upload.ID)
	doc.close("InitiateMultipartUploadResult")
	return c.xml(doc)
}

func (c *call) readUpload() (req store.UploadRequest, err error) {
	req = store.UploadRequest{Bucket: c.target.bucket, Key: c.target.key}
	if err := c.checkUnsupported(); err != nil {
		return req, err
	}
	if req.Meta, err = c.readMeta(); err != nil {
		return req, err
	}
	if req.Checksum, err = c.copyAlgorithm(); err != nil {
		return req, err
	}
	if req.ChecksumType, err = parseType(c.header("X-Amz-Checksum-Type")); err != nil {
		return req, err
	}
	if req.Checksum == store.NoChecksum && req.ChecksumType != 0 {
		return req, refuse(invalidRequest, "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.")
	}
	return req, checkType(req.Checksum, req.ChecksumType)
}

// partNumber reads the number that a part's upload must have.
func (c *call) partNumber() (int, error) {
	n, err := strconv.ParseUint(c.param("partNumber"), 10, 31)
	if err != nil || n < 1 || n > store.MaxParts {
		return 0, refuse(invalidArgument, "Part number must be an integer between 1 and 10000, inclusive.")
	}
	return int(n), nil
}

// uploadPart stores a part.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPart.html
func (c *call) uploadPart() error {
	number, err := c.partNumber()
	if err != nil {
		return err
	}
	id := c.param("uploadId")
	if err := c.s.gate.MayPutPart(c.ctx, c.caller, c.target.bucket, c.target.key, id); err != nil {
		return err
	}
	if err := c.checkUnsupported(); err != nil {
		return err
	}
	p, err := c.openPayload(store.MaxPutBytes)
	if err != nil {
		return err
	}
	part, err := c.s.gate.PutPart(c.ctx, c.caller, store.PartRequest{
		Bucket: c.target.bucket, Key: c.target.key, UploadID: id, Number: number,
		Body: p, Size: p.size, Checksum: p.expect.algorithm, Verify: p.verify,
	})
	if err != nil {
		return p.cause(err)
	}
	setETag(c.w.Header(), part.ETag)
	if sum := part.Checksum; len(sum.Value) > 0 {
		c.w.Header().Set(checksumHeader(sum.Algorithm), encodeChecksum(sum, 0))
	}
	return c.empty(http.StatusOK)
}

func (c *call) abortUpload() error {
	if err := c.s.gate.AbortUpload(c.ctx, c.caller, c.target.bucket, c.target.key, c.param("uploadId")); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// listParts answers a page of an upload's parts.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html
func (c *call) listParts() error {
	limit, err := c.number("max-parts", store.MaxPage, store.MaxPage)
	if err != nil {
		return err
	}
	after, err := c.number("part-number-marker", 0, store.MaxParts)
	if err != nil {
		return err
	}
	page, err := c.s.gate.ListParts(c.ctx, c.caller, c.target.bucket, c.target.key, c.param("uploadId"), after, limit)
	if err != nil {
		return err
	}
	doc := newDocument()
	doc.root("ListPartsResult")
	doc.text("Bucket", c.target.bucket)
	doc.text("Key", c.target.key)
	doc.text("UploadId", c.param("uploadId"))
	doc.owner("Initiator")
	doc.owner("Owner")
	doc.text("StorageClass", "STANDARD")
	doc.number("PartNumberMarker", int64(after))
	if page.Truncated {
		doc.number("NextPartNumberMarker", int64(page.Next))
	}
	doc.number("MaxParts", int64(limit))
	doc.flag("IsTruncated", page.Truncated)
	doc.optional("ChecksumAlgorithm", algorithmName(page.Upload.Checksum))
	doc.optional("ChecksumType", typeName(page.Upload.ChecksumType))
	for _, p := range page.Parts {
		doc.open("Part")
		doc.number("PartNumber", int64(p.Number))
		doc.time("LastModified", p.Modified)
		doc.etag(p.ETag)
		doc.number("Size", p.Size)
		doc.checksum(p.Checksum, 0)
		doc.close("Part")
	}
	doc.close("ListPartsResult")
	return c.xml(doc)
}

// listUploads answers a page of a bucket's uploads in progress.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html
func (c *call) listUploads() error {
	l, err := c.readListing("max-uploads")
	if err != nil {
		return err
	}
	req := store.UploadsRequest{
		Bucket: c.target.bucket, Prefix: l.prefix, Delimiter: l.delimiter, Max: l.max,
		KeyMarker: c.param("key-marker"), UploadMarker: c.param("upload-id-marker"),
	}
	if err := checkKey(req.KeyMarker); err != nil {
		return err
	}
	if req.KeyMarker == "" {
		req.UploadMarker = "" // without a key it means nothing
	}
	page, err := c.s.gate.ListUploads(c.ctx, c.caller, req)
	if err != nil {
		return err
	}
	return c.xml(uploadsDocument(&l, req, page))
}

func uploadsDocument(l *listing, req store.UploadsRequest, page store.UploadsPage) *document {
	doc := newDocument()
	doc.url = l.url
	doc.root("ListMultipartUploadsResult")
	doc.text("Bucket", req.Bucket)
	doc.name("KeyMarker", req.KeyMarker)
	doc.text("UploadIdMarker", req.UploadMarker)
	if page.Truncated {
		doc.name("NextKeyMarker", page.NextKey)
		doc.text("NextUploadIdMarker", page.NextUpload)
	}
	doc.name("Prefix", l.prefix)
	l.delimiterAndEncoding(doc)
	doc.number("MaxUploads", int64(l.max))
	doc.flag("IsTruncated", page.Truncated)
	for _, u := range page.Uploads {
		doc.open("Upload")
		doc.name("Key", u.Key)
		doc.text("UploadId", u.ID)
		doc.owner("Initiator")
		doc.owner("Owner")
		doc.text("StorageClass", "STANDARD")
		doc.time("Initiated", u.Started)
		doc.optional("ChecksumAlgorithm", algorithmName(u.Checksum))
		doc.optional("ChecksumType", typeName(u.ChecksumType))
		doc.close("Upload")
	}
	commonPrefixes(doc, page.Prefixes)
	doc.close("ListMultipartUploadsResult")
	return doc
}
