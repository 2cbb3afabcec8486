package listen_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/cmd/appliance/internal/listen"
	"larder/store/vfs"
)

// certificate is a fresh one, stored in simulated files.
func certificate(t *testing.T) listen.Certificate {
	t.Helper()
	cert, err := listen.OwnCertificate(vfs.NewMem(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// serve answers every request on a loopback port until the test ends.
func serve(t *testing.T, cfg listen.Config, h http.Handler) (addr string, cert listen.Certificate) {
	t.Helper()
	cert = certificate(t)
	cfg.TLS = cert.ServerConfig()
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 100
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(listen.New(inner, cfg))
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return inner.Addr().String(), cert
}

// protocol answers "tls HTTP/1.1" or "plain HTTP/1.1".
func protocol(w http.ResponseWriter, r *http.Request) {
	kind := "plain "
	if r.TLS != nil {
		kind = "tls "
	}
	_, _ = io.WriteString(w, kind+r.Proto)
}

// get fetches a URL with a client that trusts only cert.
func get(t *testing.T, url string, cert listen.Certificate) (string, error) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(cert.Leaf)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestPlainAndTLSOnOnePort(t *testing.T) {
	t.Parallel()
	addr, cert := serve(t, listen.Config{}, http.HandlerFunc(protocol))
	for url, want := range map[string]string{
		"http://" + addr:  "plain HTTP/1.1",
		"https://" + addr: "tls HTTP/1.1",
	} {
		if got, err := get(t, url, cert); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
}

func TestRequireTLS(t *testing.T) {
	t.Parallel()
	addr, cert := serve(t, listen.Config{RequireTLS: true}, http.HandlerFunc(protocol))
	if got, err := get(t, "https://"+addr, cert); err != nil || got != "tls HTTP/1.1" {
		t.Errorf("TLS: %q, %v", got, err)
	}
	got, err := get(t, "http://"+addr, cert)
	if err != nil || !strings.Contains(got, "https://") || strings.Contains(got, "plain") {
		t.Errorf("plain: %q, %v; want to be told to use https", got, err)
	}
}

// TestNoHTTP2 sends the preface of HTTP/2 with prior knowledge: it is taken for
// an odd request of HTTP/1, and no frame comes back.
func TestNoHTTP2(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, listen.Config{}, http.HandlerFunc(protocol))
	c := dial(t, addr)
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	line, _ := bufio.NewReader(c).ReadString('\n')
	if !strings.HasPrefix(line, "HTTP/1.1 ") {
		t.Errorf("answer to HTTP/2: %q", line)
	}
}

// TestConnectionLimit fills the port, is refused, and gets in once a place is
// free again.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	addr, cert := serve(t, listen.Config{MaxConns: 2}, http.HandlerFunc(protocol))
	first, second := dial(t, addr), dial(t, addr)
	speak(t, first)
	speak(t, second)
	if got, err := get(t, "http://"+addr, cert); err == nil {
		t.Fatalf("a third connection got %q", got)
	}
	first.Close()
	deadline := time.Now().Add(10 * time.Second)
	for {
		got, err := get(t, "http://"+addr, cert)
		if err == nil && got == "plain HTTP/1.1" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no place became free: %q, %v", got, err)
		}
	}
}

// speak makes one request on a connection and keeps it open.
func speak(t *testing.T, c net.Conn) {
	t.Helper()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestClose ends connections that never spoke, and Accept.
func TestClose(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := listen.New(inner, listen.Config{TLS: certificate(t).ServerConfig(), MaxConns: 10})
	silent := dial(t, inner.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	_ = silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, io.ErrNoProgress) {
		t.Errorf("the silent connection is still open")
	}
}
