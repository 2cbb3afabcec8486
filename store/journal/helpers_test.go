package journal_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"

	"larder/store/journal"
	"larder/store/vfs"
)

// testID is the store id of all tests.
var testID = [16]byte{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f}

// testSegment is small, so that a few records fill one.
const testSegment = 16 << 10

func config(fsys vfs.FS) journal.Config {
	return journal.Config{
		FS: fsys, StoreID: testID, SegmentSize: testSegment,
		Now: func() time.Time { return time.Unix(0, 1_750_000_000_000_000_000) },
	}
}

// samplePut is a put with a body that follows from its key and size.
func samplePut(key string, size int) *journal.Record {
	body := sampleBody(key, size)
	sum := md5.Sum(body)
	return &journal.Record{
		Kind: journal.Put, Time: 1_750_000_000_000_000_000, Bucket: 7, BucketName: "photos", Key: key,
		Size: int64(size), ETag: hex.EncodeToString(sum[:]), MD5: sum[:], ContentType: "application/octet-stream",
		User: []journal.Pair{{Name: "mtime", Value: "1750000000"}}, Owner: "admin", Body: body,
	}
}

func sampleBody(key string, size int) []byte {
	var seed [32]byte
	copy(seed[:], key)
	seed[31] = byte(size)
	body := make([]byte, size)
	rand.NewChaCha8(seed).Read(body)
	return body
}

// logged is a record as replay gave it back.
type logged struct {
	rec *journal.Record
	loc journal.Location
}

// replay opens the journal from the start and returns all its records.
func replay(tb testing.TB, c journal.Config) (*journal.Journal, []logged) {
	tb.Helper()
	j, recs, err := tryReplay(c, journal.Position{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { j.Close() })
	return j, recs
}

func tryReplay(c journal.Config, from journal.Position) (*journal.Journal, []logged, error) {
	var recs []logged
	j, err := journal.Open(context.Background(), c, from, func(r *journal.Record, l journal.Location) error {
		recs = append(recs, logged{r, l})
		return nil
	})
	return j, recs, err
}

// put appends records and syncs.
func put(tb testing.TB, j *journal.Journal, recs ...*journal.Record) []journal.Location {
	tb.Helper()
	locs, err := j.Append(recs)
	if err != nil {
		tb.Fatal(err)
	}
	if err := j.Sync(); err != nil {
		tb.Fatal(err)
	}
	return locs
}

// checkAll reads every record back and compares it with what it was made from.
func checkAll(tb testing.TB, j *journal.Journal, recs []logged) {
	tb.Helper()
	for i, l := range recs {
		if l.rec.Sequence != uint64(i)+1 {
			tb.Fatalf("record %d has sequence %d", i+1, l.rec.Sequence)
		}
		got, err := j.ReadRecord(l.loc)
		if err != nil {
			tb.Fatal(err)
		}
		if !bytes.Equal(got.AppendMeta(nil), l.rec.AppendMeta(nil)) || got.Sequence != l.rec.Sequence || got.Kind != l.rec.Kind {
			tb.Fatalf("record %d reads back otherwise", l.rec.Sequence)
		}
		body, err := j.ReadBody(l.loc, nil)
		if err != nil {
			tb.Fatal(err)
		}
		if l.rec.Kind == journal.Put && l.rec.Blob == "" && l.rec.Extents == nil && !bytes.Equal(body, sampleBody(l.rec.Key, int(l.rec.Size))) {
			tb.Fatalf("the body of record %d reads back otherwise", l.rec.Sequence)
		}
	}
}

// readFile and writeFile go around the journal.
func readFile(tb testing.TB, fsys vfs.FS, name string) []byte {
	tb.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		tb.Fatal(err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		tb.Fatal(err)
	}
	return b
}

func writeFile(tb testing.TB, fsys vfs.FS, name string, b []byte) {
	tb.Helper()
	f, err := fsys.OpenWrite(name)
	if err != nil {
		f, err = fsys.Create(name)
	}
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

// segments is a Mem with these segment files and nothing else.
func segments(tb testing.TB, files ...[]byte) *vfs.Mem {
	tb.Helper()
	m := vfs.NewMem()
	if err := m.Mkdir("segments"); err != nil {
		tb.Fatal(err)
	}
	for i, b := range files {
		writeFile(tb, m, segmentName(i+1), b)
	}
	return m
}

func segmentName(n int) string { return journal.FileNameForTest(uint64(n)) }
