package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// memory is the resident memory of a process in bytes.
type memory struct{ now, peak int64 }

// memoryOf reads VmRSS and VmHWM of /proc/PID/status.
func memoryOf(t *testing.T, pid int) memory {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) int64 {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in /proc/%d/status", name, pid)
		}
		n, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
		return n << 10
	}
	return memory{field("VmRSS"), field("VmHWM")}
}

// forgetPeak makes the peak begin again at what is resident now: writing 5 to
// clear_refs, proc(5).
func forgetPeak(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Logf("the peak of the start counts too: %v", err)
	}
}

// watchMemory samples the resident memory until stop is called, which returns
// the highest sample. It sees what VmHWM sees, save for the briefest peaks,
// where the kernel does not let the peak be reset.
func watchMemory(t *testing.T, pid int) (stop func() int64) {
	end := make(chan struct{})
	var highest int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-end:
				tick.Stop()
				return
			case <-tick.C:
				highest = max(highest, memoryOf(t, pid).now)
			}
		}
	})
	return func() int64 { close(end); wg.Wait(); return highest }
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// blobFiles lists the files of bodies that stand outside the journal.
func blobFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
