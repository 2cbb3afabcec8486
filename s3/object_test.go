package s3_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"mime"
	"net/http"
	"strings"
	"testing"
	"time"
)

func etagOf(body string) string {
	sum := md5.Sum([]byte(body))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func TestPutGetHeadDelete(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for name, body := range map[string]string{"empty": "", "small": "hello", "large": strings.Repeat("x", 300_000)} {
		a := s.put("/pics/"+name, body)
		if a.header.Get("ETag") != etagOf(body) {
			t.Errorf("%s: ETag %s", name, a.header.Get("ETag"))
		}
		s.holds("/pics/"+name, body)
		h := s.head("/pics/" + name).header
		if h.Get("Content-Length") != strconvItoa(len(body)) || h.Get("Content-Type") != "binary/octet-stream" ||
			h.Get("Accept-Ranges") != "bytes" || h.Get("ETag") != etagOf(body) || h.Get("Last-Modified") == "" {
			t.Errorf("%s: %v", name, h)
		}
		s.want(204, request{method: "DELETE", target: "/pics/" + name})
		s.want(204, request{method: "DELETE", target: "/pics/" + name})
		s.gone("/pics/" + name)
	}
	if a := s.head("/pics/none"); a.status != 404 || a.body != "" {
		t.Error(a)
	}
	s.refused(404, "NoSuchBucket", request{method: "GET", target: "/none/k"})
	s.refused(404, "NoSuchBucket", request{method: "PUT", target: "/none/k", body: "x"})
	s.refused(404, "NoSuchBucket", request{method: "DELETE", target: "/none/k"})
}

func TestAnswersAreSafeInABrowser(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/x.html", "<script>alert(1)</script>", "Content-Type", "text/html")
	for _, a := range []answer{s.get("/pics/x.html"), s.get("/pics/none"), s.get("/")} {
		if a.header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") ||
			len(a.header["Set-Cookie"]) > 0 || a.header.Get("X-Amz-Request-Id") == "" || a.header.Get("X-Amz-Id-2") == "" {
			t.Errorf("%d: %v", a.status, a.header)
		}
	}
	cookie := func(r *http.Request) { r.Header.Set("Cookie", "session=stolen") }
	s.refused(403, "AccessDenied", request{method: "GET", target: "/pics/x.html", anonymous: true, change: cookie})
}

// A key may be another one's folder (versitygw#137): keys are data. They are never cleaned, and never folders.
func TestKeysAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	keys := []string{"/a", "a", "a//b", "a/b", "a/b/c", "a/./b", "a/../b", "..", ".", "a/", "CON", `a\b`, "a:b", "a+b", "a b",
		"ü", "u\u0308", "a\r\nb", "\x01", "\ufffe", "%2f", "a?b#c", strings.Repeat("k", 1024)}
	for _, key := range keys {
		s.put("/pics/"+escape(key), "body of "+key)
	}
	for _, key := range keys {
		s.holds("/pics/"+escape(key), "body of "+key)
	}
	s.want(204, request{method: "DELETE", target: "/pics/a/b"})
	s.holds("/pics/a/b/c", "body of a/b/c")
	s.holds("/pics/a%2Fb%2Fc", "body of a/b/c")
}

// Keys over the limit, and bytes that XML or UTF-8 cannot carry.
func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.refused(400, "KeyTooLongError", request{method: "PUT", target: "/pics/" + strings.Repeat("k", 1025), body: "x"})
	s.refused(400, "InvalidURI", request{method: "PUT", target: "/pics/%FF", body: "x"})
	s.refused(400, "InvalidURI", request{method: "PUT", target: "/pics/a%00b", body: "x"})
	s.refused(400, "InvalidBucketName", request{method: "PUT", target: "/B_", body: ""})
	s.refused(400, "InvalidBucketName", request{method: "PUT", target: "/a", body: ""})
	s.refused(400, "InvalidBucketName", request{method: "GET", target: "//pics/k"})
}

func TestSystemHeadersAreKept(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	kept := []string{"Content-Type", "text/plain; charset=utf-8", "Cache-Control", "max-age=60", "Content-Disposition",
		`attachment; filename="a.txt"`, "Content-Encoding", "gzip", "Content-Language", "de", "Expires", "Thu, 01 Dec 2050 16:00:00 GMT"}
	s.put("/pics/k", "x", kept...)
	h := s.get("/pics/k").header
	for name, value := range pairs(kept) {
		if h.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, h.Get(name), value)
		}
	}
}

