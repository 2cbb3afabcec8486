package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"larder/fault"
	"larder/store/journal"
)

// FuzzRecord: decoding never panics, and what it accepts is encoded the same.
func FuzzRecord(f *testing.F) {
	for _, name := range []string{
		"record-put.bin", "record-full.bin", "record-delete.bin", "record-end.bin", "record-set.bin", "record-carrier.bin",
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Add([]byte{}, true)
	f.Add([]byte("LREC"), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		b = bytes.Clone(b)
		if fix && len(b) >= 52 { // get past the checksum now and then
			if n := int(b[24]) | int(b[25])<<8; b[26] == 0 && b[27] == 0 && 52+n <= len(b) {
				journal.FixRecordForTest(b)
			}
		}
		r, why := journal.DecodeForTest(b, testID)
		if why != "" {
			return
		}
		again := journal.EncodeForTest(r, testID)
		if !bytes.Equal(again, b[:len(again)]) {
			t.Fatalf("accepted\n%x, which is encoded as\n%x", b, again)
		}
	})
}

// FuzzMeta: what is accepted has one encoding only.
func FuzzMeta(f *testing.F) {
	f.Add(fullRecord().AppendMeta(nil))
	f.Add(putRecord().AppendMeta(nil))
	f.Add(endRecord().AppendMeta(nil))
	f.Add(setRecord().AppendMeta(nil))
	f.Add([]byte{})
	f.Add([]byte{17, 6, 1, 'a', 1, 'x', 0, 0})
	f.Add([]byte{20, 12, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := journal.DecodeMeta(b)
		if err != nil {
			return
		}
		if again := r.AppendMeta(nil); !bytes.Equal(again, b) {
			t.Fatalf("accepted\n%x, which is encoded as\n%x", b, again)
		}
	})
}

// FuzzSegmentHeader: what is accepted has one encoding only.
func FuzzSegmentHeader(f *testing.F) {
	for _, name := range []string{"segment-header.bin", "segment-header-compacted.bin"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
		f.Add(b, true)
		f.Add(b[:63], true)
	}
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		b = bytes.Clone(b)
		if fix && len(b) >= 64 {
			journal.FixHeaderForTest(b)
		}
		again, err := journal.DecodeSegmentForTest(b, testID)
		if err == nil && !bytes.Equal(again, b[:len(again)]) {
			t.Fatalf("accepted\n%x, which is encoded as\n%x", b, again)
		}
	})
}

// packedFiles are a compacted segment, renumbered to be the first, and the head
// behind it.
func packedFiles(tb testing.TB) (packed, head []byte) {
	record := func(r *journal.Record) []byte { return journal.EncodeForTest(r, testID) }
	put := samplePut("a", 300)
	put.Sequence, put.Batch = 2, 1
	carrier := carrierRecord()
	packed = append(record(put), record(carrier)...)
	packed = append(journal.CompactedHeaderForTest(1, 1, 6, 9, 2, 128+int64(len(packed)), 0, testID), packed...)
	return packed, append(journal.SegmentHeaderForTest(2, 7, 0, testID), make([]byte, 100)...)
}

// FuzzReplay opens a journal of one or two arbitrary segment files: it never
// panics, and what it gives back reads back, then and after another start.
func FuzzReplay(f *testing.F) {
	file, locs := batches(f)
	file = file[:end(locs[5])]
	second := append(journal.SegmentHeaderForTest(2, 7, 0, testID), make([]byte, 100)...)
	f.Add(file, []byte{}, -1, byte(0))
	f.Add(file, second, -1, byte(0))
	f.Add(file, second[:30], 500, byte(1))
	f.Add(file[:locs[4].Offset+70], []byte{}, 64, byte(255))
	f.Add(file[:10], []byte{}, 3, byte(1))
	packed, behind := packedFiles(f)
	f.Add(packed, behind, -1, byte(0))
	f.Add(packed, behind, 70, byte(1))
	f.Add(packed, behind, 200, byte(1))
	f.Add(packed[:130], behind, -1, byte(0))
	f.Add(packed, behind[:64], 40, byte(1))
	f.Fuzz(func(t *testing.T, one, two []byte, flip int, with byte) {
		one = bytes.Clone(one)
		if flip >= 0 && flip < len(one) {
			one[flip] ^= with
		}
		files := [][]byte{one}
		if len(two) > 0 {
			files = append(files, two)
		}
		m := segments(t, files...)
		j, recs, err := tryReplay(config(m), journal.Position{})
		if err != nil {
			if fault.CodeOf(err) == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		for _, l := range recs {
			if _, err := j.ReadBody(l.loc, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range j.Segments() {
			if got := scan(t, j, s.Number, 0); len(got.damage) > 0 {
				t.Fatalf("a scan of what was replayed: %+v", got.damage)
			}
		}
		put(t, j, samplePut("more", 100))
		at := j.Position()
		j.Close()
		j, again, err := tryReplay(config(m), journal.Position{})
		if err != nil || len(again) != len(recs)+1 || j.Position() != at {
			t.Fatalf("%d records, then %d: %v", len(recs), len(again), err)
		}
		j.Close()
	})
}
