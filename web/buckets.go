package web

import (
	"net/http"
	"net/url"

	"larder/fault"
	"larder/store"
	"larder/web/view"
)

func (c *Console) showBuckets(x *exchange) error {
	list, err := c.cfg.Gate.ListBuckets(x.ctx(), x.caller)
	if err != nil {
		return err
	}
	var p view.Buckets
	for _, b := range list {
		p.Bytes += b.Bytes
		p.List = append(p.List, bucketLine(b))
	}
	return x.show(http.StatusOK, view.BucketsPage(x.shell("buckets", "Buckets"), p))
}

func bucketLine(b store.Bucket) view.Bucket {
	return view.Bucket{
		Name: b.Name, Objects: b.Objects, Bytes: b.Bytes, Created: b.Created,
		Link: place{bucket: b.Name}.link("/objects"), Delete: place{bucket: b.Name}.link("/buckets/delete"),
		NewKey: "/keys/new?" + query("bucket", b.Name), Settings: place{bucket: b.Name}.link("/buckets/settings"),
	}
}

// bucketRules are stated beside the field; store.BucketNameProblem holds them.
func bucketRules() []string {
	return []string{
		"3 to 63 characters",
		"lower-case letters a to z, digits, hyphens and dots",
		"begins and ends with a letter or a digit",
		"no two dots side by side, and not an IP address",
	}
}

func bucketField() view.Field {
	return view.Field{
		Name: "name", Label: "Name", Placeholder: "backup-laptop", Class: "input-narrow input-mono", MaxLength: "63", Autofocus: true,
	}
}

func (c *Console) showNewBucket(x *exchange) error {
	return x.newBucketPage(http.StatusOK, bucketField())
}

func (x *exchange) newBucketPage(status int, name view.Field) error {
	p := view.Problems{Fields: []view.Field{name}}
	return x.show(status, view.NewBucketPage(x.shell("buckets", "Create bucket"), p, name, bucketRules()))
}

func (c *Console) createBucket(x *exchange) error {
	name := bucketField()
	name.Value = x.form("name")
	if name.Error = store.BucketNameProblem(name.Value); name.Error != "" {
		return x.newBucketPage(http.StatusUnprocessableEntity, name)
	}
	_, err := c.cfg.Gate.CreateBucket(x.ctx(), x.caller, name.Value)
	switch fault.CodeOf(err) {
	case fault.OK:
		return x.done(place{bucket: name.Value}.link("/objects"), view.Good, "The bucket "+name.Value+" is there.")
	case fault.BucketExists, fault.InvalidBucketName:
		name.Error = textOf(err)
		return x.newBucketPage(http.StatusUnprocessableEntity, name)
	}
	return err
}

func (c *Console) askDeleteBucket(x *exchange) error {
	b, err := c.cfg.Gate.HeadBucket(x.ctx(), x.caller, x.query("bucket"))
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view.ConfirmPage(x.shell("buckets", "Delete bucket"), view.Problems{}, deleteBucketQuestion(b)))
}

func deleteBucketQuestion(b store.Bucket) view.Confirm {
	q := view.Confirm{
		Crumbs: []view.Crumb{{Name: "Buckets", Link: "/buckets"}, {Name: b.Name, Link: place{bucket: b.Name}.link("/objects")}, {Name: "Delete bucket"}},
		Title:  "Delete the bucket " + b.Name + "?", Action: "/buckets/delete", Button: "Delete bucket", Danger: true,
		Hidden: []view.Hidden{{Name: "bucket", Value: url.QueryEscape(b.Name)}}, Cancel: "/buckets",
		Consequences: []view.Consequence{
			{Icon: "trash", Text: "The bucket, which is empty, goes away. Clients that use it are told that there is no such bucket."},
			{Icon: "key", Text: "Keys stay. One that was made for this bucket works again if a bucket of the same name is created later."},
			{Icon: "check", Text: "No object is deleted, since there is none in it."},
		},
	}
	switch {
	case b.Objects > 0:
		q.Refusal = "This bucket holds " + view.Plural(b.Objects, "object", "objects") + " (" + view.SizeText(b.Bytes) + "). Only an empty bucket can be deleted: delete its objects first."
	case b.Uploads > 0:
		q.Refusal = "This bucket has " + view.Plural(b.Uploads, "unfinished upload", "unfinished uploads") + ". They must be completed or aborted by the client that began them first."
	}
	if q.Refusal != "" {
		q.Consequences, q.Cancel = nil, place{bucket: b.Name}.link("/objects")
	}
	return q
}

func (c *Console) deleteBucket(x *exchange) error {
	name, err := url.QueryUnescape(x.form("bucket"))
	if err != nil {
		return fault.New("web.deleteBucket", fault.InvalidBucketName, "", err)
	}
	if err := c.cfg.Gate.DeleteBucket(x.ctx(), x.caller, name); err != nil {
		return err
	}
	return x.done("/buckets", view.Good, "The bucket "+name+" is deleted.")
}
