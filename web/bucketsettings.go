package web

import (
	"net/http"
	"net/url"

	"larder/fault"
	"larder/store"
	"larder/web/view"
)

func (c *Console) showBucketSettings(x *exchange) error {
	b, err := c.cfg.Gate.HeadBucket(x.ctx(), x.caller, x.query("bucket"))
	if err != nil {
		return err
	}
	crumbs := []view.Crumb{
		{Name: "Buckets", Link: "/buckets"}, {Name: b.Name, Link: place{bucket: b.Name}.link("/objects")}, {Name: "Settings"},
	}
	page := view.BucketSettingsPage(x.shell("buckets", "Settings of "+b.Name), crumbs, b.Name, url.QueryEscape(b.Name), verifyChoices(b.Settings))
	return x.show(http.StatusOK, page)
}

func verifyChoices(s store.BucketSettings) []view.Choice {
	return []view.Choice{
		{
			Value: "on", Title: "Verify", Checked: !s.UnverifiedReads,
			Text: "Every byte is compared with its checksum first. A damaged object breaks off instead of arriving wrong.",
		},
		{
			Value: "off", Title: "Send unverified", Checked: s.UnverifiedReads,
			Text: "Somewhat faster on fast networks. For clients that check what they get themselves, as restic and kopia do.",
		},
	}
}

func (c *Console) setBucketSettings(x *exchange) error {
	name, err := url.QueryUnescape(x.form("bucket"))
	if err != nil {
		return fault.New("web.setBucketSettings", fault.InvalidBucketName, "", err)
	}
	verify := x.form("verify")
	if verify != "on" && verify != "off" {
		return fault.New("web.setBucketSettings", fault.InvalidArgument, "", nil)
	}
	settings := store.BucketSettings{UnverifiedReads: verify == "off"}
	if err := c.cfg.Gate.SetBucketSettings(x.ctx(), x.caller, name, settings); err != nil {
		return err
	}
	return x.done("/buckets", view.Good, "The settings of "+name+" are saved.")
}
