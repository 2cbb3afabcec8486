package s3

import (
	"net/url"
	"strings"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/store"
)

// copyObject stores an object again under another name.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
func (c *call) copyObject() error {
	req, err := c.readCopy()
	if err != nil {
		return err
	}
	if err := c.checkUnsupported(); err != nil {
		return err
	}
	info, err := c.s.gate.Copy(c.ctx, c.caller, req)
	if err != nil {
		return asSource(err)
	}
	doc := newDocument()
	doc.root("CopyObjectResult")
	doc.time("LastModified", info.Modified)
	doc.etag(info.ETag)
	doc.checksum(info.Checksum, len(info.PartSizes))
	doc.optional("ChecksumType", typeName(info.Checksum.Type))
	doc.close("CopyObjectResult")
	return c.xml(doc)
}

// asSource turns "not modified" about the source of a copy, which has no
// meaning for a write, into a failed condition.
func asSource(err error) error {
	if fault.CodeOf(err) == fault.NotModified {
		return refuse(preconditionFailed, "")
	}
	return err
}

// readCopy reads source, directives and conditions.
func (c *call) readCopy() (req store.CopyRequest, err error) {
	req = store.CopyRequest{Bucket: c.target.bucket, Key: c.target.key}
	if req.SourceBucket, req.SourceKey, err = c.copySource(); err != nil {
		return req, err
	}
	if req.Cond, err = c.writeCondition(); err != nil {
		return req, err
	}
	req.SourceCond = c.readConditions("X-Amz-Copy-Source-")
	if req.Checksum, err = c.copyAlgorithm(); err != nil {
		return req, err
	}
	err = c.readDirectives(&req)
	return req, err
}

func (c *call) copyAlgorithm() (store.Algorithm, error) {
	name := c.header("X-Amz-Checksum-Algorithm")
	if name == "" {
		return store.NoChecksum, nil
	}
	a, ok := parseAlgorithm(name)
	if !ok {
		return a, errAlgorithm
	}
	return a, nil
}

// readDirectives reads whether metadata and tags are copied or replaced. A
// copy onto itself must change something.
func (c *call) readDirectives(req *store.CopyRequest) error {
	replaceMeta, err := c.directive("X-Amz-Metadata-Directive")
	if err != nil {
		return err
	}
	if req.ReplaceTags, err = c.directive("X-Amz-Tagging-Directive"); err != nil {
		return err
	}
	meta, err := c.readMeta()
	if err != nil {
		return err
	}
	if replaceMeta {
		req.Meta = &meta
	}
	if req.ReplaceTags {
		req.Tags = meta.Tags
	}
	same := req.SourceBucket == req.Bucket && req.SourceKey == req.Key
	if same && !replaceMeta && !req.ReplaceTags && req.Checksum == store.NoChecksum && c.header("X-Amz-Storage-Class") == "" {
		return refuse(invalidRequest, "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.")
	}
	return nil
}

func (c *call) directive(name string) (replace bool, err error) {
	switch v := c.header(name); {
	case v == "", strings.EqualFold(v, "COPY"):
		return false, nil
	case strings.EqualFold(v, "REPLACE"):
		return true, nil
	}
	return false, refuse(invalidArgument, "Unknown "+strings.ToLower(name)+": use COPY or REPLACE.")
}

// copySource reads x-amz-copy-source.
func (c *call) copySource() (bucket, key string, err error) {
	bucket, key, version, err := parseCopySource(c.header("X-Amz-Copy-Source"))
	if err != nil {
		return "", "", err
	}
	if version != "" && version != "null" {
		if err := c.allowed(c.route); err != nil {
			return "", "", err
		}
		return "", "", refuse(noSuchVersion, "")
	}
	return bucket, key, nil
}

// parseCopySource reads "/bucket/key?versionId=id", percent-encoded, with or
// without the first slash. The version is split off before decoding, so that a
// question mark in a key must be encoded, and bucket and key are split before
// decoding too, as in a request's path: what is authorized is what is read.
func parseCopySource(header string) (bucket, key, version string, err error) {
	bad := refuse(invalidArgument, "Copy Source must mention the source bucket and key: sourcebucket/sourcekey.")
	path, query, hasQuery := strings.Cut(header, "?")
	rawBucket, rawKey, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok && !hasQuery { // some clients encode the slash between the two
		rawBucket, rawKey, ok = cutEncoded(rawBucket)
	}
	if !ok || rawBucket == "" || rawKey == "" {
		return "", "", "", bad
	}
	if bucket, err = url.PathUnescape(rawBucket); err != nil || !bucketLike(bucket) {
		return "", "", "", bad
	}
	if key, err = url.QueryUnescape(rawKey); err != nil {
		return "", "", "", bad
	}
	if err := checkKey(key); err != nil {
		return "", "", "", err
	}
	if hasQuery {
		version, err = copyVersion(query)
	}
	return bucket, key, version, err
}

// cutEncoded splits at the first encoded slash.
func cutEncoded(s string) (before, after string, found bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "%2F"), "%2f")
	at := strings.Index(strings.ToUpper(s), "%2F")
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+3:], true
}

func copyVersion(query string) (string, error) {
	q, err := sigv4.ParseQuery(query)
	if err != nil {
		return "", refuse(invalidArgument, "The query of x-amz-copy-source cannot be read.")
	}
	version, ok := q.Get("versionId")
	if !ok || len(q) != 1 || version == "" {
		return "", refuse(invalidArgument, "The query of x-amz-copy-source may only be versionId=….")
	}
	return version, nil
}

// uploadPartCopy makes a part out of a stored object.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
func (c *call) uploadPartCopy() error {
	req := store.CopyPartRequest{
		Bucket: c.target.bucket, Key: c.target.key, UploadID: c.param("uploadId"),
		SourceCond: c.readConditions("X-Amz-Copy-Source-"),
	}
	var err error
	if req.Number, err = c.partNumber(); err != nil {
		return err
	}
	if req.SourceBucket, req.SourceKey, err = c.copySource(); err != nil {
		return err
	}
	if req.Offset, req.Length, err = parseCopyRange(c.header("X-Amz-Copy-Source-Range")); err != nil {
		return err
	}
	if err := c.checkUnsupported(); err != nil {
		return err
	}
	part, err := c.s.gate.CopyPart(c.ctx, c.caller, req)
	if fault.CodeOf(err) == fault.InvalidRange {
		return refuse(invalidArgument, "Range specified is not valid for the source object.")
	}
	if err != nil {
		return asSource(err)
	}
	doc := newDocument()
	doc.root("CopyPartResult")
	doc.time("LastModified", part.Modified)
	doc.etag(part.ETag)
	doc.checksum(part.Checksum, 0)
	doc.close("CopyPartResult")
	return c.xml(doc)
}
