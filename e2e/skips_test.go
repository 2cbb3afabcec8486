package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// skips counts the tests that could not run on this machine.
var skips tally

// tally is a count with reasons, for several goroutines.
type tally struct {
	mu      sync.Mutex
	reasons map[string]int
}

// skip ends the test and counts it.
func (s *tally) skip(t *testing.T, reason string) {
	t.Helper()
	s.mu.Lock()
	if s.reasons == nil {
		s.reasons = map[string]int{}
	}
	s.reasons[reason]++
	s.mu.Unlock()
	t.Skip(reason)
}

// report prints the count. `go test` shows the output of a package that passes
// only with -v, and a skip that nobody reads of is as good as a test that does
// not exist: so without -v the line goes to the error stream of the go command.
func (s *tally) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	total, lines := 0, []string{}
	for reason, n := range s.reasons {
		total += n
		lines = append(lines, fmt.Sprintf("%s (%d)", reason, n))
	}
	if total == 0 {
		return
	}
	sort.Strings(lines)
	text := fmt.Sprintf("e2e: skipped %d tests: %s\n", total, strings.Join(lines, ", "))
	if out := goCommandErrors(); out != nil && !testing.Verbose() {
		defer out.Close()
		fmt.Fprint(out, text)
		return
	}
	fmt.Print(text)
}

// goCommandErrors is the error stream of the go command that runs this test,
// or nil when the parent is another program or keeps its streams to itself.
func goCommandErrors() *os.File {
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid())); err != nil || strings.TrimSpace(string(name)) != "go" {
		return nil
	}
	process, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return nil
	}
	defer unix.Close(process)
	stream, err := unix.PidfdGetfd(process, 2, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(stream), "standard error of go test")
}

// need skips the test unless the programs are there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			skips.skip(t, "no "+p)
		}
	}
}

// heavy skips the test under -short.
func heavy(t *testing.T) {
	t.Helper()
	if testing.Short() {
		skips.skip(t, "-short")
	}
}
