package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// call is one way to use a client.
type call struct {
	do       func(ctx context.Context, c *client.Client) error
	repeated bool // after a connection that broke before the answer
}

// calls are the operations without a body that may be repeated, and those that
// may not.
func calls() map[string]call {
	never := func(do func(ctx context.Context, c *client.Client) error) call { return call{do, false} }
	twice := func(do func(ctx context.Context, c *client.Client) error) call { return call{do, true} }
	return map[string]call{
		"Info":       twice(func(ctx context.Context, c *client.Client) error { _, err := c.Info(ctx); return err }),
		"Buckets":    twice(func(ctx context.Context, c *client.Client) error { _, err := c.Buckets(ctx); return err }),
		"HeadBucket": twice(func(ctx context.Context, c *client.Client) error { _, err := c.HeadBucket(ctx, "b"); return err }),
		"Get":        twice(func(ctx context.Context, c *client.Client) error { _, err := c.Get(ctx, "b", "k", nil); return err }),
		"Head":       twice(func(ctx context.Context, c *client.Client) error { _, err := c.Head(ctx, "b", "k", nil); return err }),
		"Delete":     twice(func(ctx context.Context, c *client.Client) error { return c.Delete(ctx, "b", "k", nil) }),
		"List": twice(func(ctx context.Context, c *client.Client) error {
			_, err := c.ListPage(ctx, "b", client.ListOptions{})
			return err
		}),
		"Uploads": twice(func(ctx context.Context, c *client.Client) error {
			for _, err := range c.Uploads(ctx, "b", "") {
				return err
			}
			return nil
		}),
		"Parts": twice(func(ctx context.Context, c *client.Client) error {
			for _, err := range c.Parts(ctx, "b", "k", "u") {
				return err
			}
			return nil
		}),
		"CompleteUpload": twice(func(ctx context.Context, c *client.Client) error {
			_, err := c.CompleteUpload(ctx, "b", "k", "u", []client.CompletePart{{Number: 1, ETag: "e"}}, nil)
			return err
		}),
		"AbortUpload": twice(func(ctx context.Context, c *client.Client) error { return c.AbortUpload(ctx, "b", "k", "u") }),

		"CreateBucket": never(func(ctx context.Context, c *client.Client) error { _, err := c.CreateBucket(ctx, "b"); return err }),
		"DeleteBucket": never(func(ctx context.Context, c *client.Client) error { return c.DeleteBucket(ctx, "b") }),
		"Delete if": never(func(ctx context.Context, c *client.Client) error {
			return c.Delete(ctx, "b", "k", &client.DeleteOptions{IfMatch: "e"})
		}),
		"Copy": never(func(ctx context.Context, c *client.Client) error {
			_, err := c.Copy(ctx, "b", "k", client.Source{Bucket: "b", Key: "l"}, nil)
			return err
		}),
		"CreateUpload": never(func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateUpload(ctx, "b", "k", nil)
			return err
		}),
	}
}

// TestWhatIsRepeated breaks the connection before the answer: what can do no
// harm is made once more on a fresh connection, and nothing else.
func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	for name, x := range calls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			c := connect(t, serve(t, offer(), func(p *peer) {
				if r, _ := p.request(); r != nil {
					requests.Add(1)
				}
			}))
			if err := x.do(within(t), c); fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("%v", err)
			}
			want := int32(1)
			if x.repeated {
				want = 2
			}
			if got := requests.Load(); got != want {
				t.Errorf("%d requests, not %d", got, want)
			}
		})
	}
}

