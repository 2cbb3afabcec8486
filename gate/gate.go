// Package gate is the data plane's only door: every front end puts, gets,
// lists, copies and deletes through a Gate, and each of its methods begins by
// asking auth.Guard whether the caller may.
//
// A Gate decides nothing itself and stores nothing itself. Its errors are
// fault.Errors. Where the answer "no such key" would tell a caller more than
// they may know, it becomes "denied".
package gate

import (
	"context"
	"log/slog"

	"larder/auth"
	"larder/store"
)

// Config names what a Gate stands between. Store and Guard are required.
type Config struct {
	Store *store.Store
	Guard *auth.Guard
	Audit Audit // nil keeps no record of buckets made and deleted
	Log   *slog.Logger
}

// Audit is where changes to buckets are written down, auth.Auth in the
// product.
type Audit interface {
	Record(context.Context, auth.Event) error
}

var _ Audit = (*auth.Auth)(nil)

// Gate is safe for concurrent use.
type Gate struct {
	store *store.Store
	guard *auth.Guard
	audit Audit
	log   *slog.Logger
}

// New returns a Gate before cfg.Store.
func New(cfg Config) *Gate {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Gate{store: cfg.Store, guard: cfg.Guard, audit: cfg.Audit, log: cfg.Log}
}

// Get opens the current version of a key. The caller closes the object.
func (g *Gate) Get(ctx context.Context, c auth.Caller, bucket, key string) (*store.Object, error) {
	if err := g.guard.Check(ctx, c, auth.GetObject, auth.Resource{Bucket: bucket, Key: key}); err != nil {
		return nil, err
	}
	o, err := g.store.Get(ctx, bucket, key)
	return o, g.hide(ctx, c, bucket, key, err)
}

// Head describes the current version of a key.
func (g *Gate) Head(ctx context.Context, c auth.Caller, bucket, key string) (store.Info, error) {
	if err := g.guard.Check(ctx, c, auth.GetObject, auth.Resource{Bucket: bucket, Key: key}); err != nil {
		return store.Info{}, err
	}
	info, err := g.store.Head(ctx, bucket, key)
	return info, g.hide(ctx, c, bucket, key, err)
}

// Put stores an object. On return without an error it survives power loss.
func (g *Gate) Put(ctx context.Context, c auth.Caller, req store.PutRequest) (store.Info, error) {
	createOnly, err := g.mayWrite(ctx, c, req.Bucket, req.Key)
	if err != nil {
		return store.Info{}, err
	}
	if err := g.mayCompare(ctx, c, req.Bucket, req.Key, req.Cond.IfMatch); err != nil {
		return store.Info{}, err
	}
	req.Owner = c.ID()
	req.Verify = g.again(ctx, c, req.Bucket, req.Key, createOnly, req.Verify)
	implied := createNew(&req.Cond, createOnly)
	info, err := g.store.Put(ctx, req)
	return info, overwriteDenied(err, implied, req.Bucket, req.Key)
}

// MayPut tells whether a Put would be allowed and its condition holds now, so
// that a front end can refuse before it asks for the body.
func (g *Gate) MayPut(ctx context.Context, c auth.Caller, bucket, key string, cond store.Condition) error {
	createOnly, err := g.mayWrite(ctx, c, bucket, key)
	if err != nil {
		return err
	}
	if err := g.mayCompare(ctx, c, bucket, key, cond.IfMatch); err != nil {
		return err
	}
	implied := createNew(&cond, createOnly)
	err = g.store.CheckCondition(ctx, bucket, key, cond)
	return overwriteDenied(err, implied, bucket, key)
}

// Copy stores a copy of an object. Reading the source needs the right to get
// it: a copy is a read.
func (g *Gate) Copy(ctx context.Context, c auth.Caller, req store.CopyRequest) (store.Info, error) {
	source := auth.Resource{Bucket: req.SourceBucket, Key: req.SourceKey}
	if err := g.guard.Check(ctx, c, auth.GetObject, source); err != nil {
		return store.Info{}, err
	}
	createOnly, err := g.mayWrite(ctx, c, req.Bucket, req.Key)
	if err != nil {
		return store.Info{}, err
	}
	if err := g.mayCompare(ctx, c, req.Bucket, req.Key, req.Cond.IfMatch); err != nil {
		return store.Info{}, err
	}
	req.Owner = c.ID()
	implied := createNew(&req.Cond, createOnly)
	info, err := g.store.Copy(ctx, req)
	err = overwriteDenied(err, implied, req.Bucket, req.Key)
	return info, g.hide(ctx, c, req.SourceBucket, req.SourceKey, err)
}

// Delete removes an object. On return without an error it stays removed.
func (g *Gate) Delete(ctx context.Context, c auth.Caller, req store.DeleteRequest) error {
	if err := g.mayDelete(ctx, c, req); err != nil {
		return err
	}
	return g.hide(ctx, c, req.Bucket, req.Key, g.store.Delete(ctx, req))
}

// DeleteMany removes up to store.MaxPage objects of one bucket and answers an
// error, or nil, for each request in order. The second result is an error of
// the whole call: the bucket is not there, or no key of it may be deleted.
func (g *Gate) DeleteMany(ctx context.Context, c auth.Caller, bucket string, reqs []store.DeleteRequest) ([]error, error) {
	errs := make([]error, len(reqs))
	allowed := make([]store.DeleteRequest, 0, len(reqs))
	places := make([]int, 0, len(reqs))
	for i, req := range reqs {
		req.Bucket = bucket
		errs[i] = g.mayDelete(ctx, c, req)
		if errs[i] == nil {
			allowed, places = append(allowed, req), append(places, i)
		}
	}
	if len(allowed) == 0 {
		return errs, nil
	}
	if _, err := g.store.Bucket(ctx, bucket); err != nil {
		return nil, err
	}
	for i, err := range g.store.DeleteMany(ctx, allowed) {
		errs[places[i]] = g.hide(ctx, c, bucket, allowed[i].Key, err)
	}
	return errs, nil
}

// Watch begins to watch a bucket's keys under a prefix, which whoever may list
// them may do. A watch goes on when that right is taken away: ask MayWatch before
// a change is told.
func (g *Gate) Watch(ctx context.Context, c auth.Caller, bucket, prefix string, from uint64) (*store.Watch, error) {
	if err := g.MayWatch(ctx, c, bucket, prefix); err != nil {
		return nil, err
	}
	return g.store.Watch(bucket, prefix, from)
}

// MayWatch tells whether a caller may (still) watch a bucket's keys under a
// prefix.
func (g *Gate) MayWatch(ctx context.Context, c auth.Caller, bucket, prefix string) error {
	return g.guard.Check(ctx, c, auth.ListObjects, auth.Resource{Bucket: bucket, Key: prefix})
}

// List gives a page of a bucket's keys.
func (g *Gate) List(ctx context.Context, c auth.Caller, req store.ListRequest) (store.ListPage, error) {
	if err := g.guard.Check(ctx, c, auth.ListObjects, auth.Resource{Bucket: req.Bucket, Key: req.Prefix}); err != nil {
		return store.ListPage{}, err
	}
	return g.store.List(ctx, req)
}
