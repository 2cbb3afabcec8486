package client_test

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// TestManyAtATime makes many requests on one connection that are answered in
// another order.
func TestManyAtATime(t *testing.T) {
	t.Parallel()
	const count = 100
	c := connect(t, serve(t, offer(), func(p *peer) {
		keys := map[uint32]string{}
		for len(keys) < count {
			r, stream := p.request()
			if r == nil {
				return
			}
			keys[stream] = r.Key
		}
		for stream, key := range keys { // in no order
			o := wire.Object{ETag: "of " + key}
			b, at := wire.BeginAnswer(nil, stream, true)
			p.send(wire.EndFrame(o.Append(b), at))
		}
		p.request()
	}))
	var running sync.WaitGroup
	for i := range count {
		running.Go(func() {
			key := string(rune('a' + i))
			o, err := c.Head(within(t), "bucket", key, nil)
			if err != nil || o.ETag != "of "+key {
				t.Errorf("%s: %+v, %v", key, o, err)
			}
		})
	}
	running.Wait()
	if n := c.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestRequestsWaitAtTheLimit holds that no more requests are in flight than the
// server allows, that the others wait, and that one that waits can be given up.
func TestRequestsWaitAtTheLimit(t *testing.T) {
	t.Parallel()
	few := offer()
	few.Streams = 2
	var open, most atomic.Int32
	release := make(chan struct{})
	c := connect(t, serve(t, few, func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			most.Store(max(most.Load(), open.Add(1)))
			go func() {
				<-release
				open.Add(-1)
				p.send(object(stream, 1, true))
			}()
		}
	}))
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "eight wait", func() bool { return open.Load() == 2 && c.Waiting() == 8 })
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() {
		if _, err := c.Head(ctx, "bucket", "key", nil); fault.CodeOf(err) != fault.Canceled {
			t.Errorf("given up: %v", err)
		}
	})
	eventually(t, "nine wait", func() bool { return c.Waiting() == 9 })
	cancel()
	eventually(t, "eight wait again", func() bool { return c.Waiting() == 8 })
	close(release)
	running.Wait()
	if most.Load() != 2 {
		t.Errorf("%d requests at a time", most.Load())
	}
}

// TestLoadOpensConnections holds that few requests share one connection, and
// many spread over as many as there may be.
func TestLoadOpensConnections(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var requests atomic.Int32
	c := connect(t, serve(t, offer(), func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			requests.Add(1)
			go func() {
				<-release
				p.send(object(stream, 1, true))
			}()
		}
	}), func(cfg *client.Config) { cfg.Conns = 3 })
	var running sync.WaitGroup
	more := func(upTo int32) {
		for n := requests.Load() + 1; n <= upTo; n++ {
			running.Go(func() {
				if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
					t.Error(err)
				}
			})
			eventually(t, "the request came", func() bool { return requests.Load() == n })
		}
	}
	more(client.Spread)
	if n := c.Connections(); n != 1 {
		t.Errorf("%d connections for few requests", n)
	}
	more(8 * client.Spread)
	eventually(t, "three connections", func() bool { return c.Connections() == 3 })
	close(release)
	running.Wait()
}

// TestCancelLeavesTheConnection holds that a request that is given up is
// cancelled, and counts until the server has ended it.
func TestCancelLeavesTheConnection(t *testing.T) {
	t.Parallel()
	few := offer()
	few.Streams = 1
	ctx, cancel := context.WithCancel(t.Context())
	var second atomic.Bool
	c := connect(t, serve(t, few, func(p *peer) {
		_, first := p.request()
		cancel()
		if h, _ := p.next(wire.TypeCancel); h.Stream != first {
			t.Errorf("%+v", h)
		}
		eventually(t, "the next request waits", second.Load)
		p.send(wire.AppendPing(nil, wire.TypePing, [8]byte{1}))
		if h, _ := p.frame(); h.Type != wire.TypePong {
			t.Errorf("a %d came before the server had ended the first request", h.Type)
		}
		p.send(object(first, 1, true)) // it was on its way
		_, stream := p.request()
		p.send(object(stream, 1, true))
		p.request()
	}))
	if _, err := c.Head(ctx, "bucket", "key", nil); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("%v", err)
	}
	go func() {
		eventually(t, "it waits", func() bool { return c.Waiting() == 1 })
		second.Store(true)
	}()
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Error(err)
	}
	if n := c.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestViolationsEndTheConnection holds that a server that breaks the protocol is
// left: what it says after that cannot be trusted.
func TestViolationsEndTheConnection(t *testing.T) {
	t.Parallel()
	cases := map[string]func(stream uint32) []byte{
		"unknown type":        func(uint32) []byte { return []byte{99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} },
		"reserved bits":       func(s uint32) []byte { return append([]byte{4, 1, 1}, object(s, 1, true)[3:]...) },
		"a client's frame":    func(s uint32) []byte { return wire.LoginMessage{}.Append(nil) },
		"a second welcome":    func(uint32) []byte { return wire.WelcomeMessage{}.Append(nil) },
		"a stream to come":    func(s uint32) []byte { return object(s+1, 1, true) },
		"data before answer":  func(s uint32) []byte { return data(s, []byte("x")) },
		"end before answer":   func(s uint32) []byte { return trailer(nil).Append(nil, s) },
		"event before answer": func(s uint32) []byte { return wire.Event{Key: "k"}.Append(nil, s) },
		"two answers":         func(s uint32) []byte { return append(object(s, 1, false), object(s, 1, false)...) },
		"an end of nothing":   func(s uint32) []byte { return binary.BigEndian.AppendUint16(head(wire.TypeEnd, s, 2), 0) },
		"no credit":           func(s uint32) []byte { return wire.AppendCredit(nil, s, 0) },
		"credit beyond all": func(s uint32) []byte {
			return wire.AppendCredit(nil, s, wire.MaxCredit)
		},
		"credit of the connection beyond all": func(uint32) []byte { return wire.AppendCredit(nil, 0, wire.MaxCredit) },
		"data beyond the stream's credit": func(s uint32) []byte {
			return append(object(s, 2<<20, false), split(s, make([]byte, wire.StreamCredit+1), 1<<20)...)
		},
	}
	for name, frames := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := make(chan bool, 10)
			c := connect(t, serve(t, offer(), func(p *peer) {
				r, stream := p.request()
				if r == nil {
					return
				}
				p.send(frames(stream))
				h, _ := p.next(wire.TypeRequest)
				left <- h.Type == 0
			}))
			r, err := c.Get(within(t), "bucket", "key", nil)
			if err == nil {
				eventually(t, "the connection has ended", func() bool { return c.Connections() == 0 })
				_, err = io.ReadAll(r)
				_ = r.Close()
			}
			if fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("%v", err)
			}
			if !<-left {
				t.Error("the connection went on")
			}
		})
	}
}

