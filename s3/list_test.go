package s3_test

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// listResult is what both versions of listing answer.
type listResult struct {
	Name, Prefix, Marker, NextMarker, Delimiter, EncodingType string
	StartAfter, ContinuationToken, NextContinuationToken      string
	KeyCount, MaxKeys                                         int
	IsTruncated                                               bool
	Contents                                                  []struct {
		Key, ETag, StorageClass, LastModified string
		Size                                  int64
		Owner                                 *struct{ ID string }
	}
	CommonPrefixes []struct{ Prefix string }
}

func (l listResult) keys() (out []string) {
	for _, c := range l.Contents {
		out = append(out, c.Key)
	}
	for _, p := range l.CommonPrefixes {
		out = append(out, p.Prefix)
	}
	return out
}

func (s *stack) list(query string) listResult {
	s.t.Helper()
	var out listResult
	a := s.want(200, request{method: "GET", target: "/pics?" + query})
	if err := xml.Unmarshal([]byte(a.body), &out); err != nil || !strings.Contains(a.body, "<ListBucketResult ") {
		s.t.Fatalf("%s: %v: %s", query, err, a.body)
	}
	return out
}

func (s *stack) fill(keys ...string) {
	s.t.Helper()
	s.bucket("pics")
	for _, k := range keys {
		s.put("/pics/"+escape(k), k)
	}
}

// minio-go sends a slash behind the bucket, the AWS SDKs do not: with and without the slash behind the bucket.
func TestListingOfAnEmptyBucket(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for _, target := range []string{"/pics", "/pics/", "/pics?list-type=2", "/pics/?delimiter=%2F&encoding-type=url&fetch-owner=true&list-type=2&prefix="} {
		a := s.want(200, request{method: "GET", target: target})
		if !strings.Contains(a.body, "<IsTruncated>false</IsTruncated>") || strings.Contains(a.body, "Contents") {
			t.Errorf("%s: %s", target, a.body)
		}
	}
	for _, q := range []request{{method: "HEAD", target: "/pics/"}, {method: "GET", target: "/pics/?location="}, {method: "GET", target: "/pics?location"}} {
		s.want(200, q)
	}
	s.want(204, request{method: "DELETE", target: "/pics/"})
	s.want(404, request{method: "HEAD", target: "/pics"})
}

func TestListVersions1And2(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fill("a", "b/1", "b/2", "c", "d/e/f")
	for _, base := range []string{"", "list-type=2&"} {
		if got := s.list(base).keys(); !slices.Equal(got, []string{"a", "b/1", "b/2", "c", "d/e/f"}) {
			t.Errorf("%q: %v", base, got)
		}
		l := s.list(base + "delimiter=/")
		if !slices.Equal(l.keys(), []string{"a", "c", "b/", "d/"}) || l.Delimiter != "/" {
			t.Errorf("%q: %+v", base, l)
		}
		if got := s.list(base + "prefix=b/&delimiter=/").keys(); !slices.Equal(got, []string{"b/1", "b/2"}) {
			t.Errorf("%q: %v", base, got)
		}
		if l := s.list(base + "max-keys=0"); l.IsTruncated || len(l.keys()) > 0 || l.MaxKeys != 0 {
			t.Errorf("%q: %+v", base, l)
		}
		if l := s.list(base + "max-keys=100000"); l.MaxKeys != 1000 {
			t.Errorf("%q: %+v", base, l)
		}
		c := s.list(base + "prefix=a").Contents[0]
		if c.ETag != etagOf("a") || c.Size != 1 || c.StorageClass != "STANDARD" || (c.Owner != nil) != (base == "") {
			t.Errorf("%q: %+v", base, c)
		}
	}
	if s.list("list-type=2&fetch-owner=true").Contents[0].Owner == nil {
		t.Error("no owner")
	}
	if got := s.list("list-type=2&start-after=b/1").keys(); !slices.Equal(got, []string{"b/2", "c", "d/e/f"}) {
		t.Error(got)
	}
	if got := s.list("marker=b/1").keys(); !slices.Equal(got, []string{"b/2", "c", "d/e/f"}) {
		t.Error(got)
	}
}

