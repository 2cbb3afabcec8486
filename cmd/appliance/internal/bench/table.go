package bench

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// column is one column of a table. text is "" where a contender has no such
// figure; a column without any is left out.
type column struct {
	title string
	text  func(Cell, Figures) string
}

func columns() []column {
	return append([]column{
		{"OPERATION", func(c Cell, _ Figures) string { return c.Op }},
		{"SIZE", func(c Cell, _ Figures) string { return unless(c.Size == 0, sizeName(c.Size)) }},
		{"CLIENTS", func(c Cell, _ Figures) string { return unless(c.Concurrency == 0, fmt.Sprint(c.Concurrency)) }},
		{"WHO", func(_ Cell, f Figures) string { return f.Name }},
		{"A SECOND", func(_ Cell, f Figures) string { return unless(f.Rate.Rounds == 0, number(f.Rate.Value)) }},
		{"95%", func(_ Cell, f Figures) string {
			return unless(f.Rate.Rounds < 2, number(f.Rate.Low)+"-"+number(f.Rate.High))
		}},
		{"MIB/S", func(_ Cell, f Figures) string { return unless(f.MiB == 0, number(f.MiB)) }},
		{"P50 MS", latencyText(func(f Figures) *Latency { return f.Took }, func(l Latency) float64 { return l.P50 })},
		{"P99 MS", latencyText(func(f Figures) *Latency { return f.Took }, func(l Latency) float64 { return l.P99 })},
		{"1ST BYTE P50", latencyText(func(f Figures) *Latency { return f.FirstByte }, func(l Latency) float64 { return l.P50 })},
		{"P99", latencyText(func(f Figures) *Latency { return f.FirstByte }, func(l Latency) float64 { return l.P99 })},
		{"LAG P50", latencyText(func(f Figures) *Latency { return f.Lag }, func(l Latency) float64 { return l.P50 })},
		{"P99", latencyText(func(f Figures) *Latency { return f.Lag }, func(l Latency) float64 { return l.P99 })},
	}, serverColumns()...)
}

func serverColumns() []column {
	return []column{
		{"CPU US", func(_ Cell, f Figures) string { return optional(f.CPU) }},
		{"CORES", func(_ Cell, f Figures) string { return optional(f.Cores) }},
		{"IDLE", func(_ Cell, f Figures) string { return unless(f.Idle == 0, sizeName(f.Idle)) }},
		{"PEAK", func(_ Cell, f Figures) string { return unless(f.Peak == 0, sizeName(f.Peak)) }},
		{"SYNCS", func(_ Cell, f Figures) string { return optional(f.Syncs) }},
		{"ALLOCS", func(_ Cell, f Figures) string { return optional(f.Allocs) }},
		{"OF LIMIT", func(_ Cell, f Figures) string {
			if f.OfLimit == nil {
				return ""
			}
			return fmt.Sprintf("%.0f%% %s", 100*f.OfLimit.Value, f.Limit)
		}},
		{"RATIO", func(_ Cell, f Figures) string {
			if f.Ratio == nil {
				return ""
			}
			return fmt.Sprintf("%.2f (%.2f-%.2f)", f.Ratio.Value, f.Ratio.Low, f.Ratio.High)
		}},
		{"ERRORS", func(_ Cell, f Figures) string { return fmt.Sprint(f.Errors) }},
	}
}

func latencyText(of func(Figures) *Latency, value func(Latency) float64) func(Cell, Figures) string {
	return func(_ Cell, f Figures) string {
		if of(f) == nil {
			return ""
		}
		return fmt.Sprintf("%.3g", value(*of(f)))
	}
}

func unless(absent bool, text string) string {
	if absent {
		return ""
	}
	return text
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

// number has three digits that count, and no exponent.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// print prints the cells of a part as a table.
func (b *bench) print(title string, cells []Cell) error {
	var used []column
	for _, col := range columns() {
		if col.used(cells) {
			used = append(used, col)
		}
	}
	fmt.Fprintf(b.cfg.Out, "\n%s (%s, %d processors, medians of rounds)\n", strings.ToUpper(title), b.report.FileSystem, b.report.Processors)
	w := tabwriter.NewWriter(b.cfg.Out, 0, 0, 2, ' ', 0)
	for _, col := range used {
		fmt.Fprint(w, col.title, "\t")
	}
	fmt.Fprintln(w)
	for _, c := range cells {
		for _, f := range c.Contenders {
			for _, col := range used {
				fmt.Fprint(w, col.text(c, f), "\t")
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

func (col column) used(cells []Cell) bool {
	for _, c := range cells {
		for _, f := range c.Contenders {
			if col.text(c, f) != "" {
				return true
			}
		}
	}
	return false
}

// finish takes the cells of a part into the report and prints them.
func (b *bench) finish(title string, cells []Cell) error {
	b.report.Cells = append(b.report.Cells, cells...)
	return b.print(title, cells)
}
