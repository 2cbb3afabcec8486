package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	aws3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// sdk is a client of the AWS SDK for Go, version 2.
func (s *stack) sdk(calculation aws.RequestChecksumCalculation) *aws3.Client {
	return aws3.New(aws3.Options{
		BaseEndpoint: aws.String(s.url), Region: "eu-central-1", UsePathStyle: true, HTTPClient: s.client,
		Credentials:                credentials.NewStaticCredentialsProvider(s.key.id, s.key.secret, ""),
		RequestChecksumCalculation: calculation,
		RetryMaxAttempts:           1,
	})
}

func TestAWSSDK(t *testing.T) {
	t.Parallel()
	for _, tls := range []bool{false, true} {
		for name, calculation := range map[string]aws.RequestChecksumCalculation{
			"when supported": aws.RequestChecksumCalculationWhenSupported, "when required": aws.RequestChecksumCalculationWhenRequired,
		} {
			t.Run(fmt.Sprint(name, " TLS ", tls), func(t *testing.T) {
				t.Parallel()
				s := startStack(t, options{tls: tls})
				x := &sdkRun{t: t, c: s.sdk(calculation)}
				x.buckets()
				x.objects()
				x.listing()
				x.multipart()
				x.conditions()
				x.deletion()
			})
		}
	}
}

// sdkRun walks through what a program does with the SDK.
type sdkRun struct {
	t *testing.T
	c *aws3.Client
}

var pics = aws.String("pics")

func (x *sdkRun) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *sdkRun) code(want string, err error) {
	x.t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != want {
		x.t.Errorf("%v, want %s", err, want)
	}
}

func (x *sdkRun) buckets() {
	ctx := context.Background()
	_, err := x.c.HeadBucket(ctx, &aws3.HeadBucketInput{Bucket: pics})
	x.code("NotFound", err)
	_, err = x.c.CreateBucket(ctx, &aws3.CreateBucketInput{Bucket: pics, CreateBucketConfiguration: &types.CreateBucketConfiguration{
		LocationConstraint: types.BucketLocationConstraintEuCentral1,
	}})
	x.must(err)
	_, err = x.c.CreateBucket(ctx, &aws3.CreateBucketInput{Bucket: pics})
	x.code("BucketAlreadyOwnedByYou", err)
	list, err := x.c.ListBuckets(ctx, &aws3.ListBucketsInput{})
	x.must(err)
	if len(list.Buckets) != 1 || *list.Buckets[0].Name != "pics" || list.Buckets[0].CreationDate.IsZero() {
		x.t.Errorf("%+v", list)
	}
	v, err := x.c.GetBucketVersioning(ctx, &aws3.GetBucketVersioningInput{Bucket: pics})
	x.must(err)
	if v.Status != "" {
		x.t.Error(v.Status)
	}
	_, err = x.c.GetBucketLocation(ctx, &aws3.GetBucketLocationInput{Bucket: pics})
	x.must(err)
	_, err = x.c.GetObjectLockConfiguration(ctx, &aws3.GetObjectLockConfigurationInput{Bucket: pics})
	x.code("ObjectLockConfigurationNotFoundError", err)
}

