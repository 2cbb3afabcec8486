package web

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"larder/auth/sigv4"
	"larder/store"
	"larder/web/view"
)

// pageSize is how many folders and objects one page of the browser shows: as
// many as keep the page below 100 KB.
const pageSize = 50

func (c *Console) showObjects(x *exchange) error {
	at, filter, after := x.searched(), x.query("filter"), x.query("after")
	if at.key != "" && !strings.HasSuffix(at.key, "/") {
		return x.redirect(at.link("/objects/show"))
	}
	if _, err := c.cfg.Gate.HeadBucket(x.ctx(), x.caller, at.bucket); err != nil {
		return err
	}
	page, err := c.cfg.Gate.List(x.ctx(), x.caller, store.ListRequest{
		Bucket: at.bucket, Prefix: at.key + filter, Delimiter: "/", After: after, Max: pageSize,
	})
	if err != nil {
		return err
	}
	b := c.browser(x, at)
	b.Entries = entriesOf(at, page)
	b.Filter, b.Empty = filter, filter == "" && after == ""
	b.Shown = shown(len(b.Entries), after != "" || page.Truncated)
	if after != "" {
		b.First = listLink(at, filter, "")
	}
	if page.Truncated {
		b.Next = listLink(at, filter, page.Next)
	}
	return x.show(http.StatusOK, view.BrowserPage(x.shell("buckets", b.Title), b))
}

// browser is the part of the page that depends on the place alone.
func (c *Console) browser(x *exchange, at place) view.Browser {
	title := at.bucket
	if at.key != "" {
		title = at.base()
	}
	return view.Browser{
		Title: title, Bucket: at.bucket, Crumbs: at.crumbs(), Here: at.link("/objects"),
		HereHidden: []view.Hidden{{Name: "bucket", Value: at.bucket}, {Name: "folder", Value: at.pick()}},
		PickAction: at.link("/objects/pick"), NewFolder: at.link("/objects/folder"), NewKey: "/keys/new?" + query("bucket", at.bucket),
		UploadURL: place{bucket: at.bucket}.link("/objects/upload") + "&key=",
		MayURL:    place{bucket: at.bucket}.link("/objects/may") + "&key=",
		Prefix:    sigv4.Encode(at.key, true), MaxBytes: strconv.FormatInt(store.MaxPutBytes, 10), S3URL: x.s3URL(),
	}
}

func listLink(at place, filter, after string) string {
	link := at.link("/objects")
	if filter != "" {
		link += "&filter=" + url.QueryEscape(filter)
	}
	if after != "" {
		link += "&after=" + url.QueryEscape(after)
	}
	return link
}

func shown(n int, more bool) string {
	text := view.Plural(int64(n), "entry", "entries")
	if more {
		return text + " on this page"
	}
	return text
}

// entriesOf lists folders before objects. The empty object that keeps the
// folder itself is not shown in it.
func entriesOf(at place, page store.ListPage) []view.Entry {
	var out []view.Entry
	for _, prefix := range page.Prefixes {
		p := place{bucket: at.bucket, key: prefix}
		out = append(out, view.Entry{
			Name: p.base(), Folder: true, Link: p.link("/objects"), Delete: p.link("/objects/delete"), Pick: p.pick(),
		})
	}
	for _, o := range page.Objects {
		if o.Key == at.key {
			continue
		}
		p := place{bucket: at.bucket, key: o.Key}
		out = append(out, view.Entry{
			Name: o.Key[len(at.key):], Size: o.Size, Modified: o.Modified, Pick: p.pick(),
			Link: p.link("/objects/show"), Download: p.link("/objects/download"), Delete: p.link("/objects/delete"),
		})
	}
	return out
}

func (c *Console) showObject(x *exchange) error {
	at := x.place()
	info, err := c.cfg.Gate.Head(x.ctx(), x.caller, at.bucket, at.key)
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view.ObjectPage(x.shell("buckets", at.base()), view.Object{
		Crumbs: at.crumbs(), Name: at.base(), Facts: objectFacts(info), Meta: metaFacts(info.Meta),
		Download: at.link("/objects/download"), Delete: at.link("/objects/delete"), Address: x.s3URL() + "/" + at.bucket + "/" + sigv4.Encode(at.key, true),
	}))
}

func objectFacts(info store.Info) []view.Fact {
	facts := []view.Fact{
		{Term: "Size", Value: sizeLong(info.Size)},
		{Term: "Changed", Time: info.Modified},
		{Term: "Type", Value: orDash(info.ContentType)},
		{Term: "ETag", Value: info.ETag, Mono: true},
	}
	if name := checksumName(info.Checksum.Algorithm); name != "" {
		facts = append(facts, view.Fact{Term: name, Value: base64.StdEncoding.EncodeToString(info.Checksum.Value), Mono: true})
	}
	if n := len(info.PartSizes); n > 0 {
		facts = append(facts, view.Fact{Term: "Uploaded in", Value: view.Plural(int64(n), "part", "parts")})
	}
	if info.Owner != "" {
		facts = append(facts, view.Fact{Term: "Stored by", Value: info.Owner, Mono: true})
	}
	return facts
}

func sizeLong(n int64) string {
	if n < 1024 {
		return view.Plural(n, "byte", "bytes")
	}
	return fmt.Sprintf("%s (%s bytes)", view.SizeText(n), view.Count(n))
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func checksumName(a store.Algorithm) string {
	names := map[store.Algorithm]string{
		store.CRC32: "CRC-32", store.CRC32C: "CRC-32C", store.CRC64NVME: "CRC-64/NVME", store.SHA1: "SHA-1", store.SHA256: "SHA-256",
	}
	return names[a]
}

// metaFacts lists what the client said about the object, in a fixed order.
func metaFacts(m store.Meta) []view.Fact {
	var facts []view.Fact
	for _, h := range [][2]string{
		{"Cache-Control", m.CacheControl}, {"Content-Disposition", m.ContentDisposition}, {"Content-Encoding", m.ContentEncoding},
		{"Content-Language", m.ContentLanguage}, {"Expires", m.Expires},
	} {
		if h[1] != "" {
			facts = append(facts, view.Fact{Term: h[0], Value: h[1]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.User)) {
		facts = append(facts, view.Fact{Term: view.Inert(name), Value: m.User[name], Mono: true})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tags)) {
		facts = append(facts, view.Fact{Term: "Tag " + view.Inert(name), Value: m.Tags[name], Mono: true})
	}
	return facts
}
