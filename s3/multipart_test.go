package s3_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
)

const mib = 1 << 20

// create starts an upload and returns its id.
func (s *stack) create(target string, header ...string) string {
	s.t.Helper()
	a := s.want(200, request{method: "POST", target: target + "?uploads", header: pairs(header)})
	var out struct{ UploadId string }
	if err := xml.Unmarshal([]byte(a.body), &out); err != nil || out.UploadId == "" {
		s.t.Fatal(a.body)
	}
	return out.UploadId
}

func (s *stack) part(target, id string, n int, body string, header ...string) answer {
	s.t.Helper()
	return s.want(200, request{method: "PUT", target: fmt.Sprintf("%s?partNumber=%d&uploadId=%s", target, n, id), body: body, header: pairs(header)})
}

func partsXML(etags ...string) string {
	var b strings.Builder
	b.WriteString(`<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	for i, etag := range etags {
		fmt.Fprintf(&b, "<Part><ETag>%s</ETag><PartNumber>%d</PartNumber></Part>", strings.ReplaceAll(etag, `"`, "&quot;"), i+1)
	}
	return b.String() + "</CompleteMultipartUpload>"
}

func (s *stack) complete(target, id, body string, header ...string) answer {
	s.t.Helper()
	return s.send(request{method: "POST", target: target + "?uploadId=" + id, body: body, header: pairs(header)})
}

func multipartETag(bodies ...string) string {
	h := md5.New()
	for _, b := range bodies {
		sum := md5.Sum([]byte(b))
		h.Write(sum[:])
	}
	return fmt.Sprintf("%s-%d", hex.EncodeToString(h.Sum(nil)), len(bodies))
}

func TestMultipartUpload(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	one, two := strings.Repeat("1", 5*mib), "the end"
	id := s.create("/pics/a%20b", "Content-Type", "text/plain", "x-amz-meta-m", "v")
	e1 := s.part("/pics/a%20b", id, 1, one).header.Get("ETag")
	e2 := s.part("/pics/a%20b", id, 2, two).header.Get("ETag")
	if e1 != etagOf(one) || e2 != etagOf(two) {
		t.Error(e1, e2)
	}
	s.gone("/pics/a%20b")
	for range 2 { // repeating Complete gives the same answer
		a := s.complete("/pics/a%20b", id, partsXML(e1, e2))
		if a.status != 200 || !strings.Contains(a.body, "&quot;"+multipartETag(one, two)+"&quot;") ||
			!strings.Contains(a.body, "<Location>"+s.url+"/pics/a%20b</Location>") || !strings.Contains(a.body, "<Key>a b</Key>") {
			t.Fatal(a)
		}
	}
	s.holds("/pics/a%20b", one+two)
	h := s.head("/pics/a%20b").header
	if h.Get("Content-Type") != "text/plain" || h.Get("X-Amz-Meta-M") != "v" {
		t.Error(h)
	}
	p := s.want(206, request{method: "GET", target: "/pics/a%20b?partNumber=2"})
	if p.body != two || p.header.Get("X-Amz-Mp-Parts-Count") != "2" || p.header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", 5*mib, 5*mib+6, 5*mib+7) {
		t.Error(p.body, p.header)
	}
	if a := s.get("/pics/a%20b", "Range", fmt.Sprintf("bytes=%d-%d", 5*mib-2, 5*mib+2)); a.status != 206 || a.body != "11the" {
		t.Error(a.status, a.body)
	}
}

