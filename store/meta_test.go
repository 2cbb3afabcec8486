package store_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/fault"
	"larder/store"
)

func user(name, value string) store.Meta {
	return store.Meta{User: map[string]string{name: value}}
}

func tags(n int) store.Meta {
	m := store.Meta{Tags: map[string]string{}}
	for i := range n {
		m.Tags[fmt.Sprint(i)] = "v"
	}
	return m
}

func tag(name, value string) store.Meta {
	return store.Meta{Tags: map[string]string{name: value}}
}

// badMetadata is what no front end may store.
func badMetadata() map[string]store.Meta {
	return map[string]store.Meta{
		"upper case":       user("Mtime", "1"),
		"no name":          user("", "1"),
		"space in a name":  user("a b", "1"),
		"colon in a name":  user("a:b", "1"),
		"name beyond":      user("ä", "1"),
		"reserved":         user("x-larder-", "1"),
		"reserved name":    user("x-larder-mtime", "1"),
		"line in a value":  user("a", "b\r\nc: d"),
		"NUL in a value":   user("a", "\x00"),
		"DEL in a value":   user("a", "\x7f"),
		"value no UTF-8":   user("a", "\xff"),
		"too many tags":    tags(11),
		"no tag name":      tag("", "v"),
		"tag name long":    tag(strings.Repeat("ä", 129), "v"),
		"tag value long":   tag("t", strings.Repeat("ä", 257)),
		"tag no UTF-8":     tag("t", "\xff"),
		"tag name no":      tag("\xff", "v"),
		"type":             {Headers: store.Headers{ContentType: "a\n"}},
		"cache control":    {Headers: store.Headers{CacheControl: "a\x00"}},
		"disposition":      {Headers: store.Headers{ContentDisposition: "\x7f"}},
		"content encoding": {Headers: store.Headers{ContentEncoding: "\r"}},
		"language":         {Headers: store.Headers{ContentLanguage: "\x1b"}},
		"expires":          {Headers: store.Headers{Expires: "\n"}},
	}
}

// TestMetadataThatNoFrontEndMayStore holds the rules at every way in.
func TestMetadataThatNoFrontEndMayStore(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "source", nil)
	cases := badMetadata()
	cases["too large"] = user("name", strings.Repeat("v", 2045))
	for name, meta := range cases {
		want := fault.InvalidArgument
		if name == "too large" {
			want = fault.MetadataTooLarge
		}
		check := func(way string, err error) {
			if fault.CodeOf(err) != want || want == fault.InvalidArgument && fault.HintOf(err) == "" {
				t.Errorf("%s, %s: %v, want %v", name, way, err, want)
			}
		}
		_, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "k", Body: strings.NewReader(""), Meta: meta})
		check("put", err)
		_, err = s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: "source", Bucket: "bucket", Key: "k", Meta: &meta})
		check("copy", err)
		_, err = s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "k", Meta: meta})
		check("upload", err)
		if meta.Tags != nil {
			_, err = s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: "source", Bucket: "bucket", Key: "k", Tags: meta.Tags, ReplaceTags: true})
			check("tags of a copy", err)
		}
	}
	if n := len(list(t, s, "bucket")); n != 1 {
		t.Errorf("%d objects, want the source alone", n)
	}
}

// TestMetadataUpToItsLimits is stored and comes back as it was.
func TestMetadataUpToItsLimits(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	full := tags(10)
	full.Tags[strings.Repeat("ä", 128)] = strings.Repeat("ö", 256)
	delete(full.Tags, "0")
	for name, meta := range map[string]store.Meta{
		"none":        {},
		"full":        user("name", strings.Repeat("v", 2044)),
		"beyond":      user("a-b_c.d!#$%&'*+^`|~0", "tab\tand ünïcode, \u202e"),
		"empty value": user("a", ""),
		"near":        user("x-larder", "1"),
		"tags":        full,
		"empty tag":   tag("t", ""),
		"headers":     {Headers: store.Headers{ContentType: "text/plain; charset=\xfc", Expires: "never\t"}},
	} {
		if err := meta.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: name, Body: strings.NewReader(""), Meta: meta})
		wantCode(t, err, fault.OK)
		got, err := s.Head(t.Context(), "bucket", name)
		if err != nil || fmt.Sprintf("%q", got.Meta) != fmt.Sprintf("%q", meta) {
			t.Errorf("%s: %q came back, %v", name, got.Meta, err)
		}
	}
}
