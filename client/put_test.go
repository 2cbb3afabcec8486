package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// put is what a script has seen of one.
type put struct {
	*wire.Request
	body []byte
}

// stores takes bodies and tells of them.
func stores(seen chan<- put) script {
	return func(p *peer) {
		for {
			r, stream := p.request()
			if r == nil {
				return
			}
			body := p.body(stream)
			seen <- put{r, body}
			p.send(object(stream, len(body), true))
		}
	}
}

// TestPutSendsBodies holds that bodies of all lengths arrive, whatever reader
// they come from, and that the size is told where it is known.
func TestPutSendsBodies(t *testing.T) {
	t.Parallel()
	seen := make(chan put, 1)
	c := connect(t, serve(t, offer(), stores(seen)))
	for _, size := range []int{0, 1, client.FirstPiece - 1, client.FirstPiece, client.FirstPiece + 1, 300_000, 3 << 20} {
		body := noise(size)
		for name, x := range map[string]struct {
			from io.Reader
			size int64
			told int64
		}{
			"bytes":      {bytes.NewReader(body), 0, int64(size)},
			"stream":     {io.MultiReader(bytes.NewReader(body)), 0, -1},
			"sized":      {io.MultiReader(bytes.NewReader(body)), int64(size), max(int64(size), -1)},
			"piecemeal":  {iotest.HalfReader(bytes.NewReader(body)), 0, -1},
			"early end":  {iotest.DataErrReader(bytes.NewReader(body)), 0, -1},
			"sized, too": {bytes.NewReader(body), int64(size), int64(size)},
		} {
			o, err := c.Put(within(t), "bucket", "key", x.from, &client.PutOptions{Size: x.size})
			if err != nil || o.Size != int64(size) || o.ETag != "etag" || o.Sequence != 7 {
				t.Fatalf("%d bytes, %s: %+v, %v", size, name, o, err)
			}
			got := <-seen
			if !bytes.Equal(got.body, body) {
				t.Errorf("%d bytes, %s: others have come, %d", size, name, len(got.body))
			}
			if size > 0 && got.Size != x.told {
				t.Errorf("%d bytes, %s: the size was said to be %d", size, name, got.Size)
			}
		}
	}
	if _, err := c.Put(within(t), "bucket", "key", nil, nil); err != nil {
		t.Error(err)
	}
	if got := <-seen; len(got.body) != 0 || got.Size != 0 {
		t.Errorf("no body: %d bytes of %d", len(got.body), got.Size)
	}
}

