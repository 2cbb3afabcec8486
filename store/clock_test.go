package store_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"larder/fault"
	"larder/store"
)

// wildClock is a wall clock that somebody plays with.
type wildClock struct {
	mu  sync.Mutex
	at  time.Time
	rng *rand.Rand
}

func (c *wildClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(time.Millisecond)
	return c.at
}

// step moves the clock by up to ten years, back or forth, or to where clocks
// stand that know nothing.
func (c *wildClock) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.rng.IntN(8) {
	case 0:
		c.at = time.Unix(0, 0)
	case 1:
		c.at = time.Date(1969, 12, 31, 23, 59, 59, 999, time.UTC)
	case 2:
		c.at = time.Date(2016, 12, 31, 23, 59, 59, 0, time.UTC) // a leap second follows
	case 3: // it stands still
	default:
		c.at = c.at.Add(time.Duration((c.rng.Float64()*2 - 1) * float64(10*365*24*time.Hour)))
	}
}

// TestClocksOrderNothing puts, deletes, copies, begins and completes uploads,
// restarts, loses the index and compacts while the clock jumps by years: what
// stands is what came last, whatever time it was.
func TestClocksOrderNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("LARDER_SEED"); text != "" {
		fmt.Sscan(text, &seed)
	}
	t.Logf("LARDER_SEED=%d repeats this", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := &clockRun{t: t, rng: rng, dir: t.TempDir(), want: map[string][]byte{}, clock: &wildClock{at: time.Now(), rng: rng}}
	c.open()
	makeBucket(t, c.s, "bucket")
	for range 400 {
		c.clock.step()
		c.act()
		if t.Failed() {
			break
		}
	}
	c.compare()
	c.s.Close()
}

type clockRun struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	s     *store.Store
	want  map[string][]byte
	clock *wildClock
	made  uint64
}

func (c *clockRun) open() {
	c.t.Helper()
	s, err := store.Open(c.t.Context(), store.Config{Dir: c.dir, SegmentSize: 16 << 10, InlineLimit: 64, Now: c.clock.now, CompactRate: -1})
	if err != nil {
		c.t.Fatal(err)
	}
	s.AllowSmallParts()
	c.s = s
}

func (c *clockRun) act() {
	c.t.Helper()
	key := fmt.Sprint("k", c.rng.IntN(12))
	switch n := c.rng.IntN(100); {
	case n < 45:
		c.made++
		body := noise(c.made, c.rng.IntN(200))
		put(c.t, c.s, "bucket", key, body)
		c.want[key] = body
	case n < 70:
		remove(c.t, c.s, "bucket", key)
		delete(c.want, key)
	case n < 80:
		c.copy(key)
	case n < 88:
		c.made++
		parts := [][]byte{noise(c.made, 100), noise(c.made, 30)}
		upload(c.t, c.s, "bucket", key, parts...)
		c.want[key] = slices.Concat(parts...)
	case n < 92:
		if err := c.s.CompactNow(context.Background()); err != nil {
			c.t.Fatal(err)
		}
	default:
		c.restart(n%2 == 0)
	}
}

func (c *clockRun) copy(to string) {
	c.t.Helper()
	for _, from := range slices.Sorted(maps.Keys(c.want)) {
		body := c.want[from]
		_, err := c.s.Copy(c.t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: from, Bucket: "bucket", Key: to})
		wantCode(c.t, err, fault.OK)
		c.want[to] = body
		return
	}
}

// restart leaves the store as a killed process does, perhaps without its index.
func (c *clockRun) restart(lose bool) {
	c.t.Helper()
	c.compare()
	c.s.Close()
	if lose {
		removeIndex(c.t, c.dir)
	}
	c.clock.step()
	c.open()
	c.compare()
}

func (c *clockRun) compare() {
	c.t.Helper()
	listed := list(c.t, c.s, "bucket")
	if len(listed) != len(c.want) {
		c.t.Errorf("%d objects are listed, want %d", len(listed), len(c.want))
	}
	for key, body := range c.want {
		if !bytes.Equal(read(c.t, c.s, "bucket", key), body) {
			c.t.Errorf("%s is not what was put last", key)
		}
	}
}
