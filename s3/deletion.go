package s3

import (
	"strings"

	"larder/store"
)

// deletion is one key of a DeleteObjects request.
type deletion struct {
	req store.DeleteRequest
	err error // found before the store is asked
}

// deleteObjects removes up to 1,000 objects. The body must bring a digest of
// itself, of whatever kind: half a list must not be taken for a whole one.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
func (c *call) deleteObjects() error {
	p, err := c.openPayload(maxDeleteBody)
	if err != nil {
		return asMessage(err)
	}
	if !p.hasDigest() {
		return refuse(invalidRequest, "Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	}
	body, err := p.readAll()
	if err != nil {
		return err
	}
	list, quiet, err := parseDelete(body)
	if err != nil {
		return err
	}
	if err := c.deleteAll(list); err != nil {
		return err
	}
	return c.xml(deleteResult(list, quiet))
}

// deleteAll asks the gate for what can be asked, and leaves each key's error
// with the key.
func (c *call) deleteAll(list []deletion) error {
	reqs := make([]store.DeleteRequest, 0, len(list))
	places := make([]int, 0, len(list))
	for i := range list {
		if list[i].err == nil {
			reqs, places = append(reqs, list[i].req), append(places, i)
		}
	}
	errs, err := c.s.gate.DeleteMany(c.ctx, c.caller, c.target.bucket, reqs)
	if err != nil {
		return err
	}
	for i, err := range errs {
		list[places[i]].err = err
	}
	return nil
}

// parseDelete reads the Delete document.
func parseDelete(body []byte) (list []deletion, quiet bool, err error) {
	root, err := parseXML(body, "Delete")
	if err != nil {
		return nil, false, err
	}
	for _, child := range root.children {
		switch child.name {
		case "Quiet":
			quiet = strings.TrimSpace(child.text) == "true"
		case "Object":
			d, err := parseDeletion(child)
			if err != nil {
				return nil, false, err
			}
			list = append(list, d)
		default:
			return nil, false, refuse(malformedXML, "")
		}
	}
	if len(list) == 0 || len(list) > store.MaxPage {
		return nil, false, refuse(malformedXML, "Delete takes 1 to 1,000 objects.")
	}
	return list, quiet, nil
}

// parseDeletion reads one Object element.
func parseDeletion(e element) (d deletion, err error) {
	for _, part := range e.children {
		text := strings.TrimSpace(part.text)
		switch part.name {
		case "Key":
			if d.req.Key != "" {
				return d, refuse(malformedXML, "An Object has one Key.")
			}
			d.req.Key = part.text
		case "ETag":
			d.req.IfMatch = bareETag(part.text)
		case "VersionId":
			if text != "" && text != "null" {
				d.err = refuse(noSuchVersion, "")
			}
		case "LastModifiedTime", "Size":
			if text != "" {
				d.err = refuse(notImplemented, "Of the conditions of a deletion, ETag is implemented only.")
			}
		default:
			return d, refuse(malformedXML, "")
		}
	}
	if d.req.Key == "" {
		return d, refuse(malformedXML, "An Object needs a Key.")
	}
	if err := checkKey(d.req.Key); err != nil {
		d.err = err
	}
	return d, nil
}

func deleteResult(list []deletion, quiet bool) *document {
	doc := newDocument()
	doc.root("DeleteResult")
	for _, d := range list {
		switch {
		case d.err != nil:
			v := judge(d.err)
			doc.open("Error")
			doc.text("Key", d.req.Key)
			doc.text("Code", string(v.code))
			doc.text("Message", v.message)
			doc.close("Error")
		case !quiet:
			doc.open("Deleted")
			doc.text("Key", d.req.Key)
			doc.close("Deleted")
		}
	}
	doc.close("DeleteResult")
	return doc
}
