package client_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"larder/auth"
	"larder/client"
	"larder/gate"
	"larder/native"
	"larder/native/wire"
	"larder/store"
)

// stack is the whole of Larder behind one native listener: a real store, real
// identities, the real gate and real sockets.
type stack struct {
	auth      *auth.Auth
	gate      *gate.Gate
	store     *store.Store
	addr      string
	keyID     string // with full rights
	secret    string
	tls       *tls.Config    // nil: plain
	roots     *x509.CertPool // that trusts it
	server    *native.Server
	listener  net.Listener
	answering chan struct{} // closed when Serve has returned
}

// openStack opens a stack in a folder. It does not listen yet.
func openStack(dir string) (s *stack, err error) {
	s = &stack{addr: "127.0.0.1:0"}
	if s.store, err = store.Open(context.Background(), store.Config{Dir: dir}); err != nil {
		return nil, err
	}
	s.auth, err = auth.Open(context.Background(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32), BcryptCost: 4,
	})
	if err != nil {
		return nil, err
	}
	s.gate = gate.New(gate.Config{Store: s.store, Guard: s.auth.Guard()})
	s.keyID, s.secret, err = s.newKey(auth.Grant{Bucket: "*", Rights: auth.Full})
	return s, err
}

// close stops everything.
func (s *stack) close() error { return errors.Join(s.stop(), s.store.Close(), s.auth.Close()) }

func (s *stack) newKey(grants ...auth.Grant) (id, secret string, err error) {
	k, reveal, err := s.auth.CreateKey(context.Background(), auth.KeySpec{Name: "test", Grants: grants})
	if err != nil {
		return "", "", err
	}
	return k.ID, reveal.Reveal(), nil
}

// listen puts a server before the store, where the last one was.
func (s *stack) listen() error {
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	s.addr, s.listener, s.answering = l.Addr().String(), l, make(chan struct{})
	s.server = native.New(native.Config{
		Gate: s.gate, Auth: s.auth,
		Info: func() wire.ServerInfo { return wire.ServerInfo{Version: "test", Store: s.store.ID()} },
	})
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	go func() {
		defer close(s.answering)
		_ = s.server.Serve(l) // until stop
	}()
	return nil
}

// stop takes the server away as a shutdown does.
func (s *stack) stop() error {
	_ = s.listener.Close()
	<-s.answering
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.server.Shutdown(ctx)
}

// startStack starts a stack for a test, over TLS or not.
func startStack(t testing.TB, overTLS bool) *stack {
	t.Helper()
	s := must(openStack(t.TempDir()))(t)
	if overTLS {
		var certificate tls.Certificate
		certificate, s.roots = selfSigned(t)
		s.tls = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	if err := s.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// restart stops the server and puts a new one in its place.
func (s *stack) restart(t testing.TB) {
	if err := errors.Join(s.stop(), s.listen()); err != nil {
		t.Error(err)
	}
}

// connect returns a client with the key that may do everything.
func (s *stack) connect(t testing.TB, change ...func(*client.Config)) *client.Client {
	t.Helper()
	cfg := client.Config{Addr: s.addr, KeyID: s.keyID, Secret: s.secret, Program: "test/1"}
	if s.roots != nil {
		cfg.TLS = &tls.Config{RootCAs: s.roots}
	}
	for _, f := range change {
		f(&cfg)
	}
	c := must(client.New(cfg))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
