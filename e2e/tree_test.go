package e2e_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	fullTreeBytes  = 200 << 20
	smallTreeBytes = 4 << 20
)

// trees are copied once a run, since several tests read the same ones.
var (
	fullTree  = sync.OnceValues(func() (tree, error) { return copyTree("full", fullTreeBytes, "src", "pkg", "test", "lib", "bin") })
	smallTree = sync.OnceValues(func() (tree, error) {
		return copyTree("small", smallTreeBytes, "src/net", "src/crypto/internal", "src/unicode", "doc", "misc")
	})
)

// tree is a folder of real files: a copy of folders of the Go tree, and some
// files whose names or sizes trouble clients.
type tree struct {
	path  string
	files int
	bytes int64
}

// need makes or reuses a tree. The copy stands beside the binary and goes with it.
func needTree(t *testing.T, get func() (tree, error)) tree {
	t.Helper()
	tr, err := get()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("folder: %d files, %d MB", tr.files, tr.bytes>>20)
	return tr
}

// copyTree copies folders of GOROOT, in order, until there are enough bytes.
func copyTree(name string, enough int64, folders ...string) (tree, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return tree{}, err
	}
	tr := tree{path: filepath.Join(filepath.Dir(larder), name)}
	if err := tr.addAwkward(); err != nil {
		return tree{}, err
	}
	for _, folder := range folders {
		if tr.bytes >= enough {
			break
		}
		from, to := filepath.Join(strings.TrimSpace(string(out)), folder), filepath.Join(tr.path, filepath.FromSlash(folder))
		if _, err := os.Stat(from); os.IsNotExist(err) {
			continue // distributions of Go leave some out
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return tree{}, err
		}
		if err := tr.measure(); err != nil {
			return tree{}, err
		}
	}
	if tr.bytes < enough {
		return tree{}, &fs.PathError{Op: "copy", Path: tr.path, Err: fs.ErrInvalid}
	}
	return tr, nil
}

// addAwkward writes names that must be escaped in URLs and XML, an empty file,
// and one that every client sends in several parts.
func (tr *tree) addAwkward() error {
	sizes := map[string]int64{
		"a b+c&d%20e=f.txt": 100, "quote's \"<x>\".txt": 100, "Grüße/日本語 ü.txt": 100, "~tilde;semi,comma@at.txt": 1,
		"empty": 0, "(brackets) [x] {y} #1 !.txt": 131_072, "inline+1": 131_073, "parts.bin": 22 << 20,
	}
	for name, size := range sizes {
		path := filepath.Join(tr.path, "awkward", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, payloadBytes(name, 0, size), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (tr *tree) measure() error {
	tr.files, tr.bytes = 0, 0
	return filepath.WalkDir(tr.path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			tr.files++
			tr.bytes += info.Size()
		}
		return err
	})
}

// sameFolders is diff -r.
func sameFolders(t *testing.T, a, b string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "diff", "-r", "--no-dereference", a, b).CombinedOutput(); err != nil {
		t.Fatalf("diff -r %s %s: %v\n%.2000s", a, b, err, out)
	}
}
