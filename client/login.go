package client

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/native/wire"
)

// session is a connection up to its welcome.
type session struct {
	cfg   *Config
	nc    net.Conn
	buf   []byte // of what was read last
	own   []byte // the client's preface as it was sent
	peer  []byte // the server's
	terms terms
	bound []byte // the TLS session's part of the proof
}

// connect dials and logs in. The connection has not been started.
func connect(ctx context.Context, cfg *Config, p patience, o owner) (*conn, error) {
	dialing, done := context.WithTimeout(ctx, p.dial)
	raw, err := cfg.Dial(dialing, "tcp", cfg.Addr)
	done()
	if err != nil {
		return nil, fault.New("client.connect", fault.Unavailable, cfg.Addr, err).WithHint("The server cannot be reached.")
	}
	s := &session{cfg: cfg, nc: raw}
	if err := s.within(ctx, p.login, s.login); err != nil {
		_ = raw.Close() // the error that counts is the login's
		return nil, err
	}
	return newConn(s.nc, raw, s.terms, o, p), nil
}

// within runs the login against a deadline and the context's end.
func (s *session) within(ctx context.Context, limit time.Duration, login func(context.Context) error) error {
	raw := s.nc
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	err := login(ctx)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	var ours *fault.Error
	if err != nil && !errors.As(err, &ours) { // of the socket, or the context's
		return fault.New("client.connect", fault.Unavailable, s.cfg.Addr, err).
			WithHint("The connection broke before the login was done.")
	}
	return err
}

func (s *session) login(ctx context.Context) error {
	if err := s.encrypt(ctx); err != nil {
		return err
	}
	if err := s.greet(); err != nil {
		return err
	}
	return s.prove()
}

// encrypt makes the connection a TLS one, if it is to be.
func (s *session) encrypt(ctx context.Context) error {
	if s.cfg.TLS == nil {
		return nil
	}
	t := tls.Client(s.nc, s.cfg.TLS)
	if err := t.HandshakeContext(ctx); err != nil {
		return fault.New("client.connect", fault.Unavailable, s.cfg.Addr, err).
			WithHint("There is no TLS connection to the server: its certificate may not be the one that is expected.")
	}
	bound, err := wire.Binding(t.ConnectionState())
	s.nc, s.bound = t, bound
	return err
}

// greet exchanges the prefaces.
func (s *session) greet() error {
	p := wire.Preface{Version: wire.Version, Lowest: wire.Version, Program: s.cfg.Program, Bound: len(s.bound) > 0}
	if _, err := rand.Read(p.Nonce[:]); err != nil {
		return err
	}
	s.own = p.Append(nil)
	if _, err := s.nc.Write(s.own); err != nil {
		return err
	}
	peer, err := s.readPreface()
	if err != nil {
		return err
	}
	switch {
	case peer.Version == 0:
		hint := peer.Refusal
		if hint == "" {
			hint = "The server speaks no version of the protocol that this program knows."
		}
		return fault.New("client.connect", fault.NotImplemented, s.cfg.Addr, nil).WithHint(hint)
	case peer.Version != wire.Version || peer.Streams < 1 || peer.ConnectionCredit < 1 || peer.StreamCredit < 1:
		return s.nonsense(nil)
	}
	s.terms = terms{streams: int(peer.Streams), connCredit: peer.ConnectionCredit, streamCredit: peer.StreamCredit}
	return nil
}

func (s *session) readPreface() (wire.Preface, error) {
	head, err := s.read(wire.PrefaceSize)
	if err != nil {
		return wire.Preface{}, err
	}
	s.peer = append(s.peer, head...)
	n, err := wire.PrefaceRest(head)
	if err != nil {
		return wire.Preface{}, s.nonsense(err)
	}
	rest, err := s.read(n)
	if err != nil {
		return wire.Preface{}, err
	}
	s.peer = append(s.peer, rest...)
	p, err := wire.ParsePreface(s.peer)
	if err != nil {
		return p, s.nonsense(err)
	}
	return p, nil
}

// prove logs in, and lets the server prove that it knows the secret too.
func (s *session) prove() error {
	date := s.cfg.Now().UTC().Format(wire.DateForm)
	key := sigv4.DeriveKey(s.cfg.Secret, date, wire.Region, wire.Service)
	t := wire.Transcript{ClientPreface: s.own, ServerPreface: s.peer, KeyID: s.cfg.KeyID, Binding: s.bound}
	m := wire.LoginMessage{KeyID: s.cfg.KeyID, Date: date, Proof: t.ClientProof(key)}
	if _, err := s.nc.Write(m.Append(nil)); err != nil {
		return err
	}
	w, err := s.readWelcome()
	if err != nil {
		return err
	}
	if w.Code != fault.OK {
		return fault.New("client.connect", w.Code, s.cfg.KeyID, nil).WithHint(w.Hint)
	}
	if !hmac.Equal(w.Proof, t.ServerProof(key)) {
		return fault.New("client.connect", fault.BadSignature, s.cfg.Addr, nil).
			WithHint("The server did not prove that it knows the access key's secret: it may be another one.")
	}
	return nil
}

func (s *session) readWelcome() (wire.WelcomeMessage, error) {
	head, err := s.read(wire.HeaderSize)
	if err != nil {
		return wire.WelcomeMessage{}, err
	}
	h, err := wire.ParseHeader(head, wire.FromServer)
	if err != nil {
		return wire.WelcomeMessage{}, s.nonsense(err)
	}
	if h.Type != wire.TypeWelcome && h.Type != wire.TypeGoAway {
		return wire.WelcomeMessage{}, s.nonsense(nil)
	}
	p, err := s.read(int(h.Length))
	if err != nil {
		return wire.WelcomeMessage{}, err
	}
	if h.Type == wire.TypeGoAway {
		return s.dismissed(p)
	}
	w, err := wire.ParseWelcome(p)
	if err != nil {
		return w, s.nonsense(err)
	}
	return w, nil
}

// dismissed turns a GOAWAY in place of a welcome into a refusal.
func (s *session) dismissed(p []byte) (wire.WelcomeMessage, error) {
	f, err := wire.ParseFarewell(p)
	if err != nil {
		return wire.WelcomeMessage{}, s.nonsense(err)
	}
	return wire.WelcomeMessage{Code: refusal(f.Code), Hint: f.Hint}, nil
}

// read returns the next n bytes, until the next call.
func (s *session) read(n int) ([]byte, error) {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	s.buf = s.buf[:n]
	_, err := io.ReadFull(s.nc, s.buf)
	return s.buf, err
}

func (s *session) nonsense(cause error) error {
	return fault.New("client.connect", fault.NotImplemented, s.cfg.Addr, cause).
		WithHint("What answers there does not speak Larder's native protocol.")
}
