package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"larder/auth/sigv4"
	"larder/client"
	"larder/fault"
	"larder/native/wire"
)

func TestNewWantsAddressAndKey(t *testing.T) {
	t.Parallel()
	good := client.Config{Addr: "nas:9002", KeyID: keyID, Secret: secret}
	for name, change := range map[string]func(*client.Config){
		"no port":     func(c *client.Config) { c.Addr = "nas" },
		"no key":      func(c *client.Config) { c.KeyID = "" },
		"no secret":   func(c *client.Config) { c.Secret = "" },
		"long key id": func(c *client.Config) { c.KeyID = strings.Repeat("k", 256) },
	} {
		cfg := good
		change(&cfg)
		if _, err := client.New(cfg); fault.CodeOf(err) != fault.InvalidArgument || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.New(good); err != nil {
		t.Error(err)
	}
}

// TestLoginProves holds what a client says before its first request: the
// version, itself, the date of its clock, and a proof instead of the secret.
func TestLoginProves(t *testing.T) {
	t.Parallel()
	seen := make(chan login, 1)
	addr := listen(t, func(p *peer) {
		l, ok := p.greet(offer())
		if !ok {
			t.Error("no login came")
			return
		}
		p.send(wire.WelcomeMessage{Proof: l.proof(secret)}.Append(nil))
		seen <- l
		_, stream := p.request()
		p.send(object(stream, 1, true))
	})
	c := connect(t, addr, func(cfg *client.Config) {
		cfg.Program = "tester/1"
		cfg.Now = func() time.Time { return time.Date(2031, 2, 3, 23, 30, 0, 0, time.FixedZone("", -3600)) }
	})
	if _, err := c.Head(within(t), "bucket", "key", nil); err != nil {
		t.Fatal(err)
	}
	l := <-seen
	p, err := wire.ParsePreface(l.client)
	if err != nil || p.Version != 1 || p.Lowest != 1 || p.Program != "tester/1" || p.Bound {
		t.Errorf("preface %+v, %v", p, err)
	}
	if l.message.KeyID != keyID || l.message.Date != "20310204" {
		t.Errorf("login %+v", l.message)
	}
	transcript := wire.Transcript{ClientPreface: l.client, ServerPreface: l.server, KeyID: keyID}
	want := transcript.ClientProof(sigv4.DeriveKey(secret, "20310204", wire.Region, wire.Service))
	if string(want) != string(l.message.Proof) {
		t.Error("the proof is not the one that the protocol defines")
	}
}

// TestWrongServerIsLeft holds that a server that does not know the secret gets
// no request.
func TestWrongServerIsLeft(t *testing.T) {
	t.Parallel()
	got := make(chan wire.Type, 1)
	addr := listen(t, func(p *peer) {
		l, _ := p.greet(offer())
		p.send(wire.WelcomeMessage{Proof: l.proof("another secret")}.Append(nil))
		h, _ := p.frame()
		got <- h.Type
	})
	_, err := connect(t, addr).Info(within(t))
	if fault.CodeOf(err) != fault.BadSignature || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if <-got != 0 {
		t.Error("a frame was sent to a server that has proved nothing")
	}
}

// TestRefusedLogins holds that what the server says about a login comes to the
// caller, and that nonsense is called so.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		play script
		code fault.Code
		hint string
	}{
		"refused": {func(p *peer) {
			p.greet(offer())
			p.send(wire.WelcomeMessage{Code: fault.ClockSkew, Hint: "Set the clock."}.Append(nil))
		}, fault.ClockSkew, "Set the clock."},
		"dismissed": {func(p *peer) {
			p.greet(offer())
			p.send(wire.Farewell{Code: fault.RateLimited, Hint: "Later."}.Append(nil))
		}, fault.RateLimited, "Later."},
		"no version": {func(p *peer) {
			p.greet(wire.Preface{Lowest: 2, Refusal: "Too old."})
		}, fault.NotImplemented, "Too old."},
		"other version": {func(p *peer) {
			other := offer()
			other.Version = 2
			p.greet(other)
		}, fault.NotImplemented, ""},
		"no credit": {func(p *peer) {
			other := offer()
			other.StreamCredit = 0
			p.greet(other)
		}, fault.NotImplemented, ""},
		"another protocol": {func(p *peer) {
			p.send([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}, fault.NotImplemented, ""},
		"another frame": {func(p *peer) {
			p.greet(offer())
			p.send(wire.AppendPing(nil, wire.TypePing, [8]byte{}))
		}, fault.NotImplemented, ""},
		"closed": {func(p *peer) { p.greet(offer()) }, fault.Unavailable, ""},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := connect(t, listen(t, x.play)).Head(within(t), "bucket", "key", nil)
			if fault.CodeOf(err) != x.code || fault.HintOf(err) == "" || x.hint != "" && fault.HintOf(err) != x.hint {
				t.Errorf("%v", err)
			}
			if fault.ResourceOf(err) != "bucket/key" {
				t.Errorf("the error is about %q", fault.ResourceOf(err))
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	why := errors.New("no route")
	c := connect(t, "nas:9002", func(cfg *client.Config) {
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, why }
	})
	if _, err := c.Info(within(t)); fault.CodeOf(err) != fault.Unavailable || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// TestSilentLoginEnds holds that a caller gives up on a server that accepts and
// says nothing, without a connection.
func TestSilentLoginEnds(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(p *peer) { _, _ = io.Copy(io.Discard, p.nc) })
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	c := connect(t, addr)
	go func() {
		for c.Waiting() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel(why)
	}()
	_, err := c.Info(ctx)
	cancel(nil)
	if fault.CodeOf(err) != fault.Canceled || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// TestBoundLogin holds that on TLS the proof covers the session.
func TestBoundLogin(t *testing.T) {
	t.Parallel()
	certificate, roots := selfSigned(t)
	addr := listen(t, func(p *peer) {
		under := tls.Server(p.nc, &tls.Config{Certificates: []tls.Certificate{certificate}})
		p.nc = under
		l, ok := p.greet(offer())
		if !ok {
			return
		}
		bound, err := wire.Binding(under.ConnectionState())
		if err != nil {
			t.Error(err)
			return
		}
		key := sigv4.DeriveKey(secret, l.message.Date, wire.Region, wire.Service)
		transcript := wire.Transcript{ClientPreface: l.client, ServerPreface: l.server, KeyID: keyID, Binding: bound}
		preface, _ := wire.ParsePreface(l.client)
		if !preface.Bound || string(l.message.Proof) != string(transcript.ClientProof(key)) {
			t.Error("the proof does not cover the session")
		}
		p.send(wire.WelcomeMessage{Proof: transcript.ServerProof(key)}.Append(nil))
		_, stream := p.request()
		p.send(object(stream, 1, true))
	})
	good := connect(t, addr, func(cfg *client.Config) { cfg.TLS = &tls.Config{RootCAs: roots} })
	if _, err := good.Head(within(t), "bucket", "key", nil); err != nil {
		t.Error(err)
	}
	stranger := connect(t, addr, func(cfg *client.Config) { cfg.TLS = &tls.Config{} })
	if _, err := stranger.Head(within(t), "bucket", "key", nil); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
}
