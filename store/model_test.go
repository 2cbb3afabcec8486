package store_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"larder/fault"
	"larder/store"
)

// model is what a store should hold, as simply as it can be said.
type model struct {
	buckets map[string]map[string]string // contents by bucket and key
	uploads []*modelUpload               // in progress
	done    []*modelUpload               // completed or aborted
}

type modelUpload struct {
	store.Upload
	parts map[int]string
	etags map[int]string
}

// machine runs random changes against a store and the model.
type machine struct {
	t       *rapid.T
	tb      testing.TB
	dir     string
	s       *store.Store
	model   model
	counter uint64
}

// TestAgainstTheModel is the whole store against a map: random changes with
// restarts, crashes and lost indexes between them.
func TestAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: rt, tb: t, dir: t.TempDir(), model: model{buckets: map[string]map[string]string{}}}
		m.open()
		defer func() { m.s.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"bucket": m.bucket, "put": m.put, "put again": m.put, "delete": m.remove, "copy": m.copy,
			"start": m.start, "part": m.part, "copy part": m.copyPart, "copy part again": m.copyPart,
			"complete": m.complete, "abort": m.abort, "restart": m.restart, "compact": m.compact,
		})
		m.compare()
		m.restart(rt)
		m.compare()
	})
}

func (m *machine) open() {
	s, err := store.Open(context.Background(), store.Config{Dir: m.dir, SegmentSize: 4 << 10, InlineLimit: 64, CacheRows: 3, CompactRate: -1})
	if err != nil {
		m.t.Fatal(err)
	}
	s.AllowSmallParts()
	m.s = s
}

// restart closes the store, or leaves it as a killed process would, and may
// lose the index.
func (m *machine) restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "crash") {
		m.dir = crash(m.tb, m.dir)
	}
	m.s.Close()
	if rapid.IntRange(0, 3).Draw(t, "index lost") == 0 {
		removeIndex(m.tb, m.dir)
	}
	m.open()
}

// compact rewrites one sealed segment, or all.
func (m *machine) compact(t *rapid.T) {
	n := len(m.s.Sealed())
	if n == 0 {
		t.Skip("nothing is sealed")
	}
	var err error
	if rapid.Bool().Draw(t, "all") {
		err = m.s.CompactRuns(context.Background(), rapid.IntRange(1, n).Draw(t, "run"))
	} else {
		err = m.s.CompactAt(context.Background(), rapid.IntRange(0, n-1).Draw(t, "segment"))
	}
	m.want(err, fault.OK)
	m.s.Settle() // a crash copies the folder at a moment of no changes
}

func (m *machine) want(err error, code fault.Code) bool {
	if fault.CodeOf(err) != code {
		m.t.Fatalf("got %v, want %v", err, code)
	}
	return code == fault.OK
}

func (m *machine) body(t *rapid.T) string {
	m.counter++
	return string(noise(m.counter, rapid.SampledFrom([]int{0, 1, 64, 65, 300}).Draw(t, "size")))
}

func drawBucket(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"one", "two"}).Draw(t, label)
}

func drawKey(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, label)
}

// code is what a change that needs only its bucket answers.
func (m *machine) code(bucket string) fault.Code {
	if m.model.buckets[bucket] == nil {
		return fault.NoSuchBucket
	}
	return fault.OK
}

func (m *machine) bucket(t *rapid.T) {
	name := drawBucket(t, "bucket")
	objects, there := m.model.buckets[name]
	if !there {
		_, err := m.s.CreateBucket(context.Background(), name)
		m.want(err, fault.OK)
		m.model.buckets[name] = map[string]string{}
		return
	}
	code := fault.OK
	busy := slices.ContainsFunc(m.model.uploads, func(u *modelUpload) bool { return u.Bucket == name })
	if len(objects) > 0 || busy {
		code = fault.BucketNotEmpty
	}
	if m.want(m.s.DeleteBucket(context.Background(), name), code) {
		delete(m.model.buckets, name)
	}
}

func (m *machine) put(t *rapid.T) {
	bucket, key, body := drawBucket(t, "bucket"), drawKey(t, "key"), m.body(t)
	req := store.PutRequest{Bucket: bucket, Key: key, Body: bytes.NewReader([]byte(body)), Size: int64(len(body))}
	code := m.code(bucket)
	old, there := m.model.buckets[bucket][key]
	switch rapid.IntRange(0, 3).Draw(t, "condition") {
	case 0:
		req.Cond.IfNoneMatch = true
		if code == fault.OK && there {
			code = fault.Precondition
		}
	case 1:
		req.Cond.IfMatch = etag([]byte(old))
		if code == fault.OK && !there {
			code = fault.NoSuchKey
		}
		if there && m.headETag(bucket, key) != req.Cond.IfMatch { // made of parts
			code = fault.Precondition
		}
	}
	_, err := m.s.Put(context.Background(), req)
	if m.want(err, code) {
		m.model.buckets[bucket][key] = body
	}
}

func (m *machine) headETag(bucket, key string) string {
	info, err := m.s.Head(context.Background(), bucket, key)
	m.want(err, fault.OK)
	return info.ETag
}

func (m *machine) remove(t *rapid.T) {
	bucket, key := drawBucket(t, "bucket"), drawKey(t, "key")
	err := m.s.Delete(context.Background(), store.DeleteRequest{Bucket: bucket, Key: key})
	if m.want(err, m.code(bucket)) {
		delete(m.model.buckets[bucket], key)
	}
}

// source draws an object that may not be there.
func (m *machine) source(t *rapid.T) (bucket, key, body string, code fault.Code) {
	bucket, key = drawBucket(t, "source bucket"), drawKey(t, "source key")
	body, there := m.model.buckets[bucket][key]
	code = m.code(bucket)
	if code == fault.OK && !there {
		code = fault.NoSuchKey
	}
	return bucket, key, body, code
}

