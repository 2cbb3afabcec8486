package store_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"larder/store/vfs"
)

// TestSimCatchesSabotage breaks the promises one by one, in a test program that
// is built for that, and demands that the simulation finds each by what clients
// lose. A simulation that cannot fail would prove nothing.
func TestSimCatchesSabotage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program of its own")
	}
	program := filepath.Join(t.TempDir(), "store.test")
	if out, err := exec.Command("go", "test", "-c", "-tags", "sabotage", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	caught, begin := 0, time.Now()
	for _, kind := range []vfs.Sabotage{
		"", vfs.SkipDirSync, vfs.SkipDataSync, vfs.SkipBlobSync, vfs.SkipJournalSync,
		vfs.AnswerEarly, vfs.IgnoreEIO, vfs.SkipTombstone, vfs.DropTombstone,
	} {
		t.Run(string("sabotage "+kind), func(t *testing.T) {
			out, err := simulate(t, program, kind)
			var exit *exec.ExitError
			switch {
			case kind == "":
				if err != nil {
					t.Errorf("the simulation fails with nothing sabotaged: %v\n%s", err, out)
				}
			case err == nil:
				t.Errorf("not caught\n%s", out)
			case !errors.As(err, &exit) || !bytes.Contains(out, []byte("repeat with")):
				t.Errorf("it ended otherwise: %v\n%s", err, out)
			default:
				caught++
				t.Logf("caught: %s", firstFailure(out))
			}
		})
	}
	simFigures(t, map[string]any{"caught": caught, "seconds": time.Since(begin).Seconds()})
}

// simulate runs the short simulation with one kind of sabotage.
func simulate(t *testing.T, program string, kind vfs.Sabotage) ([]byte, error) {
	t.Helper()
	run, path := "^TestSim$", ""
	switch kind {
	case "":
		path = "born/0" // enough to show that the program fails nothing of itself
	case vfs.IgnoreEIO:
		run = "^TestSimErrors$"
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run="+run, "-test.short")
	cmd.Env = append(os.Environ(), "SABOTAGE="+string(kind), "LARDER_FIGURES=", "LARDER_SIM="+path, "LARDER_CYCLES=")
	return cmd.CombinedOutput()
}

// firstFailure is the line that tells what was found.
func firstFailure(out []byte) []byte {
	_, rest, _ := bytes.Cut(out, []byte(".go:"))
	line, _, _ := bytes.Cut(rest, []byte("\nrepeat with"))
	return line
}
