package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"larder/fault"
	"larder/store"
)

// TestANewStoreTakesNoForeignBlobs starts with an empty data folder, as when
// its disk is not mounted, beside a blob folder that has data: refused, and
// nothing is touched.
func TestANewStoreTakesNoForeignBlobs(t *testing.T) {
	t.Parallel()
	data, blobs := t.TempDir(), t.TempDir()
	cfg := store.Config{Dir: data, BlobDir: blobs, InlineLimit: 64}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	version, err := os.ReadFile(filepath.Join(blobs, "blobs/VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wrong := cfg
		wrong.Dir = t.TempDir()
		_, err = store.Open(t.Context(), wrong)
		wantCode(t, err, fault.ForeignStore)
	}
	got, err := os.ReadFile(filepath.Join(blobs, "blobs/VERSION"))
	if err != nil || string(got) != string(version) || blobFiles(t, blobs) != 1 {
		t.Fatal("the other store's blobs were touched")
	}
	if s, err = store.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read(t, s, "bucket", "k")
}

// TestAStoreWithoutBlobsIsKnownToo starts with an empty data folder beside the
// blob folder of a store that has no blob yet: there would be two stores with
// one folder of blobs.
func TestAStoreWithoutBlobsIsKnownToo(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Dir: t.TempDir(), BlobDir: t.TempDir()}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wrong := cfg
	wrong.Dir = t.TempDir()
	for range 2 {
		_, err = store.Open(t.Context(), wrong)
		wantCode(t, err, fault.ForeignStore)
	}
	if left, err := os.ReadDir(wrong.Dir); err != nil || len(left) > 0 {
		t.Errorf("a refused start left %v, %v", left, err)
	}
}

// TestACopyOfTheDataFolderIsLockedOut opens a copy of a running store's data
// folder, which names the same blobs.
func TestACopyOfTheDataFolderIsLockedOut(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Dir: t.TempDir(), BlobDir: t.TempDir(), InlineLimit: 64}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	twin := cfg
	twin.Dir = crash(t, cfg.Dir)
	_, err = store.Open(t.Context(), twin)
	wantCode(t, err, fault.Locked)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	read(t, s, "bucket", "k")
	s.Close()
}

// TestSegmentsThatAreGoneAreMissed takes the journal and the index of a store
// that has no blobs: nothing but the mark tells that something was stored.
func TestSegmentsThatAreGoneAreMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	s.Close()
	removeIndex(t, dir)
	if err := os.RemoveAll(dir + "/segments"); err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), store.Config{Dir: dir})
	wantCode(t, err, fault.ForeignStore)
	if _, err := os.Stat(dir + "/segments"); err == nil {
		t.Error("a refused start began a new journal")
	}
}

// TestBlobsWithoutAJournalAreKept takes the journal and the index away: all
// blobs would look like orphans.
func TestBlobsWithoutAJournalAreKept(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := openSmall(t, made)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	for name, spoil := range map[string]func(dir string) error{
		"segments gone":       func(d string) error { return os.RemoveAll(d + "/segments") },
		"segments empty":      func(d string) error { return firstError(os.RemoveAll(d+"/segments"), os.Mkdir(d+"/segments", 0o700)) },
		"all but blobs":       func(d string) error { return firstError(os.RemoveAll(d+"/segments"), os.Remove(d+"/VERSION")) },
		"VERSION with length": func(d string) error { return os.WriteFile(d+"/VERSION", longVersion(), 0o600) },
	} {
		dir := crash(t, made)
		removeIndex(t, dir)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := store.Open(t.Context(), store.Config{Dir: dir})
			if err == nil {
				got.Close()
			}
			if code := fault.CodeOf(err); code != fault.ForeignStore && code != fault.Corrupt || fault.HintOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if blobFiles(t, dir) != 1 {
			t.Errorf("%s: the blob is gone", name)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func longVersion() []byte {
	return []byte("larder 1\nstore 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n")
}

// TestTheMakingOfAStoreOnTwoDisksGoesOn cuts it off behind each of its steps on
// either disk.
func TestTheMakingOfAStoreOnTwoDisksGoesOn(t *testing.T) {
	t.Parallel()
	for which := range 2 {
		for n := 1; n <= 12; n++ {
			data, blobs := t.TempDir(), t.TempDir()
			plans := []*plan{{}, {}}
			plans[which] = &plan{at: n, forever: true, err: 5}
			if s, err := openTwoFaulty(data, blobs, plans[0], plans[1]); err == nil {
				s.Close()
			}
			s, err := openTwoFaulty(data, blobs, &plan{}, &plan{})
			if err != nil {
				t.Fatalf("disk %d cut off at operation %d: %v", which, n, err)
			}
			makeBucket(t, s, "bucket")
			check(t, s)
			s.Close()
		}
	}
}

// TestTheMakingOfAStoreGoesOn cuts it off behind each of its steps.
func TestTheMakingOfAStoreGoesOn(t *testing.T) {
	t.Parallel()
	whole := &plan{}
	s, err := openFaulty(t.TempDir(), whole)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for n := 1; n <= whole.count; n++ {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/lost+found", 0o700); err != nil {
			t.Fatal(err)
		}
		if s, err := openFaulty(dir, &plan{at: n, forever: true, err: 5}); err == nil {
			s.Close()
		}
		s, err := openFaulty(dir, &plan{})
		if err != nil {
			t.Fatalf("cut off at operation %d: %v", n, err)
		}
		makeBucket(t, s, "bucket")
		check(t, s)
		s.Close()
	}
}

// TestDamageIsHealedInTheSameStart alters rows that the start itself reads.
func TestDamageIsHealedInTheSameStart(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := openSmall(t, made)
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "k", noise(1, 1000))
	want := state(t, s)
	dir := crash(t, made)
	alter(t, dir, `UPDATE buckets SET objects = 7`)
	if got := state(t, openSmall(t, dir)); got != want {
		t.Errorf("came back as\n%s\nwant\n%s", got, want)
	}
}