func head(t wire.Type, stream, length uint32) []byte {
	return wire.Header{Type: t, Stream: stream, Length: length}.Append(nil)
}

// TestLateFramesArePassedOver holds that frames of a request that is over are
// read by their length, and that a PING is answered.
func TestLateFramesArePassedOver(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(object(stream, 1, true))
		_, next := p.request()
		p.send(data(stream, object(next, 99, true)), trailer(nil).Append(nil, stream), object(stream, 98, true),
			wire.AppendCredit(nil, stream, 5), wire.AppendCancel(nil, stream, fault.Internal),
			wire.AppendPing(nil, wire.TypePing, [8]byte{1, 2, 3}))
		if h, payload := p.frame(); h.Type != wire.TypePong || payload[2] != 3 {
			t.Errorf("%+v %v", h, payload)
		}
		p.send(object(next, 2, true))
		p.request()
	}))
	for want := int64(1); want <= 2; want++ {
		if o, err := c.Head(within(t), "bucket", "key", nil); err != nil || o.Size != want {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// TestBrokenAnswers holds that an answer that cannot be understood is an error,
// and that the connection goes on.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]func(stream uint32) []byte{
		"an odd field":     func(s uint32) []byte { return answer(s, true, 101, 0) },
		"broken off":       func(s uint32) []byte { return answer(s, true, 10, 200) },
		"a body behind it": func(s uint32) []byte { return append(object(s, 1, false), trailer(nil).Append(nil, s)...) },
	}
	for name, frames := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, serve(t, offer(), func(p *peer) {
				_, stream := p.request()
				p.send(frames(stream))
				_, stream = p.request()
				p.send(object(stream, 1, true))
			}))
			if _, err := c.Head(within(t), "bucket", "key", nil); fault.CodeOf(err) != fault.Internal || fault.HintOf(err) == "" {
				t.Errorf("%v", err)
			}
			if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func answer(stream uint32, last bool, message ...byte) []byte {
	b, at := wire.BeginAnswer(nil, stream, last)
	return wire.EndFrame(append(b, message...), at)
}

// impatient connects with other limits on the server's silence.
func impatient(t *testing.T, addr string, silence, pong time.Duration) *client.Client {
	t.Helper()
	c, err := client.NewImpatient(client.Config{Addr: addr, KeyID: keyID, Secret: secret, Conns: 1}, silence, pong)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestSilenceIsAskedAbout holds that a connection on which an answer is owed and
// nothing comes is asked for a sign of life, as often as it takes.
func TestSilenceIsAskedAbout(t *testing.T) {
	t.Parallel()
	addr := serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		for range 2 {
			_, echo := p.next(wire.TypePing)
			p.send(wire.AppendPing(nil, wire.TypePong, [8]byte(echo)))
		}
		p.send(object(stream, 1, true))
		p.request()
	})
	c := impatient(t, addr, 10*time.Millisecond, deadline)
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Errorf("a slow answer, with signs of life: %v", err)
	}
}

// TestDeadServerIsLeft holds that a connection without a sign of life ends.
func TestDeadServerIsLeft(t *testing.T) {
	t.Parallel()
	pinged := make(chan bool, 1)
	addr := serve(t, offer(), func(p *peer) {
		p.request()
		h, _ := p.next(wire.TypePing)
		pinged <- h.Type == wire.TypePing
		p.request() // which does not come: it waits for the end
	})
	c := impatient(t, addr, 10*time.Millisecond, 10*time.Millisecond)
	if _, err := c.CreateBucket(within(t), "bucket"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
	if !<-pinged {
		t.Error("it was not asked for a sign of life")
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, echo := p.next(wire.TypePing)
		p.send(wire.AppendPing(nil, wire.TypePong, [8]byte{9, 9}), wire.AppendPing(nil, wire.TypePong, [8]byte(echo)))
		p.next(wire.TypePing)
		p.next(wire.TypePing)
	}))
	if took, err := c.Ping(within(t)); err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Ping(ctx); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("no PONG: %v", err)
	}
}

// TestClose holds that everything ends with the client, what waits too.
func TestClose(t *testing.T) {
	t.Parallel()
	few := offer()
	few.Streams = 1
	c := connect(t, serve(t, few, func(p *peer) {
		p.request()
		p.request()
	}))
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			if _, err := c.CreateBucket(within(t), "bucket"); fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("%v", err)
			}
		})
	}
	eventually(t, "two wait", func() bool { return c.Waiting() == 2 })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	running.Wait()
	if _, err := c.Info(within(t)); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}
