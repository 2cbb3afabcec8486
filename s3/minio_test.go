package s3_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	mcreds "github.com/minio/minio-go/v7/pkg/credentials"
)

func newGet(url string) (*http.Request, error) { return http.NewRequest(http.MethodGet, url, nil) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// minioGo is the client that restic, kopia, Thanos and many more are built on.
func (s *stack) minioGo(trailers bool) *minio.Client {
	s.t.Helper()
	_, host, _ := strings.Cut(s.url, "://")
	return must(minio.New(host, &minio.Options{
		Creds: mcreds.NewStaticV4(s.key.id, s.key.secret, ""), Secure: strings.HasPrefix(s.url, "https"),
		Transport: s.client.Transport, TrailingHeaders: trailers, MaxRetries: 1,
	}))
}

func TestMinioGo(t *testing.T) {
	t.Parallel()
	for _, tls := range []bool{false, true} {
		for _, trailers := range []bool{false, true} {
			t.Run(fmt.Sprint("TLS ", tls, ", trailers ", trailers), func(t *testing.T) {
				t.Parallel()
				s := startStack(t, options{tls: tls})
				x := &minioRun{t: t, c: s.minioGo(trailers), trust: s.client.Transport, trailers: trailers}
				x.objects()
				x.listing()
				x.multipart()
				x.rest()
			})
		}
	}
}

type minioRun struct {
	t        *testing.T
	c        *minio.Client
	trust    http.RoundTripper // trusts the test server
	trailers bool
}

func (x *minioRun) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *minioRun) code(want string, err error) {
	x.t.Helper()
	if got := minio.ToErrorResponse(err).Code; got != want {
		x.t.Errorf("%v, want %s", err, want)
	}
}

func (x *minioRun) putOptions() []minio.PutObjectOptions {
	all := []minio.PutObjectOptions{
		{SendContentMd5: true, UserMetadata: map[string]string{"Mtime": "1"}}, {DisableContentSha256: true}, {StorageClass: "STANDARD"},
	}
	if !x.trailers {
		return all
	}
	for _, kind := range []minio.ChecksumType{minio.ChecksumCRC32, minio.ChecksumCRC32C, minio.ChecksumSHA1, minio.ChecksumSHA256, minio.ChecksumCRC64NVME} {
		all = append(all, minio.PutObjectOptions{Checksum: kind})
	}
	return all
}

func (x *minioRun) objects() {
	ctx := context.Background()
	x.must(x.c.MakeBucket(ctx, "pics", minio.MakeBucketOptions{}))
	if ok, err := x.c.BucketExists(ctx, "pics"); !ok || err != nil {
		x.t.Fatal(ok, err)
	}
	if ok, err := x.c.BucketExists(ctx, "none"); ok || err != nil {
		x.t.Fatal(ok, err)
	}
	for key, body := range map[string]string{"data/empty": "", "data/a b+ü": "hello", "data/large": strings.Repeat("0123456789abcdef", 100_000)} {
		for _, opts := range x.putOptions() {
			info, err := x.c.PutObject(ctx, "pics", key, strings.NewReader(body), int64(len(body)), opts)
			x.must(err)
			if `"`+info.ETag+`"` != etagOf(body) {
				x.t.Error(info.ETag)
			}
			o, err := x.c.GetObject(ctx, "pics", key, minio.GetObjectOptions{})
			x.must(err)
			got, err := io.ReadAll(o)
			x.must(err)
			if string(got) != body {
				x.t.Errorf("%s: %d bytes", key, len(got))
			}
		}
	}
	opts := minio.GetObjectOptions{}
	x.must(opts.SetRange(1, 3))
	o, err := x.c.GetObject(ctx, "pics", "data/a b+ü", opts)
	x.must(err)
	if got, err := io.ReadAll(o); err != nil || string(got) != "ell" {
		x.t.Errorf("%q %v", got, err)
	}
	_, err = x.c.StatObject(ctx, "pics", "none", minio.StatObjectOptions{})
	x.code("NoSuchKey", err)
	_, err = x.c.StatObject(ctx, "none", "none", minio.StatObjectOptions{})
	if code := minio.ToErrorResponse(err).Code; code != "NoSuchBucket" && code != "NoSuchKey" {
		x.t.Error(err)
	}
}

