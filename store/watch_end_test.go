package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/fault"
	"larder/store"
)

// waiting starts a Next and gives its error when it returns.
func waiting(ctx context.Context, w *store.Watch) <-chan error {
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := w.Next(ctx); err != nil {
				done <- err
				return
			}
		}
	}()
	return done
}

// TestAWatchEnds ends it in every way, with somebody waiting.
func TestAWatchEnds(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	makeBucket(t, s, "gone")

	closed := watch(t, s, "bucket", "", 0)
	byClose := waiting(t.Context(), closed)
	ctx, cancel := context.WithCancel(t.Context())
	byContext := waiting(ctx, watch(t, s, "bucket", "", 0))
	gone := watch(t, s, "gone", "prefix/", 0)
	byDelete := waiting(t.Context(), gone)
	open := watch(t, s, "bucket", "", 0)
	byStore := waiting(t.Context(), open)

	closed.Close()
	closed.Close()
	wantCode(t, <-byClose, fault.Canceled)
	cancel()
	wantCode(t, <-byContext, fault.Canceled)
	if err := s.DeleteBucket(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-byDelete, fault.NoSuchBucket)
	_, err := gone.Next(t.Context())
	wantCode(t, err, fault.NoSuchBucket)
	_, err = s.Watch("gone", "", 0)
	wantCode(t, err, fault.NoSuchBucket)

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-byStore, fault.Unavailable)
	_, err = open.Next(t.Context())
	wantCode(t, err, fault.Unavailable)
	_, err = s.Watch("bucket", "", 0)
	wantCode(t, err, fault.Unavailable)
}

// TestAWaitingWatchIsWoken ends watches that wait already.
func TestAWaitingWatchIsWoken(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	for round := range 10 {
		put(t, s, "bucket", "k", nil) // nobody waits
		w := watch(t, s, "bucket", "", 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := waiting(ctx, w)
		eventually(t, "somebody waits", s.Watched)
		end := w.Close
		if round%2 == 1 {
			end = cancel
		}
		end()
		select {
		case err := <-done:
			wantCode(t, err, fault.Canceled)
		case <-time.After(20 * time.Second):
			t.Fatal("it still waits")
		}
	}
}

// TestABucketMadeAgainIsAnotherOne deletes a bucket while it is watched and makes
// one of the same name.
func TestABucketMadeAgainIsAnotherOne(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	old := watch(t, s, "bucket", "", 0)
	seen := put(t, s, "bucket", "a", nil).Sequence
	remove(t, s, "bucket", "a")
	if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "b", nil)
	back := watch(t, s, "bucket", "", seen)
	if c := next(t, back); !c.Gap {
		t.Errorf("whoever knew the other bucket is told of %+v, want a gap", c)
	}
	quiet(t, s, back, "bucket", "c")
	for _, want := range []store.Change{{Sequence: seen, Key: "a"}, {Sequence: seen + 1, Key: "a", Removed: true}} {
		if c := next(t, old); c != want {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	_, err := old.Next(t.Context())
	wantCode(t, err, fault.NoSuchBucket)
}

// TestWatchersOfABucketThatComesAndGoes deletes buckets while watches of them
// begin: each of them ends.
func TestWatchersOfABucketThatComesAndGoes(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	var stop atomic.Bool
	var begun atomic.Int64
	var watchers sync.WaitGroup
	for range 3 {
		watchers.Go(func() {
			for !stop.Load() {
				w, err := s.Watch("bucket", "", uint64(begun.Load()%2))
				if fault.CodeOf(err) == fault.NoSuchBucket {
					continue
				}
				begun.Add(1)
				for err == nil {
					_, err = w.Next(context.Background())
				}
				wantCode(t, err, fault.NoSuchBucket)
				w.Close()
			}
		})
	}
	for round := 0; round < 30 || begun.Load() < 10; round++ {
		makeBucket(t, s, "bucket")
		put(t, s, "bucket", "a", nil)
		remove(t, s, "bucket", "a")
		if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	watchers.Wait()
}

// TestAWatchAcrossARestartMissesNothing goes on in a store that was closed or
// killed: whoever has seen less than everything before gets a gap.
func TestAWatchAcrossARestartMissesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	first := put(t, s, "bucket", "a", nil).Sequence
	upload(t, s, "bucket", "b", noise(1, 100))
	last := put(t, s, "bucket", "c", nil).Sequence
	killed := crash(t, dir)
	lost := crash(t, dir)
	removeIndex(t, lost)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"closed": dir, "killed": killed, "index lost": lost} {
		s := openSmall(t, folder)
		for from := first; from <= last+1; from++ {
			w := watch(t, s, "bucket", "", from)
			if from == last {
				if w.From() != last {
					t.Errorf("%s: begins at %d, want %d", name, w.From(), last)
				}
				quiet(t, s, watch(t, s, "bucket", "", last), "bucket", "first")
				if c := next(t, w); c.Gap || c.Key != "first" {
					t.Errorf("%s: %+v, want the first change since", name, c)
				}
				remove(t, s, "bucket", "first")
				continue
			}
			if c := next(t, w); from < last && !c.Gap {
				t.Errorf("%s: from %d: %+v, want a gap", name, from, c)
			}
		}
	}
}

// TestAWatchSeesWhatTheIndexGotLater keeps the index from having room: a change
// that is durable and not yet visible is told once it is, in its order.
func TestAWatchSeesWhatTheIndexGotLater(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	w := watch(t, s, "bucket", "", 0)
	var full atomic.Bool
	s.FillIndex(&full)
	full.Store(true)
	_, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "late", Body: strings.NewReader("")})
	wantCode(t, err, fault.NoSpace)
	full.Store(false)
	put(t, s, "bucket", "next", nil)
	for i, key := range []string{"late", "next"} {
		if c := next(t, w); c.Key != key || c.Sequence != w.From()+1+uint64(i) {
			t.Errorf("%+v, want %s", c, key)
		}
	}
}

