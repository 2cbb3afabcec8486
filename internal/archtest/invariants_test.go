package archtest_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// invariantCount is how many parts the promise in DURABILITY.md has.
const invariantCount = 23

// TestInvariantsNameTheirTests holds that DURABILITY.md names a test for every
// part of the promise, and that every test it names is there.
func TestInvariantsNameTheirTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "DURABILITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := testFunctions(t)
	row := regexp.MustCompile(`(?m)^\| (D\d+) \| [^|]+ \| ([^|]+) \|$`)
	name := regexp.MustCompile("`([^`]+)`")
	seen := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		seen[m[1]] = true
		tests := name.FindAllStringSubmatch(m[2], -1)
		if len(tests) == 0 {
			t.Errorf("%s names no test", m[1])
		}
		for _, test := range tests {
			if !have[test[1]] {
				t.Errorf("%s names %s, which is not there", m[1], test[1])
			}
		}
	}
	for i := range invariantCount {
		if id := fmt.Sprintf("D%d", i+1); !seen[id] {
			t.Errorf("DURABILITY.md has no row for %s", id)
		}
	}
}

// testFunctions are the tests of the module, as package.Test.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				have[f.pkg.name()+"."+fn.Name.Name] = true
			}
		}
	}
	return have
}
