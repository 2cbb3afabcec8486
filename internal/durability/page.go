package main

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"
)

//go:embed page.md
var pageText string

// render makes the page.
func render(found figures, where place) ([]byte, error) {
	page, err := template.New("page").Funcs(template.FuncMap{
		"number": number, "total": found.total, "join": strings.Join, "tests": testLinks,
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Where": where, "Invariants": invariants(), "Figures": found, "Tests": found.tests(), "Seeds": found.seeds(),
	})
	return out.Bytes(), err
}

// Line is a test's figures, for the template.
func (f figures) Line(test string) string { return f[test].line() }

// seeds are those of the run, each once, in the order of the tests.
func (f figures) seeds() []string {
	var out []string
	seen := map[string]bool{}
	for _, test := range f.tests() {
		for _, seed := range f[test].texts["seed"] {
			if !seen[seed] {
				seen[seed] = true
				out = append(out, seed)
			}
		}
	}
	return out
}

// testLinks writes names of tests for a cell of a table.
func testLinks(names []string) string { return "`" + strings.Join(names, "` `") + "`" }