// Metadata beyond ASCII, over the limit, and under reserved names.
func TestUserMetadata(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "x", "x-amz-meta-mtime", "1.5", "X-Amz-Meta-Under_Score", "u", "x-amz-meta-content-length", "999",
		"x-amz-meta-set-cookie", "a=b", "x-amz-meta-raw", "grün", "x-amz-meta-word", mime.QEncoding.Encode("utf-8", "größer"))
	h := s.head("/pics/k").header
	for name, want := range map[string]string{"mtime": "1.5", "under_score": "u", "content-length": "999", "set-cookie": "a=b",
		"raw": "grün", "word": "größer"} {
		got, err := new(mime.WordDecoder).DecodeHeader(h.Get("X-Amz-Meta-" + name))
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if h.Get("Content-Length") != "1" || len(h["Set-Cookie"]) > 0 {
		t.Error("metadata became a header", h)
	}
	s.put("/pics/max", "x", "x-amz-meta-a", strings.Repeat("v", 2047))
	s.refused(400, "MetadataTooLarge", request{method: "PUT", target: "/pics/over", body: "x",
		header: map[string]string{"x-amz-meta-a": strings.Repeat("v", 2048)}})
	s.refused(400, "InvalidArgument", request{method: "PUT", target: "/pics/over", body: "x",
		header: map[string]string{"x-amz-meta-x-larder-internal": "1"}})
	s.refused(400, "InvalidArgument", request{method: "PUT", target: "/pics/over", body: "x",
		header: map[string]string{"x-amz-meta-a": "=?utf-8?q?a=0D=0Ab?="}})
	s.gone("/pics/over")
}

// Ranges as AWS answers them, also those that make no sense (versitygw#1120).
func TestRanges(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	body := strings.Repeat("0123456789", 10)
	s.put("/pics/k", body)
	s.put("/pics/empty", "")
	for _, tc := range []struct {
		target, header string
		status         int
		want, span     string
	}{
		{"/pics/k", "bytes=33-10", 200, body, ""},
		{"/pics/k", "bytes=x", 200, body, ""},
		{"/pics/k", "bytes=-20", 206, body[80:], "bytes 80-99/100"},
		{"/pics/k", "bytes=-150", 206, body, "bytes 0-99/100"},
		{"/pics/k", "bytes=0-1", 206, "01", "bytes 0-1/100"},
		{"/pics/k", "bytes=98-", 206, "89", "bytes 98-99/100"},
		{"/pics/empty", "bytes=-5", 200, "", ""},
		{"/pics/k?partNumber=1", "", 206, body, "bytes 0-99/100"},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			q := request{method: method, target: tc.target, header: map[string]string{}}
			if tc.header != "" {
				q.header["Range"] = tc.header
			}
			a := s.want(tc.status, q)
			if method == "GET" && a.body != tc.want || a.header.Get("Content-Range") != tc.span ||
				a.header.Get("Content-Length") != strconvItoa(len(tc.want)) {
				t.Errorf("%s %s %s: %q %v", method, tc.target, tc.header, a.body, a.header)
			}
		}
	}
	a := s.refused(416, "InvalidRange", request{method: "GET", target: "/pics/k", header: map[string]string{"Range": "bytes=200-"}})
	if a.header.Get("Content-Range") != "bytes */100" {
		t.Error(a.header)
	}
	s.refused(416, "InvalidRange", request{method: "GET", target: "/pics/empty", header: map[string]string{"Range": "bytes=0-0"}})
	s.refused(416, "InvalidPartNumber", request{method: "GET", target: "/pics/k?partNumber=2"})
	s.refused(400, "InvalidArgument", request{method: "GET", target: "/pics/k?partNumber=0"})
	s.refused(400, "InvalidRequest", request{method: "GET", target: "/pics/k?partNumber=1", header: map[string]string{"Range": "bytes=0-1"}})
}

