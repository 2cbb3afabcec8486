package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"larder/store/vfs"
)

func TestLink(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	a, b := osFS(t, from), osFS(t, to)
	if err := os.WriteFile(filepath.Join(from, "f"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Mkdir("d"); err != nil {
		t.Fatal(err)
	}
	f, err := a.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := vfs.Link(f, b, "d/g"); err != nil {
		t.Fatal(err)
	}
	one, _ := os.Stat(filepath.Join(from, "f"))
	two, err := os.Stat(filepath.Join(to, "d", "g"))
	if err != nil || !os.SameFile(one, two) {
		t.Errorf("no link: %v", err)
	}
	if err := vfs.Link(f, b, "d/g"); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an existing name: %v", err)
	}
	if err := vfs.Link(f, vfs.NewMem(), "g"); !errors.Is(err, vfs.ErrNoLink) {
		t.Errorf("into a simulated file system: %v", err)
	}
}

// TestIdentity: a rename keeps it, a copy has another.
func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fsys := osFS(t, dir)
	identity := func(name string) string {
		f, err := fsys.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		id, ok := vfs.Identity(f)
		if !ok {
			t.Skip("this file system has no inode numbers")
		}
		return id
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := identity("a")
	if !vfs.IsIdentity(before) || vfs.IsIdentity("") || vfs.IsIdentity(string(make([]byte, len(before)))) || vfs.IsIdentity(before[1:]) {
		t.Error("an identity is not told from what a power cut leaves")
	}
	if before == identity("b") {
		t.Error("two files are one")
	}
	if err := fsys.Rename("a", "c"); err != nil {
		t.Fatal(err)
	}
	if identity("c") != before {
		t.Error("a rename changed the identity")
	}
}

func osFS(t *testing.T, dir string) vfs.FS {
	t.Helper()
	f, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