// A page that is cut off without a token makes clients loop (restic#3083): every page but the last says where the next one begins.
func TestListingPages(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var keys []string
	for i := range 25 {
		keys = append(keys, fmt.Sprintf("dir-%d-/%02d", i%5, i))
	}
	s.fill(keys...)
	for _, delimiter := range []string{"", "/", "-", "-/", "xyz"} {
		whole := s.list("list-type=2&delimiter=" + delimiter).keys()
		for _, size := range []int{1, 2, 3, 7} {
			if got := s.pagesV2(delimiter, size); !slices.Equal(sorted(got), sorted(whole)) {
				t.Errorf("V2, delimiter %q by %d: %v, want %v", delimiter, size, got, whole)
			}
			if got := s.pagesV1(delimiter, size); !slices.Equal(sorted(got), sorted(whole)) {
				t.Errorf("V1, delimiter %q by %d: %v, want %v", delimiter, size, got, whole)
			}
		}
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func (s *stack) pagesV2(delimiter string, size int) (all []string) {
	s.t.Helper()
	token := ""
	for range 100 {
		l := s.list(fmt.Sprintf("list-type=2&max-keys=%d&delimiter=%s&continuation-token=%s", size, delimiter, url.QueryEscape(token)))
		all = append(all, l.keys()...)
		if l.KeyCount != len(l.keys()) || l.KeyCount > size || l.IsTruncated != (l.NextContinuationToken != "") || l.ContinuationToken != token {
			s.t.Fatalf("%+v", l)
		}
		if token = l.NextContinuationToken; token == "" {
			return all
		}
	}
	s.t.Fatal("the listing does not end")
	return nil
}

func (s *stack) pagesV1(delimiter string, size int) (all []string) {
	s.t.Helper()
	marker := ""
	for range 100 {
		l := s.list(fmt.Sprintf("max-keys=%d&delimiter=%s&marker=%s", size, delimiter, url.QueryEscape(marker)))
		all = append(all, l.keys()...)
		if !l.IsTruncated {
			return all
		}
		if marker = l.NextMarker; delimiter == "" {
			marker = l.Contents[len(l.Contents)-1].Key
		}
	}
	s.t.Fatal("the listing does not end")
	return nil
}

// The alphabet of encoding-type=url, in every field of an answer.
func TestListingEncodings(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fill("a b.txt", "a+b.txt", "100%.csv", "한/x y", "c\x01d")
	l := s.list("list-type=2&encoding-type=url&delimiter=/&start-after=%01")
	want := []string{"100%25.csv", "a+b.txt", "a%2Bb.txt", "c%01d", "%ED%95%9C/"}
	if !slices.Equal(l.keys(), want) || l.EncodingType != "url" || l.StartAfter != "%01" || l.Delimiter != "/" {
		t.Errorf("%+v", l)
	}
	v1 := s.list("encoding-type=url&delimiter=%20&prefix=a%20&marker=a%20")
	if v1.Prefix != "a+" || v1.Delimiter != "+" || v1.Marker != "a+" || v1.EncodingType != "url" {
		t.Errorf("%+v", v1)
	}
	if body := s.want(200, request{method: "GET", target: "/pics?prefix=c"}).body; !strings.Contains(body, "<Key>c&#x1;d</Key>") {
		t.Error(body)
	}
	s.refused(400, "InvalidArgument", request{method: "GET", target: "/pics?encoding-type=base64"})
}

// Parameters out of bounds and tokens that are not ours.
func TestListingRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fill("a")
	for _, query := range []string{"max-keys=-1", "max-keys=2147483648", "max-keys=x", "list-type=3",
		"list-type=2&continuation-token=forged", "list-type=2&continuation-token=AAAA", "prefix=a&prefix=b"} {
		s.refused(400, "InvalidArgument", request{method: "GET", target: "/pics?" + query})
	}
	for _, odd := range []string{"%25", "_", "'", "%22", "a'%20OR%201=1--", strings.Repeat("d", 1024)} {
		if l := s.list("prefix=" + odd + "&delimiter=" + odd); len(l.keys()) > 0 {
			t.Errorf("%s: %v", odd, l.keys())
		}
	}
	s.refused(404, "NoSuchBucket", request{method: "GET", target: "/none?list-type=2"})
}

func TestListObjectVersions(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.fill("a", "b/1")
	body := s.want(200, request{method: "GET", target: "/pics?versions&delimiter=/"}).body
	for _, want := range []string{"<ListVersionsResult ", "<Key>a</Key><VersionId>null</VersionId><IsLatest>true</IsLatest>", "<Prefix>b/</Prefix>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	s.want(200, request{method: "GET", target: "/pics/a?versionId=null"})
	s.refused(404, "NoSuchVersion", request{method: "GET", target: "/pics/a?versionId=abc"})
	s.refused(404, "NoSuchVersion", request{method: "DELETE", target: "/pics/a?versionId=abc"})
	s.holds("/pics/a", "a")
	s.want(204, request{method: "DELETE", target: "/pics/a?versionId=null"})
}

// Backup boxes fill their list of buckets from it (minio#9260), with pages.
func TestListBuckets(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, b := range []string{"one", "two", "twice"} {
		s.bucket(b)
	}
	var out struct {
		Owner   struct{ ID string }
		Buckets struct {
			Bucket []struct{ Name, CreationDate string }
		}
		ContinuationToken, Prefix string
	}
	get := func(query string) []string {
		t.Helper()
		out.Buckets.Bucket, out.ContinuationToken = nil, ""
		if err := xml.Unmarshal([]byte(s.want(200, request{method: "GET", target: "/?" + query}).body), &out); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, b := range out.Buckets.Bucket {
			names = append(names, b.Name)
		}
		return names
	}
	if got := get("x-id=ListBuckets"); !slices.Equal(got, []string{"one", "twice", "two"}) || out.Owner.ID == "" ||
		!strings.HasSuffix(out.Buckets.Bucket[0].CreationDate, ".000Z") {
		t.Errorf("%v %+v", got, out)
	}
	if got := get("prefix=tw&max-buckets=1"); !slices.Equal(got, []string{"twice"}) || out.ContinuationToken == "" {
		t.Errorf("%v %+v", got, out)
	}
	if got := get("prefix=tw&max-buckets=1&continuation-token=" + out.ContinuationToken); !slices.Equal(got, []string{"two"}) || out.ContinuationToken != "" {
		t.Errorf("%v %+v", got, out)
	}
	s.refused(400, "InvalidArgument", request{method: "GET", target: "/?continuation-token=x"})
}
