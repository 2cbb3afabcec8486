package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const refusedWithin = 20 * time.Second

// refusedStart starts the stopped server, which has to end at once and say all
// of what, and has to leave everything as it was.
func (f *faulted) refusedStart(what ...string) {
	f.t.Helper()
	before := contents(f.t, f.s.dir)
	said := len(f.s.log.String())
	f.s.launch()
	select {
	case <-f.s.exited:
	case <-time.After(refusedWithin):
		f.t.Fatal("the server started")
	}
	text := f.s.log.String()[said:]
	if code := f.s.cmd.ProcessState.ExitCode(); code != 1 {
		f.t.Errorf("exit code %d", code)
	}
	for _, w := range what {
		if !strings.Contains(text, w) {
			f.t.Errorf("the message lacks %q", w)
		}
	}
	f.t.Logf("the message:\n%s", text)
	if after := contents(f.t, f.s.dir); !maps.Equal(before, after) {
		for name, sum := range after {
			if before[name] != sum {
				f.t.Errorf("%s was changed: %s, now %s", name, before[name], sum)
			}
		}
		for name := range before {
			if after[name] == "" {
				f.t.Errorf("%s is gone", name)
			}
		}
	}
}

// contents are all files and folders below dir with their modes and digests.
// What says who uses the index (-shm, index.open, index.logged) is no content.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "index.open") || strings.HasSuffix(path, "index.logged") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		found[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[path] += fmt.Sprintf(" %d bytes %.8x", len(b), sha256.Sum256(b))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFaultRefusedStart spoils the folder of a stopped server in every way that
// a start has to notice. Each is refused with a message for a person, leaves
// everything as it is, and works when it is undone.
func TestFaultRefusedStart(t *testing.T) {
	move := func(from, to string) func(*testing.T, *faulted) func() {
		return func(t *testing.T, f *faulted) func() {
			from, to := filepath.Join(f.s.dir, from), filepath.Join(f.s.dir, "..", to)
			rename(t, from, to)
			return func() { rename(t, to, from) }
		}
	}
	write := func(name, text string) func(*testing.T, *faulted) func() {
		return func(t *testing.T, f *faulted) func() { return f.overwrite(name, text) }
	}
	const id = "00112233445566778899aabbccddeeff"
	f := standing(t, setup{})
	f.s.stop() // nothing is left to replay, which a start may do before it is refused
	for name, c := range map[string]struct {
		spoil func(*testing.T, *faulted) func()
		says  []string
	}{
		"no data folder":        {move(".", "away"), []string{"data folder is not there", "mkdir"}},
		"no VERSION":            {move("VERSION", "V"), []string{"segments but no VERSION", "blobs/VERSION"}},
		"no segments":           {move("segments", "S"), []string{"segments/", "backup"}},
		"no blobs":              {move("blobs", "B"), []string{"blobs/", "blob-dir"}},
		"no secret.key":         {move("secret.key", "K"), []string{"secret.key is missing", "backup"}},
		"a newer format":        {write("VERSION", "larder 2\nstore "+id+"\n"), []string{"newer Larder", "format 2"}},
		"a damaged VERSION":     {write("VERSION", "lar"), []string{"VERSION", "damaged", "other one"}},
		"foreign blobs":         {write("blobs/VERSION", "larder 1\nstore "+id+"\n"), []string{"another store", "blob-dir"}},
		"an unfinished restore": {write("RESTORING", ""), []string{"restore", "again"}},
		"an older journal":      {olderJournal, []string{"index is newer than the journal"}},
		"another user's folder": {otherUser, []string{"belongs to user", "chown"}},
		"another process":       {secondProcess, []string{"Another Larder process", "Stop it"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			undo := c.spoil(t, f)
			if name == "no data folder" {
				f.refusedMissing(c.says)
			} else {
				f.refusedStart(c.says...)
			}
			undo()
			f.s.restart()
			verify(t, f.c, f.book)
			f.s.stop()
		})
	}
	f.t = t
	f.s.restart()
	f.writable()
}

// refusedMissing is refusedStart where there is no folder to compare.
func (f *faulted) refusedMissing(what []string) {
	f.t.Helper()
	parent := filepath.Dir(f.s.dir)
	dir := f.s.dir
	before := contents(f.t, parent)
	f.s.launch()
	<-f.s.exited
	for _, w := range what {
		if !strings.Contains(f.s.log.String(), w) {
			f.t.Errorf("the message lacks %q", w)
		}
	}
	if _, err := os.Stat(dir); err == nil || !maps.Equal(before, contents(f.t, parent)) {
		f.t.Error("something was made")
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// overwrite gives a file another content and returns what undoes it.
func (f *faulted) overwrite(name, text string) (undo func()) {
	f.t.Helper()
	path := filepath.Join(f.s.dir, name)
	old, err := os.ReadFile(path)
	existed := err == nil
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return func() {
		if !existed {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, old, 0o600)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// olderJournal puts an earlier copy of the segments beside the index of today.
func olderJournal(t *testing.T, f *faulted) func() {
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(filepath.Join(f.s.dir, "segments"))); err != nil {
		t.Fatal(err)
	}
	f.s.restart()
	f.mustPut(inlineBytes)
	f.s.stop()
	today := filepath.Join(f.s.dir, "..", "today")
	rename(t, filepath.Join(f.s.dir, "segments"), today)
	if err := os.Mkdir(filepath.Join(f.s.dir, "segments"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(f.s.dir, "segments"), os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(filepath.Join(f.s.dir, "segments")); err != nil {
			t.Fatal(err)
		}
		rename(t, today, filepath.Join(f.s.dir, "segments"))
	}
}

// otherUser starts Larder as a user whom the folder does not belong to.
func otherUser(t *testing.T, f *faulted) func() {
	need(t, "setpriv")
	if os.Getuid() != 0 {
		skips.skip(t, "not root, which starting as another user needs")
	}
	program := filepath.Join(t.TempDir(), "larder")
	if out, err := exec.Command("cp", larder, program).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for dir := filepath.Dir(program); dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for dir := filepath.Dir(f.s.dir); dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.s.setup.binary, f.s.setup.under = program, []string{"setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"}
	return func() { f.s.setup.binary, f.s.setup.under = "", nil }
}

// secondProcess lets another process hold the folder. It gives way by kill -9.
func secondProcess(t *testing.T, f *faulted) func() {
	f.s.restart()
	first, exited := f.s.cmd, f.s.exited
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil { // it still holds its locks
		t.Fatal(err)
	}
	f.s.s3, f.s.console = freeAddr(t), freeAddr(t)
	f.c = f.s.client()
	return func() {
		_ = first.Process.Kill()
		<-exited
	}
}