// TestAWatchSeesNoInternalWork rewrites the journal, and changes what is no key.
func TestAWatchSeesNoInternalWork(t *testing.T) {
	t.Parallel()
	s := openManual(t, t.TempDir())
	makeBucket(t, s, "bucket")
	for i := range 300 {
		put(t, s, "bucket", fmt.Sprint(i%50), noise(uint64(i), 1000+i))
	}
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "parts"})
	if err != nil {
		t.Fatal(err)
	}
	putPart(t, s, u, 1, noise(1, 1000))
	w := watch(t, s, "bucket", "", 0)
	putPart(t, s, u, 2, noise(2, 1000))
	if err := s.AbortUpload(t.Context(), "bucket", "parts", u.ID); err != nil {
		t.Fatal(err)
	}
	if len(s.Sealed()) < 3 {
		t.Error("there is nothing to compact")
	}
	compactAll(t, s, 2)
	remove(t, s, "bucket", "never there")
	quiet(t, s, w, "bucket", "marker")
}

// TestOneChangeForEachKey tells of copies and completed uploads
// as of puts, and once of each key of a deletion of many.
func TestOneChangeForEachKey(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	w := watch(t, s, "bucket", "", 0)
	put(t, s, "bucket", "put", nil)
	if _, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: "put", Bucket: "bucket", Key: "copy"}); err != nil {
		t.Fatal(err)
	}
	upload(t, s, "bucket", "upload", noise(1, 10), noise(2, 10))
	for _, err := range s.DeleteMany(t.Context(), []store.DeleteRequest{
		{Bucket: "bucket", Key: "put"}, {Bucket: "bucket", Key: "none"}, {Bucket: "bucket", Key: "copy"}, {Bucket: "bucket", Key: "put"},
	}) {
		wantCode(t, err, fault.OK)
	}
	got := ""
	for range 5 {
		c := next(t, w)
		got += fmt.Sprintf("%s %v, ", c.Key, c.Removed)
	}
	if want := "put false, copy false, upload false, put true, copy true, "; got != want {
		t.Errorf("told of %s, want %s", got, want)
	}
	quiet(t, s, w, "bucket", "end")
}

// TestChangesAreRememberedWithinBounds counts what is kept, in number and in
// bytes, and what remembering costs.
func TestChangesAreRememberedWithinBounds(t *testing.T) {
	for keyBytes, least := range map[int]int{0: 65_536, 40: 65_536, store.MaxKeyBytes: 14_000} {
		changes, bytes := store.Remembered(200_000, keyBytes)
		if changes < least || changes > 65_536+store.PageChanges || bytes > 18<<20 || bytes != changes*keyBytes {
			t.Errorf("keys of %d bytes: %d changes, %d bytes of keys", keyBytes, changes, bytes)
		}
	}
	if n := store.HistoryAllocs(); n > 0.1 {
		t.Errorf("%v allocations for each change", n)
	}
}
