package gate

import (
	"context"

	"larder/auth"
	"larder/fault"
	"larder/store"
)

// CreateUpload starts a multipart upload.
func (g *Gate) CreateUpload(ctx context.Context, c auth.Caller, req store.UploadRequest) (store.Upload, error) {
	if _, err := g.mayWrite(ctx, c, req.Bucket, req.Key); err != nil {
		return store.Upload{}, err
	}
	req.Owner = c.ID()
	return g.store.CreateUpload(ctx, req)
}

// PutPart stores one part of an upload that the caller's rights cover.
func (g *Gate) PutPart(ctx context.Context, c auth.Caller, req store.PartRequest) (store.Part, error) {
	createOnly, err := g.mayUse(ctx, c, req.Bucket, req.Key, req.UploadID)
	if err != nil {
		return store.Part{}, err
	}
	req.Verify = g.again(ctx, c, req.Bucket, req.Key, createOnly, req.Verify)
	return g.store.PutPart(ctx, req)
}

// MayPutPart tells whether a PutPart would be allowed and its upload is there,
// so that a front end can refuse before it asks for the body.
func (g *Gate) MayPutPart(ctx context.Context, c auth.Caller, bucket, key, upload string) error {
	if _, err := g.mayUse(ctx, c, bucket, key, upload); err != nil {
		return err
	}
	_, err := g.store.Upload(ctx, bucket, key, upload)
	return err
}

// CopyPart makes a part out of an object that the caller may read.
func (g *Gate) CopyPart(ctx context.Context, c auth.Caller, req store.CopyPartRequest) (store.Part, error) {
	source := auth.Resource{Bucket: req.SourceBucket, Key: req.SourceKey}
	if err := g.guard.Check(ctx, c, auth.GetObject, source); err != nil {
		return store.Part{}, err
	}
	if _, err := g.mayUse(ctx, c, req.Bucket, req.Key, req.UploadID); err != nil {
		return store.Part{}, err
	}
	p, err := g.store.CopyPart(ctx, req)
	return p, g.hide(ctx, c, req.SourceBucket, req.SourceKey, err)
}

// CompleteUpload turns the parts into an object. Repeating it gives the same
// answer.
func (g *Gate) CompleteUpload(ctx context.Context, c auth.Caller, req store.CompleteRequest) (store.Info, error) {
	createOnly, err := g.mayUse(ctx, c, req.Bucket, req.Key, req.UploadID)
	if err != nil {
		return store.Info{}, err
	}
	if err := g.mayCompare(ctx, c, req.Bucket, req.Key, req.Cond.IfMatch); err != nil {
		return store.Info{}, err
	}
	implied := createNew(&req.Cond, createOnly)
	info, err := g.store.CompleteUpload(ctx, req)
	return info, overwriteDenied(err, implied, req.Bucket, req.Key)
}

// AbortUpload drops an upload and its parts. Whoever may write the key may
// abort what they began there; what others began only whoever may also delete.
func (g *Gate) AbortUpload(ctx context.Context, c auth.Caller, bucket, key, upload string) error {
	res := auth.Resource{Bucket: bucket, Key: key}
	if err := g.guard.Check(ctx, c, auth.AbortUpload, res); err != nil {
		return err
	}
	u, err := g.store.Upload(ctx, bucket, key, upload)
	if err != nil {
		return err
	}
	if u.Owner != c.ID() {
		if err := g.guard.Check(ctx, c, auth.DeleteObject, res); err != nil {
			return err
		}
	}
	return g.store.AbortUpload(ctx, bucket, key, upload)
}

// ListParts gives a page of an upload's parts with numbers above after.
func (g *Gate) ListParts(ctx context.Context, c auth.Caller, bucket, key, upload string, after, limit int) (store.PartsPage, error) {
	if err := g.guard.Check(ctx, c, auth.ListParts, auth.Resource{Bucket: bucket, Key: key}); err != nil {
		return store.PartsPage{}, err
	}
	return g.store.ListParts(ctx, bucket, key, upload, after, limit)
}

// ListUploads gives a page of a bucket's uploads in progress.
func (g *Gate) ListUploads(ctx context.Context, c auth.Caller, req store.UploadsRequest) (store.UploadsPage, error) {
	if err := g.guard.Check(ctx, c, auth.ListUploads, auth.Resource{Bucket: req.Bucket, Key: req.Prefix}); err != nil {
		return store.UploadsPage{}, err
	}
	if req.Bucket == "" {
		return store.UploadsPage{}, fault.New("gate.ListUploads", fault.NoSuchBucket, "", nil)
	}
	return g.store.ListUploads(ctx, req)
}
