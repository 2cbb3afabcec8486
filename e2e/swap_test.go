package e2e_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	swapsCut    = 5 // in each form
	swapsTried  = 8 // rounds for each that has to land
	swapWithin  = 5 * time.Second
	swapsGoOn   = 3 // that a killed server's next start must have gone on with
	compactedTo = 1 // the flags of a compacted segment, docs/format.md
)

// TestCrashDuringSwap ends the server at the moment at which a compaction's
// output lies beside its inputs: the index is being moved from these to that.
// Whatever the index says afterwards, and also when it is lost, what was
// acknowledged is there and what was deleted is not.
func TestCrashDuringSwap(t *testing.T) {
	heavy(t)
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		w := newSwaps(t, "", "kills", swapsGoOn)
		w.again(w.x.s.kill, func() {})
	})
	t.Run("kill and rebuild", func(t *testing.T) {
		t.Parallel()
		w := newSwaps(t, "", "kills", 0)
		w.again(w.x.s.kill, w.x.s.loseIndex)
	})
	t.Run("forgetful", func(t *testing.T) {
		t.Parallel()
		d, choose := newForgetful(t), random(t.Name())
		w := newSwaps(t, d.data(), "power_cuts", 0)
		w.again(func() { d.cutPower(); w.x.s.kill() }, func() {
			d.powerBack(choose, []float64{0, 0.5, 1}[w.x.deaths%3])
			if w.x.deaths%4 == 3 {
				w.x.s.loseIndex()
			}
		})
	})
	t.Run(ext4, func(t *testing.T) {
		t.Parallel()
		d := newDisk(t, 1<<30, ext4)
		w := newSwaps(t, d.data(), "power_cuts", 0)
		w.again(func() { w.x.answersCount(false); d.cutPower(); w.x.s.kill() }, func() {
			d.powerBack()
			w.x.answersCount(true)
			if w.x.deaths%4 == 3 {
				w.x.s.loseIndex()
			}
		})
	})
}

// swaps is a server of small segments that is ended in the middle of swaps.
type swaps struct {
	t      *testing.T
	x      *crashes
	kind   string
	goOn   int // how many swaps must go on after a restart
	landed int
	heads  map[string]segmentHead // by file name; they never change
}

func newSwaps(t *testing.T, dir, kind string, goOn int) *swaps {
	t.Helper()
	x := newCrashes(t, setup{dir: dir, env: []string{"LARDER_SEGMENT_SIZE=65536"}})
	return &swaps{t: t, x: x, kind: kind, goOn: goOn, heads: map[string]segmentHead{}}
}

func (w *swaps) resumed() int { return w.x.s.log.count("a compaction that was cut off goes on") }

// again ends the server in swap after swap, until enough have been hit. between
// is what happens to the folder before the next start.
func (w *swaps) again(end, between func()) {
	w.t.Helper()
	want, choose := cycles(w.t, swapsCut), random(w.t.Name())
	for round := 0; w.landed < want || w.resumed() < w.goOn; round++ {
		if round == want*swapsTried {
			w.t.Fatalf("%d of %d rounds ended in a swap, and %d swaps went on afterwards; %d and %d are wanted",
				w.landed, round, w.resumed(), want, w.goOn)
		}
		how := crowdOf{writers: 8, readers: 1, keys: 60, sizes: []int64{1, 40, 200}, round: round, plain: true, brokenDisk: true}
		w.x.dieAt(how, func() {
			w.awaitSwap()
			time.Sleep(time.Duration(choose.IntN(20)) * time.Millisecond) // a swap has several steps
		}, end)
		between()
		if w.underWay() {
			w.landed++
		}
		w.x.restart()
	}
	w.x.verifyAll()
	w.x.figures(w.kind)
	w.t.Logf("%d in the middle of a swap; %d swaps went on at the next start", w.landed, w.resumed())
	figures(w.t, map[string]any{"cut_in_a_swap": w.landed, "resumed": w.resumed()})
}

// awaitSwap returns when a swap is under way, or none has come for a while.
func (w *swaps) awaitSwap() {
	for end := time.Now().Add(swapWithin); time.Now().Before(end) && !w.underWay(); {
		time.Sleep(200 * time.Microsecond) // a swap takes some milliseconds
	}
}

// segmentHead is what a segment's header says of its range.
type segmentHead struct {
	number, first, last uint64
	compacted           bool
}

// underWay tells whether a compacted segment lies there beside one that it
// stands for.
func (w *swaps) underWay() bool {
	dir := filepath.Join(w.x.s.dir, "segments")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false // the disk is off
	}
	var there []segmentHead
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".seg") {
			continue
		}
		h, known := w.heads[e.Name()]
		if !known {
			if h, known = readSegmentHead(filepath.Join(dir, e.Name())); !known {
				continue
			}
			w.heads[e.Name()] = h
		}
		there = append(there, h)
	}
	for _, out := range there {
		for _, in := range there {
			if out.compacted && in.number < out.number && out.first <= in.first && in.first <= out.last {
				return true
			}
		}
	}
	return false
}

// readSegmentHead reads a header, unless it is not written yet.
func readSegmentHead(path string) (h segmentHead, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return h, false
	}
	defer f.Close()
	b := make([]byte, 128)
	if _, err := f.ReadAt(b, 0); err != nil || string(b[:8]) != "LARDSEG1" {
		return h, false
	}
	h.number, h.first = binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])
	if h.compacted = binary.LittleEndian.Uint16(b[10:]) == compactedTo; h.compacted {
		h.last = binary.LittleEndian.Uint64(b[64:])
	}
	return h, true
}
