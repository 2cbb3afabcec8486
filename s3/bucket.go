package s3

import (
	"net/http"
	"strings"

	"larder/store"
)

// listBuckets answers the buckets in which the caller has rights, by name.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html
func (c *call) listBuckets() error {
	limit, err := c.number("max-buckets", 0, 10_000)
	if err != nil {
		return err
	}
	after, err := c.readToken("continuation-token", "buckets")
	if err != nil {
		return err
	}
	all, err := c.s.gate.ListBuckets(c.ctx, c.caller)
	if err != nil {
		return err
	}
	page, next := pageOfBuckets(all, c.param("prefix"), after, limit)
	doc := newDocument()
	doc.root("ListAllMyBucketsResult")
	doc.owner("Owner")
	doc.open("Buckets")
	for _, b := range page {
		doc.open("Bucket")
		doc.text("Name", b.Name)
		doc.time("CreationDate", b.Created)
		doc.text("BucketRegion", c.s.region)
		doc.close("Bucket")
	}
	doc.close("Buckets")
	if next != "" {
		doc.text("ContinuationToken", makeToken("buckets", next))
	}
	doc.optional("Prefix", c.param("prefix"))
	doc.close("ListAllMyBucketsResult")
	return c.xml(doc)
}

// pageOfBuckets picks the buckets of a page. limit 0 is no limit.
func pageOfBuckets(all []store.Bucket, prefix, after string, limit int) (page []store.Bucket, next string) {
	for _, b := range all {
		if !strings.HasPrefix(b.Name, prefix) || b.Name <= after && after != "" {
			continue
		}
		if limit > 0 && len(page) == limit {
			return page, page[limit-1].Name
		}
		page = append(page, b)
	}
	return page, ""
}

// createBucket takes any LocationConstraint: there is one place only.
func (c *call) createBucket() error {
	if err := c.allowed(c.route); err != nil { // before the body is read
		return err
	}
	if strings.EqualFold(c.header("X-Amz-Bucket-Object-Lock-Enabled"), "true") {
		return refuse(notImplemented, "Object lock is not implemented yet. Create the bucket without it.")
	}
	if err := c.checkACL(); err != nil {
		return err
	}
	if err := c.readCreateBucket(); err != nil {
		return err
	}
	if _, err := c.s.gate.CreateBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	c.w.Header().Set("Location", "/"+c.target.bucket)
	return c.empty(http.StatusOK)
}

// readCreateBucket checks the form of the optional document.
func (c *call) readCreateBucket() error {
	if c.r.ContentLength == 0 {
		return nil
	}
	body, err := c.smallBody(maxDocument)
	if err != nil || len(body) == 0 {
		return err
	}
	root, err := parseXML(body, "CreateBucketConfiguration")
	if err != nil {
		return err
	}
	for _, child := range root.children {
		switch child.name {
		case "LocationConstraint", "Location", "Bucket", "Tags":
		default:
			return refuse(malformedXML, "")
		}
	}
	return nil
}

func (c *call) headBucket() error {
	if _, err := c.s.gate.HeadBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("X-Amz-Bucket-Region", c.s.region)
	h.Set("X-Amz-Access-Point-Alias", "false")
	h.Set("Content-Type", xmlType)
	c.begin(http.StatusOK)
	return nil
}

func (c *call) deleteBucket() error {
	if err := c.s.gate.DeleteBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// bucketLocation answers the configured region; us-east-1 is the empty one.
func (c *call) bucketLocation() error {
	if _, err := c.s.gate.HeadBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	region := c.s.region
	if region == "us-east-1" {
		region = ""
	}
	doc := newDocument()
	doc.root("LocationConstraint")
	doc.b = appendEscaped(doc.b, region)
	doc.close("LocationConstraint")
	return c.xml(doc)
}

// bucketVersioning answers that versioning was never enabled.
func (c *call) bucketVersioning() error {
	if _, err := c.s.gate.HeadBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	doc := newDocument()
	doc.root("VersioningConfiguration")
	doc.close("VersioningConfiguration")
	return c.xml(doc)
}
