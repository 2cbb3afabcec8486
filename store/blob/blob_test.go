package blob_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"larder/fault"
	"larder/store/blob"
	"larder/store/vfs"
)

var update = flag.Bool("update", false, "write the golden files anew; the format is final, so look twice")

var testID = [16]byte{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f}

var sampleMeta = []byte("the record's meta part")

func open(tb testing.TB, fsys vfs.FS) *blob.Store {
	tb.Helper()
	s, err := blob.Open(blob.Config{FS: fsys, StoreID: testID})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func sample(size int) []byte {
	body := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16)}).Read(body)
	return body
}

// store writes a blob in pieces of the given size and makes it durable.
func store(tb testing.TB, s *blob.Store, body []byte, piece int) blob.Sealed {
	tb.Helper()
	p, err := s.Create()
	if err != nil {
		tb.Fatal(err)
	}
	for part := range slices.Chunk(body, piece) {
		if n, err := p.Write(part); n != len(part) || err != nil {
			tb.Fatal(n, err)
		}
	}
	early := p.SumsCRC()
	sealed, err := p.Seal(sampleMeta)
	if err != nil {
		tb.Fatal(err)
	}
	if sealed.SumsCRC != early || sealed.ID != p.ID() || sealed.Size != int64(len(body)) || p.Size() != sealed.Size {
		tb.Fatalf("sealed as %+v, before %x %s %d", sealed, early, p.ID(), p.Size())
	}
	if err := s.SyncDirs([]string{sealed.ID}); err != nil {
		tb.Fatal(err)
	}
	return sealed
}

// check reads a whole blob through windows of the given size.
func check(tb testing.TB, s *blob.Store, sealed blob.Sealed, want []byte, window int) {
	tb.Helper()
	b, err := s.Open(sealed.ID)
	if err != nil {
		tb.Fatal(err)
	}
	defer b.Close()
	got, buf := []byte{}, make([]byte, window)
	for {
		n, err := b.ReadVerified(buf, int64(len(got)))
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	if !bytes.Equal(got, want) || b.Size() != int64(len(want)) || b.SumsCRC() != sealed.SumsCRC {
		tb.Fatalf("%d bytes, want %d", len(got), len(want))
	}
	if meta, err := b.Meta(); err != nil || !bytes.Equal(meta, sampleMeta) {
		tb.Fatalf("meta %q, %v", meta, err)
	}
	if err := b.VerifySums(); err != nil {
		tb.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	osfs, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const c = blob.ChunkSize
	for _, fsys := range []vfs.FS{vfs.NewMem(), osfs} {
		s := open(t, fsys)
		for _, size := range []int{0, 1, c - 1, c, c + 1, 3 * c, 5*c + 77, 70 * c} {
			body := sample(size)
			sealed := store(t, s, body, 100_001)
			check(t, s, sealed, body, c)
			check(t, s, sealed, body, 68*c)
			check(t, open(t, fsys), sealed, body, 4*c)
			// The body is the plain beginning of the file.
			if raw := read(t, fsys, s.PathForTest(sealed.ID)); !bytes.Equal(raw[:size], body) {
				t.Errorf("%d bytes: the file does not begin with the body", size)
			}
		}
	}
}

func read(tb testing.TB, fsys vfs.FS, name string) []byte {
	tb.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	size, _ := f.Size()
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		tb.Fatal(err)
	}
	return b
}

func overwrite(tb testing.TB, fsys vfs.FS, name string, b []byte) {
	tb.Helper()
	f, err := fsys.OpenWrite(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(b))); err != nil {
		tb.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		tb.Fatal(err)
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	s := open(t, vfs.NewMem())
	const c = blob.ChunkSize
	sealed := store(t, s, sample(2*c+10), 1<<20)
	b, err := s.Open(sealed.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, w := range []struct {
		n    int
		off  int64
		want int
		code fault.Code
	}{
		{c, 0, c, fault.OK}, {2 * c, c, c + 10, fault.OK}, {10, 2 * c, 10, fault.OK}, {c + 10, c, c + 10, fault.OK},
		{0, 0, 0, fault.OK}, {9, 2 * c, 0, fault.InvalidArgument}, {c, 5, 0, fault.InvalidArgument},
		{c - 1, 0, 0, fault.InvalidArgument}, {c, -c, 0, fault.InvalidArgument}, {c, 3 * c, 0, fault.InvalidArgument},
	} {
		n, err := b.ReadVerified(make([]byte, w.n), w.off)
		if n != w.want || fault.CodeOf(err) != w.code {
			t.Errorf("%d bytes at %d: %d, %v", w.n, w.off, n, err)
		}
	}
}

func TestGoldenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "blob.bin")
	var id [16]byte
	hex.Decode(id[:], []byte("abcd000000000000000000000000007f"))
	got := blob.FileForTest(testID, id, []byte("hello"), sampleMeta)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the format has changed:\n got %x\nwant %x", got, want)
	}
	page, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(hex.Dump(got)) {
		if !bytes.Contains(page, []byte(strings.TrimSpace(line))) && len(line) > 9 {
			t.Errorf("docs/format.md lacks %s", line)
		}
	}
}

