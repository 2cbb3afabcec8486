package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"larder/admin"
	"larder/auth"
	"larder/cmd/appliance/internal/backup"
	"larder/cmd/appliance/internal/privatefile"
	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// appliance is a data folder with everything that a backup is of.
type appliance struct {
	backup.Config
	dir string
}

func open(t *testing.T, dir string) *appliance {
	t.Helper()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Stat("secret.key"); err != nil {
		if err := privatefile.Create(files, "secret.key", bytes.Repeat([]byte{7}, 32)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 64 << 10, InlineLimit: 4 << 10, CompactRate: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.Open(t.Context(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32), BcryptCost: bcrypt.MinCost,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &appliance{backup.Config{Data: dir, Files: files, Store: s, Auth: a, Version: "test"}, dir}
}

// body is what stands under a key: anybody can tell from it whether it is right.
func body(key string, version, size int) []byte {
	head := fmt.Sprintf("%s %d ", key, version)
	b := make([]byte, size)
	rand.NewChaCha8(sha256.Sum256([]byte(head))).Read(b)
	return append([]byte(head), b...)
}

func (a *appliance) put(t *testing.T, key string, version, size int) {
	t.Helper()
	b := body(key, version, size)
	_, err := a.Store.Put(context.Background(), store.PutRequest{Bucket: "bbb", Key: key, Body: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		t.Error(err)
	}
}

// versions reads every object of a store, proves it and returns its version.
func versions(t *testing.T, s *store.Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	req := store.ListRequest{Bucket: "bbb", Max: 1000}
	for {
		page, err := s.List(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range page.Objects {
			out[info.Key] = prove(t, s, info)
		}
		if !page.Truncated {
			return out
		}
		req.After = page.Next
	}
}

func prove(t *testing.T, s *store.Store, info store.Info) int {
	t.Helper()
	o, err := s.Get(t.Context(), "bbb", info.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var buf bytes.Buffer
	if _, err := o.CopyRange(t.Context(), struct{ io.Writer }{&buf}, 0, o.Info().Size); err != nil {
		t.Fatalf("%s: %v", info.Key, err)
	}
	var key string
	var version int
	if _, err := fmt.Sscanf(buf.String(), "%s %d ", &key, &version); err != nil || key != info.Key {
		t.Fatalf("%s holds %.40q", info.Key, buf.String())
	}
	if size := buf.Len() - len(fmt.Sprintf("%s %d ", key, version)); !bytes.Equal(buf.Bytes(), body(key, version, size)) {
		t.Fatalf("%s: other bytes", info.Key)
	}
	return version
}

func (a *appliance) backup(t *testing.T, dir string) admin.BackupReport {
	t.Helper()
	report, err := backup.Run(t.Context(), a.Config, admin.BackupRequest{Dir: dir}, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, fault.HintOf(err))
	}
	return report
}

// restore restores and opens what came of it.
func restore(t *testing.T, dir string) *store.Store {
	t.Helper()
	to := t.TempDir()
	if _, err := backup.Restore(t.Context(), backup.RestoreRequest{Dir: dir, Data: to}); err != nil {
		t.Fatalf("%v: %s", err, fault.HintOf(err))
	}
	return openStore(t, to)
}

func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, CompactRate: -1})
	if err != nil {
		t.Fatalf("%v: %s", err, fault.HintOf(err))
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func bucket(t *testing.T, a *appliance) {
	t.Helper()
	if _, err := a.Store.CreateBucket(t.Context(), "bbb"); err != nil {
		t.Fatal(err)
	}
}

// crowd overwrites and deletes until it is told to stop, and knows for each key
// which version was acknowledged last.
type crowd struct {
	stop  atomic.Bool
	wg    sync.WaitGroup
	acked []sync.Map // of each writer: key -> version; 0 = deleted
	ops   atomic.Int64
}

func (a *appliance) crowd(t *testing.T, writers int) *crowd {
	c := &crowd{acked: make([]sync.Map, writers)}
	for w := range writers {
		c.wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for version := 1; !c.stop.Load(); version++ {
				key := fmt.Sprintf("w%d/k%d", w, rng.IntN(40))
				if rng.IntN(4) == 0 {
					if err := a.Store.Delete(context.Background(), store.DeleteRequest{Bucket: "bbb", Key: key}); err != nil {
						t.Error(err)
					}
					c.acked[w].Store(key, -version)
				} else {
					size := rng.IntN(3000)
					if rng.IntN(8) == 0 {
						size = 5000 + rng.IntN(100_000)
					}
					a.put(t, key, version, size)
					c.acked[w].Store(key, version)
				}
				c.ops.Add(1)
			}
		})
	}
	return c
}

// now is a copy of what was acknowledged.
func (c *crowd) now() map[string]int {
	out := map[string]int{}
	for i := range c.acked {
		c.acked[i].Range(func(k, v any) bool { out[k.(string)] = v.(int); return true })
	}
	return out
}

func (c *crowd) end() {
	c.stop.Store(true)
	c.wg.Wait()
}

// compare holds a restored store against what was acknowledged before the copy
// began: each key has that version or a later one, never an older one.
func compare(t *testing.T, before, got map[string]int) {
	t.Helper()
	for key, v := range before {
		g, there := got[key]
		switch {
		case v > 0 && there && g < v, v < 0 && there && g < -v:
			t.Errorf("%s: version %d, acknowledged was %d", key, g, v)
		}
	}
}

// TestBackupUnderLoad: a backup that is made while clients write, overwrite and
// delete, and segments are compacted, restores to all that was acknowledged
// before it.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir())
	bucket(t, a)
	for i := range 50 {
		a.put(t, fmt.Sprintf("still/%d", i), 1, i*500)
	}
	c := a.crowd(t, 4)
	dir := t.TempDir()
	var before map[string]int
	var report admin.BackupReport
	for range 4 {
		target := c.ops.Load() + 150
		eventually(t, "operations", func() bool { return c.ops.Load() >= target })
		before = c.now()
		report = a.backup(t, dir)
	}
	c.end()
	s := restore(t, dir)
	if got := s.Stats().Sequence; got != report.Sequence {
		t.Errorf("change %d, want %d", got, report.Sequence)
	}
	got := versions(t, s)
	compare(t, before, got)
	for i := range 50 {
		if got[fmt.Sprintf("still/%d", i)] != 1 {
			t.Errorf("still/%d is missing", i)
		}
	}
	t.Logf("%d operations, %d files, %d copied by the last run", c.ops.Load(), report.Files, report.Copied)
}

// TestBackupIncremental: nothing is copied twice, what is gone is removed, and
// afterwards the folder holds what the manifest names and no more.
func TestBackupIncremental(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir())
	bucket(t, a)
	dir := t.TempDir()
	for i := range 30 {
		a.put(t, fmt.Sprintf("large/%d", i), 1, 20_000)
		a.put(t, fmt.Sprintf("small/%d", i), 1, 3000)
	}
	first := a.backup(t, dir)
	if first.Copied != first.Files || first.Removed != 0 {
		t.Errorf("first: %+v", first)
	}
	second := a.backup(t, dir)
	if second.Copied > 2 || second.Files != first.Files { // users and keys may differ
		t.Errorf("second: %+v", second)
	}
	for i := range 20 {
		if err := a.Store.Delete(t.Context(), store.DeleteRequest{Bucket: "bbb", Key: fmt.Sprintf("large/%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "freed blobs are gone", func() bool { return blobCount(t, a.dir) == 10 })
	third := a.backup(t, dir)
	if third.Removed < 20 || blobCount(t, dir) != 10 {
		t.Errorf("third: %+v, %d blobs", third, blobCount(t, dir))
	}
	if got := versions(t, restore(t, dir)); len(got) != 40 {
		t.Errorf("%d objects", len(got))
	}
}

// eventually waits for something that happens in the background.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) || t.Failed() {
			t.Fatal("never: " + what)
		}
	}
}

func blobCount(t *testing.T, dir string) (n int) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestInterrupted ends a second backup at every step: what the first one held is
// restored, or what the second one holds, and the next run finishes.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir())
	bucket(t, a)
	dir := t.TempDir()
	for i := range 5 {
		a.put(t, fmt.Sprint("k", i), 1, 20_000*(i%2))
	}
	first := a.backup(t, dir)
	for i := range 5 {
		a.put(t, fmt.Sprint("k", i), 2, 20_000*(i%2))
	}
	for n, done := 1, false; !done; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		report, err := backup.Run(ctx, withClock(a.Config, func() {
			if steps++; steps == n {
				cancel()
			}
		}), admin.BackupRequest{Dir: dir}, nil)
		cancel()
		done = steps < n
		s := restore(t, dir)
		want, version := first.Sequence, 1
		if err == nil {
			want, version = report.Sequence, 2
		}
		if got := s.Stats().Sequence; got != want && got != want+5 {
			t.Errorf("step %d: change %d, want %d (%v)", n, got, want, err)
		}
		for key, v := range versions(t, s) {
			if v < version {
				t.Errorf("step %d: %s is version %d", n, key, v)
			}
		}
	}
}

