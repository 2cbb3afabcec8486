package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// noise is a body that repeats itself nowhere.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

// split is a body in DATA frames of a length.
func split(stream uint32, body []byte, each int) (frames []byte) {
	for len(body) > 0 {
		n := min(each, len(body))
		frames = append(frames, data(stream, body[:n])...)
		body = body[n:]
	}
	return frames
}

// gives answers every Get with frames made for its stream.
func gives(frames func(stream uint32) []byte) script {
	return func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			p.send(frames(stream))
		}
	}
}

// TestGetReadsWhatWasSent reads bodies that come in frames of many lengths, in
// each of the ways that a reader has.
func TestGetReadsWhatWasSent(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000, 900_000} {
		for _, each := range []int{1 + size/700, 5000, 1 << 20} {
			body := noise(size)
			c := connect(t, serve(t, offer(), gives(func(stream uint32) []byte {
				return append(append(object(stream, size, false), split(stream, body, each)...), trailer(body).Append(nil, stream)...)
			})))
			for name, read := range readers() {
				r, err := c.Get(within(t), "bucket", "key", nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.Info().Size != int64(size) || r.Info().ETag != "etag" || r.Offset() != 0 || r.Len() != size {
					t.Errorf("%d bytes: %+v at %d, %d to come", size, r.Info(), r.Offset(), r.Len())
				}
				got, err := read(r)
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes in frames of %d, %s: %d bytes, %v", size, each, name, len(got), err)
				}
				if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("behind the end: %d, %v", n, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if c.InFlight() != 0 {
				t.Error("requests are in flight that are over")
			}
		}
	}
}

// readers are the ways to read a body.
func readers() map[string]func(r *client.Reader) ([]byte, error) {
	return map[string]func(r *client.Reader) ([]byte, error){
		"all": func(r *client.Reader) ([]byte, error) { return io.ReadAll(r) },
		"copied": func(r *client.Reader) ([]byte, error) {
			var b bytes.Buffer
			_, err := r.WriteTo(&b)
			return b.Bytes(), err
		},
		"exactly": func(r *client.Reader) ([]byte, error) {
			b := make([]byte, r.Len())
			_, err := io.ReadFull(r, b)
			return b, err
		},
	}
}

// TestBrokenBodies holds that a body that is not what the server said behind it
// never comes to its end, however it is read.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	body := noise(200_000)
	damaged := bytes.Clone(body)
	damaged[199_999]++
	end := trailer(body)
	cases := map[string]struct {
		sent []byte
		end  func(stream uint32) []byte
		code fault.Code
	}{
		"damaged":      {damaged, func(s uint32) []byte { return end.Append(nil, s) }, fault.BadDigest},
		"short":        {body[:199_999], func(s uint32) []byte { return end.Append(nil, s) }, fault.IncompleteBody},
		"short, named": {body[:199_999], func(s uint32) []byte { return trailer(body[:199_999]).Append(nil, s) }, fault.IncompleteBody},
		"long":         {append(bytes.Clone(body), 1), func(s uint32) []byte { return end.Append(nil, s) }, fault.IncompleteBody},
		"no checksum":  {body[:199_999], func(s uint32) []byte { return wire.Trailer{Length: 200_000}.Append(nil, s) }, fault.IncompleteBody},
		"corrupt": {body[:70_000], func(s uint32) []byte {
			return wire.Trailer{Code: fault.Corrupt, Length: 70_000}.Append(nil, s)
		}, fault.Corrupt},
		"corrupt at the end": {body, func(s uint32) []byte {
			return wire.Trailer{Code: fault.Corrupt, Length: 200_000}.Append(nil, s)
		}, fault.Corrupt},
		"stopped": {body[:70_000], func(s uint32) []byte { return wire.AppendCancel(nil, s, fault.Denied) }, fault.Denied},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, serve(t, offer(), gives(func(stream uint32) []byte {
				return append(append(object(stream, len(body), false), split(stream, x.sent, 65_000)...), x.end(stream)...)
			})))
			for how, read := range readers() {
				r, err := c.Get(within(t), "bucket", "key", nil)
				if err != nil {
					t.Fatal(err)
				}
				_, err = read(r)
				if got := fault.CodeOf(err); got != x.code && err != io.ErrUnexpectedEOF {
					t.Errorf("%s: %v", how, err)
				}
				if _, err := r.Read(make([]byte, 1)); fault.CodeOf(err) != x.code {
					t.Errorf("%s: then %v", how, err)
				}
				_ = r.Close()
			}
			eventually(t, "all requests are over", func() bool { return c.InFlight() == 0 })
		})
	}
}

// TestConnectionBreaksInABody holds that half a body is an error that says so.
func TestConnectionBreaksInABody(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(object(stream, 1000, false), data(stream, make([]byte, 500)))
	}))
	r, err := c.Get(within(t), "bucket", "key", nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); n != 500 || fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestRanges holds what a range asks for, and that another one is not taken for