// TestEveryFlipIsFound: no bit of a blob file can change unseen.
func TestEveryFlipIsFound(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	s := open(t, m)
	sealed := store(t, s, sample(300), 1<<20)
	name := s.PathForTest(sealed.ID)
	file := read(t, m, name)
	for bit := range len(file) * 8 {
		broken := bytes.Clone(file)
		broken[bit/8] ^= 1 << (bit % 8)
		overwrite(t, m, name, broken)
		if err := verify(s, sealed.ID); fault.CodeOf(err) != fault.Corrupt {
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
	}
	for cut := range file {
		overwrite(t, m, name, file[:cut])
		if err := verify(s, sealed.ID); fault.CodeOf(err) != fault.Corrupt {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	overwrite(t, m, name, append(bytes.Clone(file), 0))
	if err := verify(s, sealed.ID); fault.CodeOf(err) != fault.Corrupt {
		t.Fatalf("one byte more: %v", err)
	}
}

// verify reads all of a blob.
func verify(s *blob.Store, id string) error {
	b, err := s.Open(id)
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err = b.ReadVerified(make([]byte, b.Size()), 0); err == io.EOF {
		err = nil // an empty body
	}
	_, merr := b.Meta()
	return errors.Join(err, merr, b.VerifySums())
}

func TestChunkDamageSaysWhere(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	s := open(t, m)
	const c = blob.ChunkSize
	sealed := store(t, s, sample(4*c), 1<<20)
	name := s.PathForTest(sealed.ID)
	file := read(t, m, name)
	file[2*c+5] ^= 1
	overwrite(t, m, name, file)
	b, err := s.Open(sealed.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if n, err := b.ReadVerified(make([]byte, 2*c), 0); n != 2*c || err != nil {
		t.Errorf("the good chunks: %d, %v", n, err)
	}
	_, err = b.ReadVerified(make([]byte, 2*c), 2*c)
	var d *blob.Damage
	if fault.CodeOf(err) != fault.Corrupt || !errors.As(err, &d) || d.Offset != 2*c || d.File != name {
		t.Errorf("the broken chunk: %v", err)
	}
}

func TestWrongFiles(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	s := open(t, m)
	one, two := store(t, s, sample(1000), 1000), store(t, s, sample(2000), 1000)
	if _, err := s.Open(strings.Repeat("0", 32)); fault.CodeOf(err) != fault.Corrupt {
		t.Errorf("a missing blob: %v", err)
	}
	for _, id := range []string{"", "..", strings.Repeat("A", 32), one.ID[:31], one.ID + "0", "../../" + one.ID[6:]} {
		for _, err := range []error{onlyErr(s.Open(id)), s.Remove(id), s.SyncDirs([]string{id})} {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("id %q: %v", id, err)
			}
		}
	}
	other, err := blob.Open(blob.Config{FS: m, StoreID: [16]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(one.ID); fault.CodeOf(err) != fault.ForeignStore {
		t.Errorf("another store's blob: %v", err)
	}
	file := read(t, m, s.PathForTest(one.ID))
	newer := bytes.Clone(file)
	newer[len(newer)-blob.TrailerLenForTest+8]++
	blob.FixTrailerForTest(newer)
	overwrite(t, m, s.PathForTest(one.ID), newer)
	if _, err := s.Open(one.ID); fault.CodeOf(err) != fault.NewerFormat {
		t.Errorf("a newer blob: %v", err)
	}
	overwrite(t, m, s.PathForTest(two.ID), file)
	if _, err := s.Open(two.ID); fault.CodeOf(err) != fault.Corrupt {
		t.Errorf("another blob's file: %v", err)
	}
}

func onlyErr(_ *blob.Body, err error) error { return err }

func TestPendingAndAbort(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	s := open(t, m)
	p, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	if !s.Pending(p.ID()) {
		t.Error("a new blob is not pending")
	}
	p.Write([]byte("some"))
	if err := errors.Join(p.Abort(), p.Abort()); err != nil {
		t.Error(err)
	}
	if _, err := p.Write([]byte("more")); err == nil {
		t.Error("a write after Abort succeeded")
	}
	if _, err := p.Seal(nil); err == nil {
		t.Error("a seal after Abort succeeded")
	}
	if _, err := m.Stat(s.PathForTest(p.ID())); err == nil || s.Pending(p.ID()) {
		t.Error("an aborted blob is still there")
	}

	sealed := store(t, s, sample(10), 10)
	if !s.Pending(sealed.ID) {
		t.Error("a sealed blob is no longer pending")
	}
	s.Done(sealed.ID)
	if s.Pending(sealed.ID) {
		t.Error("a blob is pending after Done")
	}
	if err := errors.Join(s.Remove(sealed.ID), s.Remove(sealed.ID)); err != nil {
		t.Error(err)
	}
	if p, err = s.Create(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Seal(make([]byte, blob.MaxMeta+1)); fault.CodeOf(err) != fault.MetadataTooLarge {
		t.Error(err)
	}
	if err := p.Abort(); err != nil {
		t.Error(err)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	s := open(t, m)
	want := map[string]int64{}
	for i := range 300 { // more than one folder
		p, err := s.Create()
		if err != nil {
			t.Fatal(err)
		}
		p.Write(make([]byte, i))
		want[p.ID()] = int64(i)
	}
	for _, other := range []string{"blobs/VERSION", "blobs/zz", unusedShard(t, m), "blobs/" + strings.Repeat("a", 32)} {
		if f, err := m.Create(other); err != nil {
			t.Fatal(err)
		} else {
			f.Close()
		}
	}
	got, last := map[string]int64{}, ""
	err := s.Walk(context.Background(), func(id string, size int64) error {
		if id <= last {
			t.Errorf("%s after %s", id, last)
		}
		last = id
		got[id] = size
		return nil
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d blobs of %d, %v", len(got), len(want), err)
	}
	for id, size := range want {
		if got[id] != size {
			t.Errorf("%s has %d bytes, want %d", id, got[id], size)
		}
	}
	stop := errors.New("stop")
	if err := s.Walk(context.Background(), func(string, int64) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Walk(ctx, nil); fault.CodeOf(err) != fault.Canceled {
		t.Error(err)
	}
}

// unusedShard is the name of a folder that no blob of m is in. Shards are drawn
// at random.
func unusedShard(t *testing.T, m vfs.FS) string {
	t.Helper()
	for i := range 256 {
		name := fmt.Sprintf("blobs/%02x", i)
		if _, err := m.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	t.Fatal("every shard is in use")
	return ""
}
