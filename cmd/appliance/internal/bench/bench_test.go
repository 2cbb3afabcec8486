package bench_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"larder/cmd/appliance/internal/bench"
	"larder/fault"
)

// larder is the program, built once. TestMain sets it before the first test.
var larder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "larder-bench-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	larder = filepath.Join(dir, "larder")
	if out, err := exec.Command("go", "build", "-o", larder, "larder/cmd/appliance").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the appliance: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// small is a run that takes a moment.
func small(t *testing.T, part string) bench.Config {
	return bench.Config{
		Part: part, Binary: larder, Dir: t.TempDir(), Seconds: 0.03, Rounds: 2,
		Concurrency: []int{1, 3}, Sizes: []int64{1 << 10, 200 << 10},
		ListKeys: 1100, StreamBytes: 40 << 20, StreamCount: 20, Protocols: []string{"s3"},
		Exercise: bench.Exercise{Readers: 2, Writers: 2, BlockSize: 70_000, RunTime: 200 * time.Millisecond, Repeat: 2},
	}
}

// mustRun runs and demands success and an empty folder.
func mustRun(t *testing.T, cfg bench.Config) (bench.Report, string) {
	t.Helper()
	var out bytes.Buffer
	cfg.Out = &out
	r, err := bench.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	left, err := os.ReadDir(cfg.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v afterwards, %v", left, err)
	}
	return r, out.String()
}

// sane holds what is true of every figure.
func sane(t *testing.T, what string, f bench.Figures) {
	t.Helper()
	if f.Operations <= 0 || f.Errors != 0 || f.Rate.Value <= 0 || f.Rate.Low > f.Rate.Value || f.Rate.High < f.Rate.Value {
		t.Errorf("%s, %s: %+v", what, f.Name, f)
	}
	if f.Took == nil || f.Took.P50 <= 0 || f.Took.P99 < f.Took.P50 {
		t.Errorf("%s, %s: took %+v", what, f.Name, f.Took)
	}
}

