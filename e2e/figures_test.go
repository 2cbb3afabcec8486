package e2e_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
)

// figures appends what a test has counted to the file that LARDER_FIGURES
// names, as one line of JSON, for DURABILITY.md. Without it nothing happens.
func figures(t *testing.T, counted map[string]any) {
	t.Helper()
	if !t.Failed() {
		note(t, counted)
	}
}

// note is figures, also of a test that failed.
func note(t *testing.T, counted map[string]any) {
	t.Helper()
	path := os.Getenv("LARDER_FIGURES")
	if path == "" {
		return
	}
	line, err := json.Marshal(map[string]any{"test": t.Name(), "figures": counted})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}

// cycles is how often a campaign repeats: usual in every run, and times
// LARDER_CYCLES where somebody has hours.
func cycles(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("LARDER_CYCLES")
	if text == "" {
		return usual
	}
	factor, err := strconv.Atoi(text)
	if err != nil || factor < 1 {
		t.Fatalf("LARDER_CYCLES=%q is not a number of 1 or more", text)
	}
	return usual * factor
}
