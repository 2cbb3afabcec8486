package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"larder/fault"
	"larder/store/vfs"
)

// each runs a test on both kinds of file system: they must not differ.
func each(t *testing.T, test func(t *testing.T, fsys vfs.FS)) {
	t.Helper()
	t.Run("OS", func(t *testing.T) {
		t.Parallel()
		fsys, err := vfs.OS(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		test(t, fsys)
	})
	t.Run("Mem", func(t *testing.T) { t.Parallel(); test(t, vfs.NewMem()) })
	t.Run("Counted", func(t *testing.T) { t.Parallel(); test(t, vfs.Counted(vfs.NewMem())) })
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func create(t *testing.T, fsys vfs.FS, name, text string) vfs.File {
	t.Helper()
	f, err := fsys.Create(name)
	must(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	must(t, err)
	return f
}

func text(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name)
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	must(t, err)
	return string(b)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys vfs.FS) {
		f := create(t, fsys, "a", "hello")
		_, err := fsys.Create("a")
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("creating what is there: %v", err)
		}
		_, err = f.WriteAt([]byte("J"), 10)
		must(t, err, f.Sync(), f.Preallocate(20), f.Preallocate(5))
		size, err := f.Size()
		if size != 20 || err != nil {
			t.Errorf("size %d, %v", size, err)
		}
		must(t, f.Truncate(11), f.Sync(), vfs.Uncache(f), f.Close())
		if got := text(t, fsys, "a"); got != "hello\x00\x00\x00\x00\x00J" {
			t.Errorf("%q", got)
		}
		r, err := fsys.Open("a")
		must(t, err)
		defer r.Close()
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Error("wrote to a file opened for reading")
		}
		buf := make([]byte, 4)
		if n, err := r.ReadAt(buf, 9); n != 2 || err != io.EOF || !bytes.Equal(buf[:2], []byte("\x00J")) {
			t.Errorf("at the end: %d, %v", n, err)
		}
		if n, err := r.ReadAt(buf, 11); n != 0 || err != io.EOF {
			t.Errorf("behind the end: %d, %v", n, err)
		}
		w, err := fsys.OpenWrite("a")
		must(t, err)
		_, err = w.WriteAt([]byte("y"), 0)
		must(t, err, w.Truncate(0), w.Truncate(3), w.Close())
		if got := text(t, fsys, "a"); got != "\x00\x00\x00" {
			t.Errorf("cut and lengthened: %q", got)
		}
		if _, err := w.WriteAt([]byte("z"), 0); err == nil {
			t.Error("wrote to a closed file")
		}
		for _, open := range []func(string) (vfs.File, error){fsys.Open, fsys.OpenWrite} {
			if _, err := open("b"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("opening what is not there: %v", err)
			}
		}
	})
}

func TestFolders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys vfs.FS) {
		must(t, fsys.Mkdir("d"), fsys.Mkdir("d"), fsys.Mkdir("d/e"), fsys.SyncDir("."), fsys.SyncDir("d"))
		must(t, create(t, fsys, "d/b", "12").Close(), create(t, fsys, "d/a", "1").Close(), create(t, fsys, "d/c", "").Close())
		if err := fsys.Mkdir("d/a"); err == nil {
			t.Error("made a folder over a file")
		}
		must(t, fsys.Rename("d/c", "d/e/z"), fsys.Rename("d/b", "d/a"))
		got, err := fsys.List("d")
		must(t, err)
		want := []vfs.Entry{{Name: "a", Size: 2}, {Name: "e", IsDir: true}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("listed %+v, want %+v", got, want)
		}
		e, err := fsys.Stat("d/a")
		if err != nil || e != want[0] {
			t.Errorf("%+v, %v", e, err)
		}
		if e, err = fsys.Stat("d/e"); err != nil || e != want[1] {
			t.Errorf("%+v, %v", e, err)
		}
		if err := fsys.Remove("d"); err == nil {
			t.Error("removed a folder that is not empty")
		}
		must(t, fsys.Remove("d/e/z"), fsys.Remove("d/e"), fsys.Remove("d/a"), fsys.Remove("d"))
		if got, err := fsys.List("."); err != nil || len(got) != 0 {
			t.Errorf("left %+v, %v", got, err)
		}
		_, lerr := fsys.List("d")
		_, serr := fsys.Stat("d/x")
		_, cerr := fsys.Create("d/x")
		for _, err := range []error{lerr, serr, cerr, fsys.Remove("d"), fsys.Rename("d", "e"), fsys.SyncDir("d")} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("in a folder that is not there: %v", err)
			}
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys vfs.FS) {
		l, err := fsys.Lock("LOCK")
		must(t, err)
		if _, err := fsys.Lock("LOCK"); !errors.Is(err, vfs.ErrLocked) || fault.CodeOf(err) != fault.Locked || vfs.CodeOf(err) != fault.Locked {
			t.Errorf("locked twice: %v", err)
		}
		must(t, l.Close())
		l, err = fsys.Lock("LOCK")
		must(t, err, l.Close())
	})
}