// TestServerRestartIsNotSeen holds that a client whose idle connections have
// died goes on, also with what must not be made twice: it was never sent.
func TestServerRestartIsNotSeen(t *testing.T) {
	t.Parallel()
	for name, x := range calls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cut sync.Map
			addr := serve(t, offer(), func(p *peer) {
				for {
					r, stream := p.request()
					if r == nil {
						return
					}
					p.send(wire.AppendRefusal(nil, stream, fault.NoSuchKey, "Seen."))
				}
			})
			c := connect(t, addr, func(cfg *client.Config) {
				cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					nc, err := new(net.Dialer).DialContext(ctx, network, addr)
					cut.Store(nc, true)
					return nc, err
				}
			})
			if _, err := c.Head(within(t), "b", "k", nil); fault.CodeOf(err) != fault.NoSuchKey {
				t.Fatal(err)
			}
			before := c.Connections()
			cut.Range(func(k, _ any) bool {
				_ = k.(net.Conn).Close()
				return true
			})
			eventually(t, "the connection has ended", func() bool { return c.Connections() < before })
			if err := x.do(within(t), c); fault.HintOf(err) != "Seen." {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestGoAwayIsRepeated holds that what a leaving server will not serve is made
// on a fresh connection, whatever it is, and that what it serves goes on.
func TestGoAwayIsRepeated(t *testing.T) {
	t.Parallel()
	type seen struct {
		connection int
		key        string
	}
	served := make(chan seen, 4)
	var late atomic.Bool
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, first := p.request()
		if p.number == 1 {
			late.Store(true)
			r, second := p.request()
			p.send(wire.Farewell{Last: first, Hint: "Bye."}.Append(nil))
			if r == nil || second <= first {
				t.Errorf("%+v on %d", r, second)
			}
			p.send(object(first, 1, true))
			served <- seen{p.number, "first"}
			if r, _ := p.request(); r != nil {
				t.Errorf("%+v came on the connection that was to end", r)
			}
			return
		}
		body := p.body(first)
		served <- seen{p.number, string(body)}
		p.send(object(first, len(body), true))
		p.request()
	}))
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := c.Head(within(t), "bucket", "first", nil); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the first request came", late.Load)
	if _, err := c.Put(within(t), "bucket", "second", io.MultiReader(strings.NewReader("body")), &client.PutOptions{IfAbsent: true}); err != nil {
		t.Error(err)
	}
	running.Wait()
	got := map[seen]bool{<-served: true, <-served: true}
	if !got[seen{1, "first"}] || !got[seen{2, "body"}] {
		t.Errorf("%v", got)
	}
	eventually(t, "the first connection has ended", func() bool { return c.Connections() == 1 })
}

// TestBlamedClient holds that what the server says when it throws a client out
// comes to the caller.
func TestBlamedClient(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(wire.Farewell{Code: fault.InvalidArgument, Last: stream, Hint: "What was that?"}.Append(nil))
	}))
	if _, err := c.CreateBucket(within(t), "b"); fault.CodeOf(err) != fault.Unavailable || fault.HintOf(err) != "What was that?" {
		t.Errorf("%v", err)
	}
}

// TestPutsThatAreRepeated breaks the connection before the answer to a Put.
func TestPutsThatAreRepeated(t *testing.T) {
	t.Parallel()
	long := noise(300_000)
	cases := map[string]struct {
		from     func() io.Reader
		opt      *client.PutOptions
		part     bool
		repeated bool
	}{
		"small":            {func() io.Reader { return io.MultiReader(bytes.NewReader(long[:100])) }, nil, false, true},
		"small, a part":    {func() io.Reader { return bytes.NewReader(long[:100]) }, nil, true, true},
		"small, if absent": {func() io.Reader { return bytes.NewReader(long[:100]) }, &client.PutOptions{IfAbsent: true}, false, false},
		"small, if match":  {func() io.Reader { return bytes.NewReader(long[:100]) }, &client.PutOptions{IfMatch: "e"}, false, false},
		"long":             {func() io.Reader { return bytes.NewReader(long) }, nil, false, true},
		"long, from inside": {func() io.Reader {
			r := bytes.NewReader(append([]byte("xyz"), long...))
			_, _ = r.Seek(3, io.SeekStart)
			return r
		}, nil, false, true},
		"long, a part":    {func() io.Reader { return bytes.NewReader(long) }, nil, true, true},
		"long, if absent": {func() io.Reader { return bytes.NewReader(long) }, &client.PutOptions{IfAbsent: true}, false, false},
		"long, a stream":  {func() io.Reader { return io.MultiReader(bytes.NewReader(long)) }, nil, false, false},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies sync.Map
			c := connect(t, serve(t, offer(), func(p *peer) {
				_, stream := p.request()
				bodies.Store(p.number, p.body(stream))
				if p.number == 2 {
					p.send(object(stream, 1, true))
					p.request()
				}
			}))
			var err error
			if x.part {
				_, err = c.PutPart(within(t), "bucket", "key", "upload", 1, x.from(), nil)
			} else {
				_, err = c.Put(within(t), "bucket", "key", x.from(), x.opt)
			}
			second, repeated := bodies.Load(2)
			if repeated != x.repeated || repeated != (err == nil) || err != nil && fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("repeated: %v, %v", repeated, err)
			}
			if first, _ := bodies.Load(1); repeated && !bytes.Equal(first.([]byte), second.([]byte)) {
				t.Error("the second time it was another body")
			}
		})
	}
}

