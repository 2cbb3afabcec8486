package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// liveLoad puts, overwrites and deletes at a server, and knows what was
// acknowledged.
type liveLoad struct {
	stop  atomic.Bool
	wg    sync.WaitGroup
	ops   atomic.Int64
	mu    sync.Mutex
	acked map[string]int // version, negative when deleted by that operation
}

func (p *process) load(t *testing.T, writers int) *liveLoad {
	l := &liveLoad{acked: map[string]int{}}
	for w := range writers {
		l.wg.Go(func() {
			rng := rand.New(rand.NewPCG(9, uint64(w)))
			for version := 1; !l.stop.Load(); version++ {
				key := fmt.Sprintf("w%d-k%d", w, rng.IntN(25))
				method, body, mark := http.MethodPut, liveBody(key, version, rng.IntN(20_000)), version
				switch rng.IntN(5) {
				case 0:
					method, body, mark = http.MethodDelete, "", -version
				case 1:
					body = liveBody(key, version, 150_000+rng.IntN(300_000))
				}
				status, text, err := request(method, p.s3+"/bkt/"+key, strings.NewReader(body))
				if err != nil || status/100 != 2 {
					t.Errorf("%s %s: %d %v %s", method, key, status, err, text)
					return
				}
				l.mu.Lock()
				l.acked[key] = mark
				l.mu.Unlock()
				l.ops.Add(1)
			}
		})
	}
	return l
}

func (l *liveLoad) now() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for k, v := range l.acked {
		out[k] = v
	}
	return out
}

func (l *liveLoad) end() {
	l.stop.Store(true)
	l.wg.Wait()
}

// liveBody proves itself: its key, its version, its size, then noise from them.
func liveBody(key string, version, size int) string {
	head := fmt.Sprintf("%s %d %d ", key, version, size)
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(head))).Read(b)
	return head + string(b)
}

// proven reads all that a server lists and returns the version of each key.
func (p *process) proven(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	listing := mustRequest(t, http.MethodGet, p.s3+"/bkt?list-type=2&max-keys=1000", "")
	for _, m := range regexp.MustCompile("<Key>([^<]+)</Key>").FindAllStringSubmatch(listing, -1) {
		text := mustRequest(t, http.MethodGet, p.s3+"/bkt/"+m[1], "")
		var key string
		var version, size int
		if _, err := fmt.Sscanf(text, "%s %d %d ", &key, &version, &size); err != nil || key != m[1] || text != liveBody(key, version, size) {
			t.Errorf("%s holds other bytes", m[1])
		}
		out[m[1]] = version
	}
	return out
}

// heal does what the refusals of a copied folder say until a server starts on
// it, and returns what that took. prefer takes a new copy before it drops what is
// lost.
func heal(t *testing.T, dir string, again func(), prefer bool) (p *process, steps []string) {
	t.Helper()
	for range 6 {
		p, err := launch(binary(t), dir, append(os.Environ(), firstKey()...), []string{"--data", dir})
		if err == nil {
			t.Cleanup(func() { _ = p.stop() })
			return p, steps
		}
		log := err.Error()
		step, args := "", []string(nil)
		switch {
		case strings.Contains(log, "larder snapshot restore"):
			step, args = "snapshot restore", []string{"snapshot", "restore", "--yes", "--data", dir}
		case strings.Contains(log, "--drop-lost") && !prefer:
			step, args = "drop lost", []string{"rebuild-index", "--drop-lost", "--data", dir}
		case strings.Contains(log, "Copy the folder again"):
			step = "copy again"
		case strings.Contains(log, "larder rebuild-index"):
			step, args = "rebuild", []string{"rebuild-index", "--data", dir}
		default:
			t.Fatalf("a refusal that does not say what to do:\n%s", log)
		}
		steps = append(steps, step)
		if args == nil {
			again()
			continue
		}
		if out, err := larder(t, args...); err != nil {
			t.Logf("%s: %v\n%s", step, err, out)
		}
	}
	t.Fatalf("the copy never started: %v", steps)
	return nil, nil
}

// TestCopyOfALiveFolder copies the data folder of a busy server with cp and with
// rsync's order of names, as somebody would who knows of no better way. The copy
// starts, or says what to do; then it is consistent, and holds every object that
// was acknowledged before the copy began, but for those that it names as lost.
func TestCopyOfALiveFolder(t *testing.T) {
	t.Parallel()
	p := serveForTest(t, "--segment-size=1048576", "--compact-rate=100000000")
	mustRequest(t, http.MethodPut, p.s3+"/bkt", "")
	l := p.load(t, 4)
	defer l.end()
	for n, copying := range [][]string{{"cp", "-a"}, {"rsync", "-a", "--delete"}, {"cp", "-a"}} {
		tool, err := exec.LookPath(copying[0])
		if err != nil {
			t.Logf("%s is not installed", copying[0])
			continue
		}
		target := l.ops.Load() + 200
		eventually(t, "operations", func() bool { return l.ops.Load() >= target || t.Failed() })
		before := l.now()
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		run := func() {
			cmd := exec.Command(tool, append(copying[1:], p.data+"/.", dir+"/")...)
			out, err := cmd.CombinedOutput() // files vanish meanwhile: both tools say so and go on
			t.Logf("%v: %v %.300s", copying, err, out)
		}
		run()
		again := func() { // the original is there, and is stopped for a second copy
			l.end()
			_ = p.stop()
			if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
				t.Fatal(err)
			}
			run()
		}
		began := time.Now()
		copied, steps := heal(t, dir, again, n == 2)
		t.Logf("copy %d: %v, in %s", n, steps, time.Since(began))
		judgeCopy(t, before, copied.proven(t), steps)
		if err := copied.stop(); err != nil {
			t.Error(err)
		}
		if out, err := larder(t, "verify", "--data", dir); err != nil {
			t.Errorf("verify of copy %d: %v\n%s", n, err, out)
		}
		if strings.Contains(strings.Join(steps, " "), "copy again") {
			return // the original has been stopped
		}
	}
}

// judgeCopy holds a copy against what was acknowledged before it began. Objects
// that were named as lost may be missing, but no key may be older.
func judgeCopy(t *testing.T, before, got map[string]int, steps []string) {
	t.Helper()
	dropped := strings.Contains(strings.Join(steps, " "), "drop lost")
	missing := 0
	for key, acked := range before {
		v, there := got[key]
		switch {
		case there && v < acked || there && v < -acked:
			t.Errorf("%s: version %d, acknowledged was %d", key, v, acked)
		case !there && acked > 0:
			missing++ // deleted since, or lost
		}
	}
	t.Logf("%d of %d keys are gone, dropped: %v", missing, len(before), dropped)
}
