package vfs_test

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/vfs"
)

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

func exists(fsys vfs.FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}

// TestCrashNeedsBothSyncs: bytes need the file's sync, the name the folder's.
func TestCrashNeedsBothSyncs(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	f := create(t, m, "a", "hello")
	must(t, f.Sync())
	if exists(m.CrashClone(dice(1), 0), "a") {
		t.Error("a name without SyncDir survived")
	}
	if !exists(m.CrashClone(dice(1), 1), "a") {
		t.Error("a name was lost though all was kept")
	}
	must(t, m.SyncDir("."))
	_, err := f.WriteAt([]byte("jolly"), 0)
	must(t, err)
	if got := text(t, m.CrashClone(dice(1), 0), "a"); got != "hello" {
		t.Errorf("unsynced bytes survived: %q", got)
	}
	if got := text(t, m.CrashClone(dice(1), 1), "a"); got != "jolly" {
		t.Errorf("bytes were lost though all was kept: %q", got)
	}
	if got := text(t, m, "a"); got != "jolly" {
		t.Errorf("the original changed: %q", got)
	}
}

func TestCrashTearsBySector(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	f := create(t, m, "a", "")
	old, fresh := bytes.Repeat([]byte{'o'}, 4096), bytes.Repeat([]byte{'n'}, 4096)
	_, err := f.WriteAt(old, 0)
	must(t, err, f.Sync(), m.SyncDir("."))
	_, err = f.WriteAt(fresh, 0)
	must(t, err)
	seen := map[string]bool{}
	for seed := range uint64(20) {
		got := text(t, m.CrashClone(dice(seed), 0.5), "a")
		for i := 0; i < len(got); i += 512 {
			if s := got[i : i+512]; s != string(old[:512]) && s != string(fresh[:512]) {
				t.Fatalf("sector %d is torn within", i/512)
			}
		}
		seen[got] = true
		if again := text(t, m.CrashClone(dice(seed), 0.5), "a"); again != got {
			t.Fatal("the same seed gives another crash")
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d different crashes", len(seen))
	}
}

func TestCrashOfNames(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	must(t, m.Mkdir("d"), create(t, m, "d/old", "1").Sync(), create(t, m, "d/gone", "2").Sync(), m.SyncDir("."), m.SyncDir("d"))
	must(t, m.Rename("d/old", "d/new"), m.Remove("d/gone"))
	lost := m.CrashClone(dice(1), 0)
	if !exists(lost, "d/old") || exists(lost, "d/new") || !exists(lost, "d/gone") {
		t.Error("unsynced changes of names survived")
	}
	for seed := range uint64(20) {
		c := m.CrashClone(dice(seed), 0.5)
		if exists(c, "d/old") == exists(c, "d/new") {
			t.Fatal("half a rename")
		}
	}
	must(t, m.SyncDir("d"))
	kept := m.CrashClone(dice(1), 0)
	if exists(kept, "d/old") || text(t, kept, "d/new") != "1" || exists(kept, "d/gone") {
		t.Error("synced changes of names were lost")
	}
}

func TestCrashOfSizes(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	f := create(t, m, "a", "0123456789")
	must(t, f.Sync(), m.SyncDir("."), f.Truncate(4), f.Truncate(8))
	if got := text(t, m.CrashClone(dice(1), 0), "a"); got != "0123456789" {
		t.Errorf("an unsynced cut survived: %q", got)
	}
	if got := text(t, m.CrashClone(dice(1), 1), "a"); got != "0123\x00\x00\x00\x00" {
		t.Errorf("with all kept: %q", got)
	}
	must(t, f.Sync())
	if got := text(t, m.CrashClone(dice(1), 0), "a"); got != "0123\x00\x00\x00\x00" {
		t.Errorf("a synced cut was lost: %q", got)
	}
}

// TestImages: each piece can be kept or lost by itself, a version of a sector too.
func TestImages(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	f := create(t, m, "a", "0123")
	must(t, f.Sync(), m.SyncDir("."))
	var before *vfs.Image
	m.Inject(func(op vfs.Op) error {
		if op.Kind == vfs.OpTruncate {
			before = op.Before()
		}
		return nil
	})
	for _, w := range []string{"4567", "89ab"} {
		_, err := f.WriteAt([]byte(w), 2)
		must(t, err)
	}
	must(t, f.Truncate(1))
	pieces := before.Pieces() // the size, and the sector twice
	if len(pieces) != 3 || pieces[0].Kind != vfs.PieceSize || pieces[1].Kind != vfs.PieceBytes || pieces[0].Name != "a" {
		t.Fatalf("%+v", pieces)
	}
	keep := func(which ...int) func(int) bool {
		return func(i int) bool { return slices.Contains(which, i) }
	}
	for _, c := range []struct {
		keep func(int) bool
		want string
	}{
		{keep(), "0123"}, {keep(1), "0145"}, {keep(2), "0189"}, {keep(0), "0123\x00\x00"},
		{keep(0, 1), "014567"}, {keep(0, 1, 2), "0189ab"},
	} {
		if got := text(t, before.Crash(c.keep, nil), "a"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := text(t, before.Crash(keep(0), dice(1)), "a"); got[:4] != "0123" || len(got) != 6 || got[4:] == "\x00\x00" {
		t.Errorf("no garbage: %q", got)
	}
	if got := text(t, m.Image().Crash(keep(3), nil), "a"); got != "0" {
		t.Errorf("a cut alone: %q", got)
	}
	seed := maphash.MakeSeed()
	if a, b := before.Crash(keep(0), nil), before.Crash(keep(1), nil); a.Fingerprint(seed) == b.Fingerprint(seed) ||
		a.Fingerprint(seed) != before.Crash(keep(0), nil).Fingerprint(seed) {
		t.Error("fingerprints do not tell disks apart")
	}
}

// TestFailedSync: the bytes look written, no later sync brings them to the disk,
// and a read past the cache tells.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	f := create(t, m, "a", "old")
	must(t, f.Sync(), m.SyncDir("."))
	_, err := f.WriteAt([]byte("new"), 0)
	must(t, err)
	m.Inject(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			return syscall.EIO
		}
		return nil
	})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	m.Inject(nil)
	must(t, f.Sync())
	if got := text(t, m, "a"); got != "new" {
		t.Errorf("the cache holds %q", got)
	}
	for keep, want := range []string{"old", "new"} { // nobody knows whether the disk has got them
		if got := text(t, m.CrashClone(dice(1), float64(keep)), "a"); got != want {
			t.Errorf("after a power cut: %q", got)
		}
	}
	must(t, vfs.Uncache(f))
	if got := text(t, m.CrashClone(dice(1), 1), "a"); got != "old" {
		t.Errorf("past the cache and after a power cut: %q", got)
	}
	if got := text(t, m, "a"); got != "old" {
		t.Errorf("past the cache: %q", got)
	}
}

