package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"larder/auth"
	"larder/client"
	"larder/fault"
	"larder/store"
)

// must returns a function that gives a call's result, or ends the test on its
// error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// refused holds that an error has a code.
func refused(t testing.TB, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, not %v", what, err, code)
	}
}

// TestServer uses every call against a real server, plain and over TLS.
func TestServer(t *testing.T) {
	t.Parallel()
	for name, overTLS := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startStack(t, overTLS)
			c := s.connect(t)
			must(c.CreateBucket(within(t), "box"))(t)
			t.Run("buckets", func(t *testing.T) { buckets(t, s, c) })
			t.Run("objects", func(t *testing.T) { objects(t, c) })
			t.Run("conditions", func(t *testing.T) { conditions(t, c) })
			t.Run("lists", func(t *testing.T) { lists(t, c) })
			t.Run("uploads", func(t *testing.T) { uploads(t, c) })
			t.Run("watch", func(t *testing.T) { watch(t, s, c) })
		})
	}
}

func buckets(t *testing.T, s *stack, c *client.Client) {
	ctx := within(t)
	if took := must(c.Ping(ctx))(t); took <= 0 {
		t.Errorf("a PING took %v", took)
	}
	if info := must(c.Info(ctx))(t); info.Version != "test" || info.Store != s.store.ID() || info.ReadOnly {
		t.Errorf("%+v", info)
	}
	if b := must(c.CreateBucket(ctx, "other"))(t); b.Name != "other" || b.Created.IsZero() {
		t.Errorf("%+v", b)
	}
	_, err := c.CreateBucket(ctx, "other")
	refused(t, "a bucket that is there", err, fault.BucketExists)
	_, err = c.CreateBucket(ctx, "No Name")
	refused(t, "a name that is none", err, fault.InvalidBucketName)
	var names []string
	for _, b := range must(c.Buckets(ctx))(t) {
		names = append(names, b.Name)
	}
	if !slices.Equal(names, []string{"box", "other"}) {
		t.Errorf("%q", names)
	}
	must(c.Put(ctx, "other", "k", bytes.NewReader(noise(10)), nil))(t)
	if b := must(c.HeadBucket(ctx, "other"))(t); b.Objects != 1 || b.Bytes != 10 {
		t.Errorf("%+v", b)
	}
	refused(t, "a bucket that is not empty", c.DeleteBucket(ctx, "other"), fault.BucketNotEmpty)
	if err := c.Delete(ctx, "other", "k", nil); err != nil {
		t.Error(err)
	}
	if err := c.DeleteBucket(ctx, "other"); err != nil {
		t.Error(err)
	}
	_, err = c.HeadBucket(ctx, "other")
	refused(t, "a bucket that is gone", err, fault.NoSuchBucket)

	id, secret, err := s.newKey(auth.Grant{Bucket: "box", Prefix: "open/", Rights: auth.Read})
	if err != nil {
		t.Fatal(err)
	}
	guest := s.connect(t, func(cfg *client.Config) { cfg.KeyID, cfg.Secret = id, secret })
	_, err = guest.CreateBucket(ctx, "mine")
	refused(t, "what the key may not", err, fault.Denied)
	stranger := s.connect(t, func(cfg *client.Config) { cfg.Secret = "guessed" })
	if _, err = stranger.Info(ctx); fault.CodeOf(err) != fault.BadSignature {
		t.Errorf("a wrong secret: %v", err)
	}
}

