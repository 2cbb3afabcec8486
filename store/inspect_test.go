package store_test

import (
	"bytes"
	"fmt"
	"path"
	"sync"
	"syscall"
	"testing"

	"larder/fault"
	"larder/scrubber"
	"larder/store"
	"larder/store/vfs"
)

// worn is a disk that lost what a page cache still has: reads of a file give
// good bytes until its pages were dropped, and then what the disk makes of them.
type worn struct {
	vfs.FS
	mu   sync.Mutex
	name func(string) bool // files that it is about
	read func(p []byte, off int64) error
	on   bool
	all  bool // also reads that a cache could answer

	dropped map[string]bool // files whose pages were dropped
}

func (w *worn) always() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = true
}

func (w *worn) wear(read func([]byte, int64) error, name func(string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.name, w.read, w.on = name, read, true
}

func (w *worn) Open(name string) (vfs.File, error) { return w.wrap(name, w.FS.Open) }

func (w *worn) Create(name string) (vfs.File, error) { return w.wrap(name, w.FS.Create) }

func (w *worn) wrap(name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return &wornFile{File: f, worn: w, name: name}, nil
}

type wornFile struct {
	vfs.File
	worn *worn
	name string
}

// Uncache is how the file is told that its pages are not to be trusted.
func (f *wornFile) Uncache(int64, int64) error {
	f.worn.mu.Lock()
	defer f.worn.mu.Unlock()
	f.worn.dropped[f.name] = true
	return nil
}

func (f *wornFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	w := f.worn
	w.mu.Lock()
	hit := w.on && w.name(f.name) && (w.all || w.dropped[f.name])
	read := w.read
	w.mu.Unlock()
	if !hit {
		return n, err
	}
	if e := read(p[:n], off); e != nil {
		return 0, e
	}
	return n, err
}

// TestScrubReadsPastThePageCache: clients are served good bytes from the cache,
// and the pass finds what the disk has.
func TestScrubReadsPastThePageCache(t *testing.T) {
	t.Parallel()
	flip := func(place int64) func([]byte, int64) error {
		return func(p []byte, off int64) error {
			if place >= off && place < off+int64(len(p)) {
				p[place-off] ^= 1
			}
			return nil
		}
	}
	broken := func(p []byte, off int64) error {
		if off <= 100_000 && off+int64(len(p)) > 100_000 {
			return fmt.Errorf("read: %w", syscall.EIO)
		}
		return nil
	}
	trailer := func(p []byte, off int64) error {
		if off > 300_000 && len(p) == 72 {
			p[50] ^= 1
		}
		return nil
	}
	segment := func(name string) bool { return path.Ext(name) == ".seg" }
	blob := func(name string) bool { return len(path.Base(name)) == 32 }
	cases := map[string]struct {
		read func([]byte, int64) error
		name func(string) bool
		key  string
	}{
		"bit in a segment":           {flip(100_000), segment, "small/4"},
		"bit in a blob":              {flip(100_000), blob, "large"},
		"bit in a blob's trailer":    {trailer, blob, "large"},
		"broken sector in a segment": {broken, segment, "small/4"},
		"broken sector in a blob":    {broken, blob, "large"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := openWorn(t)
			for n := range 8 {
				put(t, s, "bucket", fmt.Sprintf("small/%d", n), noise(uint64(n), 20_000))
			}
			body := noise(9, 300_000)
			put(t, s, "bucket", "large", body)
			w.wear(c.read, c.name)
			if got := read(t, s, "bucket", "large"); !bytes.Equal(got, body) {
				t.Error("the cache does not give what it has")
			}
			sc, err := scrubber.New(t.Context(), scrubber.Config{Store: s})
			if err != nil {
				t.Fatal(err)
			}
			r, err := sc.Pass(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Findings) != 1 || r.Findings[0].Key != c.key || r.Findings[0].Kind != store.HarmObject {
				t.Errorf("found %+v", r.Findings)
			}
		})
	}
}

// openWorn opens a store with a bucket on a disk that is still good.
func openWorn(t *testing.T) (*store.Store, *worn) {
	t.Helper()
	w := &worn{dropped: map[string]bool{}}
	s, err := store.OpenOn(t.Context(), store.Config{Dir: t.TempDir(), CompactRate: -1}, func(f vfs.FS) vfs.FS {
		w.FS = f
		return w
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	makeBucket(t, s, "bucket")
	return s, w
}

// TestDamagedPiecesAreNeverServed reads what is damaged: nothing wrong comes, and
// never as much as there should be.
func TestDamagedPiecesAreNeverServed(t *testing.T) {
	t.Parallel()
	for _, size := range []int{20_000, 300_000} {
		s, w := openWorn(t)
		body := noise(1, size)
		put(t, s, "bucket", "k", body)
		w.wear(func(p []byte, off int64) error {
			for n := range p {
				if (off+int64(n))%9000 == 8999 {
					p[n] ^= 1
				}
			}
			return nil
		}, func(string) bool { return true })
		w.always()
		got, err := tryRead(s, "bucket", "k")
		wantCode(t, err, fault.Corrupt)
		if len(got) >= size || !bytes.HasPrefix(body, got) {
			t.Errorf("%d bytes of %d", len(got), size)
		}
	}
}
