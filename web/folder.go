package web

import (
	"net/http"
	"strings"

	"larder/fault"
	"larder/store"
	"larder/web/view"
)

func folderField() view.Field {
	return view.Field{
		Name: "name", Label: "Name of the folder", Class: "input-narrow", Autofocus: true, MaxLength: "512",
		Hint: "A slash in the name makes a folder within the folder.",
	}
}

func (c *Console) showNewFolder(x *exchange) error {
	if _, err := c.cfg.Gate.HeadBucket(x.ctx(), x.caller, x.query("bucket")); err != nil {
		return err
	}
	return x.newFolderPage(http.StatusOK, folderField())
}

func (x *exchange) newFolderPage(status int, name view.Field) error {
	at, p := x.place(), view.Problems{Fields: []view.Field{name}}
	crumbs := append(at.crumbs(), view.Crumb{Name: "New folder"})
	return x.show(status, view.NewFolderPage(x.shell("buckets", "New folder"), p, crumbs, at.link("/objects/folder"), at.link("/objects"), name))
}

// createFolder stores the empty object that keeps a folder, as other S3
// browsers do. A folder that is there already is not an error.
func (c *Console) createFolder(x *exchange) error {
	at, name := x.place(), folderField()
	name.Value = x.form("name")
	clean := strings.Trim(name.Value, "/")
	if clean == "" {
		name.Error = "A folder needs a name with at least one character that is not a slash."
		return x.newFolderPage(http.StatusUnprocessableEntity, name)
	}
	made := place{bucket: at.bucket, key: at.key + clean + "/"}
	_, err := c.cfg.Gate.Put(x.ctx(), x.caller, store.PutRequest{
		Bucket: made.bucket, Key: made.key, Body: strings.NewReader(""), Cond: store.Condition{IfNoneMatch: true},
		Meta: store.Meta{Headers: store.Headers{ContentType: "application/x-directory"}},
	})
	switch fault.CodeOf(err) {
	case fault.OK:
		return x.done(made.link("/objects"), view.Good, "The folder "+view.Inert(clean)+" is there.")
	case fault.Precondition:
		return x.done(made.link("/objects"), view.Info, "The folder "+view.Inert(clean)+" was there already.")
	case fault.KeyTooLong, fault.InvalidKey:
		name.Error = textOf(err)
		return x.newFolderPage(http.StatusUnprocessableEntity, name)
	}
	return err
}
