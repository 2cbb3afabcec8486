package web

import (
	"io"
	"net/http"

	"larder/web/view"
)

func (c *Console) showSystem(x *exchange) error {
	sum, err := c.cfg.Admin.Summary(x.ctx(), x.caller)
	if err != nil {
		return err
	}
	verified, err := c.verification(x)
	if err != nil {
		return err
	}
	copies, err := c.snapshots(x)
	if err != nil {
		return err
	}
	used := sum.TotalBytes - sum.FreeBytes
	p := view.System{
		Verification: verified, Snapshots: copies,
		Secure: x.secureNotice(), Encrypted: x.encrypted(), Fingerprint: c.cfg.CertFingerprint,
		Addresses: x.addresses(),
		Program: []view.Fact{
			{Term: "Version", Value: sum.Version},
			{Term: "Started", Time: sum.Started},
			{Term: "Running for", Value: view.Span(sum.Uptime)},
			{Term: "Requests", Value: view.Count(sum.Requests) + " since the start"},
			{Term: "Changes", Value: view.Count(int64(sum.Sequence)) + " since it was made"},
			{Term: "Writing", Value: writing(sum.ReadOnly)},
		},
		Disk: []view.Fact{
			{Term: "Free", Value: view.SizeText(sum.FreeBytes)},
			{Term: "In use", Value: view.SizeText(used)},
			{Term: "In all", Value: view.SizeText(sum.TotalBytes)},
			{Term: "Objects take", Value: view.SizeText(sum.Bytes)},
		},
		Used: used, Total: sum.TotalBytes, DiskClass: barClass(sum),
		DiskLabel: view.SizeText(used) + " of " + view.SizeText(sum.TotalBytes) + " in use",
	}
	return x.show(http.StatusOK, view.SystemPage(x.shell("system", "System"), p))
}

func (x *exchange) addresses() []view.Fact {
	scheme := "http"
	if x.encrypted() {
		scheme = "https"
	}
	list := []view.Fact{
		{Term: "S3 endpoint", Value: x.s3URL()},
		{Term: "Console", Value: scheme + "://" + x.r.Host},
	}
	if secure := x.secureURL(); secure != "" {
		list = append(list, view.Fact{Term: "Console, encrypted", Value: "https://" + x.r.Host})
	}
	return list
}

func writing(readOnly string) string {
	if readOnly == "" {
		return "on"
	}
	return "off since a failure: " + readOnly
}

func (c *Console) asset(x *exchange) error {
	c.assets.ServeHTTP(x.w, x.r)
	return nil
}

// healthz tells a supervisor that the console answers. It says nothing about
// what is stored.
func (c *Console) healthz(x *exchange) error {
	x.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := io.WriteString(x.w, "ok\n")
	return err
}
