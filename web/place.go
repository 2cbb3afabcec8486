package web

import (
	"net/url"
	"strings"

	"larder/web/view"
)

// place is a position within what is stored: a bucket, and a folder or a key
// in it. In addresses both stand in the query, percent-encoded, and never in
// the path, where routers and proxies would clean "//", "..", and "%2F".
type place struct{ bucket, key string }

// link is the address of a route for this place.
func (p place) link(path string) string {
	q := "?bucket=" + url.QueryEscape(p.bucket)
	if p.key != "" {
		q += "&key=" + url.QueryEscape(p.key)
	}
	return path + q
}

// placeOf reads a place from the query.
func (x *exchange) place() place { return place{bucket: x.query("bucket"), key: x.query("key")} }

// searched is place, or the folder that the search form names: percent-encoded
// as a pick is, since its value stands in the page.
func (x *exchange) searched() place {
	at := x.place()
	if folder, err := url.QueryUnescape(x.query("folder")); err == nil && folder != "" {
		at.key = folder
	}
	return at
}

// folder is the part of the key up to and with its last slash but a closing
// one: the folder that the object or folder stands in.
func (p place) folder() place {
	end := strings.LastIndexByte(strings.TrimSuffix(p.key, "/"), '/')
	return place{bucket: p.bucket, key: p.key[:end+1]}
}

// base is the key without its folder and without a closing slash. A folder may
// have an empty name, which is shown as a slash.
func (p place) base() string {
	name := strings.TrimSuffix(p.key[len(p.folder().key):], "/")
	if name == "" {
		return "/"
	}
	return name
}

// crumbs is the way from the list of buckets to this place.
func (p place) crumbs() []view.Crumb {
	out := []view.Crumb{{Name: "Buckets", Link: "/buckets"}, {Name: p.bucket, Link: place{bucket: p.bucket}.link("/objects")}}
	for i, b := range []byte(p.key) {
		if b == '/' {
			f := place{bucket: p.bucket, key: p.key[:i+1]}
			out = append(out, view.Crumb{Name: f.base(), Link: f.link("/objects")})
		}
	}
	if p.key != "" && !strings.HasSuffix(p.key, "/") {
		out = append(out, view.Crumb{Name: p.base()})
	}
	return out
}

// pick is the value of a check box. Browsers change line ends in form values,
// so it is percent-encoded.
func (p place) pick() string { return url.QueryEscape(p.key) }

// query is one parameter of an address.
func query(name, value string) string { return url.Values{name: {value}}.Encode() }
