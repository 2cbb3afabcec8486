package s3_test

import (
	"strings"
	"testing"
	"time"
)

func (s *stack) copy(target, source string, header ...string) answer {
	s.t.Helper()
	h := pairs(header)
	h["x-amz-copy-source"] = source
	return s.send(request{method: "PUT", target: target, header: h})
}

func TestCopyObject(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.bucket("other")
	s.put("/pics/a%20b", "hello", "Content-Type", "text/plain", "x-amz-meta-one", "1", "x-amz-tagging", "t=1")
	a := s.copy("/other/c", "/pics/a%20b")
	if a.status != 200 || !strings.Contains(a.body, "<ETag>&quot;"+strings.Trim(etagOf("hello"), `"`)+"&quot;</ETag>") {
		t.Fatal(a)
	}
	h := s.head("/other/c").header
	if h.Get("Content-Type") != "text/plain" || h.Get("X-Amz-Meta-One") != "1" || h.Get("X-Amz-Tagging-Count") != "1" {
		t.Error(h)
	}
	a = s.copy("/other/c", "pics/a%20b", "x-amz-metadata-directive", "REPLACE", "Content-Type", "image/png", "x-amz-meta-two", "2",
		"x-amz-tagging-directive", "REPLACE", "Content-Encoding", "aws-chunked")
	h = s.head("/other/c").header
	if a.status != 200 || h.Get("Content-Type") != "image/png" || h.Get("X-Amz-Meta-One") != "" || h.Get("X-Amz-Meta-Two") != "2" ||
		h.Get("X-Amz-Tagging-Count") != "" || h.Get("Content-Encoding") != "" {
		t.Error(a, h)
	}
	s.holds("/other/c", "hello")
	if a := s.copy("/pics/a%20b", "pics/a%20b", "x-amz-metadata-directive", "REPLACE", "x-amz-meta-mtime", "5"); a.status != 200 {
		t.Error("onto itself with new metadata:", a)
	}
	if a := s.copy("/other/sum", "pics/a%20b", "x-amz-checksum-algorithm", "CRC32"); !strings.Contains(a.body, "<ChecksumCRC32>NhCmhg==<") {
		t.Error(a.body)
	}
}

// Sources that name nothing, or nothing that can be copied; never a 5xx.
func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/a", "hello")
	old := time.Now().Add(-time.Hour).UTC().Format(time.RFC1123)
	for _, tc := range []struct {
		status int
		code   string
		source string
		header []string
	}{
		{400, "InvalidRequest", "pics/a", nil}, // onto itself
		{400, "InvalidArgument", "/", nil},
		{400, "InvalidArgument", "pics", nil},
		{400, "InvalidArgument", "?versionId=", nil},
		{400, "InvalidArgument", "pics/b?versionId=", nil},
		{404, "NoSuchVersion", "pics/b?versionId=abc", nil},
		{404, "NoSuchKey", "pics/none", nil},
		{404, "NoSuchBucket", "none/a", nil},
		{400, "InvalidArgument", "pics/a", []string{"x-amz-metadata-directive", "MERGE"}},
		{412, "PreconditionFailed", "pics/b", []string{"x-amz-copy-source-if-match", `"e"`}},
		{412, "PreconditionFailed", "pics/b", []string{"x-amz-copy-source-if-none-match", etagOf("hello")}},
		{412, "PreconditionFailed", "pics/b", []string{"x-amz-copy-source-if-unmodified-since", strings.Replace(old, "UTC", "GMT", 1)}},
		{412, "PreconditionFailed", "pics/b", []string{"If-None-Match", "*"}},
		{412, "PreconditionFailed", "pics/b", []string{"If-Match", `"e"`}},
	} {
		if a := s.put("/pics/b", "hello"); a.status != 200 {
			t.Fatal(a)
		}
		a := s.copy("/pics/a", tc.source, tc.header...)
		if a.status != tc.status || a.code() != tc.code {
			t.Errorf("%s %v: %d %s", tc.source, tc.header, a.status, a.body)
		}
	}
	a := s.send(request{method: "PUT", target: "/pics/a", body: "x", header: map[string]string{"x-amz-copy-source": ""}})
	if a.status != 400 || a.code() != "InvalidArgument" {
		t.Error("an empty source:", a)
	}
	s.holds("/pics/a", "hello")
}

// CVE-2026-55874: what is authorized as a source is what is read.
func TestCopySourceDotsAreData(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.bucket("secret")
	s.put("/secret/k", "secret")
	for _, source := range []string{"pics/../secret/k", "pics/%2e%2e/secret/k", "/pics/..%2fsecret/k", "pics/./../secret/k"} {
		if a := s.copy("/pics/stolen", source); a.status != 404 || a.code() != "NoSuchKey" {
			t.Errorf("%s: %d %s", source, a.status, a.body)
		}
	}
	s.gone("/pics/stolen")
}
