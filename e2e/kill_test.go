package e2e_test

import (
	"strings"
	"testing"
	"time"
)

const kills = 130 // and half as many during a start

// TestKill kills the server again and again while clients put, overwrite, copy,
// delete, upload in parts, list, and change access keys and buckets. What was
// answered with yes is there afterwards, byte for byte, and nothing else.
func TestKill(t *testing.T) {
	heavy(t)
	x := killAgain(t, kills, func(*crashes) {})
	noOrphans(t, x.s, x.c, x.book)
}

// TestKillAndRebuild is TestKill with the index lost each time: what is made
// again from the journal has to say the same.
func TestKillAndRebuild(t *testing.T) {
	heavy(t)
	killAgain(t, kills/6, func(x *crashes) { x.s.loseIndex() })
}

// TestKillDuringCompaction kills the server while tiny segments are compacted,
// and loses the index every other time, so that what was deleted would come
// back if its deletion had been forgotten too early.
func TestKillDuringCompaction(t *testing.T) {
	heavy(t)
	x, choose := newCrashes(t, setup{env: []string{"LARDER_SEGMENT_SIZE=32768"}}), random("compaction")
	for round := range cycles(t, kills/8) {
		how := crowdOf{writers: 8, readers: 1, keys: 12, sizes: smallSizes()[:5], round: round, plain: true}
		x.die(how, time.Duration(200+choose.IntN(300))*time.Millisecond, x.s.kill)
		if round%2 == 1 {
			x.s.loseIndex()
		}
		x.restart()
	}
	x.verifyAll()
	compacted, resumed := x.s.log.count("segments compacted"), x.s.log.count("a compaction that was cut off goes on")
	if compacted == 0 {
		t.Fatal("nothing was compacted")
	}
	t.Logf("%d compactions, %d that had been cut off went on", compacted, resumed)
	x.figures("kills")
	figures(t, map[string]any{"compactions": compacted, "resumed": resumed})
}

// count is how often a text was printed.
func (b *logBuffer) count(text string) int { return strings.Count(b.String(), text) }

// killAgain kills round after round. Every other time the next start is killed
// too, in the middle of its recovery.
func killAgain(t *testing.T, rounds int, between func(x *crashes)) *crashes {
	t.Helper()
	x, choose := newCrashes(t, setup{}), random("kills "+t.Name())
	for round := range cycles(t, rounds) {
		how := crowdOf{writers: 8, readers: 1, keys: 12, sizes: smallSizes(), round: round}
		x.die(how, time.Duration(choose.IntN(100))*time.Millisecond, x.s.kill)
		between(x)
		if round%2 == 1 {
			x.s.killDuringStart(time.Duration(choose.IntN(80)) * time.Millisecond)
			x.deaths++
		}
		x.restart()
	}
	x.verifyAll()
	x.figures("kills")
	return x
}

// die lets a crowd, and the keeper beside it, work for a while and then ends the server.
func (x *crashes) die(how crowdOf, after time.Duration, end func()) {
	x.t.Helper()
	x.dieAt(how, func() { time.Sleep(after) }, end) // the random moment is the test
}

// dieAt is die at the moment at which await returns.
func (x *crashes) dieAt(how crowdOf, await, end func()) {
	x.t.Helper()
	crowd := startCrowd(x.c, x.book, how)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		if !how.alone {
			x.keeper.run()
		}
	}()
	await()
	end()
	crowd.wait()
	<-kept
	x.reads += crowd.reads.Load()
}
