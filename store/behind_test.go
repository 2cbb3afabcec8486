package store_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/fault"
	"larder/store"
)

// TestRetriesAfterAFullIndex makes every kind of change while the index has no
// room, so that its record is durable and not applied, and makes it again once
// there is room: the retry must be decided against what the first one did, and
// the store must come back from a crash and from a lost index.
func TestRetriesAfterAFullIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var u store.Upload
	var part store.Part
	var s *store.Store
	object := func() error {
		_, err := s.Put(ctx, store.PutRequest{Bucket: "bucket", Key: "new", Body: bytes.NewReader(noise(1, 300)), Size: 300, Cond: store.Condition{IfNoneMatch: true}})
		return err
	}
	kinds := map[string]struct {
		do    func() error
		again fault.Code
	}{
		"create bucket": {func() error { _, err := s.CreateBucket(ctx, "other"); return err }, fault.BucketExists},
		"delete bucket": {func() error { return s.DeleteBucket(ctx, "empty") }, fault.NoSuchBucket},
		"put":           {object, fault.Precondition},
		"delete":        {func() error { return s.Delete(ctx, store.DeleteRequest{Bucket: "bucket", Key: "k", IfMatch: "*"}) }, fault.NoSuchKey},
		"part":          {func() error { putPartAgain(s, u, &part); return nil }, fault.OK},
		"complete": {func() error {
			_, err := s.CompleteUpload(ctx, store.CompleteRequest{Bucket: "bucket", Key: "multi", UploadID: u.ID, Size: -1,
				Parts: []store.CompletePart{{Number: part.Number, ETag: part.ETag}}})
			return err
		}, fault.OK},
		"abort": {func() error { return s.AbortUpload(ctx, "bucket", "multi", u.ID) }, fault.NoSuchUpload},
	}
	for name, kind := range kinds {
		dir := t.TempDir()
		s = openSmall(t, dir)
		makeBucket(t, s, "bucket")
		makeBucket(t, s, "empty")
		put(t, s, "bucket", "k", noise(2, 300))
		u = startUpload(t, s, "bucket", "multi")
		part = putPart(t, s, u, 1, noise(3, 300))
		var full atomic.Bool
		s.FillIndex(&full)
		full.Store(true)
		if err := kind.do(); name != "part" && fault.CodeOf(err) != fault.NoSpace {
			t.Errorf("%s: %v", name, err)
		}
		cut := crash(t, dir)
		full.Store(false)
		if err := kind.do(); fault.CodeOf(err) != kind.again {
			t.Errorf("%s again: %v, want %v", name, err, kind.again)
		}
		if s.Stats().ReadOnly != "" {
			t.Errorf("%s: the store is read-only", name)
		}
		check(t, s)
		check(t, openSmall(t, cut))
		sameAfterwards(t, name, s, dir)
	}
}

func putPartAgain(s *store.Store, u store.Upload, part *store.Part) {
	p, err := s.PutPart(context.Background(), store.PartRequest{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: 1, Body: bytes.NewReader(noise(4, 200)), Size: 200})
	if err == nil {
		*part = p
	}
}

// sameAfterwards compares a store with what a crash leaves of it, with and
// without its index.
func sameAfterwards(t *testing.T, name string, s *store.Store, dir string) {
	t.Helper()
	want := state(t, s)
	killed, lost := crash(t, dir), crash(t, dir)
	removeIndex(t, lost)
	for _, d := range []string{killed, lost} {
		if got := state(t, openSmall(t, d)); got != want {
			t.Errorf("%s: came back as\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestNothingIsDecidedWhileTheIndexIsBehind lets a bucket go and puts into it
// before the index knows.
func TestNothingIsDecidedWhileTheIndexIsBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	var full atomic.Bool
	s.FillIndex(&full)
	full.Store(true)
	wantCode(t, s.DeleteBucket(t.Context(), "bucket"), fault.NoSpace)
	_, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "k", Body: bytes.NewReader(nil), Size: 0})
	wantCode(t, err, fault.NoSpace)
	full.Store(false)
	_, err = s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "k", Body: bytes.NewReader(nil), Size: 0})
	wantCode(t, err, fault.NoSuchBucket)
	makeBucket(t, s, "bucket")
	sameAfterwards(t, "bucket", s, dir)
}

// TestARecordOverItsLimitSpoilsNobody sends records that the journal refuses in
// one batch with others.
func TestARecordOverItsLimitSpoilsNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	huge := store.Meta{Headers: store.Headers{CacheControl: strings.Repeat("x", 5<<20)}}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			req := store.PutRequest{Bucket: "bucket", Key: fmt.Sprint(i), Size: -1, Body: bytes.NewReader(noise(1, 10*i))}
			want := fault.OK
			if i%4 == 0 {
				req.Meta, want = huge, fault.MetadataTooLarge
			}
			_, err := s.Put(context.Background(), req)
			wantCode(t, err, want)
		})
	}
	wg.Wait()
	if n := len(list(t, s, "bucket")); n != 30 || s.Stats().ReadOnly != "" {
		t.Errorf("%d objects of 30, %q", n, s.Stats().ReadOnly)
	}
	sameAfterwards(t, "huge", s, dir)
}

// TestASpoiledBatchKeepsItsOrder breaks a batch up in which the index has no room
// for the first of two puts of one key: the second comes behind it all the same.
func TestASpoiledBatchKeepsItsOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	w := watch(t, s, "bucket", "k", 0)
	begun, goOn := make(chan struct{}), make(chan struct{})
	var begins int
	s.LimitIndex(func() bool {
		begins++
		if begins == 1 {
			close(begun)
			<-goOn
		}
		return begins == 2 || begins == 3 // with and without the reserve
	})
	var puts sync.WaitGroup
	wait := func(n int, body string, meta store.Meta, want fault.Code) {
		puts.Go(func() {
			_, err := s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: "k", Body: strings.NewReader(body), Size: -1, Meta: meta})
			wantCode(t, err, want)
		})
		if n > 0 {
			eventually(t, "the put waits", func() bool { return s.Waiting() == n })
		}
	}
	wait(0, "before", store.Meta{}, fault.OK)
	<-begun
	wait(1, "huge", store.Meta{Headers: store.Headers{CacheControl: strings.Repeat("x", 5<<20)}}, fault.MetadataTooLarge)
	wait(2, "first", store.Meta{}, fault.NoSpace)
	wait(3, "second", store.Meta{}, fault.OK)
	close(goOn)
	puts.Wait()
	for range 2 {
		put(t, s, "bucket", "other", nil)
		if got := string(read(t, s, "bucket", "k")); got != "second" {
			t.Errorf("%s stands there, want what was stored last", got)
		}
	}
	for i := range uint64(3) {
		if c := next(t, w); c.Sequence != w.From()+1+i {
			t.Errorf("told of %+v as change %d behind %d", c, i+1, w.From())
		}
	}
	sameAfterwards(t, "spoiled", s, dir)
}
