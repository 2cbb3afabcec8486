package s3

import (
	"strings"

	"larder/store"
)

// listing is what a request for a page of keys asks for.
type listing struct {
	prefix, delimiter string
	url               bool // encoding-type=url
	max               int
}

// readListing reads the parameters that all listings share.
func (c *call) readListing(maxParam string) (listing, error) {
	l := listing{prefix: c.param("prefix"), delimiter: c.param("delimiter")}
	switch encoding, _ := c.query.Get("encoding-type"); {
	case encoding == "":
	case strings.EqualFold(encoding, "url"):
		l.url = true
	default:
		return l, refuse(invalidArgument, "Invalid Encoding Method specified in Request")
	}
	for _, v := range []string{l.prefix, l.delimiter} {
		if err := checkKey(v); err != nil {
			return l, err
		}
	}
	var err error
	l.max, err = c.number(maxParam, store.MaxPage, store.MaxPage)
	return l, err
}

// scope ties tokens to one listing.
func (l *listing) scope(bucket string) string {
	return bucket + "\x00" + l.prefix + "\x00" + l.delimiter
}

func (c *call) page(l listing, after string) (store.ListPage, error) {
	if err := checkKey(after); err != nil {
		return store.ListPage{}, err
	}
	return c.s.gate.List(c.ctx, c.caller, store.ListRequest{
		Bucket: c.target.bucket, Prefix: l.prefix, Delimiter: l.delimiter, After: after, Max: l.max,
	})
}

// listV1 is the first version of listing, with markers.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjects.html
func (c *call) listV1() error {
	if v, ok := c.query.Get("list-type"); ok && v != "1" && v != "" {
		return refuse(invalidArgument, "Invalid list-type: use 2, or leave it out.")
	}
	l, err := c.readListing("max-keys")
	if err != nil {
		return err
	}
	page, err := c.page(l, c.param("marker"))
	if err != nil {
		return err
	}
	doc := l.begin(c.target.bucket)
	doc.name("Marker", c.param("marker"))
	if page.Truncated && l.delimiter != "" {
		doc.name("NextMarker", page.Next)
	}
	l.middle(doc, page.Truncated)
	l.contents(doc, page, true)
	doc.close("ListBucketResult")
	return c.xml(doc)
}

// listV2 is the second version, with tokens.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
func (c *call) listV2() error {
	l, err := c.readListing("max-keys")
	if err != nil {
		return err
	}
	scope := l.scope(c.target.bucket)
	after, err := c.readToken("continuation-token", scope)
	if err != nil {
		return err
	}
	if after == "" {
		after = c.param("start-after")
	}
	page, err := c.page(l, after)
	if err != nil {
		return err
	}
	doc := l.begin(c.target.bucket)
	if start := c.param("start-after"); start != "" {
		doc.name("StartAfter", start)
	}
	doc.optional("ContinuationToken", c.param("continuation-token"))
	if page.Truncated {
		doc.text("NextContinuationToken", makeToken(scope, page.Next))
	}
	doc.number("KeyCount", int64(len(page.Objects)+len(page.Prefixes)))
	l.middle(doc, page.Truncated)
	l.contents(doc, page, c.param("fetch-owner") == "true")
	doc.close("ListBucketResult")
	return c.xml(doc)
}

func (l *listing) begin(bucket string) *document {
	doc := newDocument()
	doc.url = l.url
	doc.root("ListBucketResult")
	doc.text("Name", bucket)
	doc.name("Prefix", l.prefix)
	return doc
}

func (l *listing) middle(doc *document, truncated bool) {
	doc.number("MaxKeys", int64(l.max))
	l.delimiterAndEncoding(doc)
	doc.flag("IsTruncated", truncated)
}

func (l *listing) delimiterAndEncoding(doc *document) {
	if l.delimiter != "" {
		doc.name("Delimiter", l.delimiter)
	}
	if l.url {
		doc.text("EncodingType", "url")
	}
}

func (l *listing) contents(doc *document, page store.ListPage, owner bool) {
	for i := range page.Objects {
		o := &page.Objects[i]
		doc.open("Contents")
		doc.name("Key", o.Key)
		doc.time("LastModified", o.Modified)
		doc.etag(o.ETag)
		if name := algorithmName(o.Checksum.Algorithm); name != "" {
			doc.text("ChecksumAlgorithm", name)
			doc.optional("ChecksumType", typeName(o.Checksum.Type))
		}
		doc.number("Size", o.Size)
		if owner {
			doc.owner("Owner")
		}
		doc.text("StorageClass", "STANDARD")
		doc.close("Contents")
	}
	commonPrefixes(doc, page.Prefixes)
}

func commonPrefixes(doc *document, prefixes []string) {
	for _, p := range prefixes {
		doc.open("CommonPrefixes")
		doc.name("Prefix", p)
		doc.close("CommonPrefixes")
	}
}

// listVersions lists the null version that each object of a bucket without
// versioning has.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html
func (c *call) listVersions() error {
	l, err := c.readListing("max-keys")
	if err != nil {
		return err
	}
	page, err := c.page(l, c.param("key-marker"))
	if err != nil {
		return err
	}
	doc := newDocument()
	doc.url = l.url
	doc.root("ListVersionsResult")
	doc.text("Name", c.target.bucket)
	doc.name("Prefix", l.prefix)
	doc.name("KeyMarker", c.param("key-marker"))
	doc.text("VersionIdMarker", c.param("version-id-marker"))
	if page.Truncated {
		doc.name("NextKeyMarker", page.Next)
		doc.text("NextVersionIdMarker", "null")
	}
	l.middle(doc, page.Truncated)
	for i := range page.Objects {
		o := &page.Objects[i]
		doc.open("Version")
		doc.name("Key", o.Key)
		doc.text("VersionId", "null")
		doc.flag("IsLatest", true)
		doc.time("LastModified", o.Modified)
		doc.etag(o.ETag)
		doc.number("Size", o.Size)
		doc.owner("Owner")
		doc.text("StorageClass", "STANDARD")
		doc.close("Version")
	}
	commonPrefixes(doc, page.Prefixes)
	doc.close("ListVersionsResult")
	return c.xml(doc)
}
