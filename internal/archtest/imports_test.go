package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

// mayImport is the table of docs/architecture.md: which packages of the module
// a package may import. Every package may import fault. A package that is not
// in the table is an error: it must be given a place first.
func mayImport() map[string][]string {
	sigv4 := "auth/sigv4"
	return map[string][]string{
		"fault":         {},
		"store/vfs":     {},
		"store/journal": {"store/vfs"},
		"store/blob":    {"store/vfs"},
		"store/index":   {},
		"store":         {"store/journal", "store/blob", "store/index", "store/vfs"},
		"auth/sigv4":    {},
		"auth":          {sigv4},
		"gate":          {"auth", "store"},
		"scrubber":      {"store"},
		"admin":         {"auth", "store", "scrubber"},
		"s3":            {"gate", "auth", sigv4, "store"},
		"native/wire":   {},
		"native":        {"native/wire", "gate", "auth", sigv4, "store"},
		"client":        {"native/wire", sigv4},
		"web":           {"web/view", "web/assets", "gate", "admin", "auth", sigv4, "store"},
		"web/view":      {"web/assets"},
		"web/assets":    {},

		"internal/durability": {},
		"internal/task":       {},
	}
}

// mayImportFrom adds what stands above the table: the command and these tests.
func mayImportFrom(name string) (allowed []string, known bool) {
	if strings.HasPrefix(name, "cmd/") || name == "internal/archtest" {
		return []string{"*"}, true
	}
	allowed, known = mayImport()[name]
	return allowed, known
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.forTests() {
			continue
		}
		allowed, known := mayImportFrom(p.name())
		if !known {
			t.Errorf("%s: no rule says what it may import", p.name())
			continue
		}
		for _, path := range p.Imports {
			if ours, ok := strings.CutPrefix(path, module+"/"); ok && !importAllowed(ours, allowed) {
				t.Errorf("%s may not import %s", p.name(), ours)
			}
		}
	}
}

func importAllowed(path string, allowed []string) bool {
	return path == "fault" || slices.Contains(allowed, path) || slices.Contains(allowed, "*")
}

// TestForeignImports keeps large dependencies at the one place that has to
// know them.
func TestForeignImports(t *testing.T) {
	t.Parallel()
	owners := map[string][]string{
		"modernc.org/":                {"store/index", "auth", "cmd"}, // cmd for a process-wide switch
		"zombiezen.com/":              {"store/index", "auth"},
		"database/sql":                {"store/index", "auth"},
		"github.com/labstack/":        {"web"},
		"github.com/a-h/templ":        {"web"},
		"github.com/spf13/":           {"cmd"},
		"github.com/knadh/":           {"cmd"},
		"golang.org/x/crypto/bcrypt":  {"auth"},
		"github.com/aws/":             {"s3"},
		"github.com/minio/minio-go/":  {},
		"github.com/chromedp/":        {},
		"pgregory.net/":               {},
		"github.com/rogpeppe/":        {},
		"github.com/PuerkitoBio/":     {},
		"math/rand":                   {},
		"net/http/pprof":              {},
		"expvar":                      {},
		"log":                         {},
		"unsafe":                      {},
		"github.com/minio/sha256":     {},
		"github.com/minio/md5-simd":   {},
		"github.com/go-json-experim":  {},
		"github.com/mattn/go-sqlite3": {},
	}
	for _, p := range packages(t) {
		if p.forTests() {
			continue
		}
		for _, path := range p.Imports {
			for prefix, homes := range owners {
				exact := !strings.ContainsAny(prefix, ".") // of the standard library
				if exact && path != prefix || !strings.HasPrefix(path, prefix) {
					continue
				}
				if !slices.ContainsFunc(homes, func(h string) bool { return p.name() == h || strings.HasPrefix(p.name(), h+"/") }) {
					t.Errorf("%s imports %s, which only %v may", p.name(), path, homes)
				}
			}
		}
	}
}

// TestLeaves holds that the two lowest packages stand on the standard library
// and x/sys alone.
func TestLeaves(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.name() != "fault" && p.name() != "store/vfs" {
			continue
		}
		for _, path := range p.Imports {
			std := !strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
			if !std && !strings.HasPrefix(path, "golang.org/x/sys") {
				t.Errorf("%s imports %s", p.name(), path)
			}
		}
	}
}
