package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/fault"
	"larder/store"
)

func watch(t testing.TB, s *store.Store, bucket, prefix string, from uint64) *store.Watch {
	t.Helper()
	w, err := s.Watch(bucket, prefix, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// next is the next change, which must be there or on the way.
func next(t testing.TB, w *store.Watch) store.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// quiet checks that a watch has nothing to tell. Whatever was changed before is
// visible to it already.
func quiet(t testing.TB, s *store.Store, w *store.Watch, bucket, marker string) {
	t.Helper()
	info := put(t, s, bucket, marker, nil)
	if c := next(t, w); c.Key != marker || c.Sequence != info.Sequence {
		t.Errorf("told of %+v, which nobody changed", c)
	}
}

// mirror is what a watcher knows of a prefix.
type mirror struct {
	prefix string
	keys   map[string]uint64 // sequence of what stands there
	last   uint64
	gaps   int
}

func newMirror(prefix string) *mirror {
	return &mirror{prefix: prefix, keys: map[string]uint64{}}
}

// see takes a change in and tells whether it was the last one.
func (m *mirror) see(t *testing.T, c store.Change) (end bool) {
	t.Helper()
	if c.Sequence <= m.last || !c.Gap && !strings.HasPrefix(c.Key, m.prefix) {
		t.Errorf("watch of %q: %+v behind %d", m.prefix, c, m.last)
	}
	m.last = c.Sequence
	switch {
	case c.Gap:
		m.gaps++
	case c.Removed:
		delete(m.keys, c.Key)
	default:
		m.keys[c.Key] = c.Sequence
	}
	return c.Key == m.prefix+"~end"
}

// compare holds what was seen against what is there.
func (m *mirror) compare(t *testing.T, s *store.Store, bucket string) {
	t.Helper()
	want := map[string]uint64{}
	for _, info := range list(t, s, bucket) {
		if strings.HasPrefix(info.Key, m.prefix) {
			want[info.Key] = info.Sequence
		}
	}
	if fmt.Sprint(m.keys) != fmt.Sprint(want) {
		t.Errorf("watch of %q (%d gaps) saw\n%v\nthere is\n%v", m.prefix, m.gaps, m.keys, want)
	}
}

// watchedPrefixes begins with the longest: the last end is that of all.
var watchedPrefixes = [...]string{"b/2", "a/", ""}

// stir changes keys at random in every way that there is, and then puts what
// ends the watches.
func stir(t *testing.T, s *store.Store, seed uint64, rounds int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	key := func() string { return fmt.Sprintf("%c/%d", 'a'+rune(r.IntN(3)), r.IntN(25)) }
	for i := range rounds {
		switch r.IntN(8) {
		case 0, 1:
			remove(t, s, "bucket", key())
		case 2:
			reqs := []store.DeleteRequest{{Bucket: "bucket", Key: key()}, {Bucket: "bucket", Key: key()}, {Bucket: "bucket", Key: key()}}
			for _, err := range s.DeleteMany(t.Context(), reqs) {
				wantCode(t, err, fault.OK)
			}
		case 3:
			from := key()
			put(t, s, "bucket", from, noise(uint64(i), 100))
			if _, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: from, Bucket: "bucket", Key: key(), Meta: &store.Meta{}}); err != nil {
				t.Error(err)
			}
		case 4:
			upload(t, s, "bucket", key(), noise(uint64(i), 50), noise(uint64(i), 70))
		default:
			put(t, s, "bucket", key(), noise(uint64(i), 30))
			put(t, s, "other", key(), nil)
		}
	}
	for _, prefix := range watchedPrefixes {
		put(t, s, "bucket", prefix+"~end", nil)
	}
}

// TestWatchersSeeEveryChange lets several watch while others write. What they
// know in the end is what stands there, and nothing was a gap.
func TestWatchersSeeEveryChange(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	makeBucket(t, s, "other")
	var watchers sync.WaitGroup
	mirrors := map[string]*mirror{}
	for _, prefix := range watchedPrefixes {
		w, m := watch(t, s, "bucket", prefix, 0), newMirror(prefix)
		mirrors[prefix] = m
		m.last = w.From()
		watchers.Go(func() {
			for end := false; !end; {
				c, err := w.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				end = m.see(t, c)
			}
		})
	}
	stir(t, s, 1, 400)
	watchers.Wait()
	for _, m := range mirrors {
		if m.compare(t, s, "bucket"); m.gaps > 0 {
			t.Errorf("%d gaps", m.gaps)
		}
	}
}

