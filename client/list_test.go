package client_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// pages answers lists of three pages.
func pages(p *peer) {
	for {
		r, stream := p.request()
		if r == nil {
			return
		}
		b, at := wire.BeginAnswer(nil, stream, true)
		switch r.Op {
		case wire.OpList:
			b = listPage(b, r)
		case wire.OpListUploads:
			b = uploadPage(b, r)
		case wire.OpListParts:
			b = partPage(b, r)
		default:
			b = wire.Bucket{Name: r.Bucket + "x", Objects: 3, Created: time.Unix(1, 0)}.Append(b)
		}
		p.send(wire.EndFrame(b, at))
	}
}

func listPage(b []byte, r *wire.Request) []byte {
	switch r.After {
	case "":
		b = wire.AppendPrefix(b, "b/")
		b = wire.AppendPrefix(b, "d/")
		b = wire.AppendEntry(b, &wire.Object{Key: "a", Size: 1})
		b = wire.AppendEntry(b, &wire.Object{Key: "c", Size: 2})
		return wire.AppendNext(b, "d/")
	case "d/":
		b = wire.AppendEntry(b, &wire.Object{Key: "e", Size: 3})
		return wire.AppendNext(b, "e")
	}
	return wire.AppendPrefix(b, fmt.Sprintf("%s %s %d", r.Prefix, r.Delimiter, r.Max))
}

func uploadPage(b []byte, r *wire.Request) []byte {
	switch r.After + r.AfterUpload {
	case "":
		b = wire.Upload{Key: "a", ID: "1"}.Append(b)
		return wire.AppendNextUpload(b, "a", "1")
	case "a1":
		return wire.Upload{Key: "a", ID: "2"}.Append(b)
	}
	return b
}

func partPage(b []byte, r *wire.Request) []byte {
	if r.AfterPart == 0 {
		b = wire.AppendPart(b, &wire.Part{Number: 5, ETag: "e"})
		return wire.AppendNextPart(b, 5)
	}
	return wire.AppendPart(b, &wire.Part{Number: r.AfterPart + 1})
}

// TestListGoesOn holds that a list fetches its pages by itself, in order, and
// stops when nobody wants more.
func TestListGoesOn(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), pages))
	var got []string
	for e, err := range c.List(within(t), "bucket", client.ListOptions{Prefix: "p", Delimiter: "/", Max: 9}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Key, e.Prefix, e.Size))
	}
	if want := []string{"a1", "b/0", "c2", "d/0", "e3", "p / 90"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	count := 0
	for range c.List(within(t), "bucket", client.ListOptions{}) {
		if count++; count == 2 {
			break
		}
	}
	var uploads, parts []string
	for u, err := range c.Uploads(within(t), "bucket", "") {
		uploads = append(uploads, fmt.Sprint(u.Key, u.ID, err))
	}
	for p, err := range c.Parts(within(t), "bucket", "key", "upload") {
		parts = append(parts, fmt.Sprint(p.Number, err))
	}
	if !slices.Equal(uploads, []string{"a1<nil>", "a2<nil>"}) || !slices.Equal(parts, []string{"5 <nil>", "6 <nil>"}) {
		t.Errorf("%q %q", uploads, parts)
	}
}

