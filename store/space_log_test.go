package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// crowdedDisk is a disk on which another program has left no room while full is
// set.
type crowdedDisk struct {
	vfs.FS
	full *atomic.Bool
}

func (d crowdedDisk) Space() (vfs.Space, error) {
	space, err := d.FS.Space()
	if d.full.Load() {
		space.Free = 1 << 20
	}
	return space, err
}

// lines is a log that goroutines write to.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// TestAFullDiskIsLoggedOnce: however many puts are refused, the log says when it
// begins and when it ends.
func TestAFullDiskIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	log := &lines{}
	cfg := store.Config{Dir: t.TempDir(), SegmentSize: 256 << 10, Log: slog.New(slog.NewTextHandler(log, nil))}
	s, err := store.OpenOn(t.Context(), cfg, func(f vfs.FS) vfs.FS { return crowdedDisk{f, &full} })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	for round := 1; round <= 2; round++ {
		full.Store(true)
		for range 20 {
			_, err := s.Put(t.Context(), store.PutRequest{Bucket: "bucket", Key: "k", Body: strings.NewReader("x"), Size: 1})
			wantCode(t, err, fault.NoSpace)
		}
		if s.Stats().Full == "" {
			t.Error("the numbers do not say that the disk is full")
		}
		full.Store(false)
		for range 3 {
			put(t, s, "bucket", "k", []byte("room again"))
		}
		if begun, ended := log.count("puts are refused"), log.count("puts are taken"); begun != round || ended != round || s.Stats().Full != "" {
			t.Errorf("round %d: the log says %d times that the disk is full, %d times that it no longer is", round, begun, ended)
		}
	}
}
