package native_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"

	"larder/auth"
	"larder/gate"
	"larder/native"
	"larder/native/wire"
	"larder/store"
)

const bucket = "photos"

// stack is the whole of Larder behind one native listener: a real store, real
// identities, the real gate and real sockets.
type stack struct {
	t      testing.TB
	addr   string
	server *native.Server
	auth   *auth.Auth
	store  *store.Store
	gate   *gate.Gate
	key    keyPair // with full rights
}

type keyPair struct{ id, secret string }

func newStack(t testing.TB) *stack { return startStack(t, nil, nil) }

// newHastyStack has a server that is as impatient as a test needs.
func newHastyStack(t testing.TB, login, idle, piece time.Duration) *stack {
	return startStack(t, nil, func(s *native.Server) { s.Hasten(login, idle, piece) })
}

// startStack lets wrap put something around the listener, such as TLS, and change
// do something to the server before it serves.
func startStack(t testing.TB, wrap func(net.Listener) net.Listener, change func(*native.Server)) *stack {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), store.Config{Dir: dir, SegmentSize: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	au, err := auth.Open(t.Context(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32), BcryptCost: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{t: t, auth: au, store: st, gate: gate.New(gate.Config{Store: st, Guard: au.Guard()})}
	s.key = s.newKey(auth.Grant{Bucket: "*", Rights: auth.Full})
	s.server = native.New(native.Config{Gate: s.gate, Auth: au, Program: "test", Info: func() wire.ServerInfo { return wire.ServerInfo{Store: st.ID()} }})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	if wrap != nil {
		l = wrap(l)
	}
	if change != nil {
		change(s.server)
	}
	go s.server.Serve(l)
	t.Cleanup(func() {
		l.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.server.Shutdown(ctx) // connections that a test has left open are cut
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if err := au.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := st.CreateBucket(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stack) newKey(grants ...auth.Grant) keyPair {
	s.t.Helper()
	k, secret, err := s.auth.CreateKey(context.Background(), auth.KeySpec{Name: "test", Grants: grants})
	if err != nil {
		s.t.Fatal(err)
	}
	return keyPair{k.ID, secret.Reveal()}
}

// stored returns what stands under a key.
func (s *stack) stored(key string) (body string, found bool) {
	s.t.Helper()
	o, err := s.store.Get(s.t.Context(), bucket, key)
	if err != nil {
		return "", false
	}
	defer o.Close()
	var b bytes.Buffer
	if _, err := o.CopyRange(s.t.Context(), &b, 0, o.Info().Size); err != nil {
		s.t.Fatal(err)
	}
	return b.String(), true
}

// put stores an object without the protocol.
func (s *stack) put(key string, body []byte) {
	s.t.Helper()
	if _, err := s.store.Put(s.t.Context(), store.PutRequest{Bucket: bucket, Key: key, Body: bytes.NewReader(body), Size: -1}); err != nil {
		s.t.Fatal(err)
	}
}

// eventually polls until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func overTLS(cfg *tls.Config) func(net.Listener) net.Listener {
	return func(l net.Listener) net.Listener { return tls.NewListener(l, cfg) }
}
