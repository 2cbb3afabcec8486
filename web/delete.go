package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/store"
	"larder/web/view"
)

// What one confirmation deletes at most. A folder may hold millions of
// objects; the rest stays and the person is told.
const (
	deleteMax  = 50_000
	deleteTime = 25 * time.Second
)

// selection is what a person picked in one bucket: keys, and folders, which
// end with a slash and mean everything below.
type selection struct {
	at            place // the folder it was picked in
	keys, folders []string
}

// picked reads the check boxes of the list or the address of one entry.
func (x *exchange) picked(at place, values []string) (selection, error) {
	s := selection{at: at}
	for _, v := range values {
		key, err := url.QueryUnescape(v)
		if err != nil || key == "" {
			return s, fault.New("web.picked", fault.InvalidKey, "", err)
		}
		if strings.HasSuffix(key, "/") {
			s.folders = append(s.folders, key)
		} else {
			s.keys = append(s.keys, key)
		}
	}
	if len(s.keys)+len(s.folders) > store.MaxPage {
		return s, fault.New("web.picked", fault.InvalidArgument, "", nil).WithHint("Select at most 1,000 entries at once.")
	}
	return s, nil
}

func (c *Console) askDeletePicked(x *exchange) error {
	at := x.place()
	s, err := x.picked(at, x.r.PostForm["pick"])
	if err != nil {
		return err
	}
	if len(s.keys)+len(s.folders) == 0 {
		return x.done(at.link("/objects"), view.Info, "Nothing was selected.")
	}
	return c.askDelete(x, s)
}

func (c *Console) askDeleteObject(x *exchange) error {
	at := x.place()
	s, err := x.picked(at.folder(), []string{at.pick()})
	if err != nil {
		return err
	}
	return c.askDelete(x, s)
}

// askDelete shows what would be deleted. It changes nothing.
func (c *Console) askDelete(x *exchange, s selection) error {
	if _, err := c.cfg.Gate.HeadBucket(x.ctx(), x.caller, s.at.bucket); err != nil {
		return err
	}
	q := view.Confirm{
		Crumbs: append(s.at.crumbs(), view.Crumb{Name: "Delete"}), Title: s.title(), Danger: true, Button: "Delete",
		Action: s.at.link("/objects/delete"), Cancel: s.at.link("/objects"),
		Consequences: []view.Consequence{
			{Icon: "trash", Text: "It goes away at once and for good: there is no bin to take it back from."},
			{Icon: "check", Text: "Copies under other names stay, and so does everything that is not listed here."},
		},
	}
	for _, f := range s.folders {
		n, more, err := c.countBelow(x, s.at.bucket, f)
		if err != nil {
			return err
		}
		q.Names = append(q.Names, view.Named{Icon: "folder", Name: f[len(s.at.key):] + " with " + countText(n, more)})
		q.Hidden = append(q.Hidden, view.Hidden{Name: "pick", Value: url.QueryEscape(f)})
	}
	for _, k := range s.keys {
		q.Names = append(q.Names, view.Named{Icon: "file", Name: strings.TrimPrefix(k, s.at.key)})
		q.Hidden = append(q.Hidden, view.Hidden{Name: "pick", Value: url.QueryEscape(k)})
	}
	return x.show(http.StatusOK, view.ConfirmPage(x.shell("buckets", "Delete"), view.Problems{}, q))
}

func (s selection) title() string {
	switch {
	case len(s.keys)+len(s.folders) > 1:
		return "Delete " + view.Plural(int64(len(s.keys)+len(s.folders)), "entry", "entries") + "?"
	case len(s.folders) == 1:
		return "Delete the folder " + place{key: s.folders[0]}.base() + " and everything in it?"
	}
	return "Delete " + place{key: s.keys[0]}.base() + "?"
}

// countBelow counts a folder's objects, up to one page.
func (c *Console) countBelow(x *exchange, bucket, folder string) (n int, more bool, err error) {
	page, err := c.cfg.Gate.List(x.ctx(), x.caller, store.ListRequest{Bucket: bucket, Prefix: folder, Max: store.MaxPage})
	return len(page.Objects), page.Truncated, err
}

func countText(n int, more bool) string {
	if more {
		return "more than " + view.Count(int64(n)) + " objects"
	}
	return view.Plural(int64(n), "object", "objects")
}

func (c *Console) deleteObjects(x *exchange) error {
	s, err := x.picked(x.place(), x.r.PostForm["pick"])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(x.ctx(), deleteTime)
	defer cancel()
	d := deletion{c: c, caller: x.caller, bucket: s.at.bucket}
	d.keys(ctx, s.keys)
	for _, f := range s.folders {
		d.folder(ctx, f)
	}
	kind, text := d.outcome()
	return x.done(s.at.link("/objects"), kind, text)
}

// deletion carries out one confirmation.
type deletion struct {
	c             *Console
	caller        auth.Caller
	bucket        string
	done, refused int
	left          bool  // there is more than one confirmation deletes
	err           error // the first refusal
}

// keys deletes up to a page of keys.
func (d *deletion) keys(ctx context.Context, keys []string) {
	if len(keys) == 0 {
		return
	}
	reqs := make([]store.DeleteRequest, len(keys))
	for i, k := range keys {
		reqs[i] = store.DeleteRequest{Key: k}
	}
	errs, err := d.c.cfg.Gate.DeleteMany(ctx, d.caller, d.bucket, reqs)
	if err != nil {
		d.refuse(len(keys), err)
		return
	}
	for _, err := range errs {
		if err != nil {
			d.refuse(1, err)
		} else {
			d.done++
		}
	}
}

func (d *deletion) refuse(n int, err error) {
	d.refused += n
	if d.err == nil {
		d.err = err
	}
}

// folder deletes what is below a prefix, page by page, until nothing is left
// or something is refused.
func (d *deletion) folder(ctx context.Context, prefix string) {
	for d.err == nil {
		if d.done >= deleteMax || ctx.Err() != nil {
			d.left = true
			return
		}
		page, err := d.c.cfg.Gate.List(ctx, d.caller, store.ListRequest{Bucket: d.bucket, Prefix: prefix, Max: store.MaxPage})
		if err != nil {
			d.refuse(1, err)
			return
		}
		keys := make([]string, len(page.Objects))
		for i, o := range page.Objects {
			keys[i] = o.Key
		}
		d.keys(ctx, keys)
		if !page.Truncated {
			return
		}
	}
}

func (d *deletion) outcome() (view.Kind, string) {
	text := "Deleted " + view.Plural(int64(d.done), "object", "objects") + "."
	switch {
	case d.err != nil:
		return view.Bad, text + " " + view.Count(int64(d.refused)) + " not deleted: " + textOf(d.err)
	case d.left:
		return view.Warn, text + " There is more in it than one request deletes: delete it again for the rest."
	}
	return view.Good, text
}
