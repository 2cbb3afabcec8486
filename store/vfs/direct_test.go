package vfs_test

import (
	"bytes"
	"io"
	"testing"

	"larder/store/vfs"

	"golang.org/x/sys/unix"
)

// TestUncacheOfPagesInUse: what a socket holds cannot be dropped, and is read all
// the same, at any offset and over the end.
func TestUncacheOfPagesInUse(t *testing.T) {
	t.Parallel()
	fsys, err := vfs.OS(t.TempDir())
	must(t, err)
	content := bytes.Repeat([]byte("0123456789abcdef_"), 20_000)
	f, err := fsys.Create("file")
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt(content, 0)
	must(t, err, f.Sync())
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	_, err = unix.Sendfile(ends[0], int(f.(vfs.OSFile).OSFile().Fd()), new(int64), 100_000)
	must(t, err, vfs.Uncache(f))
	for _, r := range []struct{ off, n int }{{0, 1}, {0, 4096}, {1, 4096}, {4095, 2}, {12_345, 200_000}, {len(content) - 5, 5}} {
		got := make([]byte, r.n)
		if n, err := f.ReadAt(got, int64(r.off)); err != nil || n != r.n || !bytes.Equal(got, content[r.off:r.off+r.n]) {
			t.Errorf("%d bytes at %d: %d, %v", r.n, r.off, n, err)
		}
	}
	for _, off := range []int{len(content) - 3, len(content), len(content) + 5000} {
		got := make([]byte, 10)
		n, err := f.ReadAt(got, int64(off))
		if want := content[min(off, len(content)):]; err != io.EOF || !bytes.Equal(got[:n], want) {
			t.Errorf("at %d of %d: %q, %v", off, len(content), got[:n], err)
		}
	}
}
