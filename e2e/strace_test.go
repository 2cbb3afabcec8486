package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// injected are the system calls that change a disk, and what happens at one:
// the process is killed as it enters the call, or the call fails.
func injected() []callFault {
	return []callFault{
		{"fdatasync", "signal=KILL"}, {"fsync", "signal=KILL"}, {"pwrite64", "signal=KILL"}, {"fallocate", "signal=KILL"},
		{"renameat,renameat2", "signal=KILL"}, {"unlinkat,unlink", "signal=KILL"}, {"openat", "signal=KILL"},
		{"fdatasync", "error=EIO"}, {"fsync", "error=EIO"}, {"pwrite64", "error=EIO"},
	}
}

const straceRounds = 3 // of each fault

type callFault struct{ calls, what string }

// TestSyscalls ends or fails the server at a chosen system call, from its very
// first start on, over a fixed script of changes. Then the power goes too, on a
// disk that keeps nothing that was not synced. What was acknowledged stands.
func TestSyscalls(t *testing.T) {
	heavy(t)
	need(t, "strace")
	for _, in := range injected() {
		t.Run(in.calls+" "+in.what, func(t *testing.T) {
			n, choose := in.count(t), random(t.Name())
			if n == 0 {
				t.Logf("the script makes no such call")
				return
			}
			rounds, hit := min(cycles(t, straceRounds), n), 0
			var acked int64
			for i := range rounds {
				when := 1 + (choose.IntN(n)+i)%n
				if rounds == n {
					when = 1 + i // all of them
				}
				reached, acks := in.round(t, when, choose)
				acked += acks
				if reached {
					hit++
				}
			}
			t.Logf("%d of %d injections were reached (a thread makes up to %d calls), %d changes acknowledged", hit, rounds, n, acked)
			figures(t, map[string]any{"system_calls": hit, "acknowledged": acked, "lost": 0})
		})
	}
}

// count is how many of the calls one thread makes at most in the script: strace
// counts them for each thread.
func (in callFault) count(t *testing.T) int {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	x := newScripted(t, newForgetful(t), "-o", log, "-e", "trace="+in.calls)
	x.script()
	x.s.kill()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`^(\d+) +\w+\(`)
	perThread, most := map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		if m := calls.FindStringSubmatch(line); m != nil {
			perThread[m[1]]++
			most = max(most, perThread[m[1]])
		}
	}
	return most
}

// round runs the script until the fault, takes the power, and looks at
// what stands. It tells whether the call was reached, and what was acknowledged.
func (in callFault) round(t *testing.T, when int, choose *rand.Rand) (reached bool, acked int64) {
	t.Helper()
	d := newForgetful(t)
	log := filepath.Join(t.TempDir(), "trace")
	x := newScripted(t, d, "-o", log, "-e", "trace="+in.calls, "-e", fmt.Sprintf("inject=%s:%s:when=%d", in.calls, in.what, when))
	x.script()
	died := strings.HasPrefix(in.what, "signal") && x.s.goneSoon()
	d.cutPower()
	x.s.kill()
	d.powerBack(choose, float64(when%2)/2)
	x.s.setup.under = nil
	x.s.start()
	x.verify()
	x.s.kill()
	d.unmount()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return died || bytes.Contains(text, []byte("(INJECTED)")), x.book.promised()
}

// scripted is a server under strace, and a script.
type scripted struct {
	s      *server
	w      *crashWriter
	book   *ledger
	bucket bool // was acknowledged
	up     bool // it became ready
}

func newScripted(t *testing.T, d *forgetful, flags ...string) *scripted {
	t.Helper()
	under := append([]string{"strace", "-D", "-f", "-qq"}, flags...)
	s := prepare(t, setup{dir: d.data(), under: under, env: []string{"LARDER_SEGMENT_SIZE=262144"}})
	s.launch()
	x := &scripted{s: s, book: newLedger()}
	g := &crowd{crowdOf: crowdOf{writers: 1, keys: 6, sizes: smallSizes(), brokenDisk: true}, c: s.client(), book: x.book}
	x.w = &crashWriter{crowd: g, choose: rand.New(rand.NewPCG(1, 2))}
	x.up = s.readyOrGone()
	return x
}

// script makes the same changes each time, one after the other, until one is
// refused or the server is gone. After a refusal it goes on: a server with a
// failed disk must not acknowledge what it cannot keep.
func (x *scripted) script() {
	if !x.up {
		return
	}
	a, err := x.w.c.try(x.s.t.Context(), http.MethodPut, "/"+crashBucket, nil, 0)
	x.bucket = err == nil && a.status == http.StatusOK
	if !x.bucket {
		return
	}
	for i := range 6 {
		key := fmt.Sprintf("w00/%03d", i)
		for turn, act := range []func(string, state) error{x.w.put, x.w.put, x.w.multipart, x.w.delete, x.w.put} {
			next := state{version: turn + 1, size: smallSizes()[(i*2+turn)%9]}
			if turn == 3 {
				next = state{}
			}
			if x.w.change(key, next, act) != nil {
				break
			}
		}
	}
	if x.w.copy("w00/001", 9) == nil {
		_ = x.w.deleteMany() // the ledger knows
	}
}

func (x *scripted) verify() {
	x.s.t.Helper()
	c := x.s.client()
	if status := c.do(http.MethodHead, "/"+crashBucket, nil).status; status == http.StatusNotFound && !x.bucket {
		return
	} else if status != http.StatusOK {
		x.s.t.Fatalf("the bucket: status %d, acknowledged: %v", status, x.bucket)
	}
	verify(x.s.t, c, x.book)
}

// goneWithin is how long a process that was killed may take to be seen gone.
const goneWithin = 200 * time.Millisecond

// goneSoon tells whether the server has ended without being asked to.
func (s *server) goneSoon() bool {
	select {
	case <-s.exited:
		return true
	case <-time.After(goneWithin):
		return false
	}
}

// readyOrGone waits until the server is ready, and tells whether it still runs.
func (s *server) readyOrGone() bool {
	s.t.Helper()
	ctx := s.t.Context()
	deadline := time.After(readyWithin)
	for !s.ready(ctx) {
		select {
		case <-s.exited:
			return false
		case <-deadline:
			s.kill() // a start whose disk failed may wait: it has nothing to lose
			return false
		case <-time.After(pollEvery):
		}
	}
	return true
}