func (x *minioRun) listing() {
	ctx := context.Background()
	for _, opts := range []minio.ListObjectsOptions{
		{Prefix: "data/"}, {Prefix: "data/", MaxKeys: 1}, {Recursive: true}, {Recursive: true, UseV1: true, MaxKeys: 1}, {Prefix: "data/", WithMetadata: true},
	} {
		n := 0
		for o := range x.c.ListObjects(ctx, "pics", opts) {
			x.must(o.Err)
			n++
		}
		if n != 3 {
			x.t.Errorf("%+v: %d objects", opts, n)
		}
	}
}

func (x *minioRun) multipart() {
	ctx := context.Background()
	body := bytes.Repeat([]byte("0123456789abcdef"), 750_000)
	info, err := x.c.PutObject(ctx, "pics", "multi", bytes.NewReader(body), -1, minio.PutObjectOptions{PartSize: 5 * mib})
	x.must(err)
	if info.Size != int64(len(body)) || !strings.HasSuffix(info.ETag, "-3") {
		x.t.Errorf("%+v", info)
	}
	o, err := x.c.GetObject(ctx, "pics", "multi", minio.GetObjectOptions{})
	x.must(err)
	if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, body) {
		x.t.Errorf("%d bytes, %v", len(got), err)
	}
	dst := minio.CopyDestOptions{Bucket: "pics", Object: "composed"}
	_, err = x.c.ComposeObject(ctx, dst, minio.CopySrcOptions{Bucket: "pics", Object: "multi"}, minio.CopySrcOptions{Bucket: "pics", Object: "data/a b+ü"})
	x.must(err)
	stat, err := x.c.StatObject(ctx, "pics", "composed", minio.StatObjectOptions{})
	x.must(err)
	if stat.Size != int64(len(body)+5) {
		x.t.Errorf("%+v", stat)
	}
}

func (x *minioRun) rest() {
	ctx := context.Background()
	_, err := x.c.CopyObject(ctx, minio.CopyDestOptions{Bucket: "pics", Object: "copy", ReplaceMetadata: true, UserMetadata: map[string]string{"a": "b"}},
		minio.CopySrcOptions{Bucket: "pics", Object: "data/a b+ü"})
	x.must(err)
	link, err := x.c.PresignedGetObject(ctx, "pics", "copy", time.Minute, map[string][]string{"response-content-type": {"image/png"}})
	x.must(err)
	resp, err := (&http.Client{Transport: x.trust}).Get(link.String())
	x.must(err)
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "image/png" || resp.Header.Get("X-Amz-Meta-A") != "b" {
		x.t.Error(resp.Status, resp.Header)
	}
	_, err = x.c.GetBucketLifecycle(ctx, "pics")
	x.code("NoSuchLifecycleConfiguration", err)
	_, _, _, _, err = x.c.GetObjectLockConfig(ctx, "pics")
	x.code("ObjectLockConfigurationNotFoundError", err)
	v, err := x.c.GetBucketVersioning(ctx, "pics")
	if err != nil || v.Enabled() || v.Suspended() {
		x.t.Error(v, err)
	}
	objects := x.c.ListObjects(ctx, "pics", minio.ListObjectsOptions{Recursive: true})
	for e := range x.c.RemoveObjects(ctx, "pics", objects, minio.RemoveObjectsOptions{}) {
		x.t.Error(e.ObjectName, e.Err)
	}
	x.must(x.c.RemoveBucket(ctx, "pics"))
	x.code("NoSuchBucket", x.c.RemoveBucket(ctx, "pics"))
}
