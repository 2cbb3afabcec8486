package scrubber_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"larder/scrubber"
	"larder/store"
)

// folder is a data folder whose files a test damages while a store has it open.
type folder struct {
	t   *testing.T
	dir string
	old map[string][]byte // file contents from the middle of its making
}

// template makes the folder that each test gets a copy of, once.
var template = sync.OnceValues(func() (string, map[string][]byte) {
	dir, err := os.MkdirTemp("", "scrub")
	if err != nil {
		panic(err)
	}
	return dir, map[string][]byte{}
})

func TestMain(m *testing.M) {
	code := m.Run()
	dir, _ := template()
	os.RemoveAll(dir)
	os.Exit(code)
}

var making sync.Mutex

// newFolder copies the template.
func newFolder(t *testing.T) *folder {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	made, old := template()
	if len(old) == 0 {
		s := open(t, made)
		fill(t, s)
		f := &folder{t: t, dir: made}
		for _, name := range append(f.glob("segments/*.seg"), f.glob("blobs/*/*/*")...) {
			if b, err := os.ReadFile(filepath.Join(made, name)); err == nil { // a dead blob may just be removed
				old[name] = b
			}
		}
		put(t, s, "large/0", noise(400, 400_000)) // a new version in a new blob
		for _, key := range []string{"swap/a", "swap/b"} {
			put(t, s, key, noise(uint64(key[5]), 30_000))
		}
		for n := range 10 {
			put(t, s, "late/"+string(rune('a'+n)), noise(uint64(500+n), 40_000))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	return &folder{t: t, dir: to, old: old}
}

func (f *folder) glob(pattern string) []string {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, pattern))
	if err != nil || len(found) == 0 {
		f.t.Fatalf("%s: %v", pattern, err)
	}
	for n := range found {
		found[n], _ = filepath.Rel(f.dir, found[n])
	}
	return found
}

func (f *folder) read(name string) []byte {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// write writes over what stands at an offset of a file.
func (f *folder) write(name string, off int64, b []byte) {
	f.t.Helper()
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_RDWR, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(b, off); err != nil {
		f.t.Fatal(err)
	}
}

// replace gives a file other contents, in place.
func (f *folder) replace(name string, b []byte) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), b, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) flip(name string, off int64) { f.write(name, off, []byte{f.read(name)[off] ^ 4}) }

func (f *folder) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		f.t.Fatal(err)
	}
}

// find returns the place of some bytes in the first file that has them.
func (f *folder) find(pattern string, b []byte) (string, int64) {
	f.t.Helper()
	for _, name := range f.glob(pattern) {
		if i := bytes.Index(f.read(name), b); i >= 0 {
			return name, int64(i)
		}
	}
	f.t.Fatalf("no file of %s has what is looked for", pattern)
	return "", 0
}

func (f *folder) body(seed uint64) (string, int64) { return f.find("segments/*.seg", noise(seed, 500)) }

// record returns where the record begins that holds the bytes at a place, and
// where the next one does.
func (f *folder) record(name string, at int64) (from, to int64) {
	b := f.read(name)
	from = int64(bytes.LastIndex(b[:at], []byte("LREC")))
	to = int64(len(b))
	if i := bytes.Index(b[at:], []byte("LREC")); i >= 0 {
		to = at + int64(i)
	}
	return from, to
}

func (f *folder) blob(seed uint64) string {
	name, _ := f.find("blobs/*/*/*", noise(seed, 500))
	return name
}

// damage is one way to damage a folder, and what must be said of it.
type damage struct {
	do   func(f *folder) (file string)
	harm store.Harm
	keys []string // of versions that suffer, among others
}

const first = "segments/0000000001.seg"

func damages() map[string]damage {
	all := recordDamages()
	maps.Copy(all, segmentDamages())
	maps.Copy(all, blobDamages())
	return all
}

func recordDamages() map[string]damage {
	return map[string]damage{
		"bit in a body": {func(f *folder) string {
			name, at := f.body(4)
			f.flip(name, at+9000)
			return name
		}, store.HarmObject, []string{"small/04", "copy/small/04"}},
		"bit in a record's metadata": {func(f *folder) string {
			name, at := f.find("segments/*.seg", []byte("small/06"))
			f.flip(name, at+7)
			return name
		}, store.HarmObject, []string{"small/06"}},
		"bit in a record's header": {func(f *folder) string {
			name, at := f.body(7)
			from, _ := f.record(name, at)
			f.flip(name, from+9)
			return name
		}, store.HarmObject, []string{"small/07"}},
		"bit in a record's magic": {func(f *folder) string {
			name, at := f.find("segments/*.seg", []byte("empty"))
			from, _ := f.record(name, at)
			f.flip(name, from+1)
			return name
		}, store.HarmObject, []string{"empty"}},
		"zeroed block in a body": {func(f *folder) string {
			name, at := f.body(8)
			f.write(name, (at+8191)&^4095, make([]byte, 4096))
			return name
		}, store.HarmObject, []string{"small/08"}},
		"zeroed block over a record's start": {func(f *folder) string {
			name, at := f.body(9)
			from, _ := f.record(name, at)
			f.write(name, from&^511, make([]byte, 512))
			return name
		}, store.HarmObject, []string{"small/09"}},
		"bit in a body that nothing needs": {func(f *folder) string {
			name, at := f.body(1)
			f.flip(name, at+5000)
			return name
		}, store.HarmGarbage, nil},
		"bit in a tombstone": {func(f *folder) string {
			name, at := f.find("segments/*.seg", []byte("small/03"))
			b := f.read(name)
			if next := bytes.Index(b[at+8:], []byte("small/03")); next >= 0 {
				at += 8 + int64(next)
			} else {
				name, at = f.find("segments/*[2-9].seg", []byte("small/03"))
			}
			f.flip(name, at)
			return name
		}, store.HarmGarbage, nil},
	}
}