func objects(t *testing.T, c *client.Client) {
	ctx := within(t)
	meta := client.Meta{User: map[string]string{"colour": "red"}, Tags: map[string]string{"project": "p 1"}}
	meta.ContentType, meta.CacheControl = "image/png", "no-store"
	for _, size := range []int{0, 1, 5000, 100_000, 128<<10 + 1, 3 << 20} {
		body, key := noise(size), fmt.Sprint("object/", size)
		put := must(c.Put(ctx, "box", key, bytes.NewReader(body), &client.PutOptions{Meta: meta}))(t)
		if o := must(c.Head(ctx, "box", key, nil))(t); o.ETag != put.ETag || o.Size != int64(size) || o.Sequence != put.Sequence ||
			o.Meta.User["colour"] != "red" || o.Meta.Tags["project"] != "p 1" || o.Meta.ContentType != "image/png" ||
			o.Meta.CacheControl != "no-store" || o.Modified.IsZero() {
			t.Errorf("%+v", o)
		}
		r := must(c.Get(ctx, "box", key, nil))(t)
		if got := must(io.ReadAll(r))(t); !bytes.Equal(got, body) || r.Info().ETag != put.ETag {
			t.Errorf("%d bytes: others came back", size)
		}
		_ = r.Close()
		if size > 0 {
			ranges(t, c, key, body)
		}
	}
	o := must(c.Copy(ctx, "box", "copy", client.Source{Bucket: "box", Key: "object/5000"}, nil))(t)
	if o.Size != 5000 || must(c.Head(ctx, "box", "copy", nil))(t).Meta.User["colour"] != "red" {
		t.Errorf("%+v", o)
	}
	skipped := must(c.Put(ctx, "box", "skipped", bytes.NewReader(noise(9)), &client.PutOptions{SkipMD5: true, SkipSHA256: true}))(t)
	if len(skipped.ETag) < 3 || skipped.ETag[len(skipped.ETag)-2:] != "-0" {
		t.Errorf("the ETag without MD5 is %q", skipped.ETag)
	}
	results := must(c.DeleteMany(ctx, "box", []client.DeleteEntry{{Key: "copy"}, {Key: "skipped", IfMatch: "other"}, {Key: "no such"}}))(t)
	if results[0].Code != fault.OK || results[1].Code != fault.Precondition || results[2].Code != fault.OK {
		t.Errorf("%+v", results)
	}
	_, err := c.Get(ctx, "box", "copy", nil)
	refused(t, "an object that is gone", err, fault.NoSuchKey)
	_, err = c.Put(ctx, "box", "bad", bytes.NewReader(nil), &client.PutOptions{Size: 10 << 40})
	if fault.CodeOf(err) == fault.OK {
		t.Error("a body that is too large and too short was stored")
	}
}

// ranges reads parts of an object.
func ranges(t *testing.T, c *client.Client, key string, body []byte) {
	t.Helper()
	n := int64(len(body))
	for _, x := range []struct {
		part     client.Range
		from, to int64
	}{
		{client.From(n / 3), n / 3, n}, {client.Span(n/4, n/2), n / 4, n/4 + n/2},
		{client.Span(n-1, 100), n - 1, n}, {client.Suffix(n/2 + 1), n - n/2 - 1, n}, {client.Suffix(2 * n), 0, n},
	} {
		if x.from == x.to {
			continue
		}
		r := must(c.Get(within(t), "box", key, &client.GetOptions{Range: x.part}))(t)
		var got bytes.Buffer
		if _, err := r.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), body[x.from:x.to]) || r.Offset() != x.from {
			t.Errorf("%s %+v: %d bytes at %d, %v", key, x.part, got.Len(), r.Offset(), err)
		}
	}
	_, err := c.Get(within(t), "box", key, &client.GetOptions{Range: client.From(n)})
	refused(t, "a range behind the end", err, fault.InvalidRange)
}

func conditions(t *testing.T, c *client.Client) {
	ctx := within(t)
	body := func() io.Reader { return bytes.NewReader(noise(200_000)) }
	first := must(c.Put(ctx, "box", "cond", body(), &client.PutOptions{IfAbsent: true}))(t)
	_, err := c.Put(ctx, "box", "cond", body(), &client.PutOptions{IfAbsent: true})
	refused(t, "a key that is taken", err, fault.Precondition)
	_, err = c.Put(ctx, "box", "cond", body(), &client.PutOptions{IfMatch: "other"})
	refused(t, "another ETag", err, fault.Precondition)
	must(c.Put(ctx, "box", "cond", body(), &client.PutOptions{IfMatch: first.ETag}))(t)
	must(c.Put(ctx, "box", "cond", body(), &client.PutOptions{IfMatch: client.Any}))(t)

	_, err = c.Head(ctx, "box", "cond", &client.ReadOptions{IfNoneMatch: []string{first.ETag}})
	refused(t, "the same ETag", err, fault.NotModified)
	_, err = c.Get(ctx, "box", "cond", &client.GetOptions{ReadOptions: client.ReadOptions{IfMatch: []string{"other"}}})
	refused(t, "another ETag", err, fault.Precondition)
	must(c.Head(ctx, "box", "cond", &client.ReadOptions{IfMatch: []string{"other", first.ETag}}))(t)
	refused(t, "another ETag", c.Delete(ctx, "box", "cond", &client.DeleteOptions{IfMatch: "other"}), fault.Precondition)
	if err := c.Delete(ctx, "box", "cond", &client.DeleteOptions{IfMatch: first.ETag}); err != nil {
		t.Error(err)
	}
}