// saneCells is sane for all cells, and for what a server of ours tells of itself.
func saneCells(t *testing.T, r bench.Report, ops ...string) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range r.Cells {
		seen[c.Op] = true
		for _, f := range c.Contenders {
			what := fmt.Sprintf("%s %d x%d", c.Op, c.Size, c.Concurrency)
			sane(t, what, f)
			if f.CPU != nil && (f.Peak <= 0 || f.Resident <= 0 || f.Peak < f.Resident/2) {
				t.Errorf("%s, %s: memory %d, peak %d", what, f.Name, f.Resident, f.Peak)
			}
			if f.OfLimit != nil && f.OfLimit.Value <= 0 {
				t.Errorf("%s, %s: %v of the limit", what, f.Name, f.OfLimit.Value)
			}
		}
	}
	for _, op := range ops {
		if !seen[op] {
			t.Errorf("%s was not measured", op)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r, out := mustRun(t, small(t, "limits"))
	if len(r.Limits) < 16 {
		t.Errorf("only %d limits", len(r.Limits))
	}
	for _, f := range r.Limits {
		sane(t, "limits", f)
		if f.MiB <= 0 || !strings.Contains(out, f.Name) {
			t.Errorf("%s: %f MiB/s; printed:\n%s", f.Name, f.MiB, out)
		}
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	cfg := small(t, "matrix")
	cfg.Protocols = nil // all
	r, out := mustRun(t, cfg)
	saneCells(t, r, "put", "get", "head", "delete", "multipart", "list")
	want := (5*len(cfg.Sizes) + 1) * len(cfg.Concurrency)
	if len(r.Cells) != want || strings.Count(out, " s3 ") != want {
		t.Errorf("%d cells instead of %d; printed:\n%s", len(r.Cells), want, out)
	}
	for _, c := range r.Cells {
		writes := c.Op == "put" || c.Op == "multipart"
		if want := map[bool]int{true: 3, false: 2}[writes]; len(c.Contenders) != want {
			t.Errorf("%s: %d kinds of clients, want %d", c.Op, len(c.Contenders), want)
		}
		for i, f := range c.Contenders {
			if f.OfLimit == nil || f.CPU == nil || (f.Ratio != nil) != (i > 0) {
				t.Errorf("%s: limit, processor time or ratio is missing: %+v", c.Op, f)
			}
			if (writes || c.Op == "get") && f.Bytes != f.Operations*c.Size {
				t.Errorf("%s: %d bytes in %d operations of %d", c.Op, f.Bytes, f.Operations, c.Size)
			}
		}
	}
}

// TestMultipartOfManyParts uploads what needs more than one part.
func TestMultipartOfManyParts(t *testing.T) {
	t.Parallel()
	cfg := small(t, "matrix")
	cfg.Sizes, cfg.Concurrency = []int64{11 << 20}, []int{2}
	r, _ := mustRun(t, cfg)
	saneCells(t, r, "multipart")
}

func TestStream(t *testing.T) {
	t.Parallel()
	r, out := mustRun(t, small(t, "stream"))
	saneCells(t, r, "up", "down", "20 up", "20 down")
	for _, c := range r.Cells {
		if f := c.Contenders[0]; f.Idle <= 0 {
			t.Errorf("%s: idle memory %d", c.Op, f.Idle)
		}
	}
	if !strings.Contains(out, "IDLE") {
		t.Errorf("no memory is printed:\n%s", out)
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	r, out := mustRun(t, small(t, "gateway"))
	saneCells(t, r, "get")
	for _, c := range r.Cells {
		if len(c.Contenders) != 3 {
			t.Fatalf("%d ways in", len(c.Contenders))
		}
		for _, f := range c.Contenders {
			if f.FirstByte == nil || f.FirstByte.P50 <= 0 || f.FirstByte.P50 > f.Took.P99 {
				t.Errorf("%s: first byte %+v of %+v", f.Name, f.FirstByte, f.Took)
			}
		}
	}
	for _, word := range []string{"s3 signed", "s3 presigned", "s3 presigned anew"} {
		if !strings.Contains(out, word) {
			t.Errorf("%q is not printed:\n%s", word, out)
		}
	}
}

func TestWAL(t *testing.T) {
	t.Parallel()
	cfg := small(t, "wal")
	cfg.Protocols = nil // all
	r, _ := mustRun(t, cfg)
	saneCells(t, r, "commit", "race", "cold read")
	ways := map[string]bool{}
	for _, c := range r.Cells {
		for _, f := range c.Contenders {
			ways[f.Name] = true
			if c.Op == "commit" && f.Lag == nil {
				t.Errorf("%d x%d, %s: nobody followed", c.Size, c.Concurrency, f.Name)
			}
		}
	}
	for _, way := range []string{"s3, followers poll", "native, followers poll", "native, followers watch"} {
		if !ways[way] {
			t.Errorf("no %q in %v", way, ways)
		}
	}
}

// TestWALAudit holds that the audit of a log finds what must not be.
func TestWALAudit(t *testing.T) {
	t.Parallel()
	type access = func(key string) error
	for name, c := range map[string]struct {
		meddle func(put, remove access, payloads []string) error
		want   fault.Code
	}{
		"sound":        {func(_, _ access, _ []string) error { return nil }, fault.OK},
		"orphan":       {func(put, _ access, p []string) error { return put(p[0] + "-orphan") }, fault.Corrupt},
		"lost payload": {func(_, remove access, p []string) error { return remove(p[1]) }, fault.NoSuchKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			audit, err := bench.LogOf(t.Context(), small(t, "wal"), 3, c.meddle)
			if err != nil {
				t.Fatal(err)
			}
			if fault.CodeOf(audit) != c.want {
				t.Errorf("the audit says %v, want %v", audit, c.want)
			}
		})
	}
}

// TestCPUTime works for a while and compares with what the kernel says in another
// way, just before and just after.
func TestCPUTime(t *testing.T) {
	t.Parallel()
	const enough, tick = 300 * time.Millisecond, 50 * time.Millisecond // of work; that the two may differ
	for used(t) < enough {
		sha256.Sum256(make([]byte, 1<<20))
	}
	least := used(t)
	got, err := bench.CPUTime(os.Getpid())
	most := used(t)
	if err != nil || got < least-tick || got > most+tick {
		t.Errorf("%s is not between %s and %s, %v", got, least, most, err)
	}
}

// used is the processor time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestServerEndsWithTheRun holds that a server is gone when it has been stopped.
func TestServerEndsWithTheRun(t *testing.T) {
	t.Parallel()
	pid, stop, err := bench.RunningChild(t.Context(), small(t, "limits"))
	if err != nil {
		t.Fatal(err)
	}
	if now, peak, err := bench.Memory(pid); err != nil || now < 1<<20 || peak < now {
		t.Errorf("memory %d, peak %d, %v", now, peak, err)
	}
	stop()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server is still there: %v", err)
	}
}

// TestServerThatDoesNotStart names the log of the server.
func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	cfg := small(t, "stream")
	cfg.Binary = "/bin/false"
	_, err := bench.Run(t.Context(), cfg)
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(fault.HintOf(err), "log") {
		t.Errorf("%v", err)
	}
}
