package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/bench"
)

// benchFor runs `larder bench` for a moment on a fresh folder, as a person would.
func benchFor(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"bench"}, append(args, "--dir", dir)...)...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v afterwards, %v", left, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// TestBenchCommand measures a little on the program's own server, writes the
// figures and compares them with baselines.
func TestBenchCommand(t *testing.T) {
	t.Parallel()
	figures, baseline := filepath.Join(t.TempDir(), "figures.json"), filepath.Join(t.TempDir(), "baseline.json")
	little := []string{"matrix", "--seconds=0.03", "--rounds=2", "--sizes=1KiB", "--concurrency=2", "--list-keys=50"}
	out, code := benchFor(t, append(little, "--json", figures, "--save-baseline", baseline)...)
	if code != 0 || !strings.Contains(out, "MATRIX") || !strings.Contains(out, "multipart  1 KiB") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	var report bench.Report
	text, err := os.ReadFile(figures)
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if _, err := bench.ReadBaseline(baseline); err != nil {
		t.Error(err)
	}
	if err != nil || len(report.Cells) != 6 || len(report.Limits) == 0 {
		t.Fatalf("%d cells, %v", len(report.Cells), err)
	}
	names := map[string]bool{}
	for _, f := range report.Cells[0].Contenders {
		names[f.Name] = true
	}
	if !names["s3"] || !names["native"] {
		t.Errorf("only %v were measured", names)
	}
	high := bench.Baseline{Reached: map[string]float64{"matrix put 1 KiB x2, s3": 1e6}}
	baseline = filepath.Join(t.TempDir(), "high.json")
	if err := high.Save(baseline); err != nil {
		t.Fatal(err)
	}
	out, code = benchFor(t, append(little, "--protocols=s3", "--check", baseline)...)
	if code != 1 || !strings.Contains(out, "Slower than the baseline") || !strings.Contains(out, "put 1 KiB x2, s3") {
		t.Errorf("a baseline that cannot be reached: exit code %d\n%s", code, out)
	}
}

// TestBenchRefusals holds that a wrong flag is named, before anything is measured.
func TestBenchRefusals(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"no such part":       {"everything"},
		"--sizes":            {"limits", "--sizes=large"},
		"--block-size":       {"exercise", "--block-size=-"},
		"--allow-remote":     {"matrix", "--target=other=http://192.0.2.1:9000,key,secret"},
		"name=url,key":       {"matrix", "--target=other"},
		"--margin":           {"limits", "--margin=2"},
		"holds no baseline":  {"limits", "--check=/nowhere/baseline.json"},
		"nothing would be":   {"exercise", "--readers=0", "--writers=0"},
		"is none of":         {"matrix", "--protocols=gopher"},
		"accepts 1 arg(s)":   {},
		"can work at once":   {"matrix", "--concurrency=0"},
		"unknown flag":       {"limits", "--fast"},
		"more than nothing":  {"limits", "--seconds=-1"},
		"from 1 byte to 1":   {"limits", "--sizes=2GiB"},
		"at least one round": {"limits", "--rounds=-1"},
	} {
		if out, code := benchFor(t, args...); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
	}
}