func segmentDamages() map[string]damage {
	return map[string]damage{
		"bit in a segment's header": {func(f *folder) string {
			f.flip(first, 40)
			return first
		}, store.HarmGarbage, nil},
		"segment cut by a byte": {func(f *folder) string {
			f.replace(first, f.read(first)[:len(f.read(first))-1])
			return first
		}, "", nil},
		"segment with a byte more": {func(f *folder) string {
			f.replace(first, append(f.read(first), 'x'))
			return first
		}, store.HarmGarbage, nil},
		"older copy of a segment": {func(f *folder) string {
			names := f.glob("segments/*.seg")
			for n := len(names) - 2; n >= 0; n-- { // one that was the head then
				if old := f.old[names[n]]; old != nil && !bytes.Equal(old, f.read(names[n])) {
					f.replace(names[n], old)
					return names[n]
				}
			}
			f.t.Fatal("no segment has changed")
			return ""
		}, store.HarmObject, []string{"large/0"}},
		"swapped records": {func(f *folder) string {
			name, at := f.body('a')
			a, b := f.record(name, at)
			_, c := f.record(name, b+1000)
			all := f.read(name)
			f.write(name, a, append(bytes.Clone(all[b:c]), all[a:b]...))
			return name
		}, store.HarmObject, []string{"swap/a"}},
		"swapped segments": {func(f *folder) string {
			second := "segments/0000000002.seg"
			a, b := f.read(first), f.read(second)
			f.replace(first, b)
			f.replace(second, a)
			return first
		}, store.HarmObject, []string{"small/00"}},
		"missing segment": {func(f *folder) string {
			f.remove(first)
			return first
		}, store.HarmObject, []string{"small/00", "small/04", "copy/small/04"}},
	}
}

func blobDamages() map[string]damage {
	blobEnd := func(back int64) func(*folder) string {
		return func(f *folder) string {
			name := f.blob(103)
			f.flip(name, int64(len(f.read(name)))-back)
			return name
		}
	}
	large := []string{"large/3", "copy/large/3"}
	return map[string]damage{
		"bit in a blob's body": {func(f *folder) string {
			name := f.blob(103)
			f.flip(name, 150_000)
			return name
		}, store.HarmObject, large},
		"bit in a blob's trailer": {blobEnd(30), store.HarmObject, large},
		"bit in a blob's sums":    {blobEnd(72 + 3), store.HarmObject, large},
		"bit in a blob's meta":    {blobEnd(72 + 4*5 + 9), store.HarmObject, large},
		"blob cut by a byte":      {resizeBlob(-1), store.HarmObject, large},
		"blob with a byte more":   {resizeBlob(1), store.HarmObject, large},
		"missing blob":            {removeBlob, store.HarmObject, large},
		"swapped blobs":           {swapBlobs, store.HarmObject, []string{"large/3", "large/1"}},
		"older copy of an object's blob": {func(f *folder) string {
			name := f.blob(400)
			for other, b := range f.old {
				if strings.HasPrefix(other, "blobs/") && bytes.HasPrefix(b, noise(100, 500)) {
					f.replace(name, b)
				}
			}
			return name
		}, store.HarmObject, []string{"large/0"}},
	}
}

func resizeBlob(by int) func(f *folder) string {
	return func(f *folder) string {
		name := f.blob(103)
		b := append(f.read(name), 'x')
		f.replace(name, b[:len(b)-1+by])
		return name
	}
}

func removeBlob(f *folder) string {
	name := f.blob(103)
	f.remove(name)
	return name
}

func swapBlobs(f *folder) string {
	a, b := f.blob(103), f.blob(202)
	x, y := f.read(a), f.read(b)
	f.replace(a, y)
	f.replace(b, x)
	return a
}

// TestDamageIsFoundInOnePass damages a live store in every way and holds what a
// pass says against what was done. Nothing may be removed.
func TestDamageIsFoundInOnePass(t *testing.T) {
	t.Parallel()
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			s := open(t, f.dir)
			file := d.do(f)
			before := f.files()
			r := pass(t, s)
			checkFound(t, r, file, d)
			if after := f.files(); after != before {
				t.Errorf("the folder held\n%s\nand holds\n%s", before, after)
			}
			if t.Failed() {
				for _, x := range r.Findings {
					t.Logf("%+v", x)
				}
			}
		})
	}
}

func checkFound(t *testing.T, r scrubber.Report, file string, d damage) {
	t.Helper()
	if !r.Damaged() {
		t.Fatal("nothing was found")
	}
	named := map[string]bool{}
	for _, x := range r.Findings {
		named[x.Key] = true
		if x.Kind == store.HarmIndex {
			t.Error("the index is accused")
		}
		if x.File != file && !strings.Contains(t.Name(), "swapped") {
			t.Errorf("%s is accused instead of %s", x.File, file)
		}
		if d.harm == store.HarmGarbage && x.Kind != d.harm {
			t.Errorf("it is said to be of harm to %s %q", x.Kind, x.Key)
		}
	}
	for _, key := range d.keys {
		if !named[key] {
			t.Errorf("%s is not said to suffer", key)
		}
	}
}

// files lists the names of all files that hold what was stored.
func (f *folder) files() string {
	return strings.Join(append(f.glob("segments/*"), f.glob("blobs/*/*/*")...), "\n")
}
