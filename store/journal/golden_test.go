package journal_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"larder/store/journal"
)

var update = flag.Bool("update", false, "write the golden files anew; the format is final, so look twice")

// fullRecord has every field up to tag 28; setRecord and endRecord have the rest.
func fullRecord() *journal.Record {
	seq := func(from byte, n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = from + byte(i)
		}
		return b
	}
	return &journal.Record{
		Kind: journal.Put, Sequence: 0x0102030405060708, Batch: 0x0102030405060700,
		Time: 1_750_000_000_123_456_789, Bucket: 7, BucketName: "photos", Key: "2026/été.jpg", Version: "v-0001",
		Size: 12, ETag: "6f5902ac237024bdd0c176cb93063dc4", MD5: seq(0xa0, 16), SHA256: seq(0xc0, 32),
		Checksum:    journal.Checksum{Algorithm: 2, Type: 2, Value: seq(0xf0, 4)},
		ContentType: "image/jpeg", CacheControl: "no-cache", ContentDisposition: "inline",
		ContentEncoding: "gzip", ContentLanguage: "fr", Expires: "Thu, 01 Jan 2026 00:00:00 GMT",
		User:      []journal.Pair{{Name: "camera", Value: "X100"}, {Name: "place", Value: ""}},
		Tags:      []journal.Pair{{Name: "kind", Value: "holiday"}},
		Lock:      journal.Lock{Mode: 1, Until: 1_800_000_000_000_000_000, Hold: true},
		Extents:   []journal.Extent{{Body: 5, Offset: 0, Length: 300}, {Body: 6, Offset: 65536, Length: 1}},
		PartSizes: []int64{300, 1}, Upload: "upload-1", Part: 3, Owner: "AKEXAMPLE",
		Blob: "000102030405060708090a0b0c0d0e0f", Origin: 4, SumsCRC: 0xdeadbeef,
		Body: []byte("hello larder"),
	}
}

// putRecord is a usual one: docs/format.md shows its bytes.
func putRecord() *journal.Record {
	return &journal.Record{
		Kind: journal.Put, Sequence: 3, Batch: 2, Time: 1_750_000_000_000_000_000,
		Bucket: 1, BucketName: "photos", Key: "cat.txt", Size: 5, ETag: "5d41402abc4b2a76b9719d911017c592",
		MD5:         []byte{0x5d, 0x41, 0x40, 0x2a, 0xbc, 0x4b, 0x2a, 0x76, 0xb9, 0x71, 0x9d, 0x91, 0x10, 0x17, 0xc5, 0x92},
		ContentType: "text/plain", Owner: "admin", Body: []byte("hello"),
	}
}

// endRecord is the tombstone of a key that had more than one version of its body.
func endRecord() *journal.Record {
	return &journal.Record{
		Kind: journal.Delete, Sequence: 300, Batch: 300, Bucket: 1, BucketName: "photos", Key: "cat.txt", Since: 3, Prev: 200,
	}
}

// setRecord changes the settings of a bucket.
func setRecord() *journal.Record {
	return &journal.Record{
		Kind: journal.BucketSet, Sequence: 5, Batch: 5, Bucket: 1, BucketName: "photos",
		Settings: []journal.Pair{{Name: "one", Value: "1"}, {Name: "two", Value: ""}},
	}
}

// carrierRecord carries the body of putRecord.
func carrierRecord() *journal.Record {
	r := putRecord()
	return &journal.Record{Kind: journal.Body, Sequence: r.Sequence, Batch: r.Batch, Size: r.Size, MD5: r.MD5, Body: r.Body}
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, got := range map[string][]byte{
		"record-put.bin":     journal.EncodeForTest(putRecord(), testID),
		"record-full.bin":    journal.EncodeForTest(fullRecord(), testID),
		"record-delete.bin":  journal.EncodeForTest(&journal.Record{Kind: journal.Delete, Sequence: 4, Batch: 4, Bucket: 1, BucketName: "photos", Key: "cat.txt"}, testID),
		"record-end.bin":     journal.EncodeForTest(endRecord(), testID),
		"record-set.bin":     journal.EncodeForTest(setRecord(), testID),
		"record-carrier.bin": journal.EncodeForTest(carrierRecord(), testID),
		"segment-header.bin": journal.SegmentHeaderForTest(12, 3456, 1_750_000_000_000_000_000, testID),
		"segment-header-compacted.bin": journal.CompactedHeaderForTest(
			15, 3456, 4567, 5678, 2, 4096, 1_750_000_000_000_000_000, testID),
	} {
		path := filepath.Join("testdata", name)
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
			t.Errorf("%s: the format has changed:\n got %x\nwant %x", name, got, want)
		}
	}
}

func TestGoldenRecordsDecode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*journal.Record{
		"record-put.bin": putRecord(), "record-full.bin": fullRecord(), "record-end.bin": endRecord(),
		"record-set.bin": setRecord(), "record-carrier.bin": carrierRecord(),
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		got, why := journal.DecodeForTest(b, testID)
		if why != "" {
			t.Fatalf("%s: %s", name, why)
		}
		journal.EncodeForTest(want, testID) // sets Sums
		if want.Body == nil {
			got.Body, want.Sums = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

// TestGoldenRecordFlips: no bit of a record can change unseen.
func TestGoldenRecordFlips(t *testing.T) {
	t.Parallel()
	b := journal.EncodeForTest(fullRecord(), testID)
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, why := journal.DecodeForTest(b, testID); why == "" {
			t.Errorf("bit %d of byte %d changed unseen", i%8, i/8)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestEncodingIsDense(t *testing.T) {
	t.Parallel()
	if n := len(new(journal.Record).AppendMeta(nil)); n != 0 {
		t.Errorf("an empty record has %d bytes of meta", n)
	}
	if n := len(samplePut("key", 0).AppendMeta(nil)); n > 200 {
		t.Errorf("a usual record has %d bytes of meta", n)
	}
}

// TestFormatPage: the dumps in docs/format.md are those of the golden files.
func TestFormatPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"segment-header.bin", "segment-header-compacted.bin", "record-put.bin", "record-delete.bin", "record-end.bin", "record-carrier.bin"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(hex.Dump(b)) {
			if !bytes.Contains(page, []byte(strings.TrimSpace(line))) && len(line) > 9 {
				t.Errorf("%s: the page lacks %s", name, line)
			}
		}
	}
}
