package client_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"larder/client"
)

// BenchmarkGet reads objects of several lengths, one after the other and many at
// a time.
func BenchmarkGet(b *testing.B) {
	for _, name := range []string{"plain", "TLS"} {
		s := startStack(b, name == "TLS")
		c := s.connect(b)
		must(c.CreateBucket(b.Context(), "box"))(b)
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
			key := fmt.Sprint(size)
			must(c.Put(b.Context(), "box", key, bytes.NewReader(noise(size)), nil))(b)
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					get(b, c, key)
				}
			})
			b.Run(fmt.Sprintf("%s/%dKiB/many", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						get(b, c, key)
					}
				})
			})
		}
	}
}

func get(b *testing.B, c *client.Client, key string) {
	r, err := c.Get(b.Context(), "box", key, nil)
	if err != nil {
		b.Error(err)
		return
	}
	if _, err := r.WriteTo(io.Discard); err != nil {
		b.Error(err)
	}
}

// BenchmarkPut stores bodies of several lengths.
func BenchmarkPut(b *testing.B) {
	s := startStack(b, false)
	c := s.connect(b)
	must(c.CreateBucket(b.Context(), "box"))(b)
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
		body := noise(size)
		opt := &client.PutOptions{SkipMD5: true, SkipSHA256: true}
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				must(c.Put(b.Context(), "box", "key", bytes.NewReader(body), opt))(b)
			}
		})
	}
}