// TestDamagedBackups are refused by name.
func TestDamagedBackups(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir())
	bucket(t, a)
	a.put(t, "k", 1, 20_000)
	for _, pattern := range []string{"manifest.json", "larder-backup", "files/*", "segments/*", "blobs/??/??/*"} {
		t.Run(strings.ReplaceAll(pattern, "/", "-"), func(t *testing.T) {
			dir := t.TempDir()
			a.backup(t, dir)
			for _, change := range []func(string) error{flip, cut, os.Remove} {
				all, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
				for _, file := range all {
					if pattern == "blobs/??/??/*" && fmt.Sprintf("%p", change) == fmt.Sprintf("%p", flip) {
						continue // its chunks have checksums of their own, which a read or verify checks
					}
					kept, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if err := change(file); err != nil {
						t.Fatal(err)
					}
					to := t.TempDir()
					_, err = backup.Restore(t.Context(), backup.RestoreRequest{Dir: dir, Data: to})
					if err == nil || fault.HintOf(err) == "" {
						t.Errorf("%s: %v", file, err)
					}
					if _, err := os.Stat(filepath.Join(to, "VERSION")); err == nil {
						t.Errorf("%s: a data folder was made", file)
					}
					if err := os.WriteFile(file, kept, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := versions(t, restore(t, dir)); got["k"] != 1 {
				t.Error("the mended backup does not restore")
			}
		})
	}
}

func flip(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text[len(text)/2] ^= 1
	return os.WriteFile(file, text, 0o600)
}

func cut(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, info.Size()-1)
}
