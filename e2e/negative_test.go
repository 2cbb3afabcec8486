package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// controlBinary names the program that a run tests in place of Larder.
	controlBinary = "LARDER_E2E_BINARY"
	// controlKind says which promise that program breaks.
	controlKind   = "LARDER_E2E_SABOTAGE"
	controlWithin = 2 * time.Minute
)

// sabotage is the environment that breaks the server of a control. The first
// start is honest, so that it is not the making of a data folder that is caught.
func (s *server) sabotage() []string {
	if kind := os.Getenv(controlKind); kind != "" && s.starts > 1 {
		return []string{"SABOTAGE=" + kind}
	}
	return nil
}

// controls are the promises that are broken on purpose, and the tests that have
// to find it out.
func controls() map[string][]string {
	return map[string][]string{
		"dirsync":        {"TestPowerCutForgetful"}, // ext4 and XFS keep the name of a file that was synced
		"datasync":       {"TestPowerCut/ext4", "TestPowerCut/xfs"},
		"blobsync":       {"TestPowerCut/ext4", "TestPowerCut/xfs"},
		"journalsync":    {"TestPowerCut/ext4", "TestPowerCutForgetful"},
		"early-answer":   {"TestPowerCutForgetful"}, // a cut with the answer itself is sure to find it
		"ignore-eio":     {"TestPowerCutAfterFailedSync"},
		"skip-tombstone": {"TestKillAndRebuild"},
		"drop-tombstone": {"TestKillDuringCompaction"},
		"system-normal":  {"TestPowerCut/ext4", "TestPowerCutForgetful"},
	}
}

// sabotaged builds the program that can be told to break a promise.
var sabotaged = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(larder), "sabotaged")
	out, err := exec.Command("go", "build", "-tags", "sabotage", "-o", path, "larder/cmd/appliance").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building with -tags sabotage: %w\n%s", err, out)
	}
	return path, nil
})

// evidence is what a crash test says when a promise was broken. A sabotaged
// server that does not even start before the first crash proves nothing.
var evidence = regexp.MustCompile(`.*_test\.go:\d+: .*(as acknowledged|acknowledged was|keys are listed|ended at start ([3-9]|\d\d)|a whole answer that is not|500 InternalError).*`)

// TestNegativeControls breaks one promise after the other in the real binary,
// and runs the crash tests against that. Each has to fail, and to say why: a
// test that cannot fail proves nothing.
func TestNegativeControls(t *testing.T) {
	heavy(t)
	if os.Getenv(controlKind) != "" {
		t.Fatal("a control of a control")
	}
	if os.Getuid() != 0 {
		skips.skip(t, "not root, which mounting a disk needs")
	}
	binary, err := sabotaged()
	if err != nil {
		t.Fatal(err)
	}
	for kind, tests := range controls() {
		for _, test := range tests {
			t.Run(kind+"/"+test, func(t *testing.T) {
				began := time.Now()
				found := runControl(t, binary, kind, test)
				t.Logf("caught after %.1f s: %s", time.Since(began).Seconds(), found)
				figures(t, map[string]any{"caught": 1, "seconds": time.Since(began).Seconds()})
			})
		}
	}
}

// runControl runs one test of this package in a process of its own against the
// sabotaged server, and returns what it found.
func runControl(t *testing.T, binary, kind, test string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(test, "/")
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+strings.Join(parts, "$/^")+"$", "-test.v",
		"-test.timeout", controlWithin.String(), fmt.Sprintf("-seed=%d", runSeed))
	// A test ends with what it finds, so more rounds take longer only by chance:
	// some promises are broken in a few moments of many.
	cmd.Env = append(cleanEnv(), controlBinary+"="+binary, controlKind+"="+kind, "LARDER_FIGURES=", "LARDER_CYCLES=8")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP") {
		skips.skip(t, test+" skipped")
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	found := evidence.FindString(string(out))
	if err == nil || found == "" {
		t.Fatalf("%s was not caught by %s (%v):\n%s", kind, test, err, lastBytes(string(out), 4000))
	}
	return strings.TrimSpace(found)
}
