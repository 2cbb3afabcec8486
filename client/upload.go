package client

import (
	"context"
	"io"
	"iter"

	"larder/native/wire"
)

// UploadOptions says more about an upload. The zero value is fine, and so is
// nil.
type UploadOptions struct {
	Meta     Meta
	Checksum Algorithm
}

// CreateUpload begins an object that is sent in parts, and returns the upload's
// id.
func (c *Client) CreateUpload(ctx context.Context, bucket, key string, opt *UploadOptions) (string, error) {
	req := wire.Request{Op: wire.OpCreateUpload, Bucket: bucket, Key: key}
	if opt != nil {
		req.Meta, req.Algorithm = opt.Meta, uint8(opt.Checksum)
	}
	return request(ctx, c, &req, wire.ParseUpload)
}

// PartOptions says more about a part. The zero value is fine, and so is nil.
type PartOptions struct {
	Size       int64 // as in PutOptions
	SkipMD5    bool
	SkipSHA256 bool
}

// PutPart stores a part, numbered from 1 to 10,000. When it returns without an
// error the part is on stable storage.
func (c *Client) PutPart(ctx context.Context, bucket, key, upload string, number int, from io.Reader, opt *PartOptions) (Part, error) {
	if opt == nil {
		opt = &PartOptions{}
	}
	req := wire.Request{
		Op: wire.OpPutPart, Bucket: bucket, Key: key, Upload: upload, Part: number,
		SkipMD5: opt.SkipMD5, SkipSHA256: opt.SkipSHA256,
	}
	b := newBody(from, opt.Size)
	s, message, err := c.upload(ctx, &req, &b, true)
	if err != nil {
		return Part{}, err
	}
	defer s.finish()
	return understand(s, &req, message, wire.ParsePart)
}

// CopyPart makes a part of another object, or of a range of it. The bytes do
// not leave the server.
func (c *Client) CopyPart(ctx context.Context, bucket, key, upload string, number int, from Source, part Range) (Part, error) {
	return request(ctx, c, &wire.Request{
		Op: wire.OpCopyPart, Bucket: bucket, Key: key, Upload: upload, Part: number, Source: from, Range: part,
	}, wire.ParsePart)
}

// CompleteOptions says what must hold for an upload to become an object. The
// zero value is fine, and so is nil.
type CompleteOptions struct {
	IfMatch  string // as in PutOptions
	IfAbsent bool
}

// CompleteUpload makes an object of parts, in the order of their numbers. Done
// again it answers the same.
func (c *Client) CompleteUpload(ctx context.Context, bucket, key, upload string, parts []CompletePart, opt *CompleteOptions) (Object, error) {
	req := wire.Request{Op: wire.OpCompleteUpload, Bucket: bucket, Key: key, Upload: upload, Parts: parts}
	if opt != nil {
		conditions(&req, opt.IfMatch, opt.IfAbsent)
	}
	return request(ctx, c, &req, parseObject)
}

// AbortUpload removes an upload and its parts.
func (c *Client) AbortUpload(ctx context.Context, bucket, key, upload string) error {
	return c.do(ctx, &wire.Request{Op: wire.OpAbortUpload, Bucket: bucket, Key: key, Upload: upload})
}

// Uploads goes over the uploads in progress whose keys begin with a prefix, in
// order. An error is the last that it gives.
func (c *Client) Uploads(ctx context.Context, bucket, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		req := wire.Request{Op: wire.OpListUploads, Bucket: bucket, Prefix: prefix}
		for {
			page, err := request(ctx, c, &req, wire.ParseUploadPage)
			if !give(page.Uploads, err, yield) || page.NextKey == "" {
				return
			}
			req.After, req.AfterUpload = page.NextKey, page.NextUpload
		}
	}
}

// Parts goes over the parts of an upload in the order of their numbers. An
// error is the last that it gives.
func (c *Client) Parts(ctx context.Context, bucket, key, upload string) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		req := wire.Request{Op: wire.OpListParts, Bucket: bucket, Key: key, Upload: upload}
		for {
			page, err := request(ctx, c, &req, wire.ParsePartPage)
			if !give(page.Parts, err, yield) || page.Next == 0 {
				return
			}
			req.AfterPart = page.Next
		}
	}
}

// give hands a page out, or the error in its place, and tells whether there is
// to be another one.
func give[T any](page []T, err error, yield func(T, error) bool) bool {
	if err != nil {
		var none T
		yield(none, err)
		return false
	}
	for _, v := range page {
		if !yield(v, nil) {
			return false
		}
	}
	return true
}
