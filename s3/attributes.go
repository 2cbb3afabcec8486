package s3

import (
	"maps"
	"slices"
	"strings"

	"larder/store"
)

// objectTagging answers the tags that an object was put with.
func (c *call) objectTagging() error {
	info, err := c.s.gate.Head(c.ctx, c.caller, c.target.bucket, c.target.key)
	if err != nil {
		return err
	}
	doc := newDocument()
	doc.root("Tagging")
	doc.open("TagSet")
	for _, name := range sortedKeys(info.Tags) {
		doc.open("Tag")
		doc.text("Key", name)
		doc.text("Value", info.Tags[name])
		doc.close("Tag")
	}
	doc.close("TagSet")
	doc.close("Tagging")
	return c.xml(doc)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// objectAttributes answers what the request names of an object's ETag,
// checksum, parts, storage class and size.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAttributes.html
func (c *call) objectAttributes() error {
	info, err := c.s.gate.Head(c.ctx, c.caller, c.target.bucket, c.target.key)
	if err != nil {
		return err
	}
	wanted, err := c.readAttributes()
	if err != nil {
		return err
	}
	if err := c.readConditions("").Check(info.ETag, info.Modified); err != nil {
		return err
	}
	c.w.Header().Set("Last-Modified", httpTime(info.Modified))
	doc := newDocument()
	doc.root("GetObjectAttributesResponse")
	if wanted["ETag"] {
		doc.text("ETag", info.ETag) // without quotes here, as on AWS
	}
	if wanted["Checksum"] && len(info.Checksum.Value) > 0 {
		doc.open("Checksum")
		doc.checksum(info.Checksum, len(info.PartSizes))
		doc.optional("ChecksumType", typeName(info.Checksum.Type))
		doc.close("Checksum")
	}
	if wanted["ObjectParts"] && len(info.PartSizes) > 0 {
		if err := c.objectParts(doc, info); err != nil {
			return err
		}
	}
	if wanted["StorageClass"] {
		doc.text("StorageClass", "STANDARD")
	}
	if wanted["ObjectSize"] {
		doc.number("ObjectSize", info.Size)
	}
	doc.close("GetObjectAttributesResponse")
	return c.xml(doc)
}

// readAttributes reads x-amz-object-attributes.
func (c *call) readAttributes() (map[string]bool, error) {
	wanted := make(map[string]bool)
	for name := range strings.SplitSeq(c.header("X-Amz-Object-Attributes"), ",") {
		switch name = strings.TrimSpace(name); name {
		case "ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize":
			wanted[name] = true
		default:
			return nil, refuse(invalidArgument, "Invalid attribute name specified.")
		}
	}
	return wanted, nil
}

// objectParts writes a page of an object's parts.
func (c *call) objectParts(doc *document, info store.Info) error {
	limit, err := parseCount(c.header("X-Amz-Max-Parts"), store.MaxPage)
	if err != nil {
		return err
	}
	after, err := parseCount(c.header("X-Amz-Part-Number-Marker"), 0)
	if err != nil {
		return err
	}
	total := len(info.PartSizes)
	from := min(after, total)
	to := min(from+min(limit, store.MaxPage), total)
	doc.open("ObjectParts")
	doc.number("PartsCount", int64(total))
	doc.number("PartNumberMarker", int64(after))
	doc.number("NextPartNumberMarker", int64(to))
	doc.number("MaxParts", int64(limit))
	doc.flag("IsTruncated", to < total)
	if info.Checksum.Type == store.Composite {
		for i, size := range info.PartSizes[from:to] {
			doc.open("Part")
			doc.number("PartNumber", int64(from+i+1))
			doc.number("Size", size)
			doc.close("Part")
		}
	}
	doc.close("ObjectParts")
	return nil
}
