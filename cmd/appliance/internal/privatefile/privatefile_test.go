package privatefile_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/privatefile"
	"larder/fault"
	"larder/store/vfs"
)

func TestCreateThenRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := privatefile.Read(files, "key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	if err := privatefile.Create(files, "key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if err := privatefile.Create(files, "key", []byte("other")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second Create: %v", err)
	}
	if got, err := privatefile.Read(files, "key"); err != nil || string(got) != "secret" {
		t.Errorf("read %q, %v", got, err)
	}
	if names, _ := files.List("."); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// TestSharedFileIsRefused tries every mode bit of group and others.
func TestSharedFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "key")
	if err := privatefile.Create(files, "key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	for bit := os.FileMode(1); bit <= 0o40; bit <<= 1 {
		if err := os.Chmod(path, 0o600|bit); err != nil {
			t.Fatal(err)
		}
		_, err := privatefile.Read(files, "key")
		if fault.CodeOf(err) != fault.Denied || !strings.Contains(fault.HintOf(err), "chmod 600") {
			t.Errorf("mode %04o: %v", 0o600|bit, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := privatefile.Read(files, "key"); err != nil {
		t.Errorf("mode 0400: %v", err)
	}
}

// TestCreateSurvivesPowerCut loses all that was not synced.
func TestCreateSurvivesPowerCut(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	if err := privatefile.Create(files, "key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	after := files.CrashClone(rand.New(rand.NewPCG(1, 2)), 0)
	if got, err := privatefile.Read(after, "key"); err != nil || string(got) != "secret" {
		t.Errorf("after a power cut: %q, %v", got, err)
	}
}
