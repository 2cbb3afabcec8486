package scrubber_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/scrubber"
	"larder/store"
)

const (
	latencyWindow  = 400 * time.Millisecond
	latencyWindows = 5   // of each kind, times LARDER_CYCLES
	latencyFiles   = 300 // of each size
)

// waits is how long a client waited for each of its calls.
type waits struct{ reads, writes []time.Duration }

// latency is a client of a store that is or is not being scrubbed.
type latency struct {
	t  *testing.T
	s  *store.Store
	sc *scrubber.Scrubber
	n  int

	hurry bool // the pass goes as fast as it may
}

// TestLatencyDuringAPass measures how long a client waits for its reads and
// writes with and without a pass, at its usual pace and as fast as one may go
// that was asked for. Short windows with and without follow one another, so
// that whatever else the machine does meets both alike. The figures are logged;
// they decide nothing.
func TestLatencyDuringAPass(t *testing.T) {
	for name, hurry := range map[string]bool{"usual pace": false, "asked for": true} {
		t.Run(name, func(t *testing.T) { measureLatency(t, hurry) })
	}
}

func measureLatency(t *testing.T, hurry bool) {
	s := open(t, t.TempDir())
	makeBucket(t, s, "bucket")
	for n := range latencyFiles {
		put(t, s, fmt.Sprintf("small/%03d", n), noise(uint64(n), 100_000))
		put(t, s, fmt.Sprintf("large/%03d", n), noise(uint64(n), 500_000))
	}
	x := &latency{t: t, s: s, sc: newScrubber(t, s), hurry: hurry}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); x.sc.Run(ctx) }()
	defer func() { stop(); <-done }()
	var quiet, busy waits
	for range latencyWindows * int(cycles(t)) {
		x.pause()
		x.measure(&quiet, func() {})
		x.resume()
		x.measure(&busy, x.again)
	}
	st := x.sc.Status()
	f := map[string]any{"scrubbed_bytes": int64(st.Last.Pass) * st.Last.Bytes}
	if st.State == scrubber.Running {
		f["scrubbed_bytes"] = int64(st.Last.Pass)*st.Last.Bytes + st.Done
	}
	compare(f, "read", quiet.reads, busy.reads)
	compare(f, "write", quiet.writes, busy.writes)
	t.Logf("%v", f)
	figures(t, f)
}

// measure reads and writes for one window, and calls between after each turn.
func (x *latency) measure(w *waits, between func()) {
	x.t.Helper()
	timed := func(into *[]time.Duration, call func() error) {
		began := time.Now()
		if err := call(); err != nil {
			x.t.Fatal(err)
		}
		*into = append(*into, time.Since(began))
	}
	for end := time.Now().Add(latencyWindow); time.Now().Before(end); x.n++ {
		key := fmt.Sprintf("large/%03d", x.n%latencyFiles)
		timed(&w.reads, func() error { _, err := tryRead(x.s, key); return err })
		timed(&w.writes, func() error { put(x.t, x.s, "w", noise(uint64(x.n), 5000)); return nil })
		between()
	}
}

func (x *latency) pause() {
	x.t.Helper()
	if err := x.sc.Pause(); err != nil {
		x.t.Fatal(err)
	}
	eventually(x.t, "the scrubber to pause", func() bool { return x.sc.Status().State != scrubber.Running })
}

func (x *latency) resume() {
	x.t.Helper()
	command := x.sc.Resume
	if x.hurry {
		command = x.sc.RunNow
	}
	if err := command(); err != nil {
		x.t.Fatal(err)
	}
}

// again begins the next pass when the last one is over.
func (x *latency) again() {
	x.t.Helper()
	if x.sc.Status().State == scrubber.Running {
		return
	}
	if err := x.sc.RunNow(); err != nil {
		x.t.Fatal(err)
	}
}

// compare adds the figures of one kind of call, and the ratio of their p99.
func compare(f map[string]any, kind string, quiet, busy []time.Duration) {
	p := func(d []time.Duration, q int) float64 {
		slices.Sort(d)
		return float64(d[len(d)*q/100].Microseconds()) / 1000
	}
	f[kind+"s"] = len(quiet) + len(busy)
	for _, q := range []int{50, 99} {
		f[fmt.Sprintf("%s_p%d_ms", kind, q)] = p(quiet, q)
		f[fmt.Sprintf("scrub_%s_p%d_ms", kind, q)] = p(busy, q)
	}
	f[kind+"_p99_ratio"] = p(busy, 99) / p(quiet, 99)
}
