package gate

import (
	"context"

	"larder/auth"
	"larder/store"
)

// ListBuckets gives the buckets in which the caller has any right, by name.
func (g *Gate) ListBuckets(ctx context.Context, c auth.Caller) ([]store.Bucket, error) {
	if err := g.guard.Check(ctx, c, auth.ListBuckets, auth.Resource{}); err != nil {
		return nil, err
	}
	all, err := g.store.Buckets(ctx)
	if err != nil {
		return nil, err
	}
	seen := all[:0]
	for _, b := range all {
		if g.guard.Sees(ctx, c, b.Name) {
			seen = append(seen, b)
		}
	}
	return seen, nil
}

// CreateBucket makes a bucket. fault.BucketExists when it is there already.
func (g *Gate) CreateBucket(ctx context.Context, c auth.Caller, name string) (store.Bucket, error) {
	if err := g.guard.Check(ctx, c, auth.CreateBucket, auth.Resource{Bucket: name}); err != nil {
		return store.Bucket{}, err
	}
	b, err := g.store.CreateBucket(ctx, name)
	if err == nil {
		g.record(ctx, c, auth.CreateBucket, name)
	}
	return b, err
}

// record writes a change that was made into the audit log. The change stands
// whatever comes of it, so a failure is logged and not answered.
func (g *Gate) record(ctx context.Context, c auth.Caller, action auth.Action, bucket string) {
	if g.audit == nil {
		return
	}
	if err := g.audit.Record(ctx, auth.Event{By: c, Action: action.String(), Target: bucket}); err != nil {
		g.log.Error("a change is missing in the audit log", "action", action.String(), "bucket", bucket, "error", err)
	}
}

// HeadBucket describes a bucket.
func (g *Gate) HeadBucket(ctx context.Context, c auth.Caller, name string) (store.Bucket, error) {
	if err := g.guard.Check(ctx, c, auth.ReadBucket, auth.Resource{Bucket: name}); err != nil {
		return store.Bucket{}, err
	}
	return g.store.Bucket(ctx, name)
}

// DeleteBucket removes an empty bucket without uploads in progress.
func (g *Gate) DeleteBucket(ctx context.Context, c auth.Caller, name string) error {
	if err := g.guard.Check(ctx, c, auth.DeleteBucket, auth.Resource{Bucket: name}); err != nil {
		return err
	}
	if err := g.store.DeleteBucket(ctx, name); err != nil {
		return err
	}
	g.record(ctx, c, auth.DeleteBucket, name)
	return nil
}

// SetBucketSettings replaces a bucket's settings, durably.
func (g *Gate) SetBucketSettings(ctx context.Context, c auth.Caller, name string, settings store.BucketSettings) error {
	if err := g.guard.Check(ctx, c, auth.SetBucket, auth.Resource{Bucket: name}); err != nil {
		return err
	}
	if err := g.store.SetBucketSettings(ctx, name, settings); err != nil {
		return err
	}
	g.record(ctx, c, auth.SetBucket, name)
	return nil
}
