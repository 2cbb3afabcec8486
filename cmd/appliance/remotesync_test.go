package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree writes 300 files whose names are of every kind.
func tree(t *testing.T, dir string) {
	t.Helper()
	kinds := []string{"plain", "with space", "ümläut 世界", "100%", "%41%2F", "a+b&c=d?e#f", `back\slash`, "'quote\"", "tab\there", "~$;|<>"}
	for i := range 300 {
		kind := kinds[i%len(kinds)]
		name := fmt.Sprintf("%s/%d/%s %d", kind, i%7, kind, i)
		write(t, filepath.Join(dir, name), noise(i*i), time.Unix(1_600_000_000+int64(i), int64(i)*1_000_001))
	}
}

func sameTree(t *testing.T, a, b string) {
	t.Helper()
	x, y := names(t, a), names(t, b)
	if !maps.Equal(x, y) {
		t.Errorf("%d files here, %d there, and they differ", len(x), len(y))
	}
	for name := range x {
		i, _ := os.Stat(filepath.Join(a, name))
		j, err := os.Stat(filepath.Join(b, name))
		if err != nil || !i.ModTime().Equal(j.ModTime()) {
			t.Errorf("%q: other time, or %v", name, err)
		}
	}
}

// says wants the summary of a sync.
func (c *commander) says(t *testing.T, want string, args ...string) {
	t.Helper()
	if out := c.must(t, append([]string{"sync"}, args...)...); !strings.HasSuffix(out, want+"\n") {
		t.Errorf("sync %q says %q, want %q", args, out, want)
	}
}

func TestRemoteSyncTree(t *testing.T) {
	t.Parallel()
	c, up, down := commands(t), t.TempDir(), filepath.Join(t.TempDir(), "new", "folder")
	c.must(t, "mb", "larder:bkt")
	tree(t, up)
	c.says(t, "300 copied, 0 unchanged, 0 deleted.", up, "larder:bkt/some/tree")
	c.says(t, "0 copied, 300 unchanged, 0 deleted.", up, "larder:bkt/some/tree/", "--delete")
	c.says(t, "300 copied, 0 unchanged, 0 deleted.", "larder:bkt/some/tree", down)
	sameTree(t, up, down)
	c.says(t, "0 copied, 300 unchanged, 0 deleted.", "larder:bkt/some/tree", down, "--checksum")

	c.must(t, "mb", "larder:copy")
	c.says(t, "300 copied, 0 unchanged, 0 deleted.", "larder:bkt/some/tree", "larder:copy")
	c.says(t, "0 copied, 300 unchanged, 0 deleted.", "larder:bkt/some/tree", "larder:copy")
	again := t.TempDir()
	c.must(t, "cp", "-r", "larder:copy", again)
	sameTree(t, up, again)
}

func TestRemoteSyncChanges(t *testing.T) {
	t.Parallel()
	c, dir, at := commands(t), t.TempDir(), time.Unix(1_600_000_000, 5)
	c.must(t, "mb", "larder:bkt")
	for _, name := range []string{"a", "b/c", "b/d", "e"} {
		write(t, filepath.Join(dir, name), "first "+name, at)
	}
	c.must(t, "sync", dir, "larder:bkt")
	write(t, filepath.Join(dir, "a"), "other a", at)                // size and time stay
	write(t, filepath.Join(dir, "e"), "first e", at.Add(time.Hour)) // the content stays
	write(t, filepath.Join(dir, "b/c"), "longer than it was", at)
	c.says(t, "Nothing was done. It would be: 2 copied, 2 unchanged, 0 deleted.", dir, "larder:bkt", "--dry-run")
	c.says(t, "2 copied, 2 unchanged, 0 deleted.", dir, "larder:bkt")
	if out := c.must(t, "cat", "larder:bkt/a", "larder:bkt/b/c"); out != "first alonger than it was" {
		t.Errorf("stored: %q", out)
	}
	c.says(t, "1 copied, 3 unchanged, 0 deleted.", dir, "larder:bkt", "--checksum")
	c.must(t, "cp", "--no-md5", filepath.Join(dir, "a"), "larder:bkt/a") // its ETag says nothing about its content
	c.says(t, "0 copied, 4 unchanged, 0 deleted.", dir, "larder:bkt", "--checksum")
	c.must(t, "rm", "larder:bkt/b/c", "larder:bkt/b/d")
	c.says(t, "0 copied, 2 unchanged, 2 deleted.", "larder:bkt", dir, "--delete")
	if _, err := os.Stat(filepath.Join(dir, "b")); !os.IsNotExist(err) {
		t.Errorf("the folder that was left empty: %v", err)
	}
}

