package scrubber_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"larder/scrubber"
	"larder/store"
)

// eventually waits for something that happens in the background.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// run lets a scrubber run until the returned function is called.
func run(t *testing.T, sc *scrubber.Scrubber) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); sc.Run(ctx) }()
	return func() { cancel(); <-done }
}

// TestAPassGoesOnBehindAPauseAndARestart pauses a slow pass in its middle, starts
// anew, and sees it go on where it stood, to an end at which all was counted
// once.
func TestAPassGoesOnBehindAPauseAndARestart(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := open(t, f.dir)
	whole := pass(t, s)
	if err := os.Remove(filepath.Join(f.dir, "scrub.json")); err != nil {
		t.Fatal(err)
	}
	slow := func() *scrubber.Scrubber {
		sc, err := scrubber.New(t.Context(), scrubber.Config{Store: s, MaxRate: 2 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
	sc := slow()
	stop := run(t, sc)
	eventually(t, "the pass begins", func() bool { return sc.Status().Done > 0 })
	if err := sc.Pause(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it pauses", func() bool { return sc.Status().State == scrubber.Paused })
	stop()
	at := sc.Status()

	sc = slow()
	if st := sc.Status(); st.State != scrubber.Paused || st.Pass != at.Pass || st.Done != at.Done {
		t.Errorf("after a restart %+v, before %+v", st, at)
	}
	stop = run(t, sc)
	defer stop()
	if err := sc.RunNow(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pass ends", func() bool { return sc.Status().Last.Complete })
	last := sc.Status().Last
	if last.Records != whole.Records || last.Blobs != whole.Blobs || last.Rows != whole.Rows || last.Segments != whole.Segments {
		t.Errorf("in two halves %+v, in one %+v", last, whole)
	}
	if n := len(sc.Findings()); n > 0 {
		t.Errorf("%+v", sc.Findings())
	}
}

// TestAFindingHealsWhenItsVersionIsStoredAgain keeps findings over a restart, and
// sees them end.
func TestAFindingHealsWhenItsVersionIsStoredAgain(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := open(t, f.dir)
	blob := f.blob(202)
	f.flip(blob, 100)
	name, at := f.body(5)
	f.flip(name, at+10)
	dead, place := f.body(8)
	f.flip(dead, place+10)
	if open := openFindings(pass(t, s).Findings); len(open) != 3 {
		t.Fatalf("%+v", open)
	}
	for _, key := range []string{"large/1", "small/05", "small/08"} {
		if _, err := tryRead(s, key); err == nil {
			t.Errorf("%s is read in spite of its damage", key)
		}
	}
	sc := newScrubber(t, s)
	if len(openFindings(sc.Findings())) != 3 {
		t.Fatalf("a restart forgets %+v", sc.Findings())
	}
	put(t, s, "large/1", noise(202, 200_000))
	put(t, s, "small/05", noise(5, 20_005))
	f.flip(dead, place+10) // back to what it was
	stop := run(t, sc)
	defer stop()
	if err := sc.RunNow(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what was stored again heals", func() bool {
		open := openFindings(sc.Findings())
		return len(open) == 1 && open[0].Kind == store.HarmGarbage // the segment still has the dead record
	})
	for _, x := range sc.Findings() {
		if !x.Open() && (x.How == "" || x.Healed.Before(x.Found)) {
			t.Errorf("%+v", x)
		}
	}
}

func openFindings(all []scrubber.Finding) (open []scrubber.Finding) {
	for _, x := range all {
		if x.Open() {
			open = append(open, x)
		}
	}
	return open
}

// TestSpoiledMemoryBeginsAnew: what the scrubber wrote down lies on the disk that
// it watches.
func TestSpoiledMemoryBeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := open(t, f.dir)
	f.remove(f.blob(103))
	pass(t, s)
	f.flip("scrub.json", 100)
	sc := newScrubber(t, s)
	if n := len(sc.Findings()); n != 0 {
		t.Errorf("%d findings out of a damaged file", n)
	}
	r, err := sc.Pass(t.Context(), nil)
	if err != nil || !r.Damaged() {
		t.Errorf("the next pass does not find it again: %+v, %v", r, err)
	}
}

// TestAPassThatIsCutOffSaysSo.
func TestAPassThatIsCutOffSaysSo(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := open(t, f.dir)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := newScrubber(t, s).Pass(ctx, func(scrubber.Status) { cancel() })
	if err == nil || r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
}