// TestPutSaysAll holds that every option comes to the server.
func TestPutSaysAll(t *testing.T) {
	t.Parallel()
	seen := make(chan put, 1)
	c := connect(t, serve(t, offer(), stores(seen)))
	meta := client.Meta{User: map[string]string{"a": "b"}, Tags: map[string]string{"c": "d"}}
	meta.ContentType = "text/plain"
	_, err := c.Put(within(t), "bucket", "key", strings.NewReader("x"), &client.PutOptions{
		Meta: meta, IfMatch: "e", IfAbsent: true, SkipMD5: true, SkipSHA256: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-seen
	if got.Bucket != "bucket" || got.Key != "key" || got.Meta.User["a"] != "b" || got.Meta.Tags["c"] != "d" ||
		got.Meta.ContentType != "text/plain" || len(got.IfMatch) != 1 || got.IfMatch[0] != "e" || !got.IfAbsent ||
		!got.SkipMD5 || !got.SkipSHA256 {
		t.Errorf("%+v", got.Request)
	}
}

// TestPutHonoursCredit sends bodies to a peer that gives little credit, and only
// when there is none left; more than it gave would be an error.
func TestPutHonoursCredit(t *testing.T) {
	t.Parallel()
	small := offer()
	small.StreamCredit, small.ConnectionCredit = 10_000, 12_000
	for _, size := range []int{15_000, 200_000} { // with the request, and beyond it
		got := make(chan []byte, 1)
		c := connect(t, serve(t, small, func(p *peer) {
			_, stream := p.request()
			var all []byte
			own, shared := 10_000, 12_000
			for h, payload := p.frame(); h.Type == wire.TypeData; h, payload = p.frame() {
				all = append(all, payload...)
				own, shared = own-len(payload), shared-len(payload)
				if own < 0 || shared < 0 {
					t.Errorf("%d bytes too many", max(-own, -shared))
				}
				if own == 0 {
					p.send(wire.AppendCredit(nil, stream, 7000))
					own += 7000
				}
				if shared == 0 {
					p.send(wire.AppendCredit(nil, 0, 3000))
					shared += 3000
				}
			}
			got <- all
			p.send(object(stream, len(all), true))
		}))
		body := noise(size)
		if _, err := c.Put(within(t), "bucket", "key", bytes.NewReader(body), nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(<-got, body) {
			t.Error("another body has come")
		}
	}
}

// TestEarlyRefusal holds that a refused Put stops sending, tells so, and leaves
// the connection usable.
func TestEarlyRefusal(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(wire.AppendRefusal(nil, stream, fault.Denied, "Not you."))
		if h, _ := p.next(wire.TypeCancel); h.Stream != stream {
			t.Errorf("%+v", h)
		}
		_, stream = p.request()
		p.send(object(stream, 1, true))
	}))
	endless := endlessReader{}
	_, err := c.Put(within(t), "bucket", "key", endless, nil)
	if fault.CodeOf(err) != fault.Denied || fault.HintOf(err) != "Not you." || fault.ResourceOf(err) != "bucket/key" {
		t.Errorf("%v", err)
	}
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is in flight", func() bool { return c.InFlight() == 0 })
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

// TestBodiesThatFail holds that a body that cannot be read, or has another
// length than was said, stores nothing: the server gets a CANCEL, and no END.
func TestBodiesThatFail(t *testing.T) {
	t.Parallel()
	why := errors.New("bad sector")
	long := noise(300_000)
	cases := map[string]struct {
		from io.Reader
		size int64
		why  error
	}{
		"unreadable":            {io.MultiReader(bytes.NewReader(long), iotest.ErrReader(why)), 0, why},
		"unreadable from start": {iotest.ErrReader(why), 0, why},
		"too short":             {bytes.NewReader(long), 300_001, nil},
		"too long":              {bytes.NewReader(long), 299_999, nil},
		"small, too short":      {strings.NewReader("abc"), 4, nil},
		"small, too long":       {strings.NewReader("abc"), 2, nil},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, serve(t, offer(), func(p *peer) {
				for h, _ := p.frame(); h.Type != 0; h, _ = p.frame() {
					switch h.Type {
					case wire.TypeEnd:
						t.Error("the body was said to be whole")
					case wire.TypeCancel:
						p.send(wire.AppendCancel(nil, h.Stream, fault.Canceled))
					}
				}
			}))
			_, err := c.Put(within(t), "bucket", "key", x.from, &client.PutOptions{Size: x.size})
			if fault.CodeOf(err) != fault.IncompleteBody || fault.HintOf(err) == "" || x.why != nil && !errors.Is(err, x.why) {
				t.Errorf("%v", err)
			}
			eventually(t, "the request is over", func() bool { return c.InFlight() == 0 })
		})
	}
}

// TestContextEndsAPut holds that a Put that waits for credit ends with its
// context.
func TestContextEndsAPut(t *testing.T) {
	t.Parallel()
	small := offer()
	small.StreamCredit = 1000
	ctx, cancel := context.WithCancel(t.Context())
	c := connect(t, serve(t, small, func(p *peer) {
		p.next(wire.TypeData)
		cancel()
		h, _ := p.next(wire.TypeCancel)
		p.send(wire.AppendCancel(nil, h.Stream, fault.Canceled))
		_, stream := p.request()
		p.send(object(stream, 1, true))
	}))
	if _, err := c.Put(ctx, "bucket", "key", bytes.NewReader(noise(5000)), nil); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("%v", err)
	}
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Error(err)
	}
}

// TestTooLongForARequest holds that what no server would read is not sent.
func TestTooLongForARequest(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), gives(func(stream uint32) []byte { return object(stream, 1, true) })))
	big := client.Meta{User: map[string]string{"a": strings.Repeat("b", wire.MaxRequest)}}
	_, err := c.Put(within(t), "bucket", "key", strings.NewReader("x"), &client.PutOptions{Meta: big})
	if fault.CodeOf(err) != fault.InvalidArgument || c.Connections() != 0 {
		t.Errorf("%v", err)
	}
	_, err = c.Head(within(t), "bucket", "key", &client.ReadOptions{IfMatch: []string{strings.Repeat("e", wire.MaxRequest)}})
	if fault.CodeOf(err) != fault.InvalidArgument || c.Connections() != 0 {
		t.Errorf("%v", err)
	}
}
