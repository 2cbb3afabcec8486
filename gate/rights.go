package gate

import (
	"context"

	"larder/auth"
	"larder/fault"
	"larder/store"
)

// mayWrite tells whether c may store under the key, and whether only where
// nothing stands yet (an append-only grant).
func (g *Gate) mayWrite(ctx context.Context, c auth.Caller, bucket, key string) (createOnly bool, err error) {
	res := auth.Resource{Bucket: bucket, Key: key}
	if g.guard.Allows(ctx, c, auth.PutObject, res) {
		return false, nil
	}
	return true, g.guard.Check(ctx, c, auth.CreateObject, res)
}

// mayDelete tells whether c may remove an object, and compare it first if the
// request says so.
func (g *Gate) mayDelete(ctx context.Context, c auth.Caller, req store.DeleteRequest) error {
	res := auth.Resource{Bucket: req.Bucket, Key: req.Key}
	if err := g.guard.Check(ctx, c, auth.DeleteObject, res); err != nil {
		return err
	}
	return g.mayCompare(ctx, c, req.Bucket, req.Key, req.IfMatch)
}

// mayCompare keeps callers who may not read from finding out with If-Match
// what stands under a key. S3 asks for the right to get there, too:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (g *Gate) mayCompare(ctx context.Context, c auth.Caller, bucket, key, ifMatch string) error {
	if ifMatch == "" {
		return nil
	}
	return g.guard.Check(ctx, c, auth.GetObject, auth.Resource{Bucket: bucket, Key: key})
}

// mayUse is mayWrite for the parts of an upload. Whoever may only add objects
// uses uploads of their own; an upload that is not there is the store's to
// tell.
func (g *Gate) mayUse(ctx context.Context, c auth.Caller, bucket, key, upload string) (createOnly bool, err error) {
	createOnly, err = g.mayWrite(ctx, c, bucket, key)
	if err != nil || !createOnly {
		return createOnly, err
	}
	u, err := g.store.Upload(ctx, bucket, key, upload)
	switch {
	case fault.CodeOf(err) == fault.NoSuchUpload:
		return createOnly, nil
	case err != nil:
		return createOnly, err
	case u.Owner != c.ID():
		return createOnly, fault.New("gate.Upload", fault.Denied, bucket+"/"+key, nil).
			WithHint("This key may use only uploads that it began.")
	}
	return createOnly, nil
}

// again is a Verify that also asks for the caller's rights once more, when the
// body has come: a key that was revoked or narrowed meanwhile stores nothing.
func (g *Gate) again(ctx context.Context, c auth.Caller, bucket, key string, createOnly bool, verify func(store.Digests) error) func(store.Digests) error {
	return func(d store.Digests) error {
		if verify != nil {
			if err := verify(d); err != nil {
				return err
			}
		}
		narrowed, err := g.mayWrite(ctx, c, bucket, key)
		if err == nil && narrowed && !createOnly {
			err = fault.New("gate.Put", fault.Denied, bucket+"/"+key, nil)
		}
		return err
	}
}

// createNew narrows a condition to new keys where only those may be stored. It
// tells whether that is the grant's doing and not what the client asked for.
func createNew(cond *store.Condition, createOnly bool) (implied bool) {
	implied = createOnly && !cond.IfNoneMatch
	cond.IfNoneMatch = cond.IfNoneMatch || createOnly
	return implied
}

// overwriteDenied turns the failed condition that an append-only grant put
// into a request into the refusal that it is.
func overwriteDenied(err error, implied bool, bucket, key string) error {
	if !implied || fault.CodeOf(err) != fault.Precondition {
		return err
	}
	return fault.New("gate.Put", fault.Denied, bucket+"/"+key, err).
		WithHint("This key may add objects but not overwrite them.")
}

// hide keeps a caller who may not list from learning which keys exist, as S3
// does: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html.
func (g *Gate) hide(ctx context.Context, c auth.Caller, bucket, key string, err error) error {
	switch fault.CodeOf(err) {
	case fault.NoSuchKey, fault.NoSuchVersion:
		if !g.guard.Allows(ctx, c, auth.ListObjects, auth.Resource{Bucket: bucket, Key: key}) {
			return fault.New("gate", fault.Denied, bucket+"/"+key, err)
		}
	}
	return err
}
