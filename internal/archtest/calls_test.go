package archtest_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// touchesFiles are the functions that open, change or remove files.
func touchesFiles() []string {
	var out []string
	for _, name := range []string{
		"Open", "OpenFile", "OpenRoot", "OpenInRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir", "DirFS",
		"Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Truncate", "Link", "Symlink", "Readlink",
		"Chmod", "Chown", "Lchown", "Chtimes", "CopyFS", "NewFile", "Stat", "Lstat",
	} {
		out = append(out, "os."+name)
	}
	for _, path := range []string{"syscall", "golang.org/x/sys/unix"} {
		for _, name := range []string{"Open", "Openat", "Openat2", "Creat", "Unlink", "Unlinkat", "Rename", "Renameat", "Mkdir", "Fsync", "Fdatasync"} {
			out = append(out, path+"."+name)
		}
	}
	return append(out, "io/ioutil.ReadFile", "io/ioutil.WriteFile", "path/filepath.Walk", "path/filepath.WalkDir", "path/filepath.Glob")
}

// opensFiles says who may call one of them, besides store/vfs, and why.
func opensFiles(name string) []string {
	switch name {
	case "store/vfs":
		return touchesFiles()
	case "auth": // the mode of SQLite's own files
		return []string{"os.Chmod"}
	case "store/index": // the size of SQLite's own files, and a sync of its log
		return []string{"os.Stat", "os.OpenFile"}
	case "cmd/appliance/internal/config": // the settings file and files with secrets, both outside the data folder
		return []string{"os.Stat", "os.ReadFile"}
	case "cmd/appliance/internal/bench": // a folder to measure in, what /proc tells of the server, and reports
		return []string{"os.MkdirTemp", "os.RemoveAll", "os.ReadFile", "os.WriteFile"}
	case "cmd/appliance/internal/remote": // files that a person copies, and one with a secret
		return []string{"os.Open", "os.OpenRoot", "os.Stat", "os.Lstat", "os.ReadDir", "os.MkdirAll", "os.ReadFile"}
	case "cmd/appliance/internal/control": // the socket, and its folder where the path is too long for bind
		return []string{"os.Open", "os.Chmod"}
	case "internal/durability": // figures of test runs and the page made of them
		return []string{"os.ReadFile", "os.WriteFile", "os.Open", "os.Create"}
	case "cmd/appliance/internal/server": // the data folder itself, before there is a vfs.FS for it
		return []string{"os.Stat", "os.MkdirAll", "os.Chmod"}
	}
	return nil
}

func TestOnlyVFSOpensFiles(t *testing.T) {
	t.Parallel()
	touches := touchesFiles()
	for _, f := range productFiles(t) {
		allowed := opensFiles(f.pkg.name())
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call := f.selector(n); slices.Contains(touches, call) && !slices.Contains(allowed, call) {
				t.Errorf("%s:%d: %s: only store/vfs touches files", f.name, f.line(n.Pos()), call)
			}
			return true
		})
	}
}

// injectsClock lists the packages where time is stored or signed: they take
// it from their Config, so that tests own it.
func injectsClock(name string) bool {
	return slices.Contains([]string{
		"fault", "gate", "store", "store/journal", "store/blob", "store/index", "store/vfs", "auth/sigv4",
	}, name)
}

// TestNoWallClock forbids the call time.Now(); the value time.Now as a default
// of a Config is what the rule wants.
func TestNoWallClock(t *testing.T) {
	t.Parallel()
	for _, f := range productFiles(t) {
		if !injectsClock(f.pkg.name()) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && f.selector(call.Fun) == "time.Now" {
				t.Errorf("%s:%d: time.Now(): use the clock of the Config", f.name, f.line(n.Pos()))
			}
			return true
		})
	}
}

// TestNoProcessExit keeps the decision to stop in one place, and prints out of
// the packages that have a logger.
func TestNoProcessExit(t *testing.T) {
	t.Parallel()
	forbidden := []string{"os.Exit", "log/slog.SetDefault", "log/slog.Default", "fmt.Print", "fmt.Println", "fmt.Printf"}
	for _, f := range productFiles(t) {
		if strings.HasPrefix(f.pkg.name(), "cmd/appliance") || strings.HasPrefix(f.pkg.name(), "internal/") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call := f.selector(n); slices.Contains(forbidden, call) {
				t.Errorf("%s:%d: %s", f.name, f.line(n.Pos()), call)
			}
			return true
		})
	}
}
