package e2e_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

const (
	spareSegment = 4 << 20
	spareFill    = 320 << 20 // bytes of objects
	spareDisk    = 448 << 20
	spareRatio   = 1.3
	spareWithin  = 30 * time.Second
)

// spareSizes stand on both sides of the inline limit.
func spareSizes() []int64 {
	return []int64{4 << 10, 30_000, 64 << 10, 100_000, 128 << 10, 200_000, 400_000, 1 << 20}
}

// TestSpaceComesBack fills a store, deletes nine tenths of it, and waits until
// the folder takes less than 1.3 times what is left, without a restart. What an
// empty folder takes (the head of the journal and the reserves for a full disk)
// does not count: a store of this size is small beside it.
func TestSpaceComesBack(t *testing.T) {
	heavy(t)
	t.Run("random", func(t *testing.T) {
		spaceComesBack(t, "", func(keys []string) []string { return shuffled(keys)[len(keys)/10:] })
	})
	t.Run("in order", func(t *testing.T) {
		spaceComesBack(t, "", func(keys []string) []string { return keys[:len(keys)*9/10] })
	})
	t.Run("full disk", func(t *testing.T) {
		spaceComesBack(t, newDisk(t, spareDisk, ext4).data(), func(keys []string) []string { return shuffled(keys)[len(keys)/10:] })
	})
}

func shuffled(keys []string) []string {
	keys = slices.Clone(keys)
	random("deletes").Shuffle(len(keys), func(i, k int) { keys[i], keys[k] = keys[k], keys[i] })
	return keys
}

func spaceComesBack(t *testing.T, dir string, doomed func(keys []string) []string) {
	s := serve(t, setup{dir: dir, env: []string{fmt.Sprint("LARDER_SEGMENT_SIZE=", spareSegment)}})
	h := &hoard{t: t, c: s.client(), book: newLedger()}
	h.c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)
	empty := diskUse(t, s.dir)
	h.fillUp()
	filled, keys := diskUse(t, s.dir)-empty, h.book.standing()
	gone := doomed(keys)
	began := time.Now()
	h.each(len(gone), func(i int) { h.delete(gone[i]) })
	live := int64(0)
	for _, key := range h.book.standing() {
		live += h.book.stateOf(key).size
	}
	used := filled
	for used >= int64(spareRatio*float64(live)) && time.Since(began) < spareWithin {
		time.Sleep(100 * time.Millisecond) // measuring is a walk, and takes time from the server
		used = diskUse(t, s.dir) - empty
	}
	if used >= int64(spareRatio*float64(live)) {
		t.Errorf("after %s the folder takes %s for %s: segments %s, blobs %s, index %s", spareWithin, mib(used), mib(live),
			mib(diskUse(t, filepath.Join(s.dir, "segments"))), mib(diskUse(t, filepath.Join(s.dir, "blobs"))), mib(diskUse(t, filepath.Join(s.dir, indexDB))))
	}
	took := time.Since(began)
	t.Logf("empty %s; %d objects, %s on the disk; %d deleted; %s live, %s on the disk after %.1f s (%.2f)",
		mib(empty), len(keys), mib(filled), len(gone), mib(live), mib(used), took.Seconds(), float64(used)/float64(live))
	if r := h.readAll(); !r.allRight() {
		t.Errorf("after the space came back: %v", r)
	}
	s.kill()
	s.start()
	if r := h.readAll(); !r.allRight() {
		t.Errorf("and after a kill: %v", r)
	}
	figures(t, map[string]any{"empty_bytes": empty, "filled_bytes": filled, "live_bytes": live, "used_bytes": used, "seconds": took.Seconds()})
}

// fillUp stores objects until there are enough, or until the disk is full.
func (h *hoard) fillUp() {
	h.t.Helper()
	sizes := spareSizes()
	round := int64(0)
	for _, size := range sizes {
		round += size
	}
	h.each(int(spareFill/round)*len(sizes), func(i int) {
		key := fmt.Sprintf("spare/%05d", i)
		next := state{version: 1, size: sizes[i%len(sizes)]}
		h.book.intend(key, next)
		a, err := h.c.try(h.t.Context(), http.MethodPut, "/"+crashBucket+"/"+key, next.body(key), 0)
		switch {
		case err == nil && a.status == http.StatusOK:
			h.book.ack(key)
		case err == nil && a.code == "InsufficientStorage":
			h.book.refused(key)
		default:
			h.t.Errorf("put %s: %v, %v", key, a, err)
		}
	})
}

func (h *hoard) delete(key string) {
	h.book.intend(key, state{})
	a, err := h.c.try(h.t.Context(), http.MethodDelete, "/"+crashBucket+"/"+key, nil, 0)
	if err != nil || a.status != http.StatusNoContent {
		h.t.Errorf("delete %s: %v, %v", key, a, err)
		h.book.refused(key)
		return
	}
	h.book.ack(key)
}

// diskUse is what the blocks of a folder's files take.
func diskUse(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it went while the walk was on its way
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	}))
	return bytes
}
