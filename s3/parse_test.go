package s3_test

import (
	"encoding/xml"
	"math"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"larder/s3"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	domains := []string{"s3.nas", "nas", "port.example:9000"}
	for _, tc := range []struct{ host, path, bucket, key string }{
		{"nas:9000", "/", "", ""},
		{"1.2.3.4", "/photos", "photos", ""},
		{"1.2.3.4", "/photos/", "photos", ""},
		{"1.2.3.4", "/photos/a", "photos", "a"},
		{"1.2.3.4", "/photos//a", "photos", "/a"},
		{"1.2.3.4", "/photos/a//b/./../c", "photos", "a//b/./../c"},
		{"1.2.3.4", "/photos/../other/k", "photos", "../other/k"},
		{"1.2.3.4", "/photos/%2e%2e/other/k", "photos", "../other/k"},
		{"1.2.3.4", "/photos/%2e%2e%2fother", "photos", "../other"},
		{"1.2.3.4", "/photos/..%5cother", "photos", `..\other`},
		{"1.2.3.4", "/photos/a+b%20c%2B", "photos", "a+b c+"},
		{"1.2.3.4", "/photos/%C3%BC", "photos", "ü"},
		{"1.2.3.4", "/photos/.", "photos", "."},
		{"photos.s3.nas", "/a/b", "photos", "a/b"},
		{"PHOTOS.S3.NAS:9000", "/a", "photos", "a"},
		{"photos.nas:80", "/", "photos", ""},
		{"a.b.s3.nas", "/k", "a.b", "k"},
		{"s3.nas", "/photos/k", "photos", "k"},
		{"b.port.example:9000", "/k", "b", "k"},
		{"b.port.example:9001", "/x/k", "x", "k"},
		{"notnas", "/photos/k", "photos", "k"},
	} {
		got, err := s3.ParseTarget(domains, tc.host, tc.path)
		if err != nil || got.Bucket != tc.bucket || got.Key != tc.key {
			t.Errorf("%s%s: %+v, %v", tc.host, tc.path, got, err)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	t.Parallel()
	for path, code := range map[string]string{
		"":                                    "InvalidURI",
		"*":                                   "InvalidURI",
		"//b/k":                               "InvalidBucketName",
		"/b%2Fc/k":                            "InvalidBucketName",
		"/b%00/k":                             "InvalidBucketName",
		"/b%0D%0A/k":                          "InvalidBucketName",
		"/" + strings.Repeat("b", 256) + "/k": "InvalidBucketName",
		"/b/%ff":                              "InvalidURI",
		"/b/\xff":                             "InvalidURI",
		"/b/a%00b":                            "InvalidURI",
		"/b/" + strings.Repeat("k", 1025):     "KeyTooLongError",
		"/b/" + strings.Repeat("k", 1023) + "%C3%BC": "KeyTooLongError",
		"/b/%zz": "InvalidURI",
	} {
		if _, err := s3.ParseTarget(nil, "h", path); err == nil || s3.ErrorCode(err) != code {
			t.Errorf("%.40q: %v, want %s", path, err, code)
		}
	}
	if got, err := s3.ParseTarget(nil, "h", "/b/"+strings.Repeat("k", 1024)); err != nil || len(got.Key) != 1024 {
		t.Error("1,024 bytes are allowed:", err)
	}
}

// Ranges as AWS reads them, and floods of them.
func TestParseRange(t *testing.T) {
	t.Parallel()
	whole := s3.Span{N: 100}
	for header, want := range map[string]s3.Span{
		"bytes=0-9":                    {Off: 0, N: 10, Partial: true},
		"bytes=90-":                    {Off: 90, N: 10, Partial: true},
		"bytes=90-1000":                {Off: 90, N: 10, Partial: true},
		"bytes=0-9223372036854775808":  {Off: 0, N: 100, Partial: true},
		"bytes=-20":                    {Off: 80, N: 20, Partial: true},
		"bytes=-150":                   {Off: 0, N: 100, Partial: true},
		"bytes=33-10":                  whole,
		"bytes=x":                      whole,
		"bytes=":                       whole,
		"bytes=-":                      whole,
		"bytes=a-b":                    whole,
		"bytes=0x1-2":                  whole,
		"items=0-1":                    whole,
		"bytes=0-1,3-4":                whole,
		strings.Repeat("bytes=0-,", 9): whole,
	} {
		if got, err := s3.ParseRange(header, 100); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", header, got, err, want)
		}
	}
	for _, header := range []string{"bytes=100-", "bytes=200-", "bytes=-0", "bytes=9223372036854775808-"} {
		if _, err := s3.ParseRange(header, 100); s3.ErrorStatus(err) != 416 {
			t.Errorf("%q: %v", header, err)
		}
	}
	if got, err := s3.ParseRange("bytes=-5", 0); err != nil || got != (s3.Span{}) {
		t.Error("the end of an empty object:", got, err)
	}
	if _, err := s3.ParseRange("bytes=0-0", 0); s3.ErrorStatus(err) != 416 {
		t.Error("the begin of an empty object:", err)
	}
}

func TestParseCopyRange(t *testing.T) {
	t.Parallel()
	if off, n, err := s3.ParseCopyRange("bytes=5-9"); off != 5 || n != 5 || err != nil {
		t.Error(off, n, err)
	}
	if off, n, err := s3.ParseCopyRange(""); off != 0 || n != -1 || err != nil {
		t.Error(off, n, err)
	}
	for _, header := range []string{"bytes=5-", "bytes=-5", "bytes=9-5", "5-9", "bytes=a-b", "bytes=0-1,2-3", "bytes=0-9223372036854775808"} {
		if _, _, err := s3.ParseCopyRange(header); s3.ErrorCode(err) != "InvalidArgument" {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func TestParseCopySource(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][3]string{
		"/b/k":                     {"b", "k", ""},
		"b/k":                      {"b", "k", ""},
		"b/a/b/c":                  {"b", "a/b/c", ""},
		"b//a":                     {"b", "/a", ""},
		"b/a%2Fb%20c%2B+":          {"b", "a/b c+ ", ""},
		"%2Fb%2Fk":                 {"b", "k", ""},
		"b/%C3%BC":                 {"b", "ü", ""},
		"b/k?versionId=null":       {"b", "k", "null"},
		"b/k%3FversionId=1":        {"b", "k?versionId=1", ""},
		"b/../c/k":                 {"b", "../c/k", ""},
		"b/%2e%2e/c/k":             {"b", "../c/k", ""},
		"/b/k?versionId=abc%2Fdef": {"b", "k", "abc/def"},
	} {
		b, k, v, err := s3.ParseCopySource(header)
		if err != nil || [3]string{b, k, v} != want {
			t.Errorf("%q: %q %q %q, %v", header, b, k, v, err)
		}
	}
	for _, header := range []string{"", "/", "b", "b/", "/b/", "//k", "b/k?versionId=", "b/k?x=1", "?versionId=1",
		"b/%zz", "b/%ff", "b/a%00", "b%2Fc/k", "b/" + strings.Repeat("k", 1025), "b/k?%zz"} {
		_, _, _, err := s3.ParseCopySource(header)
		if status := s3.ErrorStatus(err); err == nil || status != 400 {
			t.Errorf("%.40q: %v", header, err)
		}
	}
}

// The alphabet of encoding-type=url.
func TestEncodeListed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a b.txt": "a+b.txt", "a+b.txt": "a%2Bb.txt", "100%.csv": "100%25.csv", "a/b": "a/b",
		"한": "%ED%95%9C", "a\nb": "a%0Ab", "*-_.": "*-_.", "~": "%7E",
	} {
		if got := s3.EncodeListed(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if back, err := url.QueryUnescape(s3.EncodeListed(in)); err != nil || back != in {
			t.Errorf("%q does not come back: %q, %v", in, back, err)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`<a href="x">&'`: `&lt;a href=&quot;x&quot;&gt;&amp;'`, "a\x01b": "a&#x1;b", "\r\n\t": "&#xd;&#xa;&#x9;",
		"ü€😀": "ü€😀", "\ufffe": "&#xfffe;", "\x85": "\ufffd", "a\u0085": "a&#x85;", "": "",
	} {
		if got := s3.Escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	token := s3.MakeToken("b\x00p\x00/", "p/ü")
	if after, ok := s3.OpenToken("b\x00p\x00/", token); !ok || after != "p/ü" {
		t.Fatal(after, ok)
	}
	for _, forged := range []string{"", "abc", "p/ü", token[1:], token + "AA", strings.ToLower(token), "AAAAAAA"} {
		if after, ok := s3.OpenToken("b\x00p\x00/", forged); ok {
			t.Errorf("%q opens as %q", forged, after)
		}
	}
	if _, ok := s3.OpenToken("b\x00p\x00", token); ok {
		t.Error("a token of another listing opens")
	}
}

// aws-chunked is framing and not an encoding of the object (versitygw#2398).
func TestStripChunked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"aws-chunked": "", "aws-chunked,gzip": "gzip", "gzip, aws-chunked": "gzip", "gzip": "gzip", "": "",
		"AWS-Chunked": "", "gzip, br": "gzip, br", "aws-chunked, gzip, br": "gzip,br",
	} {
		if got, _ := s3.StripChunked(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzRange(f *testing.F) {
	f.Add("bytes=0-9", int64(100))
	f.Add("bytes=-5", int64(0))
	f.Add("bytes=9223372036854775807-", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		p, err := s3.ParseRange(header, size)
		if err == nil && (p.Off < 0 || p.N < 0 || p.N > size || p.Off > size-p.N || p.Partial && p.N == 0) {
			t.Fatalf("%q of %d: %+v", header, size, p)
		}
	})
}

func FuzzCopySource(f *testing.F) {
	f.Add("/b/k?versionId=null")
	f.Add("%2Fb%2F%2F")
	f.Fuzz(func(t *testing.T, header string) {
		b, k, _, err := s3.ParseCopySource(header)
		if err != nil {
			return
		}
		if b == "" || k == "" || strings.Contains(b, "/") || len(k) > 1024 || !utf8.ValidString(k) || strings.Contains(k, "\x00") {
			t.Fatalf("%q: %q %q", header, b, k)
		}
	})
}

// FuzzEscape: what is written is read back, but for what XML cannot carry.
func FuzzEscape(f *testing.F) {
	f.Add("a<b>&\"'\r\n\t")
	f.Add("ü\x7f\x85")
	f.Fuzz(func(t *testing.T, s string) {
		out := s3.Escape(s)
		if strings.ContainsAny(out, "<>\"\r\n\x00") || !utf8.ValidString(out) {
			t.Fatalf("%q escapes to %q", s, out)
		}
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0xfffe && r <= 0xffff }) {
			return
		}
		var back struct {
			T string `xml:",chardata"`
		}
		if err := xml.Unmarshal([]byte("<a>"+out+"</a>"), &back); err != nil || back.T != s {
			t.Fatalf("%q comes back as %q, %v", s, back.T, err)
		}
	})
}
