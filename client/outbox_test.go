package client_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// TestOneWriteForASmallPut holds that a small Put goes out at once: its frames
// are one write.
func TestOneWriteForASmallPut(t *testing.T) {
	t.Parallel()
	seen := make(chan put, 4)
	var counting countedConn
	c := connect(t, serve(t, offer(), stores(seen)), func(cfg *client.Config) {
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			counting.Conn = nc
			return &counting, err
		}
	})
	for _, want := range []int32{3, 1} { // the first with preface and login
		before := counting.writes.Load()
		if _, err := c.Put(within(t), "bucket", "key", bytes.NewReader(noise(10_000)), nil); err != nil {
			t.Fatal(err)
		}
		if n := counting.writes.Load() - before; n != want {
			t.Errorf("%d writes, not %d", n, want)
		}
	}
}

type countedConn struct {
	net.Conn
	writes atomic.Int32
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestRequestsGoBeforeBodies holds that a request does not wait until the
// pieces of a body before it are sent.
func TestRequestsGoBeforeBodies(t *testing.T) {
	t.Parallel()
	slow := &slowConn{}
	order := make(chan []wire.Type, 1)
	c := connect(t, serve(t, offer(), func(p *peer) {
		var seen []wire.Type
		var requests []uint32
		var all []byte
		for {
			h, payload := p.frame()
			switch h.Type {
			case 0:
				return
			case wire.TypeRequest:
				requests = append(requests, h.Stream)
			case wire.TypeData:
				all = append(all, payload...)
			case wire.TypeEnd:
				if got, err := wire.ParseTrailer(payload); err != nil || got != trailer(all) {
					t.Errorf("END says %+v, the body is %+v", got, trailer(all))
				}
				order <- seen
				for _, stream := range requests {
					p.send(object(stream, 1, true))
				}
			}
			seen = append(seen, h.Type)
		}
	}), slow.dial)
	if err := c.Connect(within(t)); err != nil {
		t.Fatal(err)
	}
	slow.Lock()
	var running sync.WaitGroup
	head := func() {
		if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
			t.Error(err)
		}
	}
	running.Go(head)
	eventually(t, "it is being written", func() bool { return slow.writing.Load() == 1 })
	running.Go(func() {
		if _, err := c.Put(within(t), "bucket", "key", bytes.NewReader(noise(900_000)), nil); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the body is queued", func() bool { return c.Queued() > 2*100_000 })
	before := c.Queued()
	running.Go(head)
	eventually(t, "the request is queued", func() bool { return c.Queued() > before })
	slow.Unlock()
	running.Wait()
	want := []wire.Type{wire.TypeRequest, wire.TypeRequest, wire.TypeData, wire.TypeRequest, wire.TypeData}
	if seen := <-order; !slices.Equal(seen[:5], want) {
		t.Errorf("the frames came as %v", seen)
	}
}

// TestCanceledPutTakesItsPiecesBack holds that a Put that is given up sends
// nothing more of what it had queued, and that its credit is there for others.
func TestCanceledPutTakesItsPiecesBack(t *testing.T) {
	t.Parallel()
	small := offer()
	small.StreamCredit, small.ConnectionCredit = 300_000, 300_000
	slow := &slowConn{}
	c := connect(t, serve(t, small, func(p *peer) {
		_, first := p.request()
		p.send(object(first, 1, true))
		_, second := p.request()
		came := 0
		h, payload := p.frame()
		for ; h.Type == wire.TypeData; h, payload = p.frame() {
			came += len(payload)
		}
		if h.Type != wire.TypeCancel || h.Stream != second || came > 100_000 {
			t.Errorf("a %d for %d behind %d bytes", h.Type, h.Stream, came)
		}
		p.send(wire.AppendCancel(nil, second, fault.Canceled))
		_, third := p.request()
		for h, _ = p.frame(); h.Type == wire.TypeData; h, _ = p.frame() {
		}
		p.send(object(third, 1, true))
		p.request()
	}), slow.dial)
	if err := c.Connect(within(t)); err != nil {
		t.Fatal(err)
	}
	slow.Lock()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "it is being written", func() bool { return slow.writing.Load() == 1 })
	running.Go(func() {
		if _, err := c.Put(ctx, "bucket", "key", bytes.NewReader(noise(900_000)), nil); fault.CodeOf(err) != fault.Canceled {
			t.Errorf("%v", err)
		}
	})
	eventually(t, "all that may be sent is queued", func() bool { return c.Queued() > 300_000 })
	cancel()
	eventually(t, "it is taken back", func() bool { return c.Queued() < 100_000 })
	slow.Unlock()
	running.Wait()
	if _, err := c.Put(within(t), "bucket", "key", bytes.NewReader(noise(200_000)), nil); err != nil {
		t.Errorf("with the credit that was not used: %v", err)
	}
}

// slowConn writes nothing while it is locked.
type slowConn struct {
	net.Conn
	sync.Mutex
	writing atomic.Int32
}

// dial makes a client connect over it, once.
func (c *slowConn) dial(cfg *client.Config) {
	cfg.Dial = func(ctx context.Context, network, addr string) (nc net.Conn, err error) {
		c.Conn, err = new(net.Dialer).DialContext(ctx, network, addr)
		return c, err
	}
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.writing.Add(1)
	defer c.writing.Add(-1)
	c.Lock()
	defer c.Unlock()
	return c.Conn.Write(p)
}

// TestPingsThatNobodyListensTo holds that answers to PINGs do not pile up.
func TestPingsThatNobodyListensTo(t *testing.T) {
	t.Parallel()
	stuck := &stuckConn{writing: make(chan struct{}), broken: make(chan struct{})}
	ready := make(chan struct{})
	c := connect(t, serve(t, offer(), func(p *peer) {
		<-ready
		for range 3000 {
			p.send(wire.AppendPing(nil, wire.TypePing, [8]byte{}))
		}
		p.request()
	}), func(cfg *client.Config) {
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			stuck.Conn = nc
			return stuck, err
		}
	})
	if err := c.Connect(within(t)); err != nil {
		t.Fatal(err)
	}
	stuck.on.Store(true)
	close(ready)
	eventually(t, "the connection has ended", func() bool { return c.Connections() == 0 })
}