func TestReadConditions(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	etag := s.put("/pics/k", "x").header.Get("ETag")
	modified := s.head("/pics/k").header.Get("Last-Modified")
	old := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for _, tc := range []struct {
		status int
		header []string
	}{
		{200, []string{"If-Match", etag}},
		{200, []string{"If-Match", strings.Trim(etag, `"`)}},
		{200, []string{"If-Match", `"other", ` + etag}},
		{200, []string{"If-Match", "*"}},
		{412, []string{"If-Match", `"other"`}},
		{304, []string{"If-None-Match", etag}},
		{304, []string{"If-None-Match", "W/" + etag}},
		{304, []string{"If-None-Match", "*"}},
		{200, []string{"If-None-Match", `"other"`}},
		{304, []string{"If-Modified-Since", modified}},
		{200, []string{"If-Modified-Since", old}},
		{200, []string{"If-Modified-Since", "garbage"}},
		{412, []string{"If-Unmodified-Since", old}},
		{200, []string{"If-Unmodified-Since", modified}},
		{200, []string{"If-Match", etag, "If-Unmodified-Since", old}},
		{200, []string{"If-None-Match", `"other"`, "If-Modified-Since", modified}},
		{412, []string{"If-Match", `"other"`, "If-None-Match", etag}},
	} {
		for _, a := range []answer{s.get("/pics/k", tc.header...), s.head("/pics/k", tc.header...)} {
			if a.status != tc.status || a.status == 304 && (a.body != "" || a.header.Get("ETag") != etag) {
				t.Errorf("%v: %d %q", tc.header, a.status, a.body)
			}
		}
	}
	if a := s.get("/pics/k", "Range", "bytes=0-0", "If-Range", `"other"`); a.status != 200 {
		t.Error("If-Range of another version:", a.status)
	}
	if a := s.get("/pics/k", "Range", "bytes=0-0", "If-Range", etag); a.status != 206 {
		t.Error("If-Range of this version:", a.status)
	}
}

// Conditions as AWS decides them; leases rely on them (litestream, silo#10).
func TestWriteConditions(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	put := func(status int, code string, header ...string) {
		t.Helper()
		q := request{method: "PUT", target: "/pics/k", body: "2", header: pairs(header)}
		if a := s.send(q); a.status != status || a.code() != code {
			t.Errorf("%v: %d %s, want %d %s", header, a.status, a.code(), status, code)
		}
	}
	put(404, "NoSuchKey", "If-Match", `"e"`)
	put(200, "", "If-None-Match", "*")
	put(412, "PreconditionFailed", "If-None-Match", "*")
	put(501, "NotImplemented", "If-None-Match", `"e"`)
	put(412, "PreconditionFailed", "If-Match", `"e"`)
	put(200, "", "If-Match", etagOf("2"))
	s.refused(412, "PreconditionFailed", request{method: "DELETE", target: "/pics/k", header: map[string]string{"If-Match": `"e"`}})
	s.holds("/pics/k", "2")
	s.want(204, request{method: "DELETE", target: "/pics/k", header: map[string]string{"If-Match": etagOf("2")}})
	s.put("/pics/k", "3")
	s.want(204, request{method: "DELETE", target: "/pics/k", header: map[string]string{"If-Match": "*"}})
	s.refused(501, "NotImplemented", request{method: "DELETE", target: "/pics/k", header: map[string]string{"x-amz-if-match-size": "1"}})
}

func TestResponseOverrides(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "x", "Content-Type", "text/plain")
	a := s.get("/pics/k?response-content-type=image%2Fpng&response-content-disposition=attachment%3B%20filename%3D%22a.png%22" +
		"&response-cache-control=no-store&response-content-language=de&response-expires=0&response-content-encoding=br")
	for name, want := range map[string]string{"Content-Type": "image/png", "Content-Disposition": `attachment; filename="a.png"`,
		"Cache-Control": "no-store", "Content-Language": "de", "Expires": "0", "Content-Encoding": "br"} {
		if a.header.Get(name) != want {
			t.Errorf("%s: %q", name, a.header.Get(name))
		}
	}
	if b := s.follow("GET", s.link("GET", "pics", "k", map[string]string{"response-content-type": "image/gif"}), ""); b.header.Get("Content-Type") != "image/gif" {
		t.Error(b)
	}
	for _, bad := range []string{"a%0D%0ASet-Cookie:%20a", "a%00", "a%7F"} { // CVE-2020-10753
		s.refused(400, "InvalidArgument", request{method: "GET", target: "/pics/k?response-content-type=" + bad})
	}
	s.refused(403, "AccessDenied", request{method: "GET", target: "/pics/k?response-content-type=a", anonymous: true})
}

