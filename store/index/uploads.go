package index

import "zombiezen.com/go/sqlite"

// UploadQuery asks for one page of a bucket's uploads in progress, ordered by
// key, then by upload id, both in byte order.
type UploadQuery struct {
	Bucket            uint64
	Prefix, Delimiter string // as in ListQuery
	// KeyMarker and UploadMarker say where the page begins: behind this upload
	// of this key. Without UploadMarker it begins behind all uploads of the
	// key, or below the next common prefix when KeyMarker is one. UploadMarker
	// means nothing without KeyMarker.
	KeyMarker, UploadMarker string
	Max                     int // as in ListQuery
}

// UploadPage is one page of uploads and common prefixes.
type UploadPage struct {
	Uploads             []Upload
	Prefixes            []string
	Truncated           bool   // there is more
	NextKey, NextUpload string // the markers of the next page, when Truncated
}

// Uploads returns a page of uploads in progress, as List does of keys.
func (x *Index) Uploads(q UploadQuery) (UploadPage, error) {
	return with(x, "index.Uploads", func(c *conn) (UploadPage, error) { return c.uploads(q) })
}

func (c *conn) uploads(q UploadQuery) (UploadPage, error) {
	p := pager[Upload]{
		op:     "index.Uploads",
		walk:   walk{q.Prefix, q.Delimiter, q.KeyMarker},
		max:    min(q.Max, MaxPage),
		key:    func(u *Upload) string { return u.Key },
		cost:   func(u *Upload) int { return len(u.Key) + len(u.Meta) },
		decode: c.decodeUpload,
	}
	err := c.page(p.op, func() error { return c.runUploads(&p, q) })
	if err != nil {
		return UploadPage{}, err
	}
	page := UploadPage{Uploads: p.items, Prefixes: p.prefixes, Truncated: p.truncated}
	if p.truncated {
		page.NextKey = p.last
	}
	if p.truncated && p.lastIsKey {
		page.NextUpload = p.items[len(p.items)-1].ID
	}
	return page, nil
}

// runUploads looks first at the uploads of KeyMarker behind UploadMarker, then
// at the keys behind it.
func (c *conn) runUploads(p *pager[Upload], q UploadQuery) error {
	p.scan = func(from string, limit int) *sqlite.Stmt {
		return c.bindUploads(scanUploads, q.Bucket, from, limit)
	}
	from, more := p.start()
	if p.max > 0 && q.KeyMarker != "" && q.UploadMarker != "" && !p.skips() {
		s := c.bindUploads(scanUploadsOfKey, q.Bucket, q.KeyMarker, p.room()+1)
		s.BindText(4, q.UploadMarker)
		next, ok, err := p.fill(s)
		if err != nil || p.truncated {
			return err
		}
		if len(p.prefixes) > 0 {
			from, more = next, ok
		}
	}
	return p.seek(from, more)
}

func (c *conn) bindUploads(st statement, bucket uint64, key string, limit int) *sqlite.Stmt {
	s := c.use(st)
	s.BindInt64(1, int64(bucket))
	c.bindKey(s, 2, key)
	s.BindInt64(3, int64(limit))
	return s
}
