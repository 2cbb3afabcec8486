package native_test

import (
	"bytes"
	"net"
	"testing"

	"larder/fault"
	"larder/native/wire"
)

// TestFramesStayWhole: while large bodies are on their way by sendfile, hundreds
// of small answers leave on the same connection, whose way out is full, and no frame of one stands
// within a frame of another.
func TestFramesStayWhole(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	s.put("large", large)
	p := s.login()
	if err := p.conn.(*net.TCPConn).SetReadBuffer(128 << 10); err != nil {
		t.Fatal(err)
	}
	ids := map[uint32]bool{}
	for range 10 {
		ids[p.request(wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "large"}, true)] = true
	}
	bodies, left := map[uint32]*bytes.Buffer{}, len(ids)
	for left > 0 {
		h, payload := p.frame()
		if h.Type == wire.TypeAnswer && wire.ParseCode(payload) != fault.OK || h.Type == wire.TypeEnd && wire.ParseCode(payload) != fault.OK {
			t.Fatalf("%+v %q", h, payload)
		}
		switch {
		case h.Type == wire.TypeData:
			if bodies[h.Stream] == nil {
				bodies[h.Stream] = &bytes.Buffer{}
			}
			bodies[h.Stream].Write(payload)
			for range 5 { // the way out is full: they wait while a body's next frame begins
				p.request(wire.Request{Op: wire.OpHead, Bucket: bucket, Key: "large"}, true)
				left++
			}
			p.send(wire.AppendCredit(wire.AppendCredit(nil, 0, h.Length), h.Stream, h.Length))
		case h.Type == wire.TypeEnd, h.Last:
			left--
		}
	}
	for id := range ids {
		if bodies[id] == nil || !bytes.Equal(bodies[id].Bytes(), large) {
			t.Errorf("stream %d got another body", id)
		}
	}
}