func (x *sdkRun) objects() {
	ctx := context.Background()
	for key, body := range map[string]string{"empty": "", "a b/ü+": "hello", "large": strings.Repeat("0123456789abcdef", 200_000)} {
		for _, alg := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmCrc64nvme,
			types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256} {
			put, err := x.c.PutObject(ctx, &aws3.PutObjectInput{Bucket: pics, Key: &key, Body: strings.NewReader(body), ChecksumAlgorithm: alg,
				Metadata: map[string]string{"mtime": "1"}, ContentType: aws.String("text/plain")})
			x.must(err)
			if *put.ETag != etagOf(body) {
				x.t.Error(*put.ETag)
			}
			get, err := x.c.GetObject(ctx, &aws3.GetObjectInput{Bucket: pics, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
			x.must(err)
			got, err := io.ReadAll(get.Body)
			x.must(err)
			if string(got) != body || get.Metadata["mtime"] != "1" || *get.ContentType != "text/plain" {
				x.t.Errorf("%s: %d bytes, %v", key, len(got), get.Metadata)
			}
		}
	}
	head, err := x.c.HeadObject(ctx, &aws3.HeadObjectInput{Bucket: pics, Key: aws.String("large"), ChecksumMode: types.ChecksumModeEnabled})
	x.must(err)
	if *head.ContentLength != 3_200_000 || head.ChecksumSHA256 == nil && head.ChecksumCRC32 == nil && head.ChecksumCRC64NVME == nil {
		x.t.Errorf("%+v", head)
	}
	_, err = x.c.GetObject(ctx, &aws3.GetObjectInput{Bucket: pics, Key: aws.String("none")})
	var none *types.NoSuchKey
	if !errors.As(err, &none) {
		x.t.Error(err)
	}
	attrs, err := x.c.GetObjectAttributes(ctx, &aws3.GetObjectAttributesInput{Bucket: pics, Key: aws.String("large"),
		ObjectAttributes: []types.ObjectAttributes{types.ObjectAttributesEtag, types.ObjectAttributesObjectSize}})
	x.must(err)
	if *attrs.ObjectSize != 3_200_000 {
		x.t.Errorf("%+v", attrs)
	}
	copied, err := x.c.CopyObject(ctx, &aws3.CopyObjectInput{Bucket: pics, Key: aws.String("copy"), CopySource: aws.String("pics/a%20b/%C3%BC%2B")})
	x.must(err)
	if *copied.CopyObjectResult.ETag != etagOf("hello") {
		x.t.Errorf("%+v", copied.CopyObjectResult)
	}
	acl, err := x.c.GetObjectAcl(ctx, &aws3.GetObjectAclInput{Bucket: pics, Key: aws.String("copy")})
	x.must(err)
	if acl.Grants[0].Permission != types.PermissionFullControl || acl.Grants[0].Grantee.Type != types.TypeCanonicalUser {
		x.t.Errorf("%+v", acl)
	}
}

func (x *sdkRun) listing() {
	ctx := context.Background()
	var keys []string
	pages := aws3.NewListObjectsV2Paginator(x.c, &aws3.ListObjectsV2Input{Bucket: pics, Delimiter: aws.String("/"), MaxKeys: aws.Int32(1),
		EncodingType: types.EncodingTypeUrl})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		x.must(err)
		for _, c := range page.Contents {
			keys = append(keys, *c.Key)
		}
		for _, p := range page.CommonPrefixes {
			keys = append(keys, *p.Prefix)
		}
	}
	if want := []string{"a+b/", "copy", "empty", "large"}; !slices.Equal(keys, want) {
		x.t.Errorf("%v, want %v", keys, want)
	}
	v1, err := x.c.ListObjects(ctx, &aws3.ListObjectsInput{Bucket: pics, Prefix: aws.String("a b")})
	x.must(err)
	if len(v1.Contents) != 1 || *v1.Contents[0].Key != "a b/ü+" {
		x.t.Errorf("%+v", v1)
	}
	versions, err := x.c.ListObjectVersions(ctx, &aws3.ListObjectVersionsInput{Bucket: pics})
	x.must(err)
	if len(versions.Versions) != 4 || !*versions.Versions[0].IsLatest {
		x.t.Errorf("%+v", versions)
	}
}