// Lists of parts that are no upload's, and an upload without any.
func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "old")
	id := s.create("/pics/k")
	small := s.part("/pics/k", id, 1, "small").header.Get("ETag")
	last := s.part("/pics/k", id, 2, "last").header.Get("ETag")
	for name, tc := range map[string]struct{ code, id, body string }{
		"no parts":      {"MalformedXML", id, partsXML()},
		"no document":   {"MalformedXML", id, ""},
		"small part":    {"EntityTooSmall", id, partsXML(small, last)},
		"wrong ETag":    {"InvalidPart", id, partsXML(last)},
		"missing part":  {"InvalidPart", id, strings.Replace(partsXML(small), ">1<", ">3<", 1)},
		"wrong order":   {"InvalidPartOrder", id, strings.Replace(partsXML(small, last), ">1<", ">3<", 1)},
		"unknown":       {"NoSuchUpload", "made-up", partsXML(small)},
		"doctype":       {"MalformedXML", id, "<!DOCTYPE a>" + partsXML(small)},
		"another space": {"MalformedXML", id, strings.Replace(partsXML(small), "s3.amazonaws", "evil", 1)},
	} {
		a := s.complete("/pics/k", tc.id, tc.body)
		if a.code() != tc.code || a.status != 400 && a.status != 404 {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.body, tc.code)
		}
	}
	if a := s.complete("/pics/k", id, partsXML(small), "If-None-Match", "*"); a.code() != "PreconditionFailed" {
		t.Error(a)
	}
	if a := s.complete("/pics/k", id, partsXML(small), "x-amz-mp-object-size", "6"); a.status != 400 {
		t.Error(a)
	}
	if a := s.complete("/pics/other", id, partsXML(small)); a.code() != "NoSuchUpload" {
		t.Error(a)
	}
	s.holds("/pics/k", "old")
	if a := s.complete("/pics/k", id, partsXML(small), "If-Match", etagOf("old"), "x-amz-mp-object-size", "5"); a.status != 200 {
		t.Error(a)
	}
	s.holds("/pics/k", "small")
}

func TestMultipartOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	id := s.create("/pics/empty")
	etag := s.part("/pics/empty", id, 1, "").header.Get("ETag")
	if a := s.complete("/pics/empty", id, partsXML(etag)); a.status != 200 {
		t.Fatal(a)
	}
	s.holds("/pics/empty", "")
}

func TestUploadPartRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	id := s.create("/pics/k")
	for _, n := range []string{"0", "10001", "-1", "x", ""} {
		s.refused(400, "InvalidArgument", request{method: "PUT", target: "/pics/k?partNumber=" + n + "&uploadId=" + id, body: "x"})
	}
	s.refused(404, "NoSuchUpload", request{method: "PUT", target: "/pics/k?partNumber=1&uploadId=none", body: "x"})
	s.refused(400, "BadDigest", request{method: "PUT", target: "/pics/k?partNumber=1&uploadId=" + id, body: "x", header: map[string]string{"Content-Md5": contentMD5("y")}})
	s.refused(501, "NotImplemented", request{method: "PUT", target: "/pics/k?partNumber=1", body: "x"})
	s.gone("/pics/k")
	s.want(204, request{method: "DELETE", target: "/pics/k?uploadId=" + id})
	s.refused(404, "NoSuchUpload", request{method: "DELETE", target: "/pics/k?uploadId=" + id})
}

// Docker's registry finds its uploads again by these (rustfs#5716).
func TestListPartsAndUploads(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.bucket("other")
	id := s.create("/pics/a/k")
	empty := s.want(200, request{method: "GET", target: "/pics/a/k?uploadId=" + id}).body
	if !strings.Contains(empty, "<IsTruncated>false</IsTruncated>") || strings.Contains(empty, "<Part>") {
		t.Error(empty)
	}
	for n := 1; n <= 3; n++ {
		s.part("/pics/a/k", id, n, fmt.Sprint(n))
	}
	first := s.want(200, request{method: "GET", target: "/pics/a/k?max-parts=1&uploadId=" + id}).body
	if !strings.Contains(first, "<NextPartNumberMarker>1</") || !strings.Contains(first, "<IsTruncated>true</") || strings.Count(first, "<Part>") != 1 {
		t.Error(first)
	}
	rest := s.want(200, request{method: "GET", target: "/pics/a/k?part-number-marker=1&uploadId=" + id}).body
	if strings.Count(rest, "<Part>") != 2 || !strings.Contains(rest, "<IsTruncated>false</") || !strings.Contains(rest, "<Size>1</Size>") {
		t.Error(rest)
	}
	if body := s.want(200, request{method: "GET", target: "/other?uploads&prefix="}).body; strings.Contains(body, "<Upload>") {
		t.Error("uploads of another bucket:", body)
	}
	s.create("/pics/b%20c")
	all := s.want(200, request{method: "GET", target: "/pics/?uploads&encoding-type=url"}).body
	if strings.Count(all, "<Upload>") != 2 || !strings.Contains(all, "<Key>b+c</Key>") {
		t.Error(all)
	}
	byDelimiter := s.want(200, request{method: "GET", target: "/pics?uploads&delimiter=/&max-uploads=1"}).body
	if !strings.Contains(byDelimiter, "<CommonPrefixes><Prefix>a/</Prefix>") || !strings.Contains(byDelimiter, "<IsTruncated>true</") {
		t.Error(byDelimiter)
	}
	s.refused(404, "NoSuchUpload", request{method: "GET", target: "/pics/a/k?uploadId=none"})
	s.refused(400, "InvalidArgument", request{method: "GET", target: "/pics/a/k?max-parts=x&uploadId=" + id})
}

