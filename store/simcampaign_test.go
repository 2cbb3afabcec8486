package store_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// simCampaign runs workloads on simulated disks and counts what was checked.
// Its size and seed come from the environment:
//
//	LARDER_SEED    the seed of all that is random
//	LARDER_CYCLES  how much to run, in multiples of what a test run does
//	LARDER_SIM     one path, as a failure prints it: run that state alone
//	LARDER_FIGURES a file that gets the figures
type simCampaign struct {
	test   string
	seed   uint64
	cycles int
	only   []string // the path of the one state to run, or nil
	print  maphash.Seed
	begin  time.Time

	mu        sync.Mutex
	kinds     map[string]int // states checked, each another one, by kind
	cuts      int
	workloads int
	failures  int
}

// maxSimFailures is how many failures are worth reading.
const maxSimFailures = 5

func newSimCampaign(t *testing.T) *simCampaign {
	c := &simCampaign{test: t.Name(), seed: 1, cycles: 1, print: maphash.MakeSeed(), kinds: map[string]int{}, begin: time.Now()}
	if s := os.Getenv("LARDER_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal("LARDER_SEED: ", err)
		}
		c.seed = seed
	}
	if s := os.Getenv("LARDER_CYCLES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatal("LARDER_CYCLES is a number from 1 on")
		}
		c.cycles = n
	}
	if s := os.Getenv("LARDER_SIM"); s != "" {
		c.only = strings.Split(s, "/")
	}
	return c
}

// run gives the workloads to one worker for each processor. Each workload has a
// bubble of its own, in which the worker knows when all is quiet: no other
// goroutine of the store runs while a client decides what to do next.
func (c *simCampaign) run(t *testing.T, workloads func(yield func(simWorkload) bool), do func(*testing.T, simWorkload)) {
	jobs := make(chan simWorkload)
	go func() {
		defer close(jobs)
		workloads(func(w simWorkload) bool {
			if c.only == nil || c.only[0] == w.name {
				jobs <- w
			}
			return true
		})
	}()
	t.Run("workers", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for w := range jobs {
					if !c.over() {
						synctest.Test(t, func(t *testing.T) { do(t, w) })
					}
				}
			})
		}
	})
	c.report(t)
}

// over tells whether enough has failed.
func (c *simCampaign) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures >= maxSimFailures
}

// wants tells whether the part of a path is to be run: the level is its place.
func (c *simCampaign) wants(level int, part int) bool {
	return c.only == nil || level >= len(c.only) || c.only[level] == strconv.Itoa(part)
}

func (c *simCampaign) fail(t *testing.T, path string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures++; c.failures > maxSimFailures {
		return
	}
	t.Errorf("%v\nrepeat with: LARDER_SEED=%d LARDER_SIM='%s' go test ./store -count=1 -run '^%s$'", err, c.seed, path, c.test)
}

func (c *simCampaign) add(cuts int, kinds map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workloads++
	c.cuts += cuts
	for kind, n := range kinds {
		c.kinds[kind] += n
	}
}

// dice are random and always the same at one place of the campaign.
func (c *simCampaign) dice(name string, at int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(c.seed+h.Sum64(), uint64(at)))
}

func (c *simCampaign) states() (n int) {
	for _, count := range c.kinds {
		n += count
	}
	return n
}

// report prints what was done.
func (c *simCampaign) report(t *testing.T) {
	took := time.Since(c.begin)
	text := fmt.Sprintf("%d states of %d cuts in %d workloads, %d violations, seed %d, %.1f s, %.0f states a second;",
		c.states(), c.cuts, c.workloads, c.failures, c.seed, took.Seconds(), float64(c.states())/took.Seconds())
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		text += fmt.Sprintf(" %s %d,", kind, c.kinds[kind])
	}
	t.Log(strings.TrimSuffix(text, ","))
	simFigures(t, map[string]any{
		"states": c.states(), "cuts": c.cuts, "workloads": c.workloads, "violations": c.failures,
		"seed": strconv.FormatUint(c.seed, 10), "seconds": took.Seconds(),
	})
}

// simFigures leaves figures where they are collected.
func simFigures(t *testing.T, figures map[string]any) {
	t.Helper()
	path := os.Getenv("LARDER_FIGURES")
	if path == "" {
		return
	}
	line, err := json.Marshal(map[string]any{"test": t.Name(), "figures": figures})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}