// TestListFails holds that an error is the last that a list gives.
func TestListFails(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		r, stream := p.request()
		b, at := wire.BeginAnswer(nil, stream, true)
		p.send(wire.EndFrame(listPage(b, r), at))
		_, stream = p.request()
		p.send(wire.AppendRefusal(nil, stream, fault.Denied, ""))
		p.request()
	}))
	var last error
	count := 0
	for _, err := range c.List(within(t), "bucket", client.ListOptions{}) {
		last = err
		count++
	}
	if count != 5 || fault.CodeOf(last) != fault.Denied {
		t.Errorf("%d entries, then %v", count, last)
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), pages))
	for name, call := range map[string]func() (client.Bucket, error){
		"create": func() (client.Bucket, error) { return c.CreateBucket(within(t), "b") },
		"head":   func() (client.Bucket, error) { return c.HeadBucket(within(t), "b") },
		"list": func() (client.Bucket, error) {
			list, err := c.Buckets(within(t))
			return list[0], err
		},
	} {
		b, err := call()
		if err != nil || b.Objects != 3 || b.Name != map[bool]string{true: "x", false: "bx"}[name == "list"] {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// TestRequestsSayAll holds what the calls without a body send.
func TestRequestsSayAll(t *testing.T) {
	t.Parallel()
	seen := make(chan *wire.Request, 1)
	c := connect(t, serve(t, offer(), func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			seen <- r
			p.send(wire.AppendRefusal(nil, stream, fault.Denied, ""))
		}
	}))
	ctx, now := within(t), time.Unix(1234567, 0).UTC()
	meta := client.Meta{User: map[string]string{"a": "b"}}
	from := client.Source{Bucket: "f", Key: "g", ETag: "h"}
	read := client.ReadOptions{IfMatch: []string{"m"}, IfNoneMatch: []string{"n", "o"}, ModifiedSince: now, UnmodifiedSince: now}
	cases := map[string]struct {
		do   func() error
		want wire.Request
	}{
		"Head": {func() error { _, err := c.Head(ctx, "b", "k", &read); return err },
			wire.Request{Op: wire.OpHead, IfMatch: []string{"m"}, IfNoneMatch: []string{"n", "o"}, ModifiedSince: now, UnmodifiedSince: now}},
		"Get": {func() error { _, err := c.Get(ctx, "b", "k", &client.GetOptions{ReadOptions: read}); return err },
			wire.Request{Op: wire.OpGet, IfMatch: []string{"m"}, IfNoneMatch: []string{"n", "o"}, ModifiedSince: now, UnmodifiedSince: now}},
		"Delete": {func() error { return c.Delete(ctx, "b", "k", &client.DeleteOptions{IfMatch: client.Any}) },
			wire.Request{Op: wire.OpDelete, IfMatch: []string{"*"}}},
		"Copy": {func() error {
			_, err := c.Copy(ctx, "b", "k", from, &client.CopyOptions{IfAbsent: true, IfMatch: "i", Meta: meta, ReplaceMeta: true, ReplaceTags: true})
			return err
		}, wire.Request{Op: wire.OpCopy, Source: from, IfAbsent: true, IfMatch: []string{"i"}, Meta: meta, ReplaceMeta: true, ReplaceTags: true}},
		"CreateUpload": {func() error {
			_, err := c.CreateUpload(ctx, "b", "k", &client.UploadOptions{Meta: meta, Checksum: client.SHA256})
			return err
		}, wire.Request{Op: wire.OpCreateUpload, Meta: meta, Algorithm: 5}},
		"CopyPart": {func() error { _, err := c.CopyPart(ctx, "b", "k", "u", 3, from, client.Span(1, 2)); return err },
			wire.Request{Op: wire.OpCopyPart, Upload: "u", Part: 3, Source: from, Range: client.Span(1, 2)}},
		"CompleteUpload": {func() error {
			_, err := c.CompleteUpload(ctx, "b", "k", "u", []client.CompletePart{{Number: 1, ETag: "e"}}, &client.CompleteOptions{IfAbsent: true})
			return err
		}, wire.Request{Op: wire.OpCompleteUpload, Upload: "u", Parts: []client.CompletePart{{Number: 1, ETag: "e"}}, IfAbsent: true}},
		"AbortUpload": {func() error { return c.AbortUpload(ctx, "b", "k", "u") }, wire.Request{Op: wire.OpAbortUpload, Upload: "u"}},
	}
	for name, x := range cases {
		if err := x.do(); fault.CodeOf(err) != fault.Denied || fault.ResourceOf(err) != "b/k" {
			t.Errorf("%s: %v", name, err)
		}
		x.want.Bucket, x.want.Key, x.want.Size = "b", "k", -1
		if got := <-seen; fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", x.want) {
			t.Errorf("%s asks\n%+v, not\n%+v", name, *got, x.want)
		}
	}
}

// TestDeleteMany holds that each key has its result.
func TestDeleteMany(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			b, at := wire.BeginAnswer(nil, stream, true)
			for _, d := range r.Deletes {
				x := wire.Result{}
				if d.IfMatch != "" {
					x = wire.Result{Code: fault.Precondition, Hint: d.IfMatch}
				}
				if d.Key != "lost" {
					b = x.Append(b)
				}
			}
			p.send(wire.EndFrame(b, at))
		}
	}))
	got, err := c.DeleteMany(within(t), "bucket", []client.DeleteEntry{{Key: "a"}, {Key: "b", IfMatch: "e"}})
	if err != nil || len(got) != 2 || got[0].Code != fault.OK || got[1] != (client.Result{Code: fault.Precondition, Hint: "e"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.DeleteMany(within(t), "bucket", []client.DeleteEntry{{Key: "lost"}}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a result is missing: %v", err)
	}
}
