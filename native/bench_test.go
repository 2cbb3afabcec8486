package native_test

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"testing"

	"larder/fault"
	"larder/native/wire"
)

// round is one request and its whole answer, without an allocation on this side,
// so that what is counted is the server's.
type round struct {
	conn    net.Conn
	request []byte // with DATA and END, if it has a body
	streams []int  // where the stream stands in it
	stream  uint32
	in      []byte
	owed    uint32 // bytes of bodies for which no credit was given
	credit  []byte
}

func newRound(p *peer, r wire.Request, body []byte) *round {
	b, at := wire.BeginFrame(nil, wire.TypeRequest, !r.Op.HasBody(), 0)
	x := &round{conn: p.conn, request: wire.EndFrame(r.Append(b), at), stream: p.stream, in: make([]byte, 2<<20)}
	if r.Op.HasBody() {
		x.streams = []int{len(x.request) + 4}
		x.request = append(wire.Header{Type: wire.TypeData, Length: uint32(len(body))}.Append(x.request), body...)
		x.streams = append(x.streams, len(x.request)+4)
		x.request = trailerOf(body).Append(x.request, 0)
	}
	x.streams = append(x.streams, 4)
	return x
}

// do sends the request and reads up to the last frame of its answer.
func (x *round) do(tb testing.TB) {
	x.stream++
	for _, at := range x.streams {
		s := x.request[at : at+4]
		s[0], s[1], s[2], s[3] = byte(x.stream>>24), byte(x.stream>>16), byte(x.stream>>8), byte(x.stream)
	}
	if _, err := x.conn.Write(x.request); err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := io.ReadFull(x.conn, x.in[:wire.HeaderSize]); err != nil {
			tb.Fatal(err)
		}
		h, err := wire.ParseHeader(x.in[:wire.HeaderSize], wire.FromServer)
		if err != nil {
			tb.Fatal(err)
		}
		p := x.in[:h.Length]
		if _, err := io.ReadFull(x.conn, p); err != nil {
			tb.Fatal(err)
		}
		if h.Type == wire.TypeData {
			x.owed += h.Length
		}
		if h.Type == wire.TypeAnswer || h.Type == wire.TypeEnd {
			if code := wire.ParseCode(p); code != fault.OK {
				tb.Fatal(code)
			}
		}
		if h.Last || h.Type == wire.TypeEnd {
			x.repay(tb)
			return
		}
	}
}

// repay gives credit for what came, now and then.
func (x *round) repay(tb testing.TB) {
	if x.owed < wire.ConnectionCredit/4 {
		return
	}
	x.credit = wire.AppendCredit(x.credit[:0], 0, x.owed)
	if _, err := x.conn.Write(x.credit); err != nil {
		tb.Fatal(err)
	}
	x.owed = 0
}

func getSmall() wire.Request  { return wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "small"} }
func headSmall() wire.Request { return wire.Request{Op: wire.OpHead, Bucket: bucket, Key: "small"} }
func putSmall() wire.Request {
	return wire.Request{Op: wire.OpPut, Bucket: bucket, Key: "put", Size: 1024}
}

// TestAllocations bounds what the server allocates for an operation on 1 KiB.
func TestAllocations(t *testing.T) {
	s := newStack(t)
	s.put("small", make([]byte, 1024))
	p := s.login()
	for _, tc := range []struct {
		r    wire.Request
		most float64
	}{{getSmall(), 60}, {headSmall(), 40}, {putSmall(), 90}} {
		x := newRound(p, tc.r, make([]byte, 1024))
		n := testing.AllocsPerRun(300, func() { x.do(t) })
		p.stream = x.stream
		if t.Logf("%v: %.0f allocations", tc.r.Op, n); n > tc.most {
			t.Errorf("%v: %.0f allocations, %.0f are allowed", tc.r.Op, n, tc.most)
		}
	}
}

func BenchmarkGet(b *testing.B)  { benchmarkRound(b, getSmall()) }
func BenchmarkHead(b *testing.B) { benchmarkRound(b, headSmall()) }
func BenchmarkPut(b *testing.B)  { benchmarkRound(b, putSmall()) }

func benchmarkRound(b *testing.B, r wire.Request) {
	s := newStack(b)
	s.put("small", bytes.Repeat([]byte("x"), 1024))
	x := newRound(s.login(), r, make([]byte, 1024))
	b.ReportAllocs()
	for b.Loop() {
		x.do(b)
	}
}

// BenchmarkGetPipelined keeps 16 gets in flight on one connection.
func BenchmarkGetPipelined(b *testing.B) {
	const inFlight = 16
	s := newStack(b)
	s.put("small", bytes.Repeat([]byte("x"), 1024))
	p := s.login()
	x := newRound(p, getSmall(), nil)
	b.ReportAllocs()
	var sent, done int
	buf, have := make([]byte, 1<<20), 0
	for b.Loop() {
		var out []byte
		for ; sent < done+inFlight; sent++ {
			x.stream++
			x.request[4], x.request[5], x.request[6], x.request[7] = byte(x.stream>>24), byte(x.stream>>16), byte(x.stream>>8), byte(x.stream)
			out = append(out, x.request...)
		}
		if _, err := p.conn.Write(out); err != nil {
			b.Fatal(err)
		}
		for was := done; done == was; {
			n, err := p.conn.Read(buf[have:])
			if err != nil {
				b.Fatal(err)
			}
			have += n
			used := 0
			for have-used >= wire.HeaderSize {
				h, err := wire.ParseHeader(buf[used:], wire.FromServer)
				if err != nil {
					b.Fatal(err)
				}
				if have-used < wire.HeaderSize+int(h.Length) {
					break
				}
				if h.Type == wire.TypeData {
					x.owed += h.Length
				}
				used += wire.HeaderSize + int(h.Length)
				if h.Type == wire.TypeEnd {
					done++
				}
			}
			have = copy(buf, buf[used:have])
			x.repay(b)
		}
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "gets/s")
	runtime.KeepAlive(p)
}