func (x *sdkRun) multipart() {
	ctx := context.Background()
	key := aws.String("multi")
	up, err := x.c.CreateMultipartUpload(ctx, &aws3.CreateMultipartUploadInput{Bucket: pics, Key: key})
	x.must(err)
	var done []types.CompletedPart
	for n, body := range [][]byte{bytes.Repeat([]byte("a"), 5*mib), []byte("end")} {
		p, err := x.c.UploadPart(ctx, &aws3.UploadPartInput{Bucket: pics, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(int32(n + 1)),
			Body: bytes.NewReader(body)})
		x.must(err)
		done = append(done, types.CompletedPart{ETag: p.ETag, PartNumber: aws.Int32(int32(n + 1)), ChecksumCRC32: p.ChecksumCRC32})
	}
	c, err := x.c.UploadPartCopy(ctx, &aws3.UploadPartCopyInput{Bucket: pics, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(3),
		CopySource: aws.String("pics/large"), CopySourceRange: aws.String("bytes=0-9")})
	x.must(err)
	if *c.CopyPartResult.ETag != etagOf("0123456789") {
		x.t.Errorf("%+v", c.CopyPartResult)
	}
	parts, err := x.c.ListParts(ctx, &aws3.ListPartsInput{Bucket: pics, Key: key, UploadId: up.UploadId})
	x.must(err)
	uploads, err := x.c.ListMultipartUploads(ctx, &aws3.ListMultipartUploadsInput{Bucket: pics})
	x.must(err)
	if len(parts.Parts) != 3 || len(uploads.Uploads) != 1 {
		x.t.Errorf("%+v %+v", parts, uploads)
	}
	end, err := x.c.CompleteMultipartUpload(ctx, &aws3.CompleteMultipartUploadInput{Bucket: pics, Key: key, UploadId: up.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: done}})
	x.must(err)
	if !strings.HasSuffix(*end.ETag, `-2"`) {
		x.t.Error(*end.ETag)
	}
	get, err := x.c.GetObject(ctx, &aws3.GetObjectInput{Bucket: pics, Key: key, Range: aws.String("bytes=-4")})
	x.must(err)
	if got, _ := io.ReadAll(get.Body); string(got) != "aend" {
		x.t.Errorf("%q", got)
	}
	other, err := x.c.CreateMultipartUpload(ctx, &aws3.CreateMultipartUploadInput{Bucket: pics, Key: key})
	x.must(err)
	_, err = x.c.AbortMultipartUpload(ctx, &aws3.AbortMultipartUploadInput{Bucket: pics, Key: key, UploadId: other.UploadId})
	x.must(err)
	_, err = x.c.ListParts(ctx, &aws3.ListPartsInput{Bucket: pics, Key: key, UploadId: other.UploadId})
	x.code("NoSuchUpload", err)
}

func (x *sdkRun) conditions() {
	ctx := context.Background()
	key := aws.String("lock")
	put := func(in aws3.PutObjectInput) error {
		in.Bucket, in.Key, in.Body = pics, key, strings.NewReader("lease")
		_, err := x.c.PutObject(ctx, &in)
		return err
	}
	x.must(put(aws3.PutObjectInput{IfNoneMatch: aws.String("*")}))
	x.code("PreconditionFailed", put(aws3.PutObjectInput{IfNoneMatch: aws.String("*")}))
	x.code("PreconditionFailed", put(aws3.PutObjectInput{IfMatch: aws.String(`"e"`)}))
	x.must(put(aws3.PutObjectInput{IfMatch: aws.String(etagOf("lease"))}))
	_, err := x.c.DeleteObject(ctx, &aws3.DeleteObjectInput{Bucket: pics, Key: key, IfMatch: aws.String(`"e"`)})
	x.code("PreconditionFailed", err)
	_, err = x.c.DeleteObject(ctx, &aws3.DeleteObjectInput{Bucket: pics, Key: key, IfMatch: aws.String(etagOf("lease"))})
	x.must(err)
}

func (x *sdkRun) deletion() {
	ctx := context.Background()
	var ids []types.ObjectIdentifier
	for _, key := range []string{"a b/ü+", "copy", "empty", "large", "multi", "none"} {
		ids = append(ids, types.ObjectIdentifier{Key: aws.String(key)})
	}
	out, err := x.c.DeleteObjects(ctx, &aws3.DeleteObjectsInput{Bucket: pics, Delete: &types.Delete{Objects: ids}})
	x.must(err)
	if len(out.Deleted) != 6 || len(out.Errors) > 0 {
		x.t.Errorf("%+v", out)
	}
	_, err = x.c.DeleteBucket(ctx, &aws3.DeleteBucketInput{Bucket: pics})
	x.must(err)
	link, err := aws3.NewPresignClient(x.c).PresignGetObject(ctx, &aws3.GetObjectInput{Bucket: pics, Key: aws.String("k")})
	x.must(err)
	resp, err := x.c.Options().HTTPClient.Do(must(newGet(link.URL)))
	x.must(err)
	resp.Body.Close()
	if resp.StatusCode != 404 {
		x.t.Error(resp.Status)
	}
}