// TestAWatcherThatComesBackMissesNothing breaks watches off after a few changes
// and goes on with the last sequence that it saw.
func TestAWatcherThatComesBackMissesNothing(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	makeBucket(t, s, "other")
	var watchers sync.WaitGroup
	for i, prefix := range watchedPrefixes {
		first := watch(t, s, "bucket", prefix, 0)
		m := newMirror(prefix)
		m.last = first.From()
		watchers.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			for end := false; !end; {
				w := watch(t, s, "bucket", prefix, m.last)
				if w.From() != m.last {
					t.Errorf("a watch from %d begins at %d", m.last, w.From())
				}
				for range 1 + r.IntN(20) {
					c, err := w.Next(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					if end = m.see(t, c); end {
						break
					}
				}
				w.Close()
			}
			if m.compare(t, s, "bucket"); m.gaps > 0 {
				t.Errorf("%d gaps", m.gaps)
			}
		})
	}
	stir(t, s, 2, 300)
	watchers.Wait()
}

// TestAWatchBeginsWithAGapWhereItCannotKnow asks for sequences that are older
// than what is remembered, of another store, or of a bucket that is gone.
func TestAWatchBeginsWithAGapWhereItCannotKnow(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	s.RememberLess(2)
	makeBucket(t, s, "another")
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "a", nil)
	made, err := s.Bucket(t.Context(), "bucket")
	if err != nil {
		t.Fatal(err)
	}
	gap := func(what string, from uint64) {
		t.Helper()
		w, now := watch(t, s, "bucket", "", from), s.Stats().Sequence
		if c := next(t, w); !c.Gap || c.Key != "" || c.Sequence != now || w.From() != now {
			t.Errorf("%s: %+v, begins at %d, want a gap up to %d", what, c, w.From(), now)
		}
		quiet(t, s, w, "bucket", "behind the gap")
	}
	whole := func(what string, from uint64, key string) {
		t.Helper()
		w := watch(t, s, "bucket", "", from)
		if c := next(t, w); c.Gap || c.Key != key || c.Sequence <= from || w.From() != from {
			t.Errorf("%s: %+v, begins at %d, want %s", what, c, w.From(), key)
		}
	}
	whole("all of the bucket", made.ID, "a")
	gap("older than the bucket", made.ID-1)
	gap("of another store", s.Stats().Sequence+1)
	gap("far away", 1<<63)
	oldest := put(t, s, "bucket", "b", nil).Sequence
	second := put(t, s, "bucket", "c", nil).Sequence
	whole("remembered", oldest, "c")
	manyChanges(t, s, "bucket", 3*store.PageChanges)
	gap("forgotten", oldest)
	gap("forgotten", second)
	whole("the last page is remembered", s.Stats().Sequence-store.PageChanges, lastKey(t, s, store.PageChanges))
}

// manyChanges deletes and puts a key in turn; the last change is a put.
func manyChanges(t *testing.T, s *store.Store, bucket string, n int) {
	t.Helper()
	var group sync.WaitGroup
	for g := range 32 {
		group.Go(func() {
			for i := g; i < n; i += 32 {
				_, err := s.Put(context.Background(), store.PutRequest{Bucket: bucket, Key: fmt.Sprintf("many/%d", i), Body: strings.NewReader("")})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// lastKey is the key of the n-th last change.
func lastKey(t *testing.T, s *store.Store, n int) string {
	t.Helper()
	want := s.Stats().Sequence - uint64(n) + 1
	for _, info := range list(t, s, "bucket") {
		if info.Sequence == want {
			return info.Key
		}
	}
	t.Fatal("the change was replaced")
	return ""
}

// TestASlowWatcherGetsOneGap lets the memory of changes overtake a watcher.
func TestASlowWatcherGetsOneGap(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	s.RememberLess(1)
	makeBucket(t, s, "bucket")
	w := watch(t, s, "bucket", "", 0)
	first := put(t, s, "bucket", "a", nil)
	if c := next(t, w); c.Key != "a" || c.Sequence != first.Sequence {
		t.Errorf("%+v", c)
	}
	manyChanges(t, s, "bucket", 2*store.PageChanges)
	if c := next(t, w); !c.Gap || c.Sequence != s.Stats().Sequence {
		t.Errorf("%+v, want a gap up to %d", c, s.Stats().Sequence)
	}
	quiet(t, s, w, "bucket", "b")
	slow := watch(t, s, "bucket", "", 0)
	manyChanges(t, s, "bucket", 2*store.PageChanges)
	emptyBucket(t, s, "bucket")
	if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
		t.Fatal(err)
	}
	_, err := slow.Next(t.Context())
	wantCode(t, err, fault.NoSuchBucket)
}

func emptyBucket(t *testing.T, s *store.Store, bucket string) {
	t.Helper()
	var reqs []store.DeleteRequest
	for _, info := range list(t, s, bucket) {
		reqs = append(reqs, store.DeleteRequest{Bucket: bucket, Key: info.Key})
	}
	for _, err := range s.DeleteMany(t.Context(), reqs) {
		wantCode(t, err, fault.OK)
	}
}
