package journal_test

import (
	"context"
	"fmt"
	"testing"

	"larder/store/journal"
	"larder/store/vfs"
)

// BenchmarkAppendSync is a batch of puts of 1 KiB and its sync, on a real disk
// when the temporary folder lies on one.
func BenchmarkAppendSync(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			j, fsys := openBench(b)
			recs := make([]*journal.Record, n)
			for i := range recs {
				recs[i] = samplePut(fmt.Sprintf("some/folder/object-%06d", i), 1024)
			}
			before := fsys.Counts()
			b.ReportAllocs()
			b.SetBytes(int64(n) * 1024)
			for b.Loop() {
				if _, err := j.Append(recs); err != nil {
					b.Fatal(err)
				}
				if err := j.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			report(b, fsys.Counts().Since(before))
		})
	}
}

// BenchmarkAppend leaves the disk out.
func BenchmarkAppend(b *testing.B) {
	j, _ := openBench(b)
	recs := []*journal.Record{samplePut("some/folder/object", 1024)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Append(recs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadBody(b *testing.B) {
	j, _ := openBench(b)
	locs, err := j.Append([]*journal.Record{samplePut("key", 64<<10)})
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, locs[0].Length)
	b.ReportAllocs()
	b.SetBytes(64 << 10)
	for b.Loop() {
		if _, err := j.ReadBody(locs[0], buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMeta(b *testing.B) {
	meta := samplePut("some/folder/object", 1024).AppendMeta(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := journal.DecodeMeta(meta); err != nil {
			b.Fatal(err)
		}
	}
}

func openBench(b *testing.B) (*journal.Journal, *vfs.Counter) {
	osfs, err := vfs.OS(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	fsys := vfs.Counted(osfs)
	j, err := journal.Open(context.Background(), journal.Config{FS: fsys, StoreID: testID}, journal.Position{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { j.Close() })
	return j, fsys
}

func report(b *testing.B, c vfs.Counts) {
	b.ReportMetric(float64(c.Of(vfs.OpWrite))/float64(b.N), "writes/op")
	b.ReportMetric(float64(c.Of(vfs.OpSync))/float64(b.N), "syncs/op")
}

// BenchmarkCompact keeps half the records of a segment of 64 MiB; the bytes are
// those that it reads.
func BenchmarkCompact(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("body=%d", size), func(b *testing.B) {
			j, _ := openBench(b)
			for len(j.Segments()) < 2 {
				recs := make([]*journal.Record, max(1, (1<<20)/size))
				for i := range recs {
					recs[i] = samplePut(fmt.Sprintf("some/folder/object-%06d", i), size)
				}
				if _, err := j.Append(recs); err != nil {
					b.Fatal(err)
				}
			}
			if err := j.Sync(); err != nil {
				b.Fatal(err)
			}
			first := j.Segments()[0]
			c := journal.Compaction{Inputs: []uint64{first.Number}, AsOf: j.Position().Sequence}
			c.Keep = func(r *journal.Record, _ journal.Location) (journal.Verdict, error) {
				return journal.Verdict(r.Sequence % 2), nil
			}
			b.SetBytes(first.Size)
			for b.Loop() {
				out, _, err := j.Compact(context.Background(), c)
				if err != nil {
					b.Fatal(err)
				}
				if err := j.Discard(out.Number); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
