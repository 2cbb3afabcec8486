package native_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/native/wire"
	"larder/store"
)

func storeDelete(key string) store.DeleteRequest {
	return store.DeleteRequest{Bucket: bucket, Key: key}
}

// TestARightThatWasTakenAway is missed at the next request on the same
// connection, whatever it asks for, and a body that is being sent is cut off.
func TestARightThatWasTakenAway(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.put("large", make([]byte, 12<<20))
	k := s.newKey(auth.Grant{Bucket: "*", Rights: auth.Full})
	p := s.dial()
	p.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: nonce})
	if w := p.prove(k); w.Code != fault.OK {
		t.Fatalf("%+v", w)
	}
	p.works()
	id := p.request(wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "large"}, true)
	p.answer(id)
	watch := p.request(wire.Request{Op: wire.OpWatch, Bucket: bucket}, true)
	if err := s.auth.DeleteKey(t.Context(), k.id); err != nil {
		t.Fatal(err)
	}
	s.put("changed", nil) // the watch is asked again with its next event
	ends := map[uint32]fault.Code{}
	for len(ends) < 2 {
		h, payload := p.frame()
		switch h.Type {
		case wire.TypeEnd:
			ends[h.Stream] = wire.ParseCode(payload)
		case wire.TypeData:
			p.send(wire.AppendCredit(wire.AppendCredit(nil, 0, h.Length), h.Stream, h.Length))
		}
	}
	if ends[id] != fault.Denied || ends[watch] != fault.Denied {
		t.Errorf("%v", ends)
	}
	for op := wire.Op(1); op < 80; op++ {
		if !op.Known() || op.HasBody() {
			continue
		}
		r := full(op)
		code, message := p.ask(r)
		if results, err := wire.ParseResults(message); op == wire.OpDeleteMany && err == nil && len(results) == 1 {
			code = results[0].Code
		}
		if code != fault.Denied {
			t.Errorf("%v: %v", op, code)
		}
	}
	if code, _ := p.put("k", []byte("x")); code != fault.Denied {
		t.Errorf("Put: %v", code)
	}
}

// full is a request that has all that its operation needs.
func full(op wire.Op) wire.Request {
	r := wire.Request{Op: op, Bucket: bucket, Key: "k", Upload: "u", Part: 1, Source: wire.Source{Bucket: bucket, Key: "large"}, Size: -1}
	if op == wire.OpInfo || op == wire.OpListBuckets {
		return wire.Request{Op: op}
	}
	if op >= wire.OpListBuckets && op <= wire.OpDeleteBucket || op == wire.OpList || op == wire.OpListUploads || op == wire.OpWatch {
		return wire.Request{Op: op, Bucket: bucket}
	}
	switch op {
	case wire.OpDeleteMany:
		return wire.Request{Op: op, Bucket: bucket, Deletes: []wire.DeleteEntry{{Key: "k"}}}
	case wire.OpCompleteUpload:
		r.Parts = []wire.CompletePart{{Number: 1, ETag: "e"}}
	}
	if op != wire.OpCopy && op != wire.OpCopyPart {
		r.Source = wire.Source{}
	}
	if op < wire.OpPutPart || op == wire.OpListUploads {
		r.Upload = ""
	}
	if op != wire.OpPutPart && op != wire.OpCopyPart {
		r.Part = 0
	}
	return r
}

// TestShutdown finishes what was begun, ends watches, and takes nothing new.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.login()
	watch := p.request(wire.Request{Op: wire.OpWatch, Bucket: bucket}, true)
	p.answer(watch)
	id := p.openPut("k")
	p.data(id, []byte("begun"))
	eventually(t, "both to be in flight", func() bool { _, n := s.server.InFlight(); return n == 2 })
	done := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done <- s.server.Shutdown(ctx)
	}()
	seen := map[wire.Type]fault.Code{}
	for len(seen) < 2 {
		h, payload := p.frame()
		seen[h.Type] = wire.ParseCode(payload)
		if h.Type == wire.TypeGoAway {
			if f, err := wire.ParseFarewell(payload); err != nil || f.Last != id {
				t.Errorf("%+v %v", f, err)
			}
		}
	}
	if seen[wire.TypeEnd] != fault.Unavailable || seen[wire.TypeGoAway] != fault.OK {
		t.Errorf("%v", seen)
	}
	p.request(wire.Request{Op: wire.OpHeadBucket, Bucket: bucket}, true) // is not served
	p.send(trailerOf([]byte("begun")).Append(nil, id))
	if code, _ := p.answer(id); code != fault.OK {
		t.Errorf("what was begun ends with %v", code)
	}
	p.ended()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got, _ := s.stored("k"); got != "begun" {
		t.Errorf("%q", got)
	}
}

// TestShutdownCuts who does not come to an end.
func TestShutdownCuts(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.login()
	p.openPut("k")
	eventually(t, "it to be in flight", func() bool { _, n := s.server.InFlight(); return n == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if conns, n := s.server.InFlight(); conns+n != 0 {
		t.Errorf("%d connections with %d requests are left", conns, n)
	}
}

// TestShutdownDuringLogin waits for nobody who has not logged in.
func TestShutdownDuringLogin(t *testing.T) {
	t.Parallel()
	s := newHastyStack(t, time.Minute, time.Minute, time.Minute)
	silent, half := s.dial(), s.dial()
	half.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: nonce})
	eventually(t, "both to be there", func() bool { conns, _ := s.server.InFlight(); return conns == 2 })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	silent.ended()
	half.ended()
}
