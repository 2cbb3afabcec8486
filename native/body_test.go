package native_test

import (
	"bytes"
	"hash/crc32"
	"testing"
	"time"

	"larder/fault"
	"larder/native/wire"
)

func (p *peer) openPut(key string) uint32 {
	p.t.Helper()
	return p.request(wire.Request{Op: wire.OpPut, Bucket: bucket, Key: key, Size: -1}, false)
}

// TestShortBodiesStoreNothing: whatever ends a body early, what stood under the
// key stands.
func TestShortBodiesStoreNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, size := range []int{10, 300_000} {
		body := bytes.Repeat([]byte("x"), size)
		wrongCRC := trailerOf(body)
		wrongCRC.CRC++
		for name, tc := range map[string]struct {
			end  wire.Trailer
			code fault.Code
		}{
			"longer than it says":     {wire.Trailer{Length: int64(size - 1)}, fault.IncompleteBody},
			"shorter than it says":    {wire.Trailer{Length: int64(size + 1)}, fault.IncompleteBody},
			"given up by the client":  {wire.Trailer{Code: fault.Internal, Length: int64(size)}, fault.IncompleteBody},
			"changed on the way":      {wrongCRC, fault.BadDigest},
			"empty, says its trailer": {wire.Trailer{}, fault.IncompleteBody},
		} {
			s.put("k", []byte("before"))
			p := s.login()
			id := p.openPut("k")
			p.data(id, body)
			p.send(tc.end.Append(nil, id))
			if code, _ := p.answer(id); code != tc.code {
				t.Errorf("%d bytes, %s: %v", size, name, code)
			}
			p.works()
			s.before(name)
		}
	}
}

// before demands that nothing has replaced what stood there.
func (s *stack) before(why string) {
	s.t.Helper()
	eventually(s.t, "all requests to end", func() bool { _, n := s.server.InFlight(); return n == 0 })
	if got, _ := s.stored("k"); got != "before" {
		s.t.Errorf("%s: %d bytes stand under the key", why, len(got))
	}
}

// TestDisconnects within a body and within a frame store nothing, and hold nothing.
func TestDisconnects(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, tail := range map[string][]byte{
		"between frames":  nil,
		"within a header": {5, 0, 0},
		"within data":     append(wire.Header{Type: wire.TypeData, Stream: 1, Length: 1000}.Append(nil), make([]byte, 500)...),
		"within the end":  wire.Trailer{Length: 100_000}.Append(nil, 1)[:15],
	} {
		s.put("k", []byte("before"))
		p := s.login()
		p.data(p.openPut("k"), make([]byte, 100_000))
		p.send(tail)
		p.conn.Close()
		eventually(t, "the connection to be gone", func() bool { conns, _ := s.server.InFlight(); return conns == 0 })
		s.before(name)
	}
}

// TestCancel ends a put that was begun; the connection goes on.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.put("k", []byte("before"))
	p := s.login()
	id := p.openPut("k")
	p.data(id, make([]byte, 200_000))
	p.send(wire.AppendCancel(nil, id, fault.Canceled))
	p.data(id, make([]byte, 1000)) // was on the way
	if code, _ := p.answer(id); code != fault.Canceled {
		t.Errorf("%v", code)
	}
	p.works()
	s.before("canceled")
}

// TestSlowBodies are given up, also one that trickles.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	s := newHastyStack(t, 5*time.Second, time.Minute, 300*time.Millisecond)
	s.put("k", []byte("before"))
	silent, trickling := s.login(), s.login()
	id := silent.openPut("k")
	silent.data(id, make([]byte, 10))
	second := trickling.openPut("k")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_, _ = trickling.conn.Write(append(wire.Header{Type: wire.TypeData, Stream: second, Length: 1}.Append(nil), 'x'))
			}
		}
	}()
	for p, id := range map[*peer]uint32{silent: id, trickling: second} {
		if code, _ := p.answer(id); code != fault.IncompleteBody {
			t.Errorf("%v", code)
		}
	}
	close(stop)
	<-done
	silent.works()
	s.before("too slow")
}

// TestSlowFrames and silence end the connection.
func TestSlowFrames(t *testing.T) {
	t.Parallel()
	s := newHastyStack(t, 5*time.Second, 200*time.Millisecond, 100*time.Millisecond)
	began, idle := s.login(), s.login()
	began.send(append(wire.Header{Type: wire.TypePing, Length: 8}.Append(nil), 1, 2, 3))
	if code, found := began.ended(); !found || code != fault.InvalidArgument {
		t.Errorf("within a frame: GOAWAY %v with %v", found, code)
	}
	if code, found := idle.ended(); !found || code != fault.OK {
		t.Errorf("silent: GOAWAY %v with %v", found, code)
	}
}

