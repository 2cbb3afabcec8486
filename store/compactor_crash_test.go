package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/store"
	"larder/store/journal"
	"larder/store/vfs"
)

// steps calls before ahead of everything that changes a folder.
type steps struct {
	vfs.FS
	before *func(what string)
}

func (f steps) step(what string) {
	if *f.before != nil {
		(*f.before)(what)
	}
}

func (f steps) Create(name string) (vfs.File, error) {
	f.step("create " + name)
	return f.FS.Create(name)
}
func (f steps) Remove(name string) error     { f.step("remove " + name); return f.FS.Remove(name) }
func (f steps) SyncDir(name string) error    { f.step("sync " + name); return f.FS.SyncDir(name) }
func (f steps) Rename(from, to string) error { f.step("rename " + from); return f.FS.Rename(from, to) }

// TestACompactionMayBeCutOffAnywhere leaves the folder as a killed process would
// at every step of compactions, and starts on each: with the index that is there,
// and without.
func TestACompactionMayBeCutOffAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var before func(string)
	cfg := store.Config{Dir: dir, SegmentSize: 20 << 10, InlineLimit: 600, CompactRate: -1}
	s, err := store.OpenOn(t.Context(), cfg, func(f vfs.FS) vfs.FS { return steps{f, &before} })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.AllowSmallParts()
	makeBucket(t, s, "bucket")
	for i := range 250 { // several chunks of moves for each segment
		put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), 20+i%3))
		if i%5 == 0 {
			remove(t, s, "bucket", fmt.Sprint(i/2))
		}
	}
	copies := cutAtEachStep(t, s, dir, &before)
	want := state(t, s)
	if len(copies) < 9 {
		t.Errorf("only %d steps were seen", len(copies))
	}
	for what, cut := range copies {
		anew := crash(t, cut)
		removeIndex(t, anew)
		for _, d := range []string{cut, anew} {
			s := openManual(t, d)
			if got := state(t, s); got != want {
				t.Errorf("cut before %s, it is\n%s\nwant\n%s", what, got, want)
			}
			s.Settle()
			check(t, s)
			if left := len(segmentFiles(t, d)); left != len(s.Segments()) {
				t.Errorf("cut before %s: %d segments on the disk, %d count", what, left, len(s.Segments()))
			}
			if d == cut {
				compactAll(t, s, 2)
				sameWhenMadeAgain(t, d, want)
			}
			s.Close()
		}
	}
}

// cutAtEachStep compacts in runs and returns copies of the folder, by the step
// that they were taken before.
func cutAtEachStep(t *testing.T, s *store.Store, dir string, before *func(string)) map[string]string {
	t.Helper()
	var mu sync.Mutex
	copies := map[string]string{}
	take := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		name := fmt.Sprintf("%d: %s", len(copies), what)
		copies[name] = crash(t, dir)
	}
	var n atomic.Int64
	s.BeforeIndex(func() { take(fmt.Sprint("transaction ", n.Add(1))) })
	*before = take
	if err := s.CompactRuns(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.Settle()
	s.BeforeIndex(func() {})
	*before = nil
	return copies
}

func segmentFiles(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestTombstonesGoInTheEnd deletes everything and compacts until nothing but
// the head is left.
func TestTombstonesGoInTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openManual(t, dir)
	makeBucket(t, s, "bucket")
	for i := range 60 {
		put(t, s, "bucket", fmt.Sprint(i%20), noise(uint64(i), 500))
		u := startUpload(t, s, "bucket", "multi")
		p := putPart(t, s, u, 1, noise(1, 100))
		if i%2 == 0 {
			abort(t, s, u)
		} else {
			complete(t, s, u, p)
		}
	}
	remove(t, s, "bucket", "multi")
	for i := range 20 {
		remove(t, s, "bucket", fmt.Sprint(i))
	}
	if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
		t.Fatal(err)
	}
	fillSegment(t, s)
	for range 3 { // once for the bodies, and the tombstones wait for all that is older
		compactAll(t, s, 1)
	}
	for _, kind := range []journal.Kind{journal.Delete, journal.Abort, journal.Complete, journal.BucketDelete, journal.Put, journal.Part, journal.UploadCreate} {
		if n := s.CountSealed(t, kind, "bucket"); n != 0 {
			t.Errorf("%d records of kind %d are left", n, kind)
		}
	}
	sameWhenMadeAgain(t, dir, state(t, s))
}

