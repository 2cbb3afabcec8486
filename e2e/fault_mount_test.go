package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFaultReadOnlyMount starts on file systems that are mounted read-only. That
// of the data folder is refused, unchanged; that of the blobs is read from.
func TestFaultReadOnlyMount(t *testing.T) {
	t.Run("data", func(t *testing.T) {
		d := newDisk(t, 160<<20, ext4)
		f := standing(t, setup{dir: d.data()})
		f.s.kill()
		d.remount("ro")
		f.refusedStart("mounted read-only", "dmesg")
		d.remount("rw")
		f.restarted()
	})
	t.Run("blobs", func(t *testing.T) {
		d := newDisk(t, 160<<20, ext4)
		f := standing(t, setup{args: []string{"--blob-dir", d.data()}})
		f.s.kill()
		d.remount("ro")
		f.s.launch()
		f.awaitHealth("mounted read-only")
		f.book.refused(f.refusedPut(blobBytes, http.StatusServiceUnavailable, "ServiceUnavailable"))
		f.mustPut(inlineBytes)
		if a := f.remove(f.book.standing()[0]); a.status != http.StatusNoContent {
			t.Errorf("a delete: %v", a)
		}
		f.reads("with blobs read-only")
		d.remount("rw")
		f.resumes(blobBytes)
		f.writable()
		f.restarted()
	})
}

// TestFaultFileSystemError lets ext4 meet an error, after which it takes no
// writes any more, under the data folder and under the blobs.
func TestFaultFileSystemError(t *testing.T) {
	for _, where := range []string{"data", "blobs"} {
		t.Run(where, func(t *testing.T) {
			d := newDisk(t, 160<<20, ext4)
			how, first := setup{dir: d.data()}, int64(inlineBytes)
			if where == "blobs" {
				how, first = setup{args: []string{"--blob-dir", d.data()}}, blobBytes
			}
			f := standing(t, how)
			d.breakDown()
			f.refusedPut(first, http.StatusServiceUnavailable, "ServiceUnavailable")
			f.readOnly("restart Larder")
			f.s.kill()
			d.powerBack()
			f.s.restart()
			verify(t, f.c, f.book)
			f.writable()
		})
	}
}

// breakDown is an error found by ext4, after which it is read-only.
func (d *disk) breakDown() {
	d.t.Helper()
	if err := exec.Command("mount", "-o", "remount,errors=remount-ro", d.dir).Run(); err != nil {
		d.t.Fatal(err)
	}
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", d.dir).Output()
	if err != nil {
		d.t.Fatal(err)
	}
	name := filepath.Base(strings.TrimSpace(string(out)))
	if err := os.WriteFile("/sys/fs/ext4/"+name+"/trigger_fs_error", []byte("1"), 0o200); err != nil {
		skips.skip(d.t, "ext4 cannot be told to fail: "+err.Error())
	}
}

// TestFaultLostDisk takes one of two disks away from the running server, then
// starts without it, and with it again. Blobs stand on the one, all else on the
// other, which is mounted at the data folder itself.
func TestFaultLostDisk(t *testing.T) {
	for lost, fsType := range map[string]string{"blobs": ext4, "data": xfs} {
		t.Run(lost+" on "+fsType, func(t *testing.T) {
			data, blobs := newDisk(t, 320<<20, fsType), newDisk(t, 320<<20, fsType)
			f := standing(t, setup{dir: data.dir, args: []string{"--blob-dir", blobs.dir}})
			d, says := blobs, "blob-dir"
			if lost == "data" {
				d, says = data, "mount that disk"
			}
			d.cutPower()
			f.withoutDisk(lost)
			f.s.kill()
			d.unmount()
			f.refusedStart(says)
			f.refusedStart(says)
			if err := d.mount(); err != nil {
				t.Fatal(err)
			}
			f.s.restart()
			verify(t, f.c, f.book)
			f.restarted()
		})
	}
}

// withoutDisk demands that a server whose one disk is gone acknowledges
// nothing, gives out nothing wrong, and says why; without the blobs, what
// stands inline is still read.
func (f *faulted) withoutDisk(lost string) {
	f.t.Helper()
	size := int64(blobBytes)
	if lost == "data" {
		size = inlineBytes
	}
	f.refusedPut(size, http.StatusServiceUnavailable, "ServiceUnavailable")
	if status, text := f.health(); status != http.StatusServiceUnavailable || !strings.Contains(text, "Check the disk") {
		f.t.Errorf("/readyz says %d %s", status, text)
	}
	for _, key := range f.book.standing() {
		a, err := f.c.try(f.t.Context(), http.MethodGet, "/"+crashBucket+"/"+key, nil, 0)
		if err != nil {
			continue // broken off
		}
		whole := a.status == http.StatusOK && string(a.body) == string(crashBody(key, f.book.stateOf(key)))
		inline := f.book.stateOf(key).size == inlineBytes
		if a.status == http.StatusOK && !whole || a.status == http.StatusNotFound {
			f.t.Errorf("%s without the disk: %d, %d bytes", key, a.status, len(a.body))
		}
		if lost == "blobs" && inline && !whole {
			f.t.Errorf("%s stands on the other disk: %v", key, a)
		}
	}
}

// awaitHealth waits until the server answers and is not ready, because of why.
func (f *faulted) awaitHealth(why string) {
	f.t.Helper()
	await(f.t, "the server to answer", readyWithin, func() bool {
		resp, err := http.Get("http://" + f.s.console + "/healthz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if status, text := f.health(); status != http.StatusServiceUnavailable || !strings.Contains(text, why) {
		f.t.Errorf("/readyz says %d %s, want 503 with %q", status, text, why)
	}
}
