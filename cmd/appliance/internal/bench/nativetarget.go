package bench

import (
	"context"
	"io"
	"time"

	"larder/client"
	"larder/fault"
)

// nativeTarget speaks the native protocol through the Go client, many requests at
// a time on its connections.
type nativeTarget struct {
	client *client.Client
	noETag bool // leave out the MD5 that S3 has for an ETag
}

func newNativeTarget(c *child, workers int, noETag bool) (*nativeTarget, error) {
	made, err := client.New(client.Config{
		Addr: c.native, KeyID: c.keyID, Secret: c.secret, Conns: workers + spareConnections, Program: "larder bench",
	})
	return &nativeTarget{client: made, noETag: noETag}, err
}

func (t *nativeTarget) CreateBucket(ctx context.Context, bucket string) error {
	_, err := t.client.CreateBucket(ctx, bucket)
	return err
}

func (t *nativeTarget) DeleteBucket(ctx context.Context, bucket string) error {
	return t.client.DeleteBucket(ctx, bucket)
}

func (t *nativeTarget) Put(ctx context.Context, bucket, key string, body payload, only condition) (string, error) {
	made, err := t.client.Put(ctx, bucket, key, body.reader(), &client.PutOptions{
		Size: body.size(), IfAbsent: only.absent, IfMatch: only.etag, SkipMD5: t.noETag,
	})
	return made.ETag, err
}

func (t *nativeTarget) Get(ctx context.Context, bucket, key string, unlessETag string, sink io.Writer) (gotten, error) {
	var opt client.GetOptions
	if unlessETag != "" {
		opt.IfNoneMatch = []string{unlessETag}
	}
	began := time.Now()
	r, err := t.client.Get(ctx, bucket, key, &opt)
	if fault.CodeOf(err) == fault.NotModified {
		return gotten{etag: unlessETag, same: true}, nil
	}
	if err != nil {
		return gotten{}, err
	}
	defer r.Close()
	w := &timedWriter{sink: sink, began: began}
	n, err := r.WriteTo(w)
	return gotten{size: n, etag: r.Info().ETag, firstByte: w.first}, err
}

// timedWriter notes when the first byte comes.
type timedWriter struct {
	sink  io.Writer
	began time.Time
	first time.Duration
}

func (w *timedWriter) Write(b []byte) (int, error) {
	if w.first == 0 && len(b) > 0 {
		w.first = time.Since(w.began)
	}
	if w.sink == nil {
		return len(b), nil
	}
	return w.sink.Write(b)
}

func (t *nativeTarget) Head(ctx context.Context, bucket, key string) (int64, error) {
	o, err := t.client.Head(ctx, bucket, key, nil)
	return o.Size, err
}

func (t *nativeTarget) Delete(ctx context.Context, bucket, key string) error {
	return t.client.Delete(ctx, bucket, key, nil)
}

func (t *nativeTarget) List(ctx context.Context, bucket, prefix, after string) (listed, error) {
	page, err := t.client.ListPage(ctx, bucket, client.ListOptions{Prefix: prefix, After: after, Max: pageSize})
	out := listed{keys: make([]string, len(page.Objects)), more: page.Next != ""}
	for i, o := range page.Objects {
		out.keys[i] = o.Key
	}
	return out, err
}

func (t *nativeTarget) CreateUpload(ctx context.Context, bucket, key string) (string, error) {
	return t.client.CreateUpload(ctx, bucket, key, nil)
}

func (t *nativeTarget) PutPart(ctx context.Context, bucket, key, upload string, number int, body payload) (string, error) {
	p, err := t.client.PutPart(ctx, bucket, key, upload, number, body.reader(), &client.PartOptions{Size: body.size(), SkipMD5: t.noETag})
	return p.ETag, err
}

func (t *nativeTarget) CompleteUpload(ctx context.Context, bucket, key, upload string, etags []string) error {
	parts := make([]client.CompletePart, len(etags))
	for i, etag := range etags {
		parts[i] = client.CompletePart{Number: i + 1, ETag: etag}
	}
	_, err := t.client.CompleteUpload(ctx, bucket, key, upload, parts, nil)
	return err
}

// Watch waits for events of keys below a prefix.
func (t *nativeTarget) Watch(ctx context.Context, bucket, prefix string) (func(context.Context) error, func() error, error) {
	w, err := t.client.Watch(ctx, bucket, prefix, 0)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error { _, err := w.Next(ctx); return err }, w.Close, nil
}

func (t *nativeTarget) Close() error { return t.client.Close() }
