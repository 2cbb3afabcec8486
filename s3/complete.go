package s3

import (
	"strconv"
	"strings"

	"larder/auth/sigv4"
	"larder/store"
)

// completeUpload turns an upload's parts into an object.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html
func (c *call) completeUpload() error {
	req, err := c.readComplete()
	if err != nil {
		return err
	}
	info, err := c.s.gate.CompleteUpload(c.ctx, c.caller, req)
	if err != nil {
		return err
	}
	doc := newDocument()
	doc.root("CompleteMultipartUploadResult")
	doc.text("Location", c.location())
	doc.text("Bucket", c.target.bucket)
	doc.text("Key", c.target.key)
	doc.etag(info.ETag)
	doc.checksum(info.Checksum, len(info.PartSizes))
	doc.optional("ChecksumType", typeName(info.Checksum.Type))
	doc.close("CompleteMultipartUploadResult")
	return c.xml(doc)
}

// location is the object's address as the client reached it.
func (c *call) location() string {
	scheme := "http://"
	if c.r.TLS != nil {
		scheme = "https://"
	}
	path := "/" + sigv4.Encode(c.target.key, true)
	if !c.target.virtual {
		path = "/" + c.target.bucket + path
	}
	return scheme + c.r.Host + path
}

// readComplete reads the conditions, what the headers say about the whole
// object, and the list of parts.
func (c *call) readComplete() (req store.CompleteRequest, err error) {
	req = store.CompleteRequest{Bucket: c.target.bucket, Key: c.target.key, UploadID: c.param("uploadId"), Size: -1}
	if req.Cond, err = c.writeCondition(); err != nil {
		return req, err
	}
	if err := c.readObjectSums(&req); err != nil {
		return req, err
	}
	body, err := c.partsBody()
	if err != nil {
		return req, err
	}
	req.Parts, err = parseParts(body)
	return req, err
}

// partsBody reads the document. The x-amz-checksum-* headers of this request
// are about the object and not about its body.
func (c *call) partsBody() ([]byte, error) {
	if err := c.s.gate.MayPutPart(c.ctx, c.caller, c.target.bucket, c.target.key, c.param("uploadId")); err != nil {
		if !isGone(err) { // a repeated Complete finds its upload gone, and is answered all the same
			return nil, err
		}
	}
	p, err := c.openDocument(maxPartsBody)
	if err != nil {
		return nil, asMessage(err)
	}
	return p.readAll()
}

func (c *call) readObjectSums(req *store.CompleteRequest) error {
	var err error
	if req.Checksum, err = c.objectChecksum(); err != nil {
		return err
	}
	if req.ChecksumType, err = parseType(c.header("X-Amz-Checksum-Type")); err != nil {
		return err
	}
	if size := c.header("X-Amz-Mp-Object-Size"); size != "" {
		n, err := strconv.ParseUint(size, 10, 63)
		if err != nil {
			return refuse(invalidRequest, "Value for x-amz-mp-object-size header is invalid.")
		}
		req.Size = int64(n)
	}
	return nil
}

// objectChecksum reads the one x-amz-checksum-* header, which for a composite
// checksum ends with the number of parts.
func (c *call) objectChecksum() (sum []byte, err error) {
	for _, a := range algorithms() {
		value, _, _ := strings.Cut(c.header(checksumHeader(a)), "-")
		if value == "" {
			continue
		}
		if sum != nil {
			return nil, errSeveralChecksums
		}
		if sum, err = decodeChecksum(a, value); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// parseParts reads the CompleteMultipartUpload document.
func parseParts(body []byte) ([]store.CompletePart, error) {
	root, err := parseXML(body, "CompleteMultipartUpload")
	if err != nil {
		return nil, err
	}
	if len(root.children) == 0 || len(root.children) > store.MaxParts {
		return nil, refuse(malformedXML, "A multipart upload is completed with 1 to 10,000 parts.")
	}
	parts := make([]store.CompletePart, 0, len(root.children))
	for _, child := range root.children {
		if child.name != "Part" {
			return nil, refuse(malformedXML, "")
		}
		part, err := parsePart(child)
		if err != nil {
			return nil, err
		}
		if len(parts) > 0 && part.Number <= parts[len(parts)-1].Number {
			return nil, refuse(invalidPartOrder, "")
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// parsePart reads one Part element. Checksums of algorithms that Larder lacks
// are passed over: the part's ETag and its other checksum still count.
func parsePart(e element) (part store.CompletePart, err error) {
	for _, field := range e.children {
		text := strings.TrimSpace(field.text)
		name, isSum := strings.CutPrefix(field.name, "Checksum")
		a, known := parseAlgorithm(name)
		switch {
		case field.name == "PartNumber":
			n, err := strconv.ParseUint(text, 10, 31)
			if err != nil || n < 1 || n > store.MaxParts {
				return part, refuse(invalidArgument, "PartNumber must be between 1 and 10000.")
			}
			part.Number = int(n)
		case field.name == "ETag":
			part.ETag = bareETag(text)
		case isSum && known && text != "":
			if part.Checksum, err = decodeChecksum(a, text); err != nil {
				return part, err
			}
		case !isSum:
			return part, refuse(malformedXML, "")
		}
	}
	if part.Number == 0 || part.ETag == "" {
		return part, refuse(malformedXML, "A Part needs a PartNumber and an ETag.")
	}
	return part, nil
}
