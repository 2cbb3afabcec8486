package store_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"larder/store"
)

// BenchmarkGetVerified is what it costs to hold a blob's bytes against their
// checksums before they are sent: over a loopback connection, so by sendfile.
func BenchmarkGetVerified(b *testing.B) {
	for _, size := range []int{1 << 20, 10 << 20} {
		for _, unverified := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dMiB/verified=%v", size>>20, !unverified), func(b *testing.B) {
				benchmarkGet(b, size, unverified)
			})
		}
	}
}

func benchmarkGet(b *testing.B, size int, unverified bool) {
	s, err := store.Open(b.Context(), store.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	makeBucket(b, s, "bucket")
	if err := s.SetBucketSettings(b.Context(), "bucket", store.BucketSettings{UnverifiedReads: unverified}); err != nil {
		b.Fatal(err)
	}
	put(b, s, "bucket", "k", noise(1, size))
	sink := drain(b)
	b.SetBytes(int64(size))
	for b.Loop() {
		o, err := s.Get(b.Context(), "bucket", "k")
		if err != nil {
			b.Fatal(err)
		}
		if n, err := o.CopyRange(b.Context(), sink, 0, int64(size)); err != nil || n != int64(size) {
			b.Fatal(n, err)
		}
		o.Close()
	}
}

// drain is a loopback connection whose other end reads and forgets.
func drain(b *testing.B) *net.TCPConn {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 1<<20)
		_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, buf)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}
