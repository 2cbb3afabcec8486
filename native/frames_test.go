package native_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// header writes a header as no client of ours would.
func header(typ, flags byte, reserved uint16, stream, length uint32) []byte {
	b := []byte{typ, flags}
	b = binary.BigEndian.AppendUint16(b, reserved)
	b = binary.BigEndian.AppendUint32(b, stream)
	return binary.BigEndian.AppendUint32(b, length)
}

// TestBrokenFrames ends the connection that sends one, with a reason, and no
// other.
func TestBrokenFrames(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	good := s.login()
	request := func(r wire.Request) []byte {
		b, at := wire.BeginFrame(nil, wire.TypeRequest, r.Op != wire.OpPut, 7)
		return wire.EndFrame(r.Append(b), at)
	}
	put := request(wire.Request{Op: wire.OpPut, Bucket: bucket, Key: "k", Size: -1})
	for name, b := range map[string][]byte{
		"unknown type":                header(99, 0, 0, 1, 0),
		"a server's frame":            header(4, 0, 0, 1, 2),
		"unknown flag":                header(3, 2, 0, 1, 2),
		"reserved bits":               header(3, 1, 1, 1, 2),
		"request of stream 0":         header(3, 1, 0, 0, 2),
		"ping of a stream":            header(9, 0, 0, 1, 8),
		"data without bytes":          header(5, 0, 0, 1, 0),
		"data above the limit":        header(5, 0, 0, 1, wire.MaxData+1),
		"a length of 2^31":            header(3, 1, 0, 1, 1<<31),
		"a length of 2^32-1":          header(5, 0, 0, 1, 1<<32-1),
		"request above the limit":     header(3, 1, 0, 1, wire.MaxLongRequest+1),
		"short request above its own": append(header(3, 1, 0, 1, wire.MaxRequest+1), make([]byte, wire.MaxRequest+1)...),
		"another login":               wire.LoginMessage{KeyID: "k", Date: "20260101", Proof: make([]byte, 32)}.Append(nil),
		"stream used twice":           append(bytes.Clone(put), put...),
		"stream going down":           append(bytes.Clone(put), bytes.Replace(put, []byte{0, 0, 0, 7}, []byte{0, 0, 0, 3}, 1)...),
		"data of an unopened stream":  append(header(5, 0, 0, 9, 1), 1),
		"cancel of an unopened one":   wire.AppendCancel(nil, 9, fault.Canceled),
		"credit of an unopened one":   wire.AppendCredit(nil, 9, 1),
		"credit of nothing":           append(header(8, 0, 0, 0, 4), 0, 0, 0, 0),
		"more credit than may be":     append(wire.AppendCredit(nil, 0, wire.MaxCredit), wire.AppendCredit(nil, 0, wire.MaxCredit)...),
		"data above the credit":       append(put, bytes.Repeat(append(header(5, 0, 0, 7, 1000), make([]byte, 1000)...), wire.ConnectionCredit/1000+1)...),
		"an END without a length":     append(append(bytes.Clone(put), header(6, 0, 0, 7, 2)...), 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.login()
			p.t = t
			go func() { _, _ = p.conn.Write(b) }() // the server may close before it has read all
			if code, found := p.ended(); !found || code != fault.InvalidArgument {
				t.Errorf("GOAWAY %v with %v", found, code)
			}
		})
	}
	t.Cleanup(func() {
		good.works()
		if _, found := s.stored("k"); found {
			t.Error("something was stored")
		}
	})
}

// TestTooManyRequests ends a connection with more in flight than were allowed.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.login()
	open := func() { p.request(wire.Request{Op: wire.OpPut, Bucket: bucket, Key: "k", Size: -1}, false) }
	for range wire.MaxStreams {
		open()
	}
	eventually(t, "all requests to be in flight", func() bool { _, n := s.server.InFlight(); return n == wire.MaxStreams })
	open()
	if code, found := p.ended(); !found || code != fault.InvalidArgument {
		t.Errorf("GOAWAY %v with %v", found, code)
	}
	eventually(t, "the requests to be given up", func() bool { conns, n := s.server.InFlight(); return conns+n == 0 })
}

