package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"larder/fault"
)

// Baseline is what a run reached, in numbers that mean the same on another disk
// and on another day: fractions of what was possible at that moment, and counts.
// The keys name the cell and the contender.
type Baseline struct {
	Reached map[string]float64 `json:"reached"`          // of the limit; less is worse
	Syncs   map[string]float64 `json:"syncs,omitempty"`  // of the disk, an operation; more is worse
	Allocs  map[string]float64 `json:"allocs,omitempty"` // of memory, an operation; more is worse
}

const (
	// allocMargin is how many more allocations an operation may make: they hardly
	// vary from run to run.
	allocMargin = 0.15
	// fewSyncs and fewAllocs are no matter, whatever the margin says.
	fewSyncs  = 0.05
	fewAllocs = 5
)

// Baseline takes the comparable numbers out of a report.
func (r Report) Baseline() Baseline {
	b := Baseline{Reached: map[string]float64{}, Syncs: map[string]float64{}, Allocs: map[string]float64{}}
	r.each(func(name string, f Figures) {
		if f.OfLimit != nil {
			b.Reached[name] = f.OfLimit.Value
		}
		if f.Syncs != nil {
			b.Syncs[name] = *f.Syncs
		}
		if f.Allocs != nil {
			b.Allocs[name] = *f.Allocs
		}
	})
	return b
}

// each visits the contenders of all cells that are servers of ours.
func (r Report) each(visit func(name string, f Figures)) {
	for _, c := range r.Cells {
		for _, f := range c.Contenders {
			if f.CPU != nil {
				visit(c.title()+", "+f.Name, f)
			}
		}
	}
}

// Against compares a report with a baseline. A fraction counts as worse when even
// the upper end of its interval lies more than the margin below the baseline's, a
// count when it lies more than its margin above. What only one of them has is
// passed over; when nothing is left, that is an error too.
func (r Report) Against(b Baseline, margin float64) error {
	var worse []string
	compared := 0
	r.each(func(name string, f Figures) {
		if want, ok := b.Reached[name]; ok && f.OfLimit != nil {
			compared++
			if f.OfLimit.High < want*(1-margin) {
				worse = append(worse, fmt.Sprintf("%s: %.2f (at most %.2f) of the limit %q, the baseline has %.2f",
					name, f.OfLimit.Value, f.OfLimit.High, f.Limit, want))
			}
		}
		if want, ok := b.Syncs[name]; ok && f.Syncs != nil && *f.Syncs > want*(1+margin)+fewSyncs {
			worse = append(worse, fmt.Sprintf("%s: %.2f syncs an operation, the baseline has %.2f", name, *f.Syncs, want))
		}
		if want, ok := b.Allocs[name]; ok && f.Allocs != nil && *f.Allocs > want*(1+allocMargin)+fewAllocs {
			worse = append(worse, fmt.Sprintf("%s: %.0f allocations an operation, the baseline has %.0f", name, *f.Allocs, want))
		}
	})
	if compared == 0 {
		return refuse("--check", nil, "The baseline has nothing that this run measured: use the part, sizes and concurrency that it was made with.")
	}
	if len(worse) > 0 {
		slices.Sort(worse)
		return fault.New("bench.Against", fault.Precondition, fmt.Sprintf("%d of %d cells", len(worse), compared), nil).
			WithHint("Slower than the baseline:\n" + strings.Join(worse, "\n"))
	}
	return nil
}

// ReadBaseline reads a baseline from a file.
func ReadBaseline(path string) (b Baseline, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return b, refuse(path, err, "This file holds no baseline. --save-baseline writes one.")
	}
	return b, nil
}

// Save writes the baseline to a file. Of what the file has already, the worse
// number stays: several runs make a baseline that a run on a bad day passes.
func (b Baseline) Save(path string) error {
	old, err := ReadBaseline(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeJSON(path, Baseline{
		Reached: worse(b.Reached, old.Reached, false), Syncs: worse(b.Syncs, old.Syncs, true), Allocs: worse(b.Allocs, old.Allocs, true),
	})
}

// worse takes the greater or the smaller numbers of two tables, with as many
// digits as mean something.
func worse(a, b map[string]float64, greater bool) map[string]float64 {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]float64{}
	}
	for name, v := range b {
		if w, ok := out[name]; !ok || v > w == greater {
			out[name] = v
		}
	}
	for name, v := range out {
		out[name] = math.Round(v*1e3) / 1e3
	}
	return out
}
