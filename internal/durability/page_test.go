package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const run1 = `{"test":"TestKill","figures":{"kills":1200,"slowest_start_ms":40,"seed":"7","lost":0}}
{"test":"TestKill","figures":{"kills":34,"slowest_start_ms":30,"seed":"8","lost":0}}
{"test":"TestOther","figures":{"kills":1,"gained":1.5}}
`

func TestFiguresAreJoined(t *testing.T) {
	t.Parallel()
	f, err := readFigures(strings.NewReader(run1))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f["TestKill"].line(), "kills 1,234; lost 0; slowest start ms 40"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := f["TestOther"].line(), "gained 1.50; kills 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if f.total("kills") != 1235 {
		t.Errorf("%v kills", f.total("kills"))
	}
}

func TestBrokenFiguresAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `{"figures":{}}`, "[]"} {
		if _, err := readFigures(strings.NewReader(text + "\n")); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "figures"), filepath.Join(dir, "page.md")
	if err := os.WriteFile(in, []byte(run1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(in, out); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| kill -9 | 1,235 |", "| `TestKill` | kills 1,234;", "Seeds of this run: 7, 8.", "| D23 |", "`e2e.TestKill`"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