func lists(t *testing.T, c *client.Client) {
	ctx := within(t)
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("list/%02d", i)
		must(c.Put(ctx, "box", key, bytes.NewReader(noise(i)), nil))(t)
		want = append(want, key)
	}
	must(c.Put(ctx, "box", "list/07/deeper", nil, nil))(t)
	var got, folded []string
	for e, err := range c.List(ctx, "box", client.ListOptions{Prefix: "list/", Max: 4, Delimiter: "/"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Prefix != "" {
			folded = append(folded, e.Prefix)
			continue
		}
		got = append(got, e.Key)
	}
	if !slices.Equal(got, want) || !slices.Equal(folded, []string{"list/07/"}) {
		t.Errorf("%q %q", got, folded)
	}
	page := must(c.ListPage(ctx, "box", client.ListOptions{Prefix: "list/", After: "list/20", Max: 3}))(t)
	if len(page.Objects) != 3 || page.Objects[0].Key != "list/21" || page.Next == "" {
		t.Errorf("%+v", page)
	}
	for _, err := range c.List(ctx, "no-such", client.ListOptions{}) {
		refused(t, "a bucket that is not there", err, fault.NoSuchBucket)
	}
}

func uploads(t *testing.T, c *client.Client) {
	ctx := within(t)
	id := must(c.CreateUpload(ctx, "box", "parts", &client.UploadOptions{Checksum: client.CRC32C}))(t)
	body := noise(12 << 20)
	var parts []client.CompletePart
	for i := range 2 {
		p := must(c.PutPart(ctx, "box", "parts", id, i+1, bytes.NewReader(body[i*6<<20:(i+1)*6<<20]), nil))(t)
		if p.Number != i+1 || p.Size != 6<<20 || p.ETag == "" {
			t.Errorf("%+v", p)
		}
		parts = append(parts, client.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	must(c.Put(ctx, "box", "source", bytes.NewReader(noise(1000)), nil))(t)
	p := must(c.CopyPart(ctx, "box", "parts", id, 3, client.Source{Bucket: "box", Key: "source"}, client.Span(100, 50)))(t)
	parts = append(parts, client.CompletePart{Number: 3, ETag: p.ETag})
	var numbers []int
	for p, err := range c.Parts(ctx, "box", "parts", id) {
		numbers = append(numbers, p.Number)
		if err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(numbers, []int{1, 2, 3}) {
		t.Errorf("%v", numbers)
	}
	_, err := c.CompleteUpload(ctx, "box", "parts", id, []client.CompletePart{{Number: 1, ETag: "other"}}, nil)
	refused(t, "a part with another ETag", err, fault.InvalidPart)
	o := must(c.CompleteUpload(ctx, "box", "parts", id, parts, nil))(t)
	if again := must(c.CompleteUpload(ctx, "box", "parts", id, parts, nil))(t); again.ETag != o.ETag {
		t.Errorf("done again it is %+v", again)
	}
	want := append(bytes.Clone(body), noise(1000)[100:150]...)
	r := must(c.Get(ctx, "box", "parts", nil))(t)
	if got := must(io.ReadAll(r))(t); !bytes.Equal(got, want) || len(r.Info().PartSizes) != 3 {
		t.Errorf("%d bytes, of parts of %v", len(got), r.Info().PartSizes)
	}
	other := must(c.CreateUpload(ctx, "box", "given up", nil))(t)
	var open []string
	for u, err := range c.Uploads(ctx, "box", "given") {
		if err != nil {
			t.Error(err)
		}
		open = append(open, u.Key+u.ID)
	}
	if !slices.Equal(open, []string{"given up" + other}) {
		t.Errorf("%q", open)
	}
	if err := c.AbortUpload(ctx, "box", "given up", other); err != nil {
		t.Error(err)
	}
	_, err = c.PutPart(ctx, "box", "given up", other, 1, bytes.NewReader(noise(10)), nil)
	refused(t, "an upload that was given up", err, fault.NoSuchUpload)
}

// watch follows the changes of a writer over restarts of the server, and
// compares what it was told with what is there.
func watch(t *testing.T, s *stack, c *client.Client) {
	ctx := within(t)
	w := must(c.Watch(ctx, "box", "watched/", 0))(t)
	defer w.Close()
	other := s.connect(t)
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 300 {
			key := fmt.Sprintf("watched/%03d", i%50)
			if i == 100 || i == 200 {
				s.restart(t)
			}
			if i%3 == 2 {
				if err := other.Delete(ctx, "box", key, nil); err != nil {
					t.Error(err)
				}
				continue
			}
			if _, err := other.Put(ctx, "box", key, bytes.NewReader(noise(i)), nil); err != nil {
				t.Error(err)
			}
		}
		if _, err := other.Put(ctx, "box", "watched/end", nil, nil); err != nil {
			t.Error(err)
		}
	})
	there, last := map[string]bool{}, uint64(0)
	for !there["watched/end"] {
		e := must(w.Next(ctx))(t)
		if e.Gap || e.Sequence <= last {
			t.Errorf("%+v behind %d", e, last)
		}
		last = e.Sequence
		there[e.Key] = e.Kind == client.Stored
	}
	writing.Wait()
	for e, err := range c.List(ctx, "box", client.ListOptions{Prefix: "watched/"}) {
		if err != nil || !there[e.Key] {
			t.Errorf("%s was not told, %v", e.Key, err)
		}
		delete(there, e.Key)
	}
	for key, is := range there {
		if is {
			t.Errorf("%s is not there", key)
		}
	}
}

// TestNumbersOfChecksums holds that the numbers are those of package store.
func TestNumbersOfChecksums(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[client.Algorithm]store.Algorithm{
		client.DefaultChecksum: store.NoChecksum, client.CRC32: store.CRC32, client.CRC32C: store.CRC32C,
		client.CRC64NVME: store.CRC64NVME, client.SHA1: store.SHA1, client.SHA256: store.SHA256,
	} {
		if uint8(ours) != uint8(theirs) {
			t.Errorf("%d is %d", ours, theirs)
		}
	}
}

// TestCrowd lets many goroutines put, read and delete at once, over few
// connections, some of them giving up in between.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s := startStack(t, false)
	c := s.connect(t)
	must(c.CreateBucket(within(t), "box"))(t)
	var running sync.WaitGroup
	for i := range 150 {
		running.Go(func() {
			for round := range 4 {
				crowd(t, c, i, round)
			}
		})
	}
	running.Wait()
	eventually(t, "nothing is in flight", func() bool { return c.InFlight() == 0 })
	if n := c.Connections(); n > 4 {
		t.Errorf("%d connections", n)
	}
}

func crowd(t *testing.T, c *client.Client, i, round int) {
	ctx := within(t)
	body, key := noise((i*7919+round*104729)%150_000), fmt.Sprintf("%d", i)
	if i%10 == 9 {
		half, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
		if _, err := c.Put(half, "box", key, bytes.NewReader(body), nil); err != nil && fault.CodeOf(err) != fault.Canceled {
			t.Errorf("%v", err)
		}
		return
	}
	if _, err := c.Put(ctx, "box", key, bytes.NewReader(body), nil); err != nil {
		t.Error(err)
		return
	}
	r, err := c.Get(ctx, "box", key, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if i%10 == 8 { // not read to its end
		_, _ = io.ReadFull(r, make([]byte, 10))
		_ = r.Close()
		return
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%s: %d bytes of %d, %v", key, len(got), len(body), err)
	}
	if err := c.Delete(ctx, "box", key, nil); err != nil {
		t.Error(err)
	}
}
