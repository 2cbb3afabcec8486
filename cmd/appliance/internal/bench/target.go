package bench

import (
	"context"
	"io"
	"time"
)

// target is one server as one kind of client sees it. It is safe for concurrent
// use, and keeps more connections than there are workers, so that nobody waits for
// one. Errors carry a fault.Code where the server gave a reason.
type target interface {
	CreateBucket(ctx context.Context, bucket string) error
	DeleteBucket(ctx context.Context, bucket string) error
	// Put stores a body and returns its ETag.
	Put(ctx context.Context, bucket, key string, body payload, only condition) (string, error)
	// Get reads a body to its end, into sink unless that is nil.
	Get(ctx context.Context, bucket, key string, unlessETag string, sink io.Writer) (gotten, error)
	// Head returns the size.
	Head(ctx context.Context, bucket, key string) (int64, error)
	Delete(ctx context.Context, bucket, key string) error
	// List returns up to a thousand keys below prefix and behind after.
	List(ctx context.Context, bucket, prefix, after string) (listed, error)
	CreateUpload(ctx context.Context, bucket, key string) (string, error)
	PutPart(ctx context.Context, bucket, key, upload string, number int, body payload) (string, error)
	CompleteUpload(ctx context.Context, bucket, key, upload string, etags []string) error
	Close() error
}

// condition is what must hold for a put to happen.
type condition struct {
	absent bool   // there is no object of that key
	etag   string // there is one with this ETag
}

// gotten is what a Get brought.
type gotten struct {
	size      int64
	etag      string
	same      bool          // the ETag is the one that was not wanted; there is no body
	firstByte time.Duration // from the request to the first byte of the body
}

// listed is a page of keys, in ascending order.
type listed struct {
	keys []string
	more bool
}

// presigner is a target that makes links which work without a key.
type presigner interface {
	Presign(bucket, key string) (string, error)
	GetLink(ctx context.Context, link string) (gotten, error)
}

// protocol is one way to speak to a server of ours.
type protocol struct {
	name   string
	writes bool                // it differs from the one before it in writes only
	speaks func(c *child) bool // the server does; nil = always
	// dial connects for a number of workers at once.
	dial func(c *child, workers int) (target, error)
}

// protocols are all that there are, the one that others are compared with first.
func protocols() []protocol {
	speaks := func(c *child) bool { return c.native != "" }
	return []protocol{
		{name: s3Name, dial: func(c *child, workers int) (target, error) {
			return newS3Target(c.s3, c.keyID, c.secret, workers), nil
		}},
		{name: "native", speaks: speaks, dial: func(c *child, workers int) (target, error) {
			return newNativeTarget(c, workers, false)
		}},
		{name: "native-no-etag", writes: true, speaks: speaks, dial: func(c *child, workers int) (target, error) {
			return newNativeTarget(c, workers, true)
		}},
	}
}

// s3Name is the protocol that foreign servers are compared in.
const s3Name = "s3"
