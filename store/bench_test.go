package store_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"larder/store"
	"larder/store/vfs"
)

// BenchmarkPut1KiB counts what a put asks of the disk: one fdatasync alone, a
// fraction of one in company.
func BenchmarkPut1KiB(b *testing.B) {
	body := noise(1, 1024)
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s, counter := counted(b)
			before := counter.Counts()
			var n atomic.Int64
			b.SetParallelism(clients)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, err := s.Put(context.Background(), store.PutRequest{
						Bucket: "bucket", Key: fmt.Sprint(n.Add(1)), Body: bytes.NewReader(body), Size: 1024,
					})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			after := counter.Counts()
			b.ReportMetric(float64(after.Of(vfs.OpSync)-before.Of(vfs.OpSync))/float64(n.Load()), "syncs/put")
		})
	}
}

// BenchmarkHead shows that a look-up costs the same however many objects there
// are: from the cache, and from the index.
func BenchmarkHead(b *testing.B) {
	for _, objects := range []int{100, 20_000} {
		for name, rows := range map[string]int{"cached": 0, "index": 1} {
			b.Run(fmt.Sprintf("%s/objects=%d", name, objects), func(b *testing.B) {
				s, err := store.Open(b.Context(), store.Config{Dir: b.TempDir(), CacheRows: rows})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				makeBucket(b, s, "bucket")
				fillMany(b, s, objects)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := s.Head(context.Background(), "bucket", manyKey(i*7919%objects)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func manyKey(i int) string { return fmt.Sprintf("dir%03d/key%06d", i%100, i) }