func TestDigestsAreVerified(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "old")
	md5Of := func(b string) string { m := md5.Sum([]byte(b)); return base64.StdEncoding.EncodeToString(m[:]) }
	for _, tc := range []struct{ name, value, code string }{
		{"Content-Md5", md5Of("other"), "BadDigest"},
		{"Content-Md5", "abc", "InvalidDigest"},
		{"Content-Md5", "", "InvalidDigest"},
		{"x-amz-checksum-crc32", "AAAAAA==", "BadDigest"},
		{"x-amz-checksum-crc32c", "AAAAAA==", "BadDigest"},
		{"x-amz-checksum-crc64nvme", "AAAAAAAAAAA=", "BadDigest"},
		{"x-amz-checksum-sha1", "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "BadDigest"},
		{"x-amz-checksum-sha256", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "BadDigest"},
		{"x-amz-checksum-crc32", "AAAA", "InvalidRequest"},
		{"x-amz-checksum-sha256", "%", "InvalidRequest"},
		{"x-amz-checksum-xxhash64", "AAAA", "InvalidRequest"},
	} {
		s.refused(400, tc.code, request{method: "PUT", target: "/pics/k", body: "new", header: map[string]string{tc.name: tc.value}})
	}
	two := map[string]string{"x-amz-checksum-crc32": "AAAAAA==", "x-amz-checksum-crc32c": "AAAAAA=="}
	s.refused(400, "InvalidRequest", request{method: "PUT", target: "/pics/k", body: "new", header: two})
	for _, sum := range []string{strings.Repeat("0", 64), strings.Repeat("0", 63), strings.Repeat("A", 64), "sha"} {
		want := "InvalidArgument"
		if sum == strings.Repeat("0", 64) {
			want = "XAmzContentSHA256Mismatch"
		}
		s.refused(400, want, request{method: "PUT", target: "/pics/k", body: "new", payload: sum})
	}
	s.holds("/pics/k", "old")
	s.put("/pics/k", "new", "Content-Md5", md5Of("new"), "x-amz-checksum-crc32", "a+NERQ==")
}

func TestChecksumsAreReturned(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	put := s.put("/pics/k", "hello", "x-amz-checksum-crc32", "NhCmhg==")
	if put.header.Get("X-Amz-Checksum-Crc32") != "NhCmhg==" || put.header.Get("X-Amz-Checksum-Type") != "FULL_OBJECT" {
		t.Error(put.header)
	}
	s.put("/pics/default", "hello")
	for _, method := range []string{"GET", "HEAD"} {
		a := s.want(200, request{method: method, target: "/pics/k", header: map[string]string{"x-amz-checksum-mode": "ENABLED"}})
		if a.header.Get("X-Amz-Checksum-Crc32") != "NhCmhg==" {
			t.Error(method, a.header)
		}
		a = s.want(200, request{method: method, target: "/pics/default", header: map[string]string{"x-amz-checksum-mode": "enabled"}})
		if a.header.Get("X-Amz-Checksum-Crc64nvme") == "" {
			t.Error(method, a.header)
		}
	}
	if a := s.get("/pics/k", "x-amz-checksum-mode", "ENABLED", "Range", "bytes=0-0"); a.header.Get("X-Amz-Checksum-Crc32") != "" {
		t.Error("a part of an object with the checksum of the whole")
	}
	if a := s.get("/pics/k"); a.header.Get("X-Amz-Checksum-Crc32") != "" {
		t.Error("a checksum that nobody asked for")
	}
	attrs := s.want(200, request{method: "GET", target: "/pics/k?attributes",
		header: map[string]string{"x-amz-object-attributes": "ETag,Checksum,ObjectSize,StorageClass,ObjectParts"}})
	for _, want := range []string{"<ChecksumCRC32>NhCmhg==<", "<ObjectSize>5<", strings.Trim(etagOf("hello"), `"`), "STANDARD"} {
		if !strings.Contains(attrs.body, want) {
			t.Errorf("no %s in %s", want, attrs.body)
		}
	}
}