func TestRemoteSyncDeletes(t *testing.T) {
	t.Parallel()
	c, dir, empty := commands(t), t.TempDir(), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	for _, name := range []string{"a", "b", "sub/c"} {
		write(t, filepath.Join(dir, name), name, time.Now())
	}
	c.must(t, "sync", dir, "larder:bkt/t")
	c.refused(t, 1, "--delete-all", "sync", empty, "larder:bkt/t", "--delete")
	c.refused(t, 1, "no such file", "sync", filepath.Join(dir, "none"), "larder:bkt/t", "--delete-all")
	c.refused(t, 1, "no such bucket", "sync", "larder:none", dir, "--delete-all")
	c.refused(t, 1, "--delete-all", "sync", "larder:bkt/none", dir, "--delete")
	c.refused(t, 2, "lies in the other", "sync", "larder:bkt/t", "larder:bkt")
	c.says(t, "0 copied, 3 unchanged, 0 deleted.", dir, "larder:bkt/t", "--delete")

	// What cannot be copied keeps all that would be removed.
	write(t, filepath.Join(dir, "new"), "new", time.Now())
	write(t, filepath.Join(dir, strings.Repeat("long", 60), strings.Repeat("long", 60), strings.Repeat("long", 60), strings.Repeat("long", 60), strings.Repeat("long", 60)), "", time.Now())
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	c.refused(t, 1, "longlong", "sync", dir, "larder:bkt/t", "--delete")
	if out := c.must(t, "cat", "larder:bkt/t/a", "larder:bkt/t/new"); out != "anew" {
		t.Errorf("what is stored: %q", out)
	}
	if err := os.RemoveAll(filepath.Join(dir, strings.Repeat("long", 60))); err != nil {
		t.Fatal(err)
	}

	// A link that is passed over is in the source all the same.
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(empty, filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if out := c.must(t, "sync", dir, "larder:bkt/t", "--delete", "--dry-run"); !strings.HasPrefix(out, "delete a\n") {
		t.Errorf("dry run: %q", out)
	}
	c.says(t, "0 copied, 2 unchanged, 1 deleted.", dir, "larder:bkt/t", "--delete")
	c.says(t, "0 copied, 0 unchanged, 3 deleted.", empty, "larder:bkt/t", "--delete-all")
}

// TestRemoteUnsafeKeys downloads keys that no file below a folder can have.
func TestRemoteUnsafeKeys(t *testing.T) {
	t.Parallel()
	c, outside := commands(t), t.TempDir()
	dir := mkdir(t, filepath.Join(outside, "target"))
	c.must(t, "mb", "larder:bkt")
	unsafe := []string{"p/../evil", "p//evil", "p/./evil", "p/a/../../evil", "p/a//evil", "p/link/evil"}
	for _, key := range append(unsafe, "p/good") {
		if f := c.feed(t, "from the server", "cp", "-", "larder:bkt/"+key); f.code != 0 {
			t.Fatal(f)
		}
	}
	mustRequest(t, http.MethodPut, c.s3+"/bkt/p/folder/", "") // as other programs mark folders
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cp", "-r"}, {"sync"}} {
		f := c.run(t, append(args, "larder:bkt/p", dir)...)
		if f.code != 1 || strings.Count(f.err, "failed: ") != len(unsafe) || !strings.Contains(f.err, fmt.Sprintf("%d of the", len(unsafe))) {
			t.Errorf("%v: %+v", args, f)
		}
	}
	got := names(t, outside)
	if len(got) != 1 || got[filepath.Join("target", "good")] != "from the server" {
		t.Errorf("written: %q", got)
	}
	c.refused(t, 1, "key", "cp", "larder:bkt/p/..", dir)
}

func TestRemoteLinks(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	write(t, filepath.Join(dir, "real", "file"), "content", time.Now())
	for name, to := range map[string]string{"link": "real/file", "folder": "real", "loop": ".", "broken": "none"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c.refused(t, 1, "--follow", "cp", filepath.Join(dir, "link"), "larder:bkt/")
	c.must(t, "cp", "-r", dir, "larder:bkt")
	if out := c.must(t, "ls", "-r", "larder:bkt"); strings.Count(out, "\n") != 1 || !strings.Contains(out, " real/file\n") {
		t.Errorf("without --follow: %q", out)
	}
	c.refused(t, 1, "broken", "cp", "-r", "--follow", dir, "larder:bkt")
	if out := c.must(t, "ls", "-r", "larder:bkt"); strings.Count(out, "\n") != 3 || !strings.Contains(out, " folder/file\n") {
		t.Errorf("with --follow: %q", out)
	}
}

// TestRemoteSyncWithoutTimes syncs objects of programs that say nothing of
// times of modification: those of the objects stand for them.
func TestRemoteSyncWithoutTimes(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:from")
	c.must(t, "mb", "larder:into")
	mustRequest(t, http.MethodPut, c.s3+"/from/k", "no time")
	for _, to := range []string{"larder:into", dir} {
		c.says(t, "1 copied, 0 unchanged, 0 deleted.", "larder:from", to)
		c.says(t, "0 copied, 1 unchanged, 0 deleted.", "larder:from", to)
	}
	c.says(t, "0 copied, 1 unchanged, 0 deleted.", "larder:into", dir)
}