func (m *machine) copy(t *rapid.T) {
	from, source, body, code := m.source(t)
	bucket, key := drawBucket(t, "bucket"), drawKey(t, "key")
	if code == fault.OK {
		code = m.code(bucket)
	}
	_, err := m.s.Copy(context.Background(), store.CopyRequest{
		SourceBucket: from, SourceKey: source, Bucket: bucket, Key: key,
		Checksum: rapid.SampledFrom([]store.Algorithm{store.NoChecksum, store.SHA1}).Draw(t, "checksum"),
	})
	if m.want(err, code) {
		m.model.buckets[bucket][key] = body
	}
}

func (m *machine) start(t *rapid.T) {
	bucket, key := drawBucket(t, "bucket"), drawKey(t, "key")
	u, err := m.s.CreateUpload(context.Background(), store.UploadRequest{Bucket: bucket, Key: key})
	if m.want(err, m.code(bucket)) {
		m.model.uploads = append(m.model.uploads, &modelUpload{Upload: u, parts: map[int]string{}, etags: map[int]string{}})
	}
}

// drawUpload draws an upload in progress, or skips.
func (m *machine) drawUpload(t *rapid.T) (*modelUpload, int) {
	if len(m.model.uploads) == 0 {
		t.Skip("no upload")
	}
	i := rapid.IntRange(0, len(m.model.uploads)-1).Draw(t, "upload")
	return m.model.uploads[i], i
}

func (m *machine) part(t *rapid.T) {
	u, _ := m.drawUpload(t)
	n, body := rapid.IntRange(1, 4).Draw(t, "number"), m.body(t)
	p, err := m.s.PutPart(context.Background(), store.PartRequest{
		Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: n, Body: bytes.NewReader([]byte(body)), Size: -1,
	})
	m.want(err, fault.OK)
	u.parts[n], u.etags[n] = body, p.ETag
}

func (m *machine) copyPart(t *rapid.T) {
	u, _ := m.drawUpload(t)
	from, source, body, code := m.source(t)
	n := rapid.IntRange(1, 4).Draw(t, "number")
	off := rapid.IntRange(0, len(body)).Draw(t, "offset")
	length := rapid.IntRange(0, len(body)-off).Draw(t, "length")
	if rapid.Bool().Draw(t, "whole") {
		off, length = 0, len(body)
	}
	if code == fault.OK && length == 0 && len(body) > 0 {
		code = fault.InvalidRange
	}
	p, err := m.s.CopyPart(context.Background(), store.CopyPartRequest{
		Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: n,
		SourceBucket: from, SourceKey: source, Offset: int64(off), Length: int64(length),
	})
	if m.want(err, code) {
		u.parts[n], u.etags[n] = body[off:off+length], p.ETag
	}
}

// complete lists some of the parts. It may be asked again later.
func (m *machine) complete(t *rapid.T) {
	u, i := m.drawUpload(t)
	req := store.CompleteRequest{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Size: -1}
	body := ""
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		if rapid.IntRange(0, 2).Draw(t, fmt.Sprint("part", n)) > 0 {
			req.Parts = append(req.Parts, store.CompletePart{Number: n, ETag: u.etags[n]})
			body += u.parts[n]
		}
	}
	code := fault.OK
	if len(req.Parts) == 0 {
		code = fault.InvalidArgument
	}
	info, err := m.s.CompleteUpload(context.Background(), req)
	if !m.want(err, code) {
		return
	}
	m.end(i)
	m.model.buckets[u.Bucket][u.Key] = body
	again, err := m.s.CompleteUpload(context.Background(), req)
	if m.want(err, fault.OK) && again.Sequence != info.Sequence {
		t.Fatal("a repeated Complete made another object")
	}
}

func (m *machine) abort(t *rapid.T) {
	u, i := m.drawUpload(t)
	m.want(m.s.AbortUpload(context.Background(), u.Bucket, u.Key, u.ID), fault.OK)
	m.end(i)
	m.want(m.s.AbortUpload(context.Background(), u.Bucket, u.Key, u.ID), fault.NoSuchUpload)
}

func (m *machine) end(i int) {
	m.model.done = append(m.model.done, m.model.uploads[i])
	m.model.uploads = slices.Delete(m.model.uploads, i, i+1)
}

// compare reads the whole store.
func (m *machine) compare() {
	ctx := context.Background()
	buckets, err := m.s.Buckets(ctx)
	m.want(err, fault.OK)
	if len(buckets) != len(m.model.buckets) {
		m.t.Fatalf("%d buckets, want %d", len(buckets), len(m.model.buckets))
	}
	for name, objects := range m.model.buckets {
		got := map[string]string{}
		for _, info := range list(m.t, m.s, name) {
			got[info.Key] = string(read(m.t, m.s, name, info.Key))
		}
		if !maps.Equal(got, objects) {
			m.t.Fatalf("bucket %s holds %q, want %q", name, got, objects)
		}
	}
	for _, u := range m.model.uploads {
		page, err := m.s.ListParts(ctx, u.Bucket, u.Key, u.ID, 0, 1000)
		if m.want(err, fault.OK) && len(page.Parts) != len(u.parts) {
			m.t.Fatalf("an upload has %d parts, want %d", len(page.Parts), len(u.parts))
		}
	}
	for _, u := range m.model.done {
		_, err := m.s.Upload(ctx, u.Bucket, u.Key, u.ID)
		if err == nil {
			m.t.Fatal("an upload that ended is back")
		}
	}
	check(m.t, m.s)
}
