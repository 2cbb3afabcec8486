package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestFaultDescriptors lets files be opened no more, for one reason or another:
// what needs one is told to try again, and nothing of it stays behind.
func TestFaultDescriptors(t *testing.T) {
	for _, errno := range []string{"EMFILE", "ENFILE"} {
		t.Run(errno, func(t *testing.T) {
			f := standing(t, setup{})
			files := len(blobFiles(t, f.s.dir))
			large := f.book.standing()[3]
			in := inject(t, f.s, "openat", "error="+errno)
			f.book.refused(f.refusedPut(blobBytes, http.StatusServiceUnavailable, "ServiceUnavailable"))
			if a, err := f.c.try(t.Context(), http.MethodGet, "/"+crashBucket+"/"+large, nil, 0); err == nil && a.status == http.StatusOK {
				t.Errorf("a large object without a descriptor: %d", a.status)
			}
			f.mustPut(inlineBytes) // needs none
			in.stop()
			if n := len(blobFiles(t, f.s.dir)); n != files {
				t.Errorf("%d blobs, %d before", n, files)
			}
			f.writable()
			verify(t, f.c, f.book)
			f.restarted()
		})
	}
	t.Run("folders only", foldersCannotBeOpened)
	t.Run("ulimit", tooManyConnections)
}

// foldersCannotBeOpened lets the opening of folders fail while blobs are on
// their way: no sync has failed by that.
func foldersCannotBeOpened(t *testing.T) {
	f := standing(t, setup{})
	folder := filepath.Dir(blobFiles(t, f.s.dir)[0])
	in := inject(t, f.s, "openat", "error=EMFILE:when=2+3", filepath.Dir(folder))
	for range 20 {
		if key, a := f.put(blobBytes); a.status != http.StatusOK {
			f.book.refused(key)
			if a.status != http.StatusServiceUnavailable {
				t.Errorf("%v", a)
			}
		}
	}
	in.stop()
	f.writable()
	f.restarted()
}

// tooManyConnections gives the process few descriptors, and clients that take
// them all.
func tooManyConnections(t *testing.T) {
	need(t, "prlimit")
	f := standing(t, setup{under: []string{"prlimit", "--nofile=64:64"}})
	idle := takeDescriptors(t, f.s, 64)
	refused := 0
	for range 10 {
		for _, size := range []int64{inlineBytes, blobBytes} {
			switch key, a := f.put(size); a.status {
			case http.StatusOK:
			case http.StatusServiceUnavailable:
				refused++
				f.book.refused(key)
			default:
				t.Errorf("put of %d bytes: %v", size, a)
			}
		}
	}
	for _, conn := range idle {
		conn.Close()
	}
	t.Logf("%d idle connections, %d of 20 puts were refused", len(idle), refused)
	if refused == 0 {
		t.Error("there were descriptors for everybody: nothing was shown")
	}
	f.resumes(blobBytes)
	f.writable()
	verify(t, f.c, f.book)
	f.restarted()
}

// takeDescriptors opens connections that say nothing until the server has so
// many descriptors in use.
func takeDescriptors(t *testing.T, s *server, want int) (idle []net.Conn) {
	t.Helper()
	await(t, "the server's descriptors to be taken", attachWithin, func() bool {
		used, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid()))
		if err != nil {
			t.Fatal(err)
		}
		if len(used) >= want {
			return true
		}
		conn, err := net.Dial("tcp", s.s3)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
		return false
	})
	return idle
}

// TestFaultQuota lets writes fail for a quota, which no file system of the test
// machines has: like a full disk.
func TestFaultQuota(t *testing.T) {
	for name, c := range map[string]struct {
		files []string // that are over quota, none = all
		size  int64
	}{
		"of a blob":    {nil, blobBytes},
		"of the index": {[]string{"index.db-wal", "index.probe"}, inlineBytes},
	} {
		t.Run(name, func(t *testing.T) {
			f := standing(t, setup{})
			var paths []string
			for _, file := range c.files {
				paths = append(paths, filepath.Join(f.s.dir, file))
			}
			in := inject(t, f.s, "pwrite64", "error=EDQUOT", paths...)
			key := f.refusedPut(c.size, http.StatusInsufficientStorage, "InsufficientStorage")
			f.reads("over quota")
			t.Logf("%d calls failed", in.stop())
			if c.files == nil { // else its record is in the journal
				f.book.refused(key)
			}
			f.resumes(c.size)
			f.writable()
			f.restarted()
		})
	}
}
