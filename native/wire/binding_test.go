package wire_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"

	"larder/native/wire"
)

// TestBinding wants a session that can export: without one there is an error
// and no empty binding.
func TestBinding(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		bindsBoth(t, version)
	}
}

// bindsBoth wants one binding on both sides of a session, and another one in
// another session.
func bindsBoth(t *testing.T, version uint16) {
	t.Helper()
	client, server := session(t, version)
	ours, err := wire.Binding(client)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := wire.Binding(server)
	if err != nil || !bytes.Equal(ours, theirs) || len(ours) != 32 {
		t.Errorf("the sides have %x and %x, %v", ours, theirs, err)
	}
	want, err := client.ExportKeyingMaterial("EXPORTER-larder-native", nil, 32)
	if err != nil || !bytes.Equal(ours, want) {
		t.Errorf("the binding is %x, want %x, %v", ours, want, err)
	}
	other, _ := session(t, version)
	if b, err := wire.Binding(other); err != nil || bytes.Equal(b, ours) {
		t.Errorf("another session has the same binding, %v", err)
	}
}

// session is a TLS session as both of its sides see it.
func session(t *testing.T, version uint16) (client, server tls.ConnectionState) {
	t.Helper()
	c, s := net.Pipe()
	out := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
	in := tls.Server(s, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
	done := make(chan error, 1)
	go func() { done <- in.Handshake() }()
	err := out.Handshake()
	if in := <-done; err != nil || in != nil {
		t.Fatalf("client: %v, server: %v", err, in)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return out.ConnectionState(), in.ConnectionState()
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plain := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: noon(), NotAfter: noon().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, plain, plain, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
