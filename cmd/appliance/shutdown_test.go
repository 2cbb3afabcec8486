package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// upload is a put whose body the test sends when it likes.
type upload struct {
	conn net.Conn
	in   *bufio.Reader
}

// beginUpload sends the header of a put and waits until the server asks for the
// body, so that the request certainly runs.
func beginUpload(t *testing.T, base, target string, size int) *upload {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		target, u.Host, bearer, size)
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("instead of 100 Continue: %q, %v", line, err)
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return &upload{c, in}
}

// finish sends the body and returns the status.
func (u *upload) finish(body string) (int, error) {
	if _, err := io.WriteString(u.conn, body); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(u.in, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}

// eventually polls until ok or half a minute has passed.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func (p *process) logs(part string) bool { return strings.Contains(p.logText(), part) }

// again starts another server on the folder of one that has ended.
func (p *process) again(t *testing.T) *process {
	t.Helper()
	next, err := launch(binary(t), p.data, append(os.Environ(), firstKey()...), []string{"--data", p.data})
	if err != nil {
		t.Fatal(err)
	}
	next.data = p.data
	t.Cleanup(func() { _ = next.stop() })
	return next
}

// TestStopFinishesRequests stops the server in the middle of an upload, which
// still succeeds and is there after the next start.
func TestStopFinishesRequests(t *testing.T) {
	t.Parallel()
	p := serveForTest(t)
	mustRequest(t, http.MethodPut, p.s3+"/bkt", "")
	body := strings.Repeat("stored although the server stops. ", 20_000)
	up := beginUpload(t, p.s3, "/bkt/k", len(body))
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the port is closed", func() bool {
		c, err := net.Dial("tcp", up.conn.RemoteAddr().String())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if status, err := up.finish(body); err != nil || status != http.StatusOK {
		t.Errorf("the upload: %d, %v", status, err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("the exit: %v", err)
	}
	if got := mustRequest(t, http.MethodGet, p.again(t).s3+"/bkt/k", ""); got != body {
		t.Errorf("after the restart: %d bytes, want %d", len(got), len(body))
	}
}

// TestStopHasALimit: a client that never sends its body does not keep the
// server from ending, cleanly, and stores nothing.
func TestStopHasALimit(t *testing.T) {
	t.Parallel()
	p := serveForTest(t, "--shutdown-timeout=100ms")
	mustRequest(t, http.MethodPut, p.s3+"/bkt", "")
	beginUpload(t, p.s3, "/bkt/k", 1000)
	if err := p.stop(); err != nil {
		t.Errorf("the exit: %v", err)
	}
	if !p.logs("were cut off") {
		t.Errorf("the log does not say that requests were cut off:\n%s", p.logText())
	}
	if status, text, err := request(http.MethodGet, p.again(t).s3+"/bkt/k", nil); status != http.StatusNotFound {
		t.Errorf("after the restart: %d %s %v", status, text, err)
	}
}

// TestSecondSignal ends the process although an upload hangs and the limit is
// an hour.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := serveForTest(t, "--shutdown-timeout=1h")
	mustRequest(t, http.MethodPut, p.s3+"/bkt", "")
	beginUpload(t, p.s3, "/bkt/k", 1000)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "stopping", func() bool { return p.logs(`"msg":"stopping"`) })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), "130") {
		t.Errorf("the exit: %v, want code 130", err)
	}
	mustRequest(t, http.MethodGet, p.again(t).s3+"/bkt", "")
}

// TestStartAfterKill finds the lock and the socket of a process that is gone.
func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	p := serveForTest(t)
	mustRequest(t, http.MethodPut, p.s3+"/bkt", "")
	mustRequest(t, http.MethodPut, p.s3+"/bkt/k", "kept")
	_ = p.cmd.Process.Kill()
	_ = p.wait()
	next := p.again(t)
	if got := mustRequest(t, http.MethodGet, next.s3+"/bkt/k", ""); got != "kept" {
		t.Errorf("got %q", got)
	}
	if out, err := larder(t, "healthcheck", "--data", p.data); err != nil {
		t.Errorf("healthcheck: %v\n%s", err, out)
	}
}

// TestCertificateIsTheOneAnnounced reaches both ports by TLS and compares.
func TestCertificateIsTheOneAnnounced(t *testing.T) {
	t.Parallel()
	p := serveForTest(t)
	for _, base := range []string{p.s3, p.console} {
		host := strings.TrimPrefix(base, "http://")
		c, err := tls.Dial("tcp", host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		state := c.ConnectionState()
		c.Close()
		sum := sha256.Sum256(state.PeerCertificates[0].Raw)
		if got := fmt.Sprintf("%X", sum); got != strings.ReplaceAll(p.certificate, ":", "") {
			t.Errorf("%s: certificate %s, announced %s", base, got, p.certificate)
		}
		if state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s: protocol %q", base, state.NegotiatedProtocol)
		}
	}
}

// TestLongPath keeps the data in a folder whose socket has a longer path than
// a socket address holds.
func TestLongPath(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := launch(binary(t), data, os.Environ(), []string{"--data", data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop() })
	if out, err := larder(t, "bucket", "create", "far", "--data", data); err != nil {
		t.Errorf("bucket create: %v\n%s", err, out)
	}
	if out, err := larder(t, "bucket", "list", "--data", data); err != nil || !strings.Contains(out, "far") {
		t.Errorf("bucket list: %v\n%s", err, out)
	}
}
