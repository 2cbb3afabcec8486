package native_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"larder/auth"
	"larder/auth/sigv4"
	"larder/fault"
	"larder/native/wire"
)

var nonce = [wire.NonceSize]byte{9}

// TestRecordedSessions cannot be played again: the server's nonce is another one.
func TestRecordedSessions(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.login()
	if code, _ := first.put("k", []byte("once")); code != fault.OK {
		t.Fatal(code)
	}
	if bytes.Contains(first.said, []byte(s.key.secret)) {
		t.Error("the secret crossed the wire")
	}
	if err := s.store.Delete(t.Context(), storeDelete("k")); err != nil {
		t.Fatal(err)
	}
	p := s.dial()
	p.send(first.said)
	head := p.receive(wire.PrefaceSize)
	n, _ := wire.PrefaceRest(head)
	p.receive(n)
	_, payload := p.frame()
	if w, err := wire.ParseWelcome(payload); err != nil || w.Code != fault.BadSignature || len(w.Proof) > 0 {
		t.Errorf("%+v %v", w, err)
	}
	p.ended()
	if _, found := s.stored("k"); found {
		t.Error("a recorded put was carried out")
	}
}

// TestLoginsThatFail say why, and nothing is served behind them.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	disabled := s.newKey(auth.Grant{Bucket: "*", Rights: auth.Full})
	if err := s.auth.SetKeyDisabled(t.Context(), disabled.id, true); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		key  keyPair
		days int
		code fault.Code
	}{
		"wrong secret":    {keyPair{s.key.id, "wrong"}, 0, fault.BadSignature},
		"unknown key":     {keyPair{"NOBODY", s.key.secret}, 0, fault.NoSuchAccessKey},
		"disabled key":    {disabled, 0, fault.Denied},
		"of last week":    {s.key, -7, fault.ClockSkew},
		"of next week":    {s.key, 7, fault.ClockSkew},
		"of yesterday":    {s.key, -1, fault.OK},
		"as it should be": {s.key, 0, fault.OK},
	} {
		p := s.dial()
		p.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: nonce})
		date := time.Now().UTC().AddDate(0, 0, tc.days).Format(wire.DateForm)
		tr := p.prefaces
		tr.KeyID = tc.key.id
		proof := tr.ClientProof(sigv4.DeriveKey(tc.key.secret, date, wire.Region, wire.Service))
		p.send(wire.LoginMessage{KeyID: tc.key.id, Date: date, Proof: proof}.Append(nil))
		_, payload := p.frame()
		w, err := wire.ParseWelcome(payload)
		if err != nil || w.Code != tc.code || w.Code != fault.OK && w.Hint == "" {
			t.Errorf("%s: %+v %v", name, w, err)
		}
		if tc.code != fault.OK {
			p.ended()
		}
	}
}

// TestGuessing is limited as it is on the other ports.
func TestGuessing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	limited := 0
	for range 60 {
		p := s.dial()
		p.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: nonce})
		if w := p.prove(keyPair{s.key.id, "guess"}); w.Code == fault.RateLimited {
			limited++
		}
	}
	if limited < 20 {
		t.Errorf("%d of 60 guesses were limited", limited)
	}
	s.login().works() // a right proof is never limited
}

// TestPrefaces: versions, strangers, and who takes too long.
func TestPrefaces(t *testing.T) {
	t.Parallel()
	s := newHastyStack(t, 300*time.Millisecond, time.Minute, time.Minute)
	for name, p := range map[string]wire.Preface{
		"newer only":    {Version: 9, Lowest: 2, Nonce: nonce},
		"bound, on TCP": {Version: 1, Lowest: 1, Nonce: nonce, Bound: true},
	} {
		c := s.dial()
		if got := c.greet(p); got.Version != 0 || got.Refusal == "" {
			t.Errorf("%s: %+v", name, got)
		}
		c.ended()
	}
	newer := s.dial()
	if got := newer.greet(wire.Preface{Version: 9, Lowest: 1, Nonce: nonce}); got.Version != 1 {
		t.Errorf("a newer client that also speaks version 1: %+v", got)
	}
	for name, b := range map[string]string{
		"nothing": "", "HTTP": "GET / HTTP/1.1\r\n\r\n", "a part": "LRDR\x01", "too long": "LRDR\x01\x01\xff\xff",
	} {
		c := s.dial()
		c.send([]byte(b))
		if _, found := c.ended(); found {
			t.Errorf("%s: there was a GOAWAY", name)
		}
	}
	late := s.dial()
	late.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: nonce})
	late.ended()
	eventually(t, "all connections to be gone", func() bool { conns, _ := s.server.InFlight(); return conns <= 1 })
}

// TestTLS binds the login to the session.
func TestTLS(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certified.Close)
	s := startStack(t, overTLS(&tls.Config{Certificates: certified.TLS.Certificates}), nil)
	connect := func(bound bool) (*peer, wire.Preface) {
		p := s.dial()
		c := tls.Client(p.conn, &tls.Config{InsecureSkipVerify: true}) // the certificate is its own
		p.conn = c
		got := p.greet(wire.Preface{Version: 1, Lowest: 1, Nonce: nonce, Bound: bound})
		if bound {
			var err error
			if p.prefaces.Binding, err = wire.Binding(c.ConnectionState()); err != nil {
				t.Fatal(err)
			}
		}
		return p, got
	}
	if _, got := connect(false); got.Version != 0 {
		t.Errorf("a login that is not bound: %+v", got)
	}
	p, _ := connect(true)
	if w := p.prove(s.key); w.Code != fault.OK {
		t.Fatalf("%+v", w)
	}
	body := bytes.Repeat([]byte("over TLS "), 100_000)
	if code, hint := p.put("k", body); code != fault.OK {
		t.Fatalf("%v %s", code, hint)
	}
	id := p.request(wire.Request{Op: wire.OpGet, Bucket: bucket, Key: "k"}, true)
	p.answer(id)
	if got, end := p.getAll(id); !bytes.Equal(got, body) || !end.HasCRC {
		t.Errorf("%d bytes, %+v", len(got), end)
	}
	other, _ := connect(true)
	other.prefaces.Binding = p.prefaces.Binding
	if w := other.prove(s.key); w.Code != fault.BadSignature {
		t.Errorf("a login bound to another session: %+v", w)
	}
}
