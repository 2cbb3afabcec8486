package e2e_test

import (
	"net/http"
	"testing"
)

// TestFaultFull fills file systems of several kinds from outside, to their last
// byte or their last inode, also where blobs have one of their own: what needs
// room is refused by name, reads and deletes go on, and writing resumes by
// itself as soon as there is room.
func TestFaultFull(t *testing.T) {
	const mib = 1 << 20
	small := disk{size: 160 * mib, fsType: ext4}
	few := disk{size: 160 * mib, fsType: ext4, inodes: 256}
	for name, c := range map[string]struct {
		data, blobs disk // the zero value is no disk of its own
		inodes      bool // fill these
		fillBlobs   bool // of the blobs' disk
		inline      bool // small bodies are still taken
	}{
		"bytes of ext4":                {data: small},
		"bytes of XFS":                 {data: disk{size: 320 * mib, fsType: xfs}},
		"bytes of tmpfs":               {data: disk{size: 128 * mib, fsType: tmpfs}},
		"inodes of ext4":               {data: few, inodes: true, inline: true},
		"inodes of tmpfs":              {data: disk{size: 128 * mib, fsType: tmpfs, inodes: 256}, inodes: true, inline: true},
		"bytes of the blobs' disk":     {data: small, blobs: small, fillBlobs: true, inline: true},
		"inodes of the blobs' disk":    {data: small, blobs: few, fillBlobs: true, inodes: true, inline: true},
		"bytes beside a disk of blobs": {data: small, blobs: small},
	} {
		t.Run(name, func(t *testing.T) {
			data := newDiskOf(t, c.data)
			how, full := setup{dir: data.data()}, data
			if c.blobs.size > 0 {
				blobs := newDiskOf(t, c.blobs)
				how.args = []string{"--blob-dir", blobs.data()}
				if c.fillBlobs {
					full = blobs
				}
			}
			f := standing(t, how)
			fill := full.fill
			if c.inodes {
				fill = full.fillInodes
			}
			empty := fill()
			f.whileFull(c.inline)
			f.s.kill()
			f.s.launch()
			f.s.awaitReady() // it starts on a full disk too
			f.whileFull(c.inline)
			empty()
			f.resumes(blobBytes)
			f.resumes(inlineBytes)
			f.writable()
			f.restarted()
		})
	}
}

// whileFull demands what goes on on a full disk, and what does not.
func (f *faulted) whileFull(inline bool) {
	f.t.Helper()
	f.book.refused(f.refusedPut(blobBytes, http.StatusInsufficientStorage, "InsufficientStorage"))
	if inline {
		f.mustPut(inlineBytes)
	} else {
		f.book.refused(f.refusedPut(inlineBytes, http.StatusInsufficientStorage, "InsufficientStorage"))
	}
	f.reads("while full")
	for _, key := range f.book.standing()[:2] {
		if a := f.remove(key); a.status != http.StatusNoContent {
			f.t.Errorf("a delete while full: %v", a)
		}
	}
	f.reads("while full, after deletes")
}