// getAll reads a body behind its ANSWER, gives credit for it, and returns its
// bytes and its END.
func (p *peer) getAll(id uint32) (body []byte, end wire.Trailer) {
	p.t.Helper()
	for {
		h, payload := p.frame()
		switch {
		case h.Stream != id:
			p.t.Fatalf("a frame of stream %d", h.Stream)
		case h.Type == wire.TypeData:
			body = append(body, payload...)
			p.send(wire.AppendCredit(wire.AppendCredit(nil, 0, h.Length), id, h.Length))
			continue
		case h.Type != wire.TypeEnd:
			p.t.Fatalf("frame %+v within a body", h)
		}
		end, err := wire.ParseTrailer(payload)
		if err != nil {
			p.t.Fatal(err)
		}
		return body, end
	}
}

// TestGet sends bodies of every size and range whole, with their length and
// checksum behind them.
func TestGet(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.login()
	for _, size := range []int{0, 1, 1000, 40_000, 131_072, 131_073, 3 << 20, 9<<20 + 17} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i * 31 >> 3)
		}
		s.put("k", body)
		type part struct {
			r    wire.Range
			from int
			want []byte
		}
		parts := []part{{wire.Range{}, 0, body}, {wire.Range{Form: wire.From}, 0, body}}
		if size > 2 {
			parts = append(parts,
				part{wire.Range{Form: wire.From, Offset: int64(size - 1)}, size - 1, body[size-1:]},
				part{wire.Range{Form: wire.Span, Offset: 1, Length: int64(size / 2)}, 1, body[1 : 1+size/2]},
				part{wire.Range{Form: wire.Span, Offset: 1, Length: 1 << 40}, 1, body[1:]},
				part{wire.Range{Form: wire.Suffix, Length: int64(size / 3)}, size - size/3, body[size-size/3:]},
				part{wire.Range{Form: wire.Suffix, Length: 1 << 40}, 0, body})
		}
		for _, part := range parts {
			id := p.request(wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "k", Range: part.r}, true)
			code, message := p.answer(id)
			o, off, err := wire.ParseObject(message)
			if code != fault.OK || err != nil || o.Size != int64(size) {
				t.Fatalf("%d bytes, %+v: %v %v %+v", size, part.r, code, err, o)
			}
			got, end := p.getAll(id)
			if !bytes.Equal(got, part.want) || int(off) != part.from {
				t.Fatalf("%d bytes, %+v: %d bytes from %d", size, part.r, len(got), off)
			}
			sum := crc32.Checksum(got, crc32.MakeTable(crc32.Castagnoli))
			if end.Code != fault.OK || end.Length != int64(len(got)) || end.HasCRC && end.CRC != sum || !end.HasCRC && size <= 131_072 {
				t.Fatalf("%d bytes, %+v: %+v", size, part.r, end)
			}
		}
		for _, r := range []wire.Range{{Form: wire.From, Offset: int64(size + 1)}, {Form: wire.Span, Offset: int64(size + 1), Length: 1}, {Form: wire.Suffix}} {
			if code, _ := p.ask(wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "k", Range: r}); code != fault.InvalidRange {
				t.Errorf("%d bytes, %+v: %v", size, r, code)
			}
		}
	}
}

// TestCredit: without credit nothing more is sent, on other streams it is, and
// who takes nothing at all is cut off.
func TestCredit(t *testing.T) {
	t.Parallel()
	s := newHastyStack(t, 5*time.Second, time.Minute, 500*time.Millisecond)
	s.put("large", make([]byte, 3<<20))
	p := s.login()
	id := p.request(wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "large"}, true)
	p.answer(id)
	var got int
	for got < wire.StreamCredit {
		h, _ := p.frame()
		if h.Type != wire.TypeData || h.Stream != id {
			t.Fatalf("%+v", h)
		}
		got += int(h.Length)
	}
	if got != wire.StreamCredit {
		t.Fatalf("%d bytes, more than there was credit for", got)
	}
	p.works()
	h, payload := p.frame()
	end, err := wire.ParseTrailer(payload)
	if h.Type != wire.TypeEnd || err != nil || end.Code != fault.Canceled {
		t.Errorf("%+v %+v %v", h, end, err)
	}
	p.works()
}