// TestBadRequests are answered, and the connection goes on.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.login()
	raw := func(last bool, payload ...byte) (fault.Code, []byte) {
		p.stream++
		p.send(append(wire.Header{Type: wire.TypeRequest, Last: last, Stream: p.stream, Length: uint32(len(payload))}.Append(nil), payload...))
		return p.answer(p.stream)
	}
	for name, tc := range map[string]struct {
		code fault.Code
		last bool
		b    []byte
	}{
		"unknown operation":    {fault.NotImplemented, true, []byte{0xff, 0xff}},
		"unknown odd tag":      {fault.NotImplemented, true, []byte{0, 1, 0x7f, 0}},
		"field beyond the end": {fault.InvalidArgument, true, []byte{0, 18, 1, 9, 'x'}},
		"no bucket":            {fault.InvalidArgument, true, []byte{0, 18}},
		"body where none is":   {fault.InvalidArgument, false, []byte{0, 16}},
		"put without a body":   {fault.InvalidArgument, true, []byte{0, 32, 1, 1, 'b', 3, 1, 'k'}},
	} {
		if code, hint := raw(tc.last, tc.b...); code != tc.code || len(hint) == 0 {
			t.Errorf("%s: %v %q, want %v", name, code, hint, tc.code)
		}
	}
	p.works()
}

// TestABodyIsNeverARequest: what stands in the body of a request that takes none,
// or that failed, is passed over by its length.
func TestABodyIsNeverARequest(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.put("precious", []byte("still here"))
	p := s.login()
	hidden, at := wire.BeginFrame(nil, wire.TypeRequest, true, 1000)
	r := wire.Request{Op: wire.OpDelete, Bucket: bucket, Key: "precious"}
	hidden = wire.EndFrame(r.Append(hidden), at)
	for name, r := range map[string]wire.Request{
		"an operation without a body": {Op: wire.OpHeadBucket, Bucket: bucket},
		"a put that fails":            {Op: wire.OpPut, Bucket: "nowhere-to-be", Key: "k", Size: -1},
		"a put with a bad key":        {Op: wire.OpPut, Bucket: bucket, Key: "\xff", Size: -1},
	} {
		id := p.request(r, false)
		p.data(id, bytes.Repeat(hidden, 50))
		p.send(trailerOf(bytes.Repeat(hidden, 50)).Append(nil, id))
		if code, _ := p.answer(id); code == fault.OK {
			t.Errorf("%s: it went well", name)
		}
		p.works()
	}
	p.put("a put", bytes.Repeat(hidden, 50))
	if _, found := s.stored("precious"); !found {
		t.Fatal("a body was read as a request")
	}
}

// TestNoise sends frames of every kind in any order, good and broken. Whatever
// comes of that connection, the server goes on and nothing is left over.
func TestNoise(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range 60 {
		p := s.login()
		go func() { _, _ = bytes.NewReader(noise(r.Uint64())).WriteTo(p.conn); p.conn.Close() }()
		for {
			if _, _, err := p.tryFrame(); err != nil {
				break
			}
		}
	}
	eventually(t, "all connections to be gone", func() bool { conns, n := s.server.InFlight(); return conns+n == 0 })
	s.login().works()
}

// noise is a few hundred frames, most of which may be sent.
func noise(seed uint64) (b []byte) {
	r := rand.New(rand.NewPCG(2, seed))
	var stream uint32
	some := func() uint32 { return uint32(1 + r.IntN(int(stream)+1)) }
	for range 300 {
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			stream++
			req := wire.Request{Op: wire.Op(r.IntN(70)), Bucket: bucket, Key: "noise", Size: -1, Max: 3, Part: 1, Upload: "u"}
			var at int
			b, at = wire.BeginFrame(b, wire.TypeRequest, r.IntN(3) > 0, stream)
			b = wire.EndFrame(req.Append(b), at)
		case 4, 5, 6:
			n := 1 + r.IntN(2000)
			b = append(wire.Header{Type: wire.TypeData, Stream: some(), Length: uint32(n)}.Append(b), make([]byte, n)...)
		case 7:
			b = wire.Trailer{Length: int64(r.IntN(2000))}.Append(b, some())
		case 8:
			b = wire.AppendCancel(b, some(), fault.Canceled)
		case 9:
			b = wire.AppendCredit(b, some(), uint32(1+r.IntN(1000)))
		case 10:
			b = wire.AppendPing(b, wire.TypePing, [8]byte{1})
		case 11:
			if r.IntN(60) == 0 {
				b = append(b, byte(r.Uint32()), byte(r.Uint32()), 0)
			}
		}
	}
	return b
}
