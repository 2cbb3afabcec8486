package client

import (
	"context"
	"iter"

	"larder/native/wire"
)

// ListOptions says what of a bucket is listed.
type ListOptions struct {
	Prefix    string // keys that begin with it
	Delimiter string // keys that agree up to it behind the prefix come as one
	After     string // keys behind it
	Max       int    // entries of a page; 0 = as many as the server gives
}

// Entry is one line of a list: an object without its user metadata, or a common
// prefix of several keys.
type Entry struct {
	Object
	Prefix string // a common prefix; the rest is empty then
}

// ListPage returns one page of a bucket's keys in order. The next one comes
// after the page's Next.
func (c *Client) ListPage(ctx context.Context, bucket string, opt ListOptions) (Page, error) {
	return request(ctx, c, &wire.Request{
		Op: wire.OpList, Bucket: bucket,
		Prefix: opt.Prefix, Delimiter: opt.Delimiter, After: opt.After, Max: opt.Max,
	}, wire.ParsePage)
}

// List goes over a bucket's keys and common prefixes in order, page by page. An
// error is the last that it gives.
func (c *Client) List(ctx context.Context, bucket string, opt ListOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			page, err := c.ListPage(ctx, bucket, opt)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !merge(page, yield) || page.Next == "" {
				return
			}
			opt.After = page.Next
		}
	}
}

// merge gives a page's objects and prefixes in one order.
func merge(page Page, yield func(Entry, error) bool) bool {
	objects, prefixes := page.Objects, page.Prefixes
	for len(objects)+len(prefixes) > 0 {
		var e Entry
		if len(prefixes) == 0 || len(objects) > 0 && objects[0].Key < prefixes[0] {
			e.Object, objects = objects[0], objects[1:]
		} else {
			e.Prefix, prefixes = prefixes[0], prefixes[1:]
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}