// TestDialIsShared holds that those who wait for a first connection wait for
// the same one, and learn why there is none.
func TestDialIsShared(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	release, why := make(chan struct{}), errors.New("no route")
	c := connect(t, "nas:9002", func(cfg *client.Config) {
		cfg.Conns = 4
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			<-release
			return nil, why
		}
	})
	var running sync.WaitGroup
	for range 50 {
		running.Go(func() {
			if _, err := c.Info(within(t)); !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return c.Waiting() == 50 })
	close(release)
	running.Wait()
	if n := dials.Load(); n != 1 {
		t.Errorf("%d dials", n)
	}
}

// TestQueuedBehindABrokenWrite holds that a request that waited behind another
// one's write when the connection broke is made again, whatever it is, and that
// the one that was being written is not.
func TestQueuedBehindABrokenWrite(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 3)
	addr := serve(t, offer(), func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			seen <- r.Bucket
			b, at := wire.BeginAnswer(nil, stream, true)
			p.send(wire.EndFrame(wire.Bucket{Name: r.Bucket}.Append(b), at))
		}
	})
	stuck := &stuckConn{writing: make(chan struct{}), broken: make(chan struct{})}
	var dials atomic.Int32
	c := connect(t, addr, func(cfg *client.Config) {
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			if dials.Add(1) > 1 {
				return nc, err
			}
			stuck.Conn = nc
			return stuck, err
		}
	})
	create := func(name string) error {
		_, err := c.CreateBucket(within(t), name)
		return err
	}
	if err := create("first"); err != nil {
		t.Fatal(err)
	}
	stuck.on.Store(true)
	var running sync.WaitGroup
	running.Go(func() {
		if err := create("written"); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("what was being written: %v", err)
		}
	})
	<-stuck.writing
	running.Go(func() {
		if err := create("queued"); err != nil {
			t.Errorf("what had to wait: %v", err)
		}
	})
	eventually(t, "the second is queued", func() bool { return c.Queued() > 0 })
	_ = stuck.Conn.Close()
	running.Wait()
	if a, b := <-seen, <-seen; a != "first" || b != "queued" || len(seen) != 0 {
		t.Errorf("%s and %s were made, and %d more", a, b, len(seen))
	}
}

// stuckConn holds a write fast, once it is on, until it is closed.
type stuckConn struct {
	net.Conn
	on              atomic.Bool
	writing, broken chan struct{}
	once            sync.Once
}

func (c *stuckConn) Write(p []byte) (int, error) {
	if !c.on.Load() {
		return c.Conn.Write(p)
	}
	close(c.writing)
	<-c.broken
	return 0, net.ErrClosed
}

func (c *stuckConn) Close() error {
	c.once.Do(func() { close(c.broken) })
	return c.Conn.Close()
}
