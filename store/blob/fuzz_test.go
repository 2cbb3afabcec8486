package blob_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"larder/fault"
	"larder/store/blob"
	"larder/store/vfs"
)

// FuzzTrailer: what is accepted is encoded the same.
func FuzzTrailer(f *testing.F) {
	var id [16]byte
	hex.Decode(id[:], []byte("abcd000000000000000000000000007f"))
	file := blob.FileForTest(testID, id, []byte("hello"), sampleMeta)
	f.Add(file[len(file)-blob.TrailerLenForTest:], int64(len(file)), false)
	f.Add(file[len(file)-blob.TrailerLenForTest:], int64(len(file)), true)
	f.Add([]byte{}, int64(0), false)
	f.Fuzz(func(t *testing.T, b []byte, size int64, fix bool) {
		b = bytes.Clone(b)
		if fix && len(b) == blob.TrailerLenForTest {
			blob.FixTrailerForTest(b)
		}
		again, err := blob.DecodeTrailerForTest(b, testID, id, size)
		if err == nil && !bytes.Equal(again, b) {
			t.Fatalf("accepted\n%x, which is encoded as\n%x", b, again)
		}
	})
}

// FuzzFile opens and reads an arbitrary file as a blob.
func FuzzFile(f *testing.F) {
	var id [16]byte
	text := "abcd000000000000000000000000007f"
	hex.Decode(id[:], []byte(text))
	f.Add(blob.FileForTest(testID, id, []byte("hello"), sampleMeta))
	f.Add(blob.FileForTest(testID, id, nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := vfs.NewMem()
		s := open(t, m)
		for _, dir := range []string{"blobs/ab", "blobs/ab/cd"} {
			if err := m.Mkdir(dir); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Create(s.PathForTest(text)); err != nil {
			t.Fatal(err)
		}
		overwrite(t, m, s.PathForTest(text), b)
		if fault.CodeOf(verify(s, text)) == fault.Internal {
			t.Fatal(verify(s, text))
		}
	})
}
