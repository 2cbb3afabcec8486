// Package e2e_test drives the real appliance from outside: its binary on a
// fresh data folder, with real browsers, backup programs and SDKs, and with
// clients that misbehave. No part of Larder is imported.
//
// A test whose foreign program is absent skips, and the run says how many did.
// With -short the tests that move much data skip too.
package e2e_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Both are set by TestMain before the first test and only read afterwards.
var (
	larder  string // path of the appliance, built once a run
	runSeed uint64 // what every random choice of the run follows from
)

func TestMain(m *testing.M) {
	flag.Uint64Var(&runSeed, "seed", uint64(time.Now().UnixNano()), "repeats the random choices of a run that printed it")
	flag.Parse()
	os.Exit(run(m))
}

// readSources opens every folder of the module. The go command keeps the result
// of a test as long as what the test opened is unchanged; it does not know that
// this one builds a binary from those files.
var readSources = sync.OnceValue(func() error {
	return filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || e.Name() == "data") {
			return filepath.SkipDir
		}
		return err
	})
})

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "larder-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	larder = filepath.Join(dir, "larder")
	if control := os.Getenv(controlBinary); control != "" {
		larder = control
	} else if out, err := exec.Command("go", "build", "-o", larder, "larder/cmd/appliance").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the appliance: %v\n%s", err, out)
		return 1
	}
	fmt.Printf("e2e: -seed=%d repeats this run's random choices\n", runSeed)
	code := m.Run()
	skips.report()
	return code
}
