package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxLine bounds one line of figures in bytes.
const maxLine = 1 << 20

// figures are what each test has counted, by its name.
type figures map[string]counted

// counted is one test's figures: numbers over all its runs, and texts.
type counted struct {
	numbers map[string]float64
	texts   map[string][]string
}

// readFigures reads JSON lines of the form {"test":NAME,"figures":{...}} and
// joins those of one test: durations and rates by their largest, all other
// numbers by their sum, texts side by side.
func readFigures(r io.Reader) (figures, error) {
	out := figures{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var line struct {
			Test    string
			Figures map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if line.Test == "" {
			return nil, fmt.Errorf("line %d names no test", n)
		}
		out.add(line.Test, line.Figures)
	}
	return out, lines.Err()
}

func (f figures) add(test string, values map[string]any) {
	c, ok := f[test]
	if !ok {
		c = counted{map[string]float64{}, map[string][]string{}}
		f[test] = c
	}
	for name, value := range values {
		switch v := value.(type) {
		case float64:
			if old, ok := c.numbers[name]; ok && isPeak(name) {
				c.numbers[name] = max(old, v)
			} else {
				c.numbers[name] = old + v
			}
		default:
			if text := fmt.Sprint(v); !slices.Contains(c.texts[name], text) {
				c.texts[name] = append(c.texts[name], text)
			}
		}
	}
}

// isPeak tells numbers of which only the largest means something.
func isPeak(name string) bool {
	for _, mark := range []string{"slowest", "seconds", "_ms", "p99", "per_", "ratio", "percent", "mib", "largest"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	return false
}

// total sums one number over all tests.
func (f figures) total(name string) float64 {
	var sum float64
	for _, c := range f {
		sum += c.numbers[name]
	}
	return sum
}

func (f figures) tests() []string { return slices.Sorted(maps.Keys(f)) }

// line writes one test's figures as text, without its seeds.
func (c counted) line() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.numbers)) {
		parts = append(parts, fmt.Sprintf("%s %s", strings.ReplaceAll(name, "_", " "), number(c.numbers[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(c.texts)) {
		if name != "seed" {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+strings.Join(c.texts[name], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// number is 12,345 or 1.25.
func number(v float64) string {
	if v != float64(int64(v)) {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	text := strconv.FormatInt(int64(v), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
