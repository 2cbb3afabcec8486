package bench_test

import (
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/bench"
	"larder/fault"
)

// measured is a report of one cell.
func measured(reached, syncs, allocs float64) bench.Report {
	cpu := 1.0
	return bench.Report{Cells: []bench.Cell{{Part: "matrix", Op: "put", Size: 1024, Concurrency: 1, Contenders: []bench.Figures{{
		Name: "s3", CPU: &cpu, Syncs: &syncs, Allocs: &allocs, Limit: "append",
		OfLimit: &bench.Estimate{Value: reached, Low: reached * 0.9, High: reached * 1.1},
	}}}}}
}

func TestAgainst(t *testing.T) {
	t.Parallel()
	base := measured(0.8, 1, 100).Baseline()
	for name, c := range map[string]struct {
		report bench.Report
		says   string
	}{
		"the same":        {measured(0.8, 1, 100), ""},
		"better":          {measured(1.6, 0.2, 10), ""},
		"within":          {measured(0.6, 1.2, 110), ""},
		"slower":          {measured(0.5, 1, 100), "0.50 (at most 0.55) of the limit"},
		"more syncs":      {measured(0.8, 2, 100), "2.00 syncs"},
		"more allocation": {measured(0.8, 1, 200), "200 allocations"},
	} {
		err := c.report.Against(base, 0.3)
		if (err == nil) != (c.says == "") || !strings.Contains(fault.HintOf(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (bench.Report{}).Against(base, 0.3); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("nothing to compare: %v", err)
	}
}

func TestBaselineFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "baseline.json")
	want := measured(0.8, 1, 100)
	if err := want.Baseline().Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := bench.ReadBaseline(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := want.Against(got, 0); err != nil {
		t.Error(err)
	}
	if err := measured(0.4, 1, 100).Against(got, 0.3); err == nil {
		t.Error("half as fast passes")
	}
	for _, next := range []bench.Report{measured(0.5, 1, 100), measured(0.9, 2, 50)} { // the worse of each stays
		if err := next.Baseline().Save(path); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = bench.ReadBaseline(path); err != nil {
		t.Fatal(err)
	}
	name := "matrix put 1 KiB x1, s3"
	if got.Reached[name] != 0.5 || got.Syncs[name] != 2 || got.Allocs[name] != 100 {
		t.Errorf("after three runs: %+v", got)
	}
	if _, err := bench.ReadBaseline(filepath.Join(t.TempDir(), "none")); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("no file: %v", err)
	}
}

// TestStoredBaseline holds that the baseline beside this test has what the task
// bench:check measures.
func TestStoredBaseline(t *testing.T) {
	t.Parallel()
	b, err := bench.ReadBaseline("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range []string{"put 1 KiB x1", "put 1 KiB x16", "get 1 MiB x1", "head 1 KiB x16", "delete 1 KiB x1", "multipart 1 MiB x1", "list x1"} {
		if b.Reached["matrix "+cell+", s3"] <= 0 {
			t.Errorf("no figure for %s", cell)
		}
	}
}