// TestReadersKeepTheirSegments reads an object from an input of a compaction,
// while it is compacted, overwritten and compacted again.
func TestReadersKeepTheirSegments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openManual(t, dir)
	makeBucket(t, s, "bucket")
	want := noise(1, 500)
	put(t, s, "bucket", "k", want)
	fillSegment(t, s)
	o, err := s.Get(t.Context(), "bucket", "k")
	if err != nil {
		t.Fatal(err)
	}
	compactAll(t, s, 1)
	o2, err := s.Get(t.Context(), "bucket", "k")
	if err != nil {
		t.Fatal(err)
	}
	if files := len(segmentFiles(t, dir)); files != len(s.Segments())+1 {
		t.Errorf("%d segments count, %d are there: not just one is kept for its reader", len(s.Segments()), files)
	}
	remove(t, s, "bucket", "k")
	makeBucket(t, s, "again")
	for i := range 10 {
		put(t, s, "again", fmt.Sprint(i), noise(uint64(i), 590))
	}
	compactAll(t, s, 1)
	for _, o := range []*store.Object{o, o2} {
		var got strings.Builder
		if _, err := o.CopyRange(t.Context(), plain{&got}, 0, 500); err != nil || got.String() != string(want) {
			t.Errorf("the reader lost its bytes: %v", err)
		}
	}
	o.Close()
	o2.Close()
	s.Settle()
	eventually(t, "inputs go when their readers have left", func() bool { return len(segmentFiles(t, dir)) == len(s.Segments()) })
	check(t, s)
}

// TestCompactionBesideClients compacts without a pause while clients change and
// read everything, in segments of a few records.
func TestCompactionBesideClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 8 << 10, InlineLimit: 600, CompactRate: -1, CacheRows: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	var done atomic.Bool
	var clients, compactions sync.WaitGroup
	for c := range 4 {
		clients.Go(func() { workAndVerify(t, s, c, 150) })
	}
	compactions.Go(func() {
		for !done.Load() {
			if err := s.CompactRuns(context.Background(), 3); err != nil {
				t.Error(err)
				return
			}
		}
	})
	clients.Wait()
	done.Store(true)
	compactions.Wait()
	s.Settle()
	check(t, s)
	sameWhenMadeAgain(t, dir, state(t, s))
}

// workAndVerify changes and reads keys of its own.
func workAndVerify(t *testing.T, s *store.Store, client, n int) {
	held := map[string][]byte{}
	for i := range n {
		key := fmt.Sprint(client, "-", i%7)
		switch i % 5 {
		case 3:
			if err := s.Delete(context.Background(), store.DeleteRequest{Bucket: "bucket", Key: key}); err != nil {
				t.Error(err)
			}
			delete(held, key)
		default:
			body := noise(uint64(client*1000+i), 100*i%900)
			put(t, s, "bucket", key, body)
			held[key] = body
		}
		for key, want := range held {
			if got, err := tryRead(s, "bucket", key); err != nil || string(got) != string(want) {
				t.Errorf("%s: %d bytes of %d, %v", key, len(got), len(want), err)
			}
		}
	}
}

// TestSpaceComesBack deletes 90 % of a filled store, which then takes less than
// 1.3 times what is left, without a restart and without being told.
func TestSpaceComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 96 << 10, InlineLimit: 16 << 10, CompactRate: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	const n, size = 1000, 10 << 10
	var wg sync.WaitGroup
	for c := range 20 {
		wg.Go(func() {
			for i := c; i < n; i += 20 {
				put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), size))
			}
		})
	}
	wg.Wait()
	full := diskUse(t, dir)
	for from := 0; from < n; from += 500 {
		var reqs []store.DeleteRequest
		for i := from; i < from+500; i++ {
			if i%10 != 0 {
				reqs = append(reqs, store.DeleteRequest{Bucket: "bucket", Key: fmt.Sprint(i)})
			}
		}
		for _, err := range s.DeleteMany(t.Context(), reqs) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	live := int64(n / 10 * size)
	eventually(t, "disk use falls under 1.3 times the live bytes", func() bool { return diskUse(t, dir) < live*13/10 })
	t.Logf("%d bytes, then %d for %d live ones; %+v", full, diskUse(t, dir), live, s.Stats())
	if st := s.Stats(); st.DeadBytes > live || st.CompactedBytes < live || st.Segments != len(s.Segments()) {
		t.Errorf("stats %+v", st)
	}
	check(t, s)
}

// diskUse adds the segments up; the newest is preallocated and counts as far as
// it is used, which a test of small segments need not care for.
func diskUse(t testing.TB, dir string) (n int64) {
	t.Helper()
	for _, name := range segmentFiles(t, dir) {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n
}
