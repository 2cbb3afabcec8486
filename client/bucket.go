package client

import (
	"context"

	"larder/native/wire"
)

// Info describes the server.
func (c *Client) Info(ctx context.Context) (ServerInfo, error) {
	return request(ctx, c, &wire.Request{Op: wire.OpInfo}, wire.ParseServerInfo)
}

// Buckets lists the buckets that the key may see.
func (c *Client) Buckets(ctx context.Context) ([]Bucket, error) {
	return request(ctx, c, &wire.Request{Op: wire.OpListBuckets}, wire.ParseBuckets)
}

// CreateBucket makes a bucket.
func (c *Client) CreateBucket(ctx context.Context, bucket string) (Bucket, error) {
	return c.bucket(ctx, wire.OpCreateBucket, bucket)
}

// HeadBucket describes a bucket.
func (c *Client) HeadBucket(ctx context.Context, bucket string) (Bucket, error) {
	return c.bucket(ctx, wire.OpHeadBucket, bucket)
}

// DeleteBucket removes an empty bucket.
func (c *Client) DeleteBucket(ctx context.Context, bucket string) error {
	return c.do(ctx, &wire.Request{Op: wire.OpDeleteBucket, Bucket: bucket})
}

func (c *Client) bucket(ctx context.Context, op wire.Op, bucket string) (Bucket, error) {
	req := wire.Request{Op: op, Bucket: bucket}
	list, err := request(ctx, c, &req, wire.ParseBuckets)
	switch {
	case err != nil:
		return Bucket{}, err
	case len(list) != 1:
		return Bucket{}, unreadable(&req, nil)
	}
	return list[0], nil
}
