package web

import (
	"net/http"

	"larder/admin"
	"larder/fault"
	"larder/web/view"
)

func (c *Console) showHome(x *exchange) error {
	h, err := c.home(x)
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view.HomePage(x.shell("home", "Home"), h))
}

// showNumbers is the part of the home page that the script loads again.
func (c *Console) showNumbers(x *exchange) error {
	sum, err := c.cfg.Admin.Summary(x.ctx(), x.caller)
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view.HomeNumbers(view.Home{Health: health(sum), Stats: c.stats(sum)}))
}

func (c *Console) home(x *exchange) (view.Home, error) {
	sum, err := c.cfg.Admin.Summary(x.ctx(), x.caller)
	if err != nil {
		return view.Home{}, err
	}
	steps, err := c.steps(x, sum)
	if err != nil {
		return view.Home{}, err
	}
	return view.Home{
		Health: health(sum), Stats: c.stats(sum), Steps: steps, S3URL: x.s3URL(), Secure: x.secureNotice(),
		Facts: []view.Fact{
			{Term: "Version", Value: sum.Version},
			{Term: "Running for", Value: view.Span(sum.Uptime)},
			{Term: "Started", Time: sum.Started},
			{Term: "Changes", Value: view.Count(int64(sum.Sequence)) + " since it was made"},
		},
	}, nil
}

// steps are what is left to do until the first backup, or nil when all is
// done, the person may not see keys, or nothing can be written.
func (c *Console) steps(x *exchange, sum admin.Summary) ([]view.Step, error) {
	keys, err := c.cfg.Admin.Keys(x.ctx(), x.caller)
	if fault.CodeOf(err) == fault.Denied {
		return nil, nil
	}
	if err != nil || sum.ReadOnly != "" || sum.Buckets > 0 && len(keys) > 0 && sum.Objects > 0 {
		return nil, err
	}
	list := []view.Step{
		{
			Title: "Create a bucket", Text: "The place where a backup program puts its data.",
			Link: "/buckets/new", Label: "Create bucket", Done: sum.Buckets > 0,
		},
		{
			Title: "Create a key", Text: "What the program logs in with. You choose what it may do.",
			Link: "/keys/new", Label: "Create key", Done: len(keys) > 0,
		},
		{
			Title: "Back something up", Text: "Paste the settings that the key's page shows into restic, rclone or the aws cli.",
			Link: "/keys", Label: "Show settings", Done: sum.Objects > 0,
		},
	}
	for i := range list {
		if !list[i].Done {
			list[i].Now = true
			break
		}
	}
	return list, nil
}

// stats are the four numbers that matter.
func (c *Console) stats(sum admin.Summary) []view.Stat {
	curves := c.history.curves()
	bytes, unit := view.Size(sum.Bytes)
	free, freeUnit := view.Size(sum.FreeBytes)
	used := sum.TotalBytes - sum.FreeBytes
	return []view.Stat{
		curves.objects.under(view.Stat{
			Icon: "file", Label: "Objects", Value: view.Count(sum.Objects), Sub: "in " + view.Plural(int64(sum.Buckets), "bucket", "buckets"),
		}, view.Count),
		curves.bytes.under(view.Stat{
			Icon: "archive", Label: "Stored", Value: bytes, Unit: unit, Sub: "in all objects",
		}, view.SizeText),
		{
			Icon: "disk", Label: "Free disk", Value: free, Unit: freeUnit, Sub: "of " + view.SizeText(sum.TotalBytes),
			Part: used, Whole: sum.TotalBytes, BarClass: barClass(sum),
			BarLabel: view.SizeText(used) + " of " + view.SizeText(sum.TotalBytes) + " in use",
		},
		curves.requests.under(view.Stat{
			Icon: "plug", Label: "Requests", Value: view.Count(sum.Requests), Sub: "in " + view.Span(sum.Uptime),
		}, view.Count),
	}
}
