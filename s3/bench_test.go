package s3_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"larder/auth/sigv4"
	"larder/s3"
)

// BenchmarkHead is the cost of a request that stores nothing, without the
// network: parsing, verifying, deciding, answering.
func BenchmarkHead(b *testing.B) {
	s := newStack(b)
	s.bucket("pics")
	s.put("/pics/k", "x")
	s.serve(b, request{method: "HEAD", target: "/pics/k"}, 200)
}

// BenchmarkGetSmall adds an inline body to it.
func BenchmarkGetSmall(b *testing.B) {
	s := newStack(b)
	s.bucket("pics")
	s.put("/pics/k", strings.Repeat("x", 16<<10))
	s.serve(b, request{method: "GET", target: "/pics/k"}, 200)
}

// BenchmarkList1000 is a whole page of keys.
func BenchmarkList1000(b *testing.B) {
	s := newStack(b)
	s.bucket("pics")
	for i := range 1000 {
		s.put("/pics/key-"+strconvItoa(i), "")
	}
	s.serve(b, request{method: "GET", target: "/pics?list-type=2"}, 200)
}

// serve answers the same request again and again.
func (s *stack) serve(b *testing.B, q request, status int) {
	r := s.build(q)
	r.Host, r.RequestURI, r.RemoteAddr = r.URL.Host, r.URL.RequestURI(), "10.0.0.1:1"
	r.Body = http.NoBody
	b.ReportAllocs()
	for b.Loop() {
		w := &discarder{header: http.Header{}}
		s.server.ServeHTTP(w, r)
		if w.status != status {
			b.Fatal(w.status)
		}
	}
}

// discarder is a ResponseWriter that keeps the status only.
type discarder struct {
	header http.Header
	status int
}

func (w *discarder) Header() http.Header         { return w.header }
func (w *discarder) WriteHeader(status int)      { w.status = status }
func (w *discarder) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkChunks is the decoder's throughput on signed chunks of 64 KiB.
func BenchmarkChunks(b *testing.B) {
	f, piece := newFramer(), strings.Repeat("0123456789abcdef", 4096)
	for range 64 {
		f.chunk(piece)
	}
	wire := f.chunk("").end()
	b.SetBytes(int64(64 * len(piece)))
	b.ReportAllocs()
	for b.Loop() {
		readAll(b, wire, int64(64*len(piece)), newChain())
	}
}

func readAll(b *testing.B, wire string, size int64, chain *sigv4.Chain) {
	n, err := discard(wire, size, chain)
	if err != nil || n != size {
		b.Fatal(n, err)
	}
}

func discard(wire string, size int64, chain *sigv4.Chain) (int64, error) {
	return io.Copy(io.Discard, s3.NewChunkReader(strings.NewReader(wire), size, chain, nil, false))
}
