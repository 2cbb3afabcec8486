package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"larder/auth/sigv4"
	"larder/client"
	"larder/native/wire"
)

const (
	keyID    = "AKIDTEST"
	secret   = "not-on-the-wire"
	deadline = 20 * time.Second // of a test that hangs
)

// peer is the server's side of one connection behind its login, for a script.
type peer struct {
	t      *testing.T
	nc     net.Conn
	number int // of the connection, from 1
}

// script answers one connection, which ends when it returns. It runs on a
// goroutine of its own.
type script func(p *peer)

// offer is the preface that scripts greet with.
func offer() wire.Preface {
	return wire.Preface{
		Version: wire.Version, Lowest: wire.Version, Program: "script",
		Streams: wire.MaxStreams, ConnectionCredit: wire.ConnectionCredit, StreamCredit: wire.StreamCredit,
	}
}

// serve listens on loopback for scripts that have greeted with a preface, and
// returns the address.
func serve(t *testing.T, greeting wire.Preface, play script) string {
	t.Helper()
	return listen(t, func(p *peer) {
		if p.welcome(greeting) {
			play(p)
		}
	})
}

// listen runs a script for every connection.
func listen(t *testing.T, play script) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for number := 1; ; number++ {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_ = nc.SetDeadline(time.Now().Add(2 * deadline)) // a hang is the test's to tell of
			running.Go(func() {
				defer nc.Close()
				play(&peer{t: t, nc: nc, number: number})
			})
		}
	})
	return l.Addr().String()
}

// connect returns a client of a script, which is closed before the script's
// listener.
func connect(t *testing.T, addr string, change ...func(*client.Config)) *client.Client {
	t.Helper()
	cfg := client.Config{Addr: addr, KeyID: keyID, Secret: secret, Conns: 1}
	for _, f := range change {
		f(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// within is a context that ends a test that hangs.
func within(t testing.TB) context.Context {
	ctx, done := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(done)
	return ctx
}

// login is what a peer has seen of a login.
type login struct {
	client, server []byte // prefaces
	message        wire.LoginMessage
}

// greet takes the client's preface, answers with greeting, and takes the login.
func (p *peer) greet(greeting wire.Preface) (seen login, ok bool) {
	head := p.read(wire.PrefaceSize)
	if head == nil {
		return seen, false
	}
	n, err := wire.PrefaceRest(head)
	if err != nil {
		return seen, false
	}
	seen.client = append(head, p.read(n)...)
	_, _ = rand.Read(greeting.Nonce[:])
	seen.server = greeting.Append(nil)
	p.send(seen.server)
	h, payload := p.frame()
	if h.Type != wire.TypeLogin {
		return seen, false
	}
	seen.message, err = wire.ParseLogin(payload)
	return seen, err == nil
}

// welcome lets the client in.
func (p *peer) welcome(greeting wire.Preface) bool {
	seen, ok := p.greet(greeting)
	if !ok {
		return false
	}
	p.send(wire.WelcomeMessage{Proof: seen.proof(secret), Caller: "test"}.Append(nil))
	return true
}

// proof is the server's.
func (l login) proof(secret string) []byte {
	t := wire.Transcript{ClientPreface: l.client, ServerPreface: l.server, KeyID: l.message.KeyID}
	return t.ServerProof(sigv4.DeriveKey(secret, l.message.Date, wire.Region, wire.Service))
}

// read returns the next n bytes, nil at the end.
func (p *peer) read(n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(p.nc, b); err != nil {
		return nil
	}
	return b
}

// send ignores errors: the client may have left.
func (p *peer) send(frames ...[]byte) { _, _ = p.nc.Write(bytes.Join(frames, nil)) }

// frame returns the next frame; its type is 0 at the end.
func (p *peer) frame() (wire.Header, []byte) {
	b := p.read(wire.HeaderSize)
	if b == nil {
		return wire.Header{}, nil
	}
	h, err := wire.ParseHeader(b, wire.FromClient)
	if err != nil {
		p.t.Errorf("the client sent % x: %v", b, err)
		return wire.Header{}, nil
	}
	return h, p.read(int(h.Length))
}

// next returns the next frame of a type and passes over all others.
func (p *peer) next(want wire.Type) (wire.Header, []byte) {
	for {
		h, payload := p.frame()
		if h.Type == want || h.Type == 0 {
			return h, payload
		}
	}
}

// request returns the next request, nil at the end.
func (p *peer) request() (*wire.Request, uint32) {
	h, payload := p.next(wire.TypeRequest)
	if h.Type == 0 {
		return nil, 0
	}
	r, err := wire.ParseRequest(payload)
	if err != nil {
		p.t.Errorf("the client sent a request that is none: %v", err)
		return nil, 0
	}
	return r, h.Stream
}

// body takes a body up to its END and compares it with it.
func (p *peer) body(stream uint32) []byte {
	var all []byte
	for {
		h, payload := p.frame()
		switch {
		case h.Type == 0:
			return nil
		case h.Type == wire.TypeData && h.Stream == stream:
			all = append(all, payload...)
			p.send(wire.AppendCredit(wire.AppendCredit(nil, stream, h.Length), 0, h.Length))
		case h.Type == wire.TypeEnd && h.Stream == stream:
			t, err := wire.ParseTrailer(payload)
			if err != nil || t != trailer(all) {
				p.t.Errorf("END says %+v (%v), the body is %+v", t, err, trailer(all))
			}
			return all
		}
	}
}

// object is an answer with an object of a size; a body follows if it is not
// the last.
func object(stream uint32, size int, last bool) []byte {
	o := wire.Object{Size: int64(size), ETag: "etag", Modified: time.Unix(1, 0), Sequence: 7}
	b, at := wire.BeginAnswer(nil, stream, last)
	return wire.EndFrame(o.Append(b), at)
}

func data(stream uint32, p []byte) []byte {
	h := wire.Header{Type: wire.TypeData, Stream: stream, Length: uint32(len(p))}
	return append(h.Append(nil), p...)
}

func trailer(body []byte) wire.Trailer {
	return wire.Trailer{
		Length: int64(len(body)), HasCRC: true,
		CRC: crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)),
	}
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}
