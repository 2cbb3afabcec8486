package archtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const docs = "../../docs"

// TestDecisionsAreNumbered wants docs/decisions/NNNN-title.md without gaps, each
// with its number in the heading.
func TestDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(docs, "decisions"))
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	for i, e := range entries {
		if !form.MatchString(e.Name()) {
			t.Errorf("docs/decisions/%s: the name is not NNNN-title.md", e.Name())
			continue
		}
		number := e.Name()[:4]
		if want := fmt.Sprintf("%04d", i+1); number != want {
			t.Errorf("docs/decisions/%s: number %s is missing or used twice", e.Name(), want)
		}
		text, err := os.ReadFile(filepath.Join(docs, "decisions", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+number+" ") {
			t.Errorf("docs/decisions/%s: the first line must be a heading that begins with %s", e.Name(), number)
		}
	}
}

// TestArchitectureNamesEveryPackage keeps the map complete.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(docs, "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		if name := p.name(); !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/architecture.md does not name `%s`", name)
		}
	}
}

// TestLinksInDocs follows the relative links of the pages to files.
func TestLinksInDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(docs, "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)[^):]*\)`)
	for _, page := range append(append(pages, deeper...), "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}
