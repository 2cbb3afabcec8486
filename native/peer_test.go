package native_test

import (
	"errors"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/native/wire"
)

// peer is a client that says just what a test tells it to say.
type peer struct {
	t      testing.TB
	conn   net.Conn
	stream uint32 // the last one

	said     []byte // all that was sent, while recording
	prefaces wire.Transcript
}

// dial connects without a word.
func (s *stack) dial() *peer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	return &peer{t: s.t, conn: c}
}

// login connects and logs in.
func (s *stack) login() *peer {
	s.t.Helper()
	p := s.dial()
	p.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: [32]byte{1, 2, 3}})
	if w := p.prove(s.key); w.Code != fault.OK {
		s.t.Fatalf("the login was refused: %+v", w)
	}
	return p
}

func (p *peer) greet(ours wire.Preface) wire.Preface {
	p.t.Helper()
	p.prefaces.ClientPreface = ours.Append(nil)
	p.send(p.prefaces.ClientPreface)
	head := p.receive(wire.PrefaceSize)
	n, err := wire.PrefaceRest(head)
	if err != nil {
		p.t.Fatal(err)
	}
	p.prefaces.ServerPreface = append(head, p.receive(n)...)
	theirs, err := wire.ParsePreface(p.prefaces.ServerPreface)
	if err != nil {
		p.t.Fatal(err)
	}
	return theirs
}

// prove sends LOGIN for today and returns the answer, whose proof it checks.
func (p *peer) prove(k keyPair) wire.WelcomeMessage {
	p.t.Helper()
	date := time.Now().UTC().Format(wire.DateForm)
	key := sigv4.DeriveKey(k.secret, date, wire.Region, wire.Service)
	t := p.prefaces
	t.KeyID = k.id
	p.send(wire.LoginMessage{KeyID: k.id, Date: date, Proof: t.ClientProof(key)}.Append(nil))
	h, payload := p.frame()
	if h.Type != wire.TypeWelcome {
		p.t.Fatalf("frame %+v instead of WELCOME", h)
	}
	w, err := wire.ParseWelcome(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	if w.Code == fault.OK && string(w.Proof) != string(t.ServerProof(key)) {
		p.t.Fatal("the server's proof is wrong")
	}
	return w
}

func (p *peer) send(b []byte) {
	p.t.Helper()
	p.said = append(p.said, b...)
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) receive(n int) []byte {
	p.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(p.conn, b); err != nil {
		p.t.Fatal(err)
	}
	return b
}

// frame reads the next frame.
func (p *peer) frame() (wire.Header, []byte) {
	p.t.Helper()
	h, payload, err := p.tryFrame()
	if err != nil {
		p.t.Fatal(err)
	}
	return h, payload
}

func (p *peer) tryFrame() (h wire.Header, payload []byte, err error) {
	head := make([]byte, wire.HeaderSize)
	if _, err := io.ReadFull(p.conn, head); err != nil {
		return h, nil, err
	}
	if h, err = wire.ParseHeader(head, wire.FromServer); err != nil {
		return h, nil, err
	}
	payload = make([]byte, h.Length)
	_, err = io.ReadFull(p.conn, payload)
	return h, payload, err
}

// request opens a stream.
func (p *peer) request(r wire.Request, last bool) uint32 {
	p.t.Helper()
	p.stream++
	b, at := wire.BeginFrame(nil, wire.TypeRequest, last, p.stream)
	p.send(wire.EndFrame(r.Append(b), at))
	return p.stream
}

// ask sends a request without a body and returns its answer.
func (p *peer) ask(r wire.Request) (fault.Code, []byte) {
	p.t.Helper()
	return p.answer(p.request(r, true))
}

func (p *peer) data(stream uint32, b []byte) {
	p.t.Helper()
	for len(b) > 0 {
		n := min(len(b), wire.MaxData)
		head := wire.Header{Type: wire.TypeData, Stream: stream, Length: uint32(n)}
		p.send(append(head.Append(nil), b[:n]...))
		b = b[n:]
	}
}

func trailerOf(body []byte) wire.Trailer {
	return wire.Trailer{Length: int64(len(body)), CRC: crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)), HasCRC: true}
}

// put sends a whole Put of a body that fits into the credit.
func (p *peer) put(key string, body []byte) (fault.Code, []byte) {
	p.t.Helper()
	id := p.request(wire.Request{Op: wire.OpPut, Bucket: bucket, Key: key, Size: -1}, false)
	p.data(id, body)
	p.send(trailerOf(body).Append(nil, id))
	return p.answer(id)
}

// answer reads up to the ANSWER of a stream, and its message. CREDIT is passed
// over.
func (p *peer) answer(stream uint32) (fault.Code, []byte) {
	p.t.Helper()
	for {
		h, payload := p.frame()
		if h.Type == wire.TypeCredit {
			continue
		}
		if h.Type != wire.TypeAnswer || h.Stream != stream {
			p.t.Fatalf("frame %+v %q instead of the answer to %d", h, payload, stream)
		}
		code, hint, message := wire.Refusal(payload)
		if code != fault.OK {
			return code, []byte(hint)
		}
		return code, message
	}
}

// ended reads until the connection ends, and returns the code of the GOAWAY
// before that; found is false when there was none.
func (p *peer) ended() (code fault.Code, found bool) {
	p.t.Helper()
	for {
		h, payload, err := p.tryFrame()
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			p.t.Fatal("the server does not end the connection")
		}
		if err != nil {
			return code, found
		}
		if h.Type == wire.TypeGoAway {
			f, err := wire.ParseFarewell(payload)
			if err != nil {
				p.t.Fatal(err)
			}
			code, found = f.Code, true
		}
	}
}

// works tells that the connection still serves.
func (p *peer) works() {
	p.t.Helper()
	if code, hint := p.ask(wire.Request{Op: wire.OpHeadBucket, Bucket: bucket}); code != fault.OK {
		p.t.Fatalf("the connection is of no use any more: %v %s", code, hint)
	}
}