func TestSpace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, fsys vfs.FS) {
		s, err := fsys.Space()
		if err != nil || s.Free <= 0 || s.Total < s.Free || s.FreeInodes < -1 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestNamesStayInside: no name and no symlink leads out of the folder.
func TestNamesStayInside(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	inner := filepath.Join(outer, "inner")
	must(t, os.Mkdir(inner, 0o700), os.WriteFile(filepath.Join(outer, "secret"), []byte("s"), 0o600))
	must(t, os.Symlink("../secret", filepath.Join(inner, "link")), os.Symlink("..", filepath.Join(inner, "up")))
	osfs, err := vfs.OS(inner)
	must(t, err)
	for _, name := range []string{"../secret", "/etc/passwd", "link", "up/secret", "a/../../secret"} {
		if f, err := osfs.Open(name); err == nil {
			f.Close()
			t.Errorf("opened %s", name)
		}
		if f, err := osfs.OpenWrite(name); err == nil {
			f.Close()
			t.Errorf("opened %s for writing", name)
		}
	}
	for _, fsys := range []vfs.FS{osfs, vfs.NewMem()} {
		for _, name := range []string{"../new", "up/new", "/new"} {
			if f, err := fsys.Create(name); err == nil {
				f.Close()
				t.Errorf("created %s", name)
			}
			if err := fsys.Mkdir(name); err == nil {
				t.Errorf("made the folder %s", name)
			}
		}
	}
	if _, err := vfs.OS(filepath.Join(outer, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fsys, err := vfs.OS(dir)
	must(t, err, fsys.Mkdir("d"), create(t, fsys, "d/f", "").Close())
	for name, want := range map[string]os.FileMode{"d": 0o700 | os.ModeDir, "d/f": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestOSFile(t *testing.T) {
	t.Parallel()
	fsys, err := vfs.OS(t.TempDir())
	must(t, err)
	c := vfs.Counted(fsys)
	for _, f := range []vfs.File{create(t, fsys, "a", "x"), create(t, c, "b", "x")} {
		o, ok := f.(vfs.OSFile)
		if !ok {
			t.Fatalf("%T is no OSFile", f)
		}
		if b, err := io.ReadAll(o.OSFile()); err != nil || string(b) != "x" {
			t.Errorf("%q, %v", b, err)
		}
		must(t, f.Close())
	}
	if _, ok := create(t, vfs.Counted(vfs.NewMem()), "c", "").(vfs.OSFile); ok {
		t.Error("a file of Mem is an OSFile")
	}
}

func TestPreallocateWithoutFallocate(t *testing.T) {
	t.Parallel()
	fsys, err := vfs.OS(t.TempDir())
	must(t, err)
	f := create(t, fsys, "a", "hello")
	defer f.Close()
	const size = 3<<20 + 17
	must(t, vfs.WriteZerosForTest(f, size), vfs.WriteZerosForTest(f, 10))
	got := make([]byte, size)
	_, err = f.ReadAt(got, 0)
	must(t, err)
	if n, err := f.Size(); n != size || err != nil || string(got[:5]) != "hello" || !bytes.Equal(got[5:], make([]byte, size-5)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	c := vfs.Counted(vfs.NewMem())
	must(t, c.Mkdir("d"))
	before := c.Counts()
	f := create(t, c, "d/a", "x")
	must(t, f.Sync(), f.Sync(), f.Truncate(0), f.Preallocate(9), f.Close(), c.SyncDir("d"), c.Rename("d/a", "d/b"), c.Remove("d/b"))
	_, err := c.Open("d/b")
	if err == nil {
		t.Error("opened what was removed")
	}
	got := c.Counts().Since(before)
	for kind, want := range map[vfs.OpKind]int64{
		vfs.OpMkdir: 0, vfs.OpCreate: 1, vfs.OpWrite: 1, vfs.OpSync: 2, vfs.OpTruncate: 1, vfs.OpPreallocate: 1,
		vfs.OpClose: 1, vfs.OpSyncDir: 1, vfs.OpRename: 1, vfs.OpRemove: 1, vfs.OpOpen: 1, vfs.OpRead: 0,
	} {
		if got.Of(kind) != want {
			t.Errorf("%v: %d, want %d", kind, got.Of(kind), want)
		}
	}
}
