package scrubber_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"larder/scrubber"
	"larder/store"
)

const day = 24 * time.Hour

func TestPaceIsBytesOverPeriod(t *testing.T) {
	t.Parallel()
	const most = scrubber.DefaultMaxRate
	cases := map[string]struct {
		left  int64
		until time.Duration
		hurry bool
		want  int64
	}{
		"8 TB in 30 days":    {8e12, 30 * day, false, 3_086_419},
		"a small store":      {1 << 20, 30 * day, false, scrubber.MinRate},
		"more than can be":   {1 << 60, day, false, most},
		"asked for":          {1 << 20, 30 * day, true, most},
		"the period is over": {1 << 20, -day, false, most},
		"an hour is left":    {36 << 30, time.Hour, false, 10_737_418},
	}
	for name, c := range cases {
		if got := scrubber.Pace(c.left, c.until, c.hurry, most); got != c.want {
			t.Errorf("%s: %d bytes a second, want %d", name, got, c.want)
		}
	}
	if got := scrubber.Pace(1<<30, 30*day, false, 1000); got != 1000 {
		t.Errorf("the floor is above the highest rate: %d", got)
	}
}

func TestLateRaisesTheAlarm(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		done, left   int64
		since, until time.Duration
		want         bool
	}{
		"at the start":              {0, 1 << 40, 0, 30 * day, false},
		"too much for any rate":     {0, 1 << 50, 0, 30 * day, true},
		"over":                      {1, 1, 30 * day, 0, true},
		"half done in half":         {1 << 40, 1 << 40, 15 * day, 15 * day, false},
		"half done in three thirds": {1 << 30, 1 << 40, 15 * day, 15 * day, true},
		"too early to tell":         {0, 1 << 40, day, 29 * day, false},
	}
	for name, c := range cases {
		if got := scrubber.Late(c.done, c.left, c.since, c.until, 50e6); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// disk is a source whose steps take time and have a size, for tests of nothing
// but the pace.
type disk struct {
	steps int64 // of a pass
	bytes int64 // of a step
	slow  time.Duration
	taken atomic.Int64
	state []byte
}

var _ scrubber.Source = (*disk)(nil)

func (d *disk) Inspect(_ context.Context, from store.Cursor, _ []store.Defect) (store.Inspected, error) {
	time.Sleep(d.slow)
	d.taken.Add(1)
	from.Sequence++
	if int64(from.Sequence) > d.steps {
		from.Stage++
		from.Sequence = 0
	}
	return store.Inspected{Next: from, Bytes: d.bytes}, nil
}

func (d *disk) Recheck(context.Context, store.Defect) (store.Recheck, error) {
	return store.Recheck{}, nil
}
func (d *disk) HealRow(context.Context, store.Defect) (bool, error) { return false, nil }
func (d *disk) RebuildLater()                                       {}
func (d *disk) InspectSize() int64                                  { return 2 * d.steps * d.bytes }
func (d *disk) SaveScrub(state []byte) error                        { d.state = state; return nil }
func (d *disk) LoadScrub() ([]byte, error)                          { return d.state, nil }

// scrub runs a scrubber for a while of simulated time.
func scrub(t *testing.T, d *disk, cfg scrubber.Config, during func(*scrubber.Scrubber)) {
	cfg.Store = d
	sc, err := scrubber.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, sc)
	during(sc)
	stop()
}

// TestAPassTakesItsPeriod: the rate spreads a large store over most of the
// period, never above the highest rate, and the next pass begins with the next
// period.
func TestAPassTakesItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{steps: 50_000, bytes: 4 << 20, slow: 10 * time.Millisecond}
		began := time.Now()
		scrub(t, d, scrubber.Config{Period: day}, func(sc *scrubber.Scrubber) {
			time.Sleep(12 * time.Hour)
			st := sc.Status()
			if st.State != scrubber.Running || st.Behind || st.Done < st.Total*4/10 || st.Done > st.Total*3/4 {
				t.Errorf("after half a period: %+v", st)
			}
			time.Sleep(11 * time.Hour)
			st = sc.Status()
			if st.State != scrubber.Idle || !st.Last.Complete || st.Last.Ended.Sub(began) < 14*time.Hour {
				t.Errorf("near the end of the period: %+v", st)
			}
			time.Sleep(2 * time.Hour)
			if st = sc.Status(); st.Pass != 2 || st.State != scrubber.Running {
				t.Errorf("in the next period: %+v", st)
			}
		})
	})
}

// TestASlowDiskGetsLess: the scrubber waits five times as long as its steps take.
func TestASlowDiskGetsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{steps: 1 << 40, bytes: 1000, slow: time.Second}
		scrub(t, d, scrubber.Config{Period: day, MaxRate: 1 << 40}, func(sc *scrubber.Scrubber) {
			time.Sleep(5000 * time.Second)
			if n := d.taken.Load(); n < 817 || n > 834 {
				t.Errorf("%d steps of a second in 5000 seconds", n)
			}
			if !sc.Status().Behind {
				t.Error("no alarm, though the pass cannot end in time")
			}
		})
	})
}

// TestTheHighestRateHolds, also when a pass is asked for.
func TestTheHighestRateHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{steps: 1 << 40, bytes: 1 << 20}
		scrub(t, d, scrubber.Config{MaxRate: 10 << 20}, func(sc *scrubber.Scrubber) {
			if err := sc.RunNow(); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Second)
			if n := d.taken.Load(); n < 950 || n > 1010 {
				t.Errorf("%d MiB in 100 seconds at 10 MiB a second", n)
			}
			if err := sc.Pause(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			n := d.taken.Load()
			time.Sleep(time.Hour)
			if d.taken.Load() != n {
				t.Error("it reads while it is paused")
			}
		})
	})
}
