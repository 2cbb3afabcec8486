package store

import (
	"context"

	"larder/store/index"
	"larder/store/journal"
)

// List gives a page of a bucket's keys in byte order. A key that is there for
// the whole of a walk over all pages is in exactly one of them.
func (s *Store) List(_ context.Context, req ListRequest) (ListPage, error) {
	b, err := s.bucket(req.Bucket)
	if err != nil {
		return ListPage{}, err
	}
	page, err := s.index.List(index.ListQuery{
		Bucket: b.ID, Prefix: req.Prefix, Delimiter: req.Delimiter,
		After: req.After, Max: min(req.Max, MaxPage),
	})
	if err != nil {
		return ListPage{}, err
	}
	out := ListPage{Prefixes: page.Prefixes, Truncated: page.Truncated, Next: page.Next}
	out.Objects = make([]Info, len(page.Rows))
	none := &journal.Record{}
	for i, row := range page.Rows {
		out.Objects[i] = infoOf(req.Bucket, row, none)
	}
	return out, nil
}
