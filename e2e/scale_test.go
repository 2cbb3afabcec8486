package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// What is promised for a million objects.
const (
	scaleStart   = 5 * time.Second
	scaleList    = 20 * time.Millisecond // p99 of a page of 1,000
	scaleIndex   = 400.0                 // bytes an object
	scaleRebuild = 20_000.0              // objects a second
	scaleMemory  = 256 << 20

	scaleLanes   = 96
	scalePages   = 1000
	scaleSize    = 200 // bytes of an object
	scaleLetters = 100 // objects of a folder
)

// scale fills one store and asks everything of it.
type scale struct {
	t       *testing.T
	s       *server
	c       *s3Client
	objects int
	peak    int64 // resident memory, over all processes
	figures map[string]any
}

// TestScale measures a store of LARDER_SCALE objects, 1,000,000 for the figures
// that are published. It takes some minutes and runs only when asked for.
func TestScale(t *testing.T) {
	objects, err := strconv.Atoi(os.Getenv("LARDER_SCALE"))
	if err != nil || objects < 2*scalePages {
		skips.skip(t, "LARDER_SCALE names no number of objects")
	}
	s := serve(t, setup{})
	x := &scale{t: t, s: s, c: s.client(), objects: objects, figures: map[string]any{"objects": objects}}
	x.fill()
	x.lists()
	x.starts()
	x.index()
	x.rebuild()
	x.remember()
	x.limit("peak_rss_bytes", float64(x.peak), scaleMemory)
	figures(t, x.figures)
}

func scaleKey(i int) string {
	return fmt.Sprintf("photos/%05d/img-%07d.jpg", i/scaleLetters, i)
}

func scaleBody(i int) []byte { return payloadBytes("scale", i, scaleSize) }

// limit notes a figure and fails the test when it is not below its limit.
func (x *scale) limit(name string, is, below float64) {
	x.t.Helper()
	x.figures[name] = is
	x.t.Logf("%s: %.1f (limit %.1f)", name, is, below)
	if is >= below {
		x.t.Errorf("%s is %.1f, the limit is %.1f", name, is, below)
	}
}

// remember takes the peak of a process before it is gone.
func (x *scale) remember() {
	x.t.Helper()
	m := memoryOf(x.t, x.s.pid())
	x.t.Logf("resident: %s, peak %s", mib(m.now), mib(m.peak))
	x.peak = max(x.peak, m.peak)
}

func (x *scale) fill() {
	x.t.Helper()
	x.c.must(http.StatusOK, http.MethodPut, "/scale", nil)
	var next atomic.Int64
	began := time.Now()
	atOnce(scaleLanes, func(int) error {
		for i := int(next.Add(1)) - 1; i < x.objects && !x.t.Failed(); i = int(next.Add(1)) - 1 {
			a, err := x.c.try(x.t.Context(), http.MethodPut, "/scale/"+scaleKey(i), scaleBody(i), 0)
			if err != nil || a.status != http.StatusOK {
				x.t.Errorf("put %d: %v, %v", i, a, err)
			}
		}
		return nil
	})
	if x.t.Failed() {
		x.t.FailNow()
	}
	x.figures["puts_per_second"] = float64(x.objects) / time.Since(began).Seconds()
	x.t.Logf("%d puts: %.0f s, %.0f a second", x.objects, time.Since(began).Seconds(), x.figures["puts_per_second"])
}

// lists measures pages that begin anywhere.
func (x *scale) lists() {
	x.t.Helper()
	choose := random("pages")
	took := make([]time.Duration, scalePages)
	for i := range took {
		after := url.QueryEscape(scaleKey(choose.IntN(x.objects - 2*scalePages)))
		r := x.c.request(x.t.Context(), http.MethodGet, "/scale?list-type=2&start-after="+after, nil, 0)
		began := time.Now()
		a, err := x.c.send(r)
		took[i] = time.Since(began)
		if err != nil || a.status != http.StatusOK || len(a.body) < 100_000 {
			x.t.Fatalf("page: %v, %v", a, err)
		}
	}
	slices.Sort(took)
	x.figures["list_p50_ms"] = milliseconds(took[len(took)/2])
	x.t.Logf("list page of 1,000, p50: %s", took[len(took)/2])
	x.limit("list_p99_ms", milliseconds(took[len(took)*99/100]), milliseconds(scaleList))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// starts kills the server while it is written to, and measures until it is
// ready again.
func (x *scale) starts() {
	x.t.Helper()
	slowest := time.Duration(0)
	for round := range 3 {
		putting := make(chan struct{})
		go func() {
			defer close(putting)
			atOnce(8, func(lane int) error {
				for i := 0; ; i++ {
					if _, err := x.c.try(x.t.Context(), http.MethodPut, fmt.Sprintf("/scale/z%d/%d/%d", round, lane, i), scaleBody(i), 0); err != nil {
						return err
					}
				}
			})
		}()
		time.Sleep(2 * time.Second) // so much is under way at most between two syncs of the index
		x.remember()
		x.s.kill()
		<-putting
		slowest = max(slowest, x.s.start())
		i := random("started").IntN(x.objects)
		if a := x.c.must(http.StatusOK, http.MethodGet, "/scale/"+scaleKey(i), nil); string(a.body) != string(scaleBody(i)) {
			x.t.Errorf("%s has other bytes after the kill", scaleKey(i))
		}
	}
	x.limit("start_ms", milliseconds(slowest), milliseconds(scaleStart))
}

// index measures the index of a stopped server.
func (x *scale) index() {
	x.t.Helper()
	x.remember()
	x.s.stop()
	info, err := os.Stat(filepath.Join(x.s.dir, indexDB))
	must(x.t, err)
	x.limit("index_bytes_per_object", float64(info.Size())/float64(x.objects), scaleIndex)
}

// rebuild measures a start without an index.
func (x *scale) rebuild() {
	x.t.Helper()
	x.s.loseIndex()
	x.s.launch()
	began := time.Now()
	await(x.t, "a start that makes the index again", 10*time.Minute, func() bool { return x.s.ready(x.t.Context()) })
	took := time.Since(began)
	x.t.Logf("index made again in %.1f s", took.Seconds())
	x.limit("rebuild_us_per_object", float64(took.Microseconds())/float64(x.objects), 1e6/scaleRebuild)
	x.figures["rebuild_per_second"] = float64(x.objects) / took.Seconds()
	keys := 0
	for token := ""; ; {
		p := x.c.list("/scale?list-type=2&prefix=photos/" + token)
		if keys += len(p.Contents); !p.IsTruncated {
			break
		}
		token = "&continuation-token=" + url.QueryEscape(p.NextContinuationToken)
	}
	if keys != x.objects {
		x.t.Errorf("%d of %d objects are listed after the index was made again", keys, x.objects)
	}
}
