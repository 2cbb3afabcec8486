package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	attachWithin = 10 * time.Second
	// resumesWithin is how soon writing goes on once there is space again.
	resumesWithin = 5 * time.Second

	blobBytes   = 300_000 // of a body that gets a file of its own
	inlineBytes = 10_000  // of one that stands in its record
)

// faultTracer is a strace on the running server, which lets system calls fail.
type faultTracer struct {
	t   *testing.T
	s   *server
	cmd *exec.Cmd
	log string
}

// inject lets calls fail until stop, those on the paths only when there are
// any. how is as strace(1) wants it after the calls, such as "error=EIO".
func inject(t *testing.T, s *server, calls, how string, paths ...string) *faultTracer {
	t.Helper()
	need(t, "strace")
	in := &faultTracer{t: t, s: s, log: filepath.Join(t.TempDir(), "strace")}
	args := []string{"-f", "-o", in.log, "-e", "trace=" + calls, "-e", "inject=" + calls + ":" + how, "-p", fmt.Sprint(s.pid())}
	for _, p := range paths {
		args = append(args, "-P", p)
	}
	in.cmd = exec.Command("strace", args...)
	said := &logBuffer{}
	in.cmd.Stderr = said
	if err := in.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.cmd.Process.Kill(); _ = in.cmd.Wait() })
	await(t, "strace to attach", attachWithin, func() bool {
		if strings.Contains(said.String(), "Operation not permitted") {
			skips.skip(t, "not allowed to trace")
		}
		return strings.Contains(said.String(), "attached")
	})
	return in
}

// stop lets go of the server and returns how many calls failed. A test in which
// none did has shown nothing.
func (in *faultTracer) stop() int {
	in.t.Helper()
	if err := in.cmd.Process.Signal(syscall.SIGINT); err != nil {
		in.t.Fatal(err)
	}
	_ = in.cmd.Wait()
	b, err := os.ReadFile(in.log)
	if err != nil {
		in.t.Fatal(err)
	}
	n := bytes.Count(b, []byte("(INJECTED)"))
	if n == 0 {
		in.t.Fatalf("no call failed:\n%s", b)
	}
	return n
}

// faulted is a server with some objects, and what a test does to it.
type faulted struct {
	t    *testing.T
	s    *server
	c    *s3Client
	book *ledger
	made atomic.Int64
}

// standing starts a server with objects of both kinds.
func standing(t *testing.T, how setup) *faulted {
	t.Helper()
	f := &faulted{t: t, s: serve(t, how), book: newLedger()}
	f.c = f.s.client()
	f.c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)
	for range 3 {
		f.mustPut(inlineBytes)
		f.mustPut(blobBytes)
	}
	return f
}

// put puts an object under a new key and notes what the server says.
func (f *faulted) put(size int64) (key string, a answer) {
	f.t.Helper()
	key = fmt.Sprintf("%d/%04d", size, f.made.Add(1))
	want := state{version: 1, size: size}
	f.book.intend(key, want)
	a = f.c.do(http.MethodPut, "/"+crashBucket+"/"+key, crashBody(key, want))
	if a.status == http.StatusOK {
		f.book.ack(key)
	}
	return key, a
}

func (f *faulted) mustPut(size int64) (key string) {
	f.t.Helper()
	key, a := f.put(size)
	if a.status != http.StatusOK {
		f.t.Fatalf("put of %d bytes: %v", size, a)
	}
	return key
}

// refusedPut puts what has to be refused with a status and a code, and gives the
// key up: it must stay empty unless maybe is said.
func (f *faulted) refusedPut(size int64, status int, code string) (key string) {
	f.t.Helper()
	key, a := f.put(size)
	if a.status != status || a.code != code {
		f.t.Errorf("put of %d bytes: %v, want %d %s", size, a, status, code)
	}
	return key
}

func (f *faulted) remove(key string) answer {
	f.t.Helper()
	f.book.intend(key, state{})
	a := f.c.do(http.MethodDelete, "/"+crashBucket+"/"+key, nil)
	if a.status == http.StatusNoContent {
		f.book.ack(key)
	}
	return a
}

// reads demands that everything acknowledged is read, and listed unless some
// keys are left out.
func (f *faulted) reads(when string, but ...string) {
	f.t.Helper()
	names := f.book.standing()
	for _, key := range names {
		if slices.Contains(but, key) {
			continue
		}
		a := f.c.do(http.MethodGet, "/"+crashBucket+"/"+key, nil)
		if a.status != http.StatusOK || !bytes.Equal(a.body, crashBody(key, f.book.stateOf(key))) {
			f.t.Errorf("%s: %s: %d %s, %d bytes", when, key, a.status, a.code, len(a.body))
		}
	}
	listed := f.c.allKeys(crashBucket)
	for _, key := range names {
		if !slices.Contains(listed, key) {
			f.t.Errorf("%s: %s is not listed", when, key)
		}
	}
}

// health is what /readyz says.
func (f *faulted) health() (status int, text string) {
	f.t.Helper()
	resp, err := http.Get("http://" + f.s.console + "/readyz")
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// readOnly demands that nothing is written, everything is read, and that the
// health says why.
func (f *faulted) readOnly(why string, but ...string) {
	f.t.Helper()
	for _, size := range []int64{inlineBytes, blobBytes} {
		key := f.refusedPut(size, http.StatusServiceUnavailable, "ServiceUnavailable")
		f.book.refused(key)
	}
	victim := f.book.standing()[0]
	if a := f.remove(victim); a.status != http.StatusServiceUnavailable {
		f.t.Errorf("a delete while read-only: %v", a)
	}
	f.book.refused(victim)
	f.reads("read-only", but...)
	if status, text := f.health(); status != http.StatusServiceUnavailable || !strings.Contains(text, why) {
		f.t.Errorf("/readyz says %d %s, want 503 with %q", status, text, why)
	}
}

// writable demands that puts of both kinds and a delete work.
func (f *faulted) writable() {
	f.t.Helper()
	f.mustPut(blobBytes)
	if a := f.remove(f.mustPut(inlineBytes)); a.status != http.StatusNoContent {
		f.t.Errorf("a delete: %v", a)
	}
	if status, text := f.health(); status != http.StatusOK {
		f.t.Errorf("/readyz says %d %s", status, text)
	}
}

// restarted kills the server and starts it again: all is as it was promised.
func (f *faulted) restarted() {
	f.t.Helper()
	f.s.kill()
	f.s.restart()
	verify(f.t, f.c, f.book)
	f.writable()
}

// resumes waits until puts of a size are taken again, without a restart.
func (f *faulted) resumes(size int64) {
	f.t.Helper()
	began := time.Now()
	await(f.t, fmt.Sprintf("puts of %d bytes to be taken again", size), resumesWithin, func() bool {
		key, a := f.put(size)
		if a.status != http.StatusOK {
			f.book.refused(key)
		}
		return a.status == http.StatusOK
	})
	took := time.Since(began)
	f.t.Logf("puts of %d bytes were taken again after %s", size, took.Round(time.Millisecond))
	figures(f.t, map[string]any{"resumed_ms": float64(took.Microseconds()) / 1000})
}
