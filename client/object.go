package client

import (
	"context"
	"io"
	"time"

	"larder/native/wire"
)

// PutOptions says more about a Put. The zero value is fine, and so is nil.
type PutOptions struct {
	Size int64 // of the body; 0 = not known, or as a reader with a Len method says
	Meta Meta

	// What must hold, or the Put fails with fault.Precondition.
	IfMatch  string // this ETag stands under the key, or Any does
	IfAbsent bool   // nothing stands under the key

	SkipMD5    bool // the ETag is no MD5 then
	SkipSHA256 bool
}

// Put stores a body under a key. When it returns without an error the bytes and
// their name are on stable storage. A body that cannot be read to its end
// stores nothing. A nil body is an empty one.
func (c *Client) Put(ctx context.Context, bucket, key string, from io.Reader, opt *PutOptions) (Object, error) {
	if opt == nil {
		opt = &PutOptions{}
	}
	req := wire.Request{
		Op: wire.OpPut, Bucket: bucket, Key: key, Meta: opt.Meta,
		SkipMD5: opt.SkipMD5, SkipSHA256: opt.SkipSHA256,
	}
	conditions(&req, opt.IfMatch, opt.IfAbsent)
	unconditional := opt.IfMatch == "" && !opt.IfAbsent
	b := newBody(from, opt.Size)
	s, message, err := c.upload(ctx, &req, &b, unconditional)
	if err != nil {
		return Object{}, err
	}
	defer s.finish()
	return understand(s, &req, message, parseObject)
}

// parseObject reads an object without a body behind it.
func parseObject(message []byte) (Object, error) {
	o, _, err := wire.ParseObject(message)
	return o, err
}

// ReadOptions says what must hold for a Head, or it fails with
// fault.Precondition or fault.NotModified. The zero value is fine, and so is
// nil.
type ReadOptions struct {
	IfMatch         []string // ETags, or Any
	IfNoneMatch     []string // ETags, or Any
	ModifiedSince   time.Time
	UnmodifiedSince time.Time
}

func (o *ReadOptions) put(req *wire.Request) {
	req.IfMatch, req.IfNoneMatch = o.IfMatch, o.IfNoneMatch
	req.ModifiedSince, req.UnmodifiedSince = o.ModifiedSince, o.UnmodifiedSince
}

// Head describes the object under a key.
func (c *Client) Head(ctx context.Context, bucket, key string, opt *ReadOptions) (Object, error) {
	req := wire.Request{Op: wire.OpHead, Bucket: bucket, Key: key}
	if opt != nil {
		opt.put(&req)
	}
	return request(ctx, c, &req, parseObject)
}

// DeleteOptions says more about a Delete. The zero value is fine, and so is
// nil.
type DeleteOptions struct {
	IfMatch string // the ETag that must stand under the key, or Any
}

// Delete removes the object under a key. Without a condition it is no error
// that there is none.
func (c *Client) Delete(ctx context.Context, bucket, key string, opt *DeleteOptions) error {
	req := wire.Request{Op: wire.OpDelete, Bucket: bucket, Key: key}
	if opt != nil && opt.IfMatch != "" {
		req.IfMatch = []string{opt.IfMatch}
	}
	return c.do(ctx, &req)
}

// DeleteMany removes the objects under up to 1,000 keys and tells for each, in
// order, what became of it. The error is that of the whole request.
func (c *Client) DeleteMany(ctx context.Context, bucket string, entries []DeleteEntry) ([]Result, error) {
	req := wire.Request{Op: wire.OpDeleteMany, Bucket: bucket, Deletes: entries}
	results, err := request(ctx, c, &req, wire.ParseResults)
	if err == nil && len(results) != len(entries) {
		return nil, unreadable(&req, nil)
	}
	return results, err
}

// CopyOptions says more about a Copy. The zero value is fine, and so is nil.
type CopyOptions struct {
	IfMatch     string // as in PutOptions, of the key that is written
	IfAbsent    bool
	Meta        Meta
	ReplaceMeta bool // Meta stands in place of the source's, but for the tags
	ReplaceTags bool // the tags of Meta stand in place of the source's
}

// Copy stores what stands under one key under another. The bytes do not leave
// the server.
func (c *Client) Copy(ctx context.Context, bucket, key string, from Source, opt *CopyOptions) (Object, error) {
	if opt == nil {
		opt = &CopyOptions{}
	}
	req := wire.Request{
		Op: wire.OpCopy, Bucket: bucket, Key: key, Source: from,
		Meta: opt.Meta, ReplaceMeta: opt.ReplaceMeta, ReplaceTags: opt.ReplaceTags,
	}
	conditions(&req, opt.IfMatch, opt.IfAbsent)
	return request(ctx, c, &req, parseObject)
}