// it.
func TestRanges(t *testing.T) {
	t.Parallel()
	body := noise(1000)
	asked := make(chan wire.Range, 1)
	c := connect(t, serve(t, offer(), func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			from, to, wrong := int64(0), int64(len(body)), int64(0)
			if r.Key == "wrong" {
				wrong = 1
			}
			switch r.Range.Form {
			case wire.From:
				from = r.Range.Offset
			case wire.Span:
				from, to = r.Range.Offset, min(to, r.Range.Offset+r.Range.Length)
			case wire.Suffix:
				from = max(0, to-r.Range.Length)
			}
			part := body[from:to]
			o := wire.Object{Size: 1000}
			b, at := wire.BeginAnswer(nil, stream, false)
			b = wire.EndFrame(wire.AppendBodyOffset(o.Append(b), from+wrong), at)
			p.send(b, split(stream, part, 100), trailer(part).Append(nil, stream))
			asked <- r.Range
		}
	}))
	for part, want := range map[client.Range][]byte{
		{}:                    body,
		client.From(300):      body[300:],
		client.Span(10, 20):   body[10:30],
		client.Span(990, 100): body[990:],
		client.Suffix(7):      body[993:],
		client.Suffix(5000):   body,
	} {
		r, err := c.Get(within(t), "bucket", "key", &client.GetOptions{Range: part})
		if err != nil {
			t.Fatal(err)
		}
		if got := <-asked; got != part {
			t.Errorf("%+v was asked for as %+v", part, got)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) || r.Offset() != int64(bytes.Index(body, want)) {
			t.Errorf("%+v: %d bytes at %d, %v", part, len(got), r.Offset(), err)
		}
	}
	if _, err := c.Get(within(t), "bucket", "wrong", &client.GetOptions{Range: client.From(300)}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("another part than was asked for: %v", err)
	}
}

// TestSlowReaderStallsNobody leaves one body unread while others are read on
// the same connection, and then reads it.
func TestSlowReaderStallsNobody(t *testing.T) {
	t.Parallel()
	body := noise(3 << 19)
	c := connect(t, serve(t, offer(), func(p *peer) { p.sendWithinCredit(body) }))
	slow, err := c.Get(within(t), "bucket", "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 { // more than the connection's credit at its start
		r, err := c.Get(within(t), "bucket", "fast", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if got, err := io.ReadAll(slow); err != nil || !bytes.Equal(got, body) {
		t.Errorf("the slow one: %d bytes, %v", len(got), err)
	}
}

// sendWithinCredit answers every request with a body, in turns, as far as
// credit allows.
func (p *peer) sendWithinCredit(body []byte) {
	type out struct {
		rest   []byte
		credit int
	}
	streams, credit := map[uint32]*out{}, wire.ConnectionCredit
	for {
		for id, o := range streams {
			for n := 1; n > 0; {
				n = min(len(o.rest), o.credit, credit, 300_000)
				if n > 0 {
					p.send(data(id, o.rest[:n]))
					o.rest, o.credit, credit = o.rest[n:], o.credit-n, credit-n
				}
			}
			if len(o.rest) == 0 {
				p.send(trailer(body).Append(nil, id))
				delete(streams, id)
			}
		}
		h, payload := p.frame()
		switch h.Type {
		case 0:
			return
		case wire.TypeRequest:
			streams[h.Stream] = &out{rest: body, credit: wire.StreamCredit}
			p.send(object(h.Stream, len(body), false))
		case wire.TypeCredit:
			n, _ := wire.ParseCredit(payload)
			if h.Stream == 0 {
				credit += int(n)
			} else if o := streams[h.Stream]; o != nil {
				o.credit += int(n)
			}
		}
	}
}

// TestAbandonedBody holds that closing a reader early tells the server so, that
// what is on the way is passed over, and that the connection goes on.
func TestAbandonedBody(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(object(stream, 100_000, false), data(stream, make([]byte, 30_000)))
		if h, payload := p.next(wire.TypeCancel); h.Stream != stream || wire.ParseCode(payload) != fault.Canceled {
			t.Errorf("%+v", h)
		}
		p.send(data(stream, make([]byte, 10_000)), wire.AppendCancel(nil, stream, fault.Canceled))
		_, stream = p.request()
		p.send(object(stream, 1, true))
	}))
	r, err := c.Get(within(t), "bucket", "key", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if _, err := r.Read(make([]byte, 1)); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("a closed reader: %v", err)
	}
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Error(err)
	}
	eventually(t, "the abandoned request is over", func() bool { return c.InFlight() == 0 })
}

// TestContextEndsABody holds that the context of a Get ends the read that
// waits.
func TestContextEndsABody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(object(stream, 100, false), data(stream, make([]byte, 50)))
		p.next(wire.TypeCancel)
		cancel(nil)
		p.request()
	}))
	r, err := c.Get(ctx, "bucket", "key", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 50)); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	cancel(why)
	if _, err := io.ReadAll(r); fault.CodeOf(err) != fault.Canceled || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, why) {
		t.Errorf("then: %v", err)
	}
}