func TestInject(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	f := create(t, m, "a", "0123456789")
	fail := func(kind vfs.OpKind, err error) {
		m.Inject(func(op vfs.Op) error {
			if op.Kind == kind {
				return err
			}
			return nil
		})
	}
	fail(vfs.OpWrite, &vfs.Partial{Bytes: 2, Err: syscall.ENOSPC})
	n, err := f.WriteAt([]byte("abcd"), 0)
	if n != 2 || !errors.Is(err, syscall.ENOSPC) || text(t, m, "a") != "ab23456789" {
		t.Errorf("%d, %v, %q", n, err, text(t, m, "a"))
	}
	fail(vfs.OpWrite, syscall.EIO)
	if n, err = f.WriteAt([]byte("xy"), 0); n != 0 || !errors.Is(err, syscall.EIO) {
		t.Errorf("%d, %v", n, err)
	}
	fail(vfs.OpCreate, &vfs.Partial{Err: syscall.EIO})
	if _, err := m.Create("b"); !errors.Is(err, syscall.EIO) || !exists(m, "b") {
		t.Errorf("done and failed: %v", err)
	}
	fail(vfs.OpCreate, syscall.EMFILE)
	if _, err := m.Create("c"); !errors.Is(err, syscall.EMFILE) || exists(m, "c") {
		t.Errorf("failed: %v", err)
	}
	fail(vfs.OpSync, &vfs.Partial{Err: syscall.EIO})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	m.Inject(nil)
	must(t, m.SyncDir("."))
	if got := text(t, m.CrashClone(dice(1), 0), "a"); got != "ab23456789" {
		t.Errorf("synced and failed: %q", got)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	for err, want := range map[error][2]fault.Code{
		nil:                 {fault.OK, fault.OK},
		syscall.ENOSPC:      {fault.NoSpace, fault.NoSpace},
		syscall.EDQUOT:      {fault.NoSpace, fault.NoSpace},
		syscall.EMFILE:      {fault.Unavailable, fault.Unavailable},
		syscall.ENFILE:      {fault.Unavailable, fault.Unavailable},
		syscall.EROFS:       {fault.ReadOnly, fault.ReadOnly},
		syscall.EIO:         {fault.Internal, fault.Corrupt},
		fs.ErrNotExist:      {fault.Internal, fault.Corrupt},
		errors.New("other"): {fault.Internal, fault.Internal},
	} {
		var wrapped error
		if err != nil {
			wrapped = &fs.PathError{Op: "op", Path: "p", Err: err}
		}
		if got := [2]fault.Code{vfs.CodeOf(wrapped), vfs.CodeOfRead(wrapped)}; got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// FuzzMem compares Mem's bytes with a plain slice's.
func FuzzMem(f *testing.F) {
	f.Add([]byte{0, 10, 200, 1, 0, 90, 2, 3, 0, 0, 255, 255, 1, 2, 0, 3, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := vfs.NewMem()
		file := create(t, m, "a", "")
		must(t, m.SyncDir("."))
		var want []byte
		grow := func(n int) {
			if n > len(want) {
				want = append(want, make([]byte, n-len(want))...)
			}
		}
		for ; len(ops) >= 3; ops = ops[3:] {
			off, n := int(ops[1])*13, int(ops[2])*7
			switch ops[0] % 4 {
			case 0:
				data := bytes.Repeat([]byte{ops[2] | 1}, n)
				file.WriteAt(data, int64(off))
				if n > 0 {
					grow(off + n)
					copy(want[off:], data)
				}
			case 1:
				must(t, file.Truncate(int64(off)))
				grow(off)
				want = want[:off:off]
			case 2:
				must(t, file.Preallocate(int64(off)))
				grow(off)
			case 3:
				must(t, file.Sync())
			}
			if got := text(t, m, "a"); got != string(want) {
				t.Fatalf("the file has %d bytes, want %d, or others", len(got), len(want))
			}
		}
		must(t, file.Sync())
		if got := text(t, m.CrashClone(dice(1), 0.5), "a"); got != string(want) {
			t.Fatal("synced bytes changed in a crash")
		}
	})
}
