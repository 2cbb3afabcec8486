package archtest_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

const (
	maxFunctionLines    = 70
	maxFileLines        = 500
	medianFunctionLines = 12
)

// TestFunctionLength holds no function over 70 lines and the median of the
// product at 12.
func TestFunctionLength(t *testing.T) {
	t.Parallel()
	var lengths []int
	for _, f := range files(t) {
		if f.generated {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := f.line(fn.End()) - f.line(fn.Pos()) + 1
			if n > maxFunctionLines {
				t.Errorf("%s:%d: %s has %d lines, %d are allowed", f.name, f.line(fn.Pos()), fn.Name.Name, n, maxFunctionLines)
			}
			if !f.test {
				lengths = append(lengths, n)
			}
		}
	}
	slices.Sort(lengths)
	median, p90 := lengths[len(lengths)/2], lengths[len(lengths)*9/10]
	t.Logf("%d functions: median %d lines, 90%% at most %d", len(lengths), median, p90)
	if median > medianFunctionLines {
		t.Errorf("the median function has %d lines, %d are allowed", median, medianFunctionLines)
	}
}

func TestFileLength(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if n := f.lines(); n > maxFileLines && !f.generated {
			t.Errorf("%s has %d lines, %d are allowed", f.name, n, maxFileLines)
		}
	}
}

// TestPackageComments wants one comment for each package, which begins with
// its name.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	comments := map[string]string{}
	for _, f := range files(t) {
		if !f.test && f.syntax.Doc != nil {
			comments[f.pkg.name()] += f.syntax.Doc.Text()
		}
	}
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		text, short := comments[p.name()], p.name()[strings.LastIndex(p.name(), "/")+1:]
		if !strings.HasPrefix(text, "Package "+short) && !strings.HasPrefix(text, "Command ") {
			t.Errorf("%s: the package comment is missing or does not begin with its name", p.name())
		}
		if strings.Count(text, "Package ") > 1 {
			t.Errorf("%s: more than one file has a package comment", p.name())
		}
		if short == "util" || short == "utils" || short == "common" || short == "helpers" {
			t.Errorf("%s: name a package for what it holds", p.name())
		}
	}
}
