package index

import (
	"strings"

	"zombiezen.com/go/sqlite"
)

// The bounds of a page. A page ends early when the metadata of its rows
// reaches maxPageBytes: objects of thousands of parts carry long metadata.
const (
	MaxPage      = 1000
	maxPageBytes = 4 << 20
)

// ListQuery asks for one page of a bucket's keys in byte order.
type ListQuery struct {
	Bucket uint64
	Prefix string
	// Delimiter, of any length, rolls the keys that contain it behind Prefix
	// up into one common prefix, which ends with it. "" lists flat.
	Delimiter string
	// After is where the page begins: behind this key. When After is a common
	// prefix of this very query, everything below it is skipped.
	After string
	// Max bounds rows and common prefixes together. Above MaxPage it means
	// MaxPage, and at or below 0 the page is empty and not truncated.
	Max int
}

// ListPage is one page of a listing: rows and common prefixes, each in byte
// order. It may hold fewer than asked for although it is truncated.
type ListPage struct {
	Rows      []Row
	Prefixes  []string
	Truncated bool   // there is more
	Next      string // the After of the next page, when Truncated
}

// List returns a page of keys. Its cost grows with the page, not with the
// keys that a common prefix hides: each of those is one seek. The page shows
// one committed state.
func (x *Index) List(q ListQuery) (ListPage, error) {
	return with(x, "index.List", func(c *conn) (ListPage, error) { return c.list(q) })
}

func (c *conn) list(q ListQuery) (ListPage, error) {
	p := pager[Row]{
		op:   "index.List",
		walk: walk{q.Prefix, q.Delimiter, q.After},
		max:  min(q.Max, MaxPage),
		key:  func(r *Row) string { return r.Key },
		cost: func(r *Row) int { return len(r.Key) + len(r.Meta) },
		decode: func(s *sqlite.Stmt) (Row, error) {
			return c.decodeRow(s, 1, q.Bucket, c.keyAt(s, 0))
		},
		scan: func(from string, limit int) *sqlite.Stmt {
			s := c.use(scanRows)
			s.BindInt64(1, int64(q.Bucket))
			c.bindKey(s, 2, from)
			s.BindInt64(3, int64(limit))
			return s
		},
	}
	if err := c.page(p.op, p.run); err != nil {
		return ListPage{}, err
	}
	page := ListPage{Rows: p.items, Prefixes: p.prefixes, Truncated: p.truncated}
	if p.truncated {
		page.Next = p.last
	}
	return page, nil
}

// pager fills one page from a statement that yields items in the order of
// their keys.
type pager[T any] struct {
	op string
	walk
	max    int
	key    func(*T) string
	cost   func(*T) int // bytes that the item keeps in memory
	decode func(*sqlite.Stmt) (T, error)
	scan   func(from string, limit int) *sqlite.Stmt // bound and ready to step

	items     []T
	prefixes  []string
	bytes     int
	truncated bool
	last      string // key or common prefix of the last entry
	lastIsKey bool
}

// run fills the page from the walk's start on.
func (p *pager[T]) run() error {
	from, more := p.start()
	return p.seek(from, more)
}

// seek fills the page from a key on, with one run of the statement per common
// prefix and one for the rest.
func (p *pager[T]) seek(from string, more bool) error {
	if p.max <= 0 {
		return nil
	}
	var err error
	for more && err == nil {
		from, more, err = p.fill(p.scan(from, p.room()+1))
	}
	return err
}

// room is how many entries still fit.
func (p *pager[T]) room() int {
	if p.bytes >= maxPageBytes {
		return 0
	}
	return p.max - len(p.items) - len(p.prefixes)
}

// fill takes entries from one run of the statement until a common prefix, the
// end of the page or the end of the walk. It returns where to go on, if
// anywhere.
func (p *pager[T]) fill(s *sqlite.Stmt) (from string, more bool, err error) {
	defer s.Reset()
	for {
		found, err := s.Step()
		if err != nil || !found {
			return "", false, failure(p.op, "", err)
		}
		item, err := p.decode(s)
		if err != nil {
			return "", false, corrupt(p.op, p.key(&item), err)
		}
		key := p.key(&item)
		if !strings.HasPrefix(key, p.prefix) {
			return "", false, nil
		}
		if p.room() <= 0 {
			p.truncated = true
			return "", false, nil
		}
		if common := p.common(key); common != "" {
			p.prefixes = append(p.prefixes, common)
			p.last, p.lastIsKey = common, false
			from, more = successor(common)
			return from, more, nil
		}
		p.items = append(p.items, item)
		p.bytes += p.cost(&item)
		p.last, p.lastIsKey = key, true
	}
}
