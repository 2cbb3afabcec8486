package client_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

// position answers a Watch.
func position(stream uint32, sequence uint64) []byte {
	b, at := wire.BeginAnswer(nil, stream, false)
	return wire.EndFrame(wire.AppendPosition(b, sequence), at)
}

func stored(stream uint32, sequence uint64) []byte {
	e := wire.Event{Sequence: sequence, Key: fmt.Sprint("key", sequence), Kind: wire.Stored}
	return e.Append(nil, stream)
}

// next is the watch's next event.
func next(t *testing.T, w *client.Watch) client.Event {
	t.Helper()
	e, err := w.Next(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestWatchGoesOn breaks a watch in every way that may pass, and holds that it
// goes on from the last sequence that it told.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	breaks := map[string]func(p *peer, stream uint32){
		"connection": func(*peer, uint32) {},
		"shutdown": func(p *peer, stream uint32) {
			p.send(wire.Farewell{Last: stream}.Append(nil), wire.AppendCancel(nil, stream, fault.Unavailable))
		},
		"end":      func(p *peer, stream uint32) { p.send(wire.Trailer{Code: fault.Unavailable}.Append(nil, stream)) },
		"too busy": func(p *peer, stream uint32) { p.send(wire.AppendCancel(nil, stream, fault.RateLimited)) },
	}
	for name, end := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var begun atomic.Uint64
			c := connect(t, serve(t, offer(), func(p *peer) {
				for {
					r, stream := p.request()
					if r == nil {
						return
					}
					if want := []uint64{0, 40, 42, 43}[begun.Add(1)-1]; r.From != want || r.Bucket != "bucket" || r.Prefix != "pre/" {
						t.Errorf("a watch of %s/%s from %d, not %d", r.Bucket, r.Prefix, r.From, want)
					}
					p.send(position(stream, max(r.From, 40)))
					switch begun.Load() {
					case 2:
						p.send(stored(stream, 41), stored(stream, 42))
					case 3:
						p.send(wire.Event{Sequence: 43, Key: "gone", Kind: wire.Removed}.Append(nil, stream))
					case 4:
						p.send(wire.Event{Sequence: 50, Gap: true}.Append(nil, stream))
						p.request()
						return
					}
					if end(p, stream); name != "end" && name != "too busy" {
						return
					}
				}
			}))
			w, err := c.Watch(within(t), "bucket", "pre/", 0)
			if err != nil {
				t.Fatal(err)
			}
			want := []client.Event{
				{Sequence: 41, Key: "key41", Kind: client.Stored}, {Sequence: 42, Key: "key42", Kind: client.Stored},
				{Sequence: 43, Key: "gone", Kind: client.Removed}, {Sequence: 50, Gap: true},
			}
			for _, e := range want {
				if got := next(t, w); got != e || w.From() != e.Sequence {
					t.Errorf("%+v, not %+v", got, e)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if _, err := w.Next(within(t)); fault.CodeOf(err) != fault.Canceled {
				t.Errorf("closed: %v", err)
			}
		})
	}
}

// TestWatchIsRefused holds that what will not pass comes to the caller.
func TestWatchIsRefused(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(wire.AppendRefusal(nil, stream, fault.Denied, "Not you."))
		_, stream = p.request()
		p.send(position(stream, 9), stored(stream, 10), wire.Trailer{Code: fault.NoSuchBucket}.Append(nil, stream))
		_, stream = p.request()
		p.send(wire.AppendRefusal(nil, stream, fault.NoSuchBucket, "It is gone."))
		p.request()
	}))
	if _, err := c.Watch(within(t), "bucket", "", 0); fault.CodeOf(err) != fault.Denied || fault.HintOf(err) != "Not you." {
		t.Errorf("%v", err)
	}
	w, err := c.Watch(within(t), "bucket", "", 9)
	if err != nil {
		t.Fatal(err)
	}
	if e := next(t, w); e.Sequence != 10 {
		t.Errorf("%+v", e)
	}
	if _, err := w.Next(within(t)); fault.CodeOf(err) != fault.NoSuchBucket {
		t.Errorf("the bucket is gone: %v", err)
	}
	if _, err := w.Next(within(t)); fault.HintOf(err) != "It is gone." {
		t.Errorf("still: %v", err)
	}
}

// TestNextMayBeGivenUp holds that a Next whose context ends loses nothing.
func TestNextMayBeGivenUp(t *testing.T) {
	t.Parallel()
	send, canceled := make(chan struct{}), make(chan struct{})
	c := connect(t, serve(t, offer(), func(p *peer) {
		_, stream := p.request()
		p.send(position(stream, 9))
		<-send
		p.send(stored(stream, 10), stored(stream, 11))
		if h, _ := p.next(wire.TypeCancel); h.Stream != stream {
			t.Errorf("%+v", h)
		}
		close(canceled)
	}))
	w, err := c.Watch(within(t), "bucket", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := w.Next(ctx); fault.CodeOf(err) != fault.Canceled {
		t.Errorf("%v", err)
	}
	close(send)
	if a, b := next(t, w), next(t, w); a.Sequence != 10 || b.Sequence != 11 {
		t.Errorf("%+v, %+v", a, b)
	}
	_ = w.Close()
	<-canceled
}

// TestUnreadWatchStallsNobody sends more events than wait for anybody, and
// holds that other requests go on, and that the watch then misses nothing: it
// begins again where it was.
func TestUnreadWatchStallsNobody(t *testing.T) {
	t.Parallel()
	const total = 3*client.MostEvents + 7
	c := connect(t, serve(t, offer(), func(p *peer) {
		for {
			h, payload := p.frame()
			switch {
			case h.Type == 0:
				return
			case h.Type == wire.TypeCancel: // more events were on their way
				p.send(stored(h.Stream, total+1), wire.AppendCancel(nil, h.Stream, fault.Canceled))
			case wire.ParseOp(payload) == wire.OpHead:
				p.send(object(h.Stream, 1, true))
			default:
				r, _ := wire.ParseRequest(payload)
				p.send(position(h.Stream, r.From))
				for i := r.From + 1; i <= total; i++ {
					p.send(stored(h.Stream, i))
				}
			}
		}
	}))
	w, err := c.Watch(within(t), "bucket", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Fatal(err)
	}
	for want := uint64(2); want <= total; want++ {
		if e := next(t, w); e.Sequence != want {
			t.Fatalf("%d came in place of %d", e.Sequence, want)
		}
	}
	_ = w.Close()
}

// TestWatchEndsWithItsClient holds that Close ends a Next that waits, also
// between two connections.
func TestWatchEndsWithItsClient(t *testing.T) {
	t.Parallel()
	c := connect(t, listen(t, func(p *peer) {
		if p.number > 1 || !p.welcome(offer()) {
			return // there is no second connection
		}
		_, stream := p.request()
		p.send(position(stream, 9))
	}))
	w, err := c.Watch(within(t), "bucket", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := w.Next(within(t))
		ended <- err
	}()
	eventually(t, "the connection broke", func() bool { return c.Connections() == 0 })
	_ = c.Close()
	if err := <-ended; fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
}