// Large copies on the server, by ranges (nextcloud/server#42068).
func TestUploadPartCopy(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.bucket("other")
	s.put("/other/src", "0123456789")
	id := s.create("/pics/k")
	copyPart := func(n int, header ...string) answer {
		h := pairs(append([]string{"x-amz-copy-source", "/other/src"}, header...))
		return s.send(request{method: "PUT", target: fmt.Sprintf("/pics/k?partNumber=%d&uploadId=%s", n, id), header: h})
	}
	if a := copyPart(1, "x-amz-copy-source-range", "bytes=2-4"); a.status != 200 || !strings.Contains(a.body, "<LastModified>") ||
		!strings.Contains(a.body, strings.Trim(etagOf("234"), `"`)) {
		t.Fatal(a)
	}
	for _, bad := range []string{"bytes=4-2", "bytes=2-", "bytes=-2", "2-4", "bytes=5-10", "bytes=10-10"} {
		if a := copyPart(2, "x-amz-copy-source-range", bad); a.status != 400 || a.code() != "InvalidArgument" {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
	if a := copyPart(2, "x-amz-copy-source-if-match", `"e"`); a.code() != "PreconditionFailed" {
		t.Error(a)
	}
	if a := copyPart(2, "x-amz-copy-source", "/other/none"); a.code() != "NoSuchKey" {
		t.Error(a)
	}
	if a := s.complete("/pics/k", id, partsXML(etagOf("234"))); a.status != 200 {
		t.Fatal(a)
	}
	s.holds("/pics/k", "234")
}

// Checksums of multipart objects.
func TestMultipartChecksums(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	one, two := strings.Repeat("1", 5*mib), "two"
	s.put("/pics/single", one+two)
	whole := s.head("/pics/single", "x-amz-checksum-mode", "ENABLED").header.Get("X-Amz-Checksum-Crc64nvme")
	for _, tc := range []struct {
		algorithm, kind, header, want string
	}{
		{"CRC64NVME", "", "X-Amz-Checksum-Crc64nvme", whole},
		{"CRC32", "FULL_OBJECT", "X-Amz-Checksum-Crc32", crc32Of(one + two)},
		{"CRC32", "", "X-Amz-Checksum-Crc32", "-2"},
		{"SHA256", "COMPOSITE", "X-Amz-Checksum-Sha256", "-2"},
	} {
		header := []string{"x-amz-checksum-algorithm", tc.algorithm}
		if tc.kind != "" {
			header = append(header, "x-amz-checksum-type", tc.kind)
		}
		id := s.create("/pics/k", header...)
		e1, e2 := s.part("/pics/k", id, 1, one).header.Get("ETag"), s.part("/pics/k", id, 2, two).header.Get("ETag")
		var done []string
		if tc.kind == "FULL_OBJECT" {
			if a := s.complete("/pics/k", id, partsXML(e1, e2), "x-amz-checksum-crc32", "AAAAAA=="); a.code() != "BadDigest" {
				t.Error(a)
			}
			done = []string{"x-amz-checksum-crc32", tc.want}
		}
		if a := s.complete("/pics/k", id, partsXML(e1, e2), done...); a.status != 200 || !strings.Contains(a.body, "<Checksum"+tc.algorithm+">") {
			t.Fatal(a)
		}
		if got := s.head("/pics/k", "x-amz-checksum-mode", "ENABLED").header.Get(tc.header); !strings.HasSuffix(got, tc.want) || strings.Contains(got, "-") != (tc.want == "-2") {
			t.Errorf("%s %s: %q, want %q", tc.algorithm, tc.kind, got, tc.want)
		}
	}
	for _, h := range [][]string{{"SHA1", "FULL_OBJECT"}, {"SHA256", "FULL_OBJECT"}, {"CRC64NVME", "COMPOSITE"}, {"CRC32", "HALF"}, {"MD4", "COMPOSITE"}} {
		s.refused(400, "InvalidRequest", request{method: "POST", target: "/pics/k?uploads",
			header: map[string]string{"x-amz-checksum-algorithm": h[0], "x-amz-checksum-type": h[1]}})
	}
}
