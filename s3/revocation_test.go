package s3_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"larder/auth"
	"larder/auth/sigv4"
)

// A download that runs when its key is revoked is cut off, and
// never looks whole.
func TestRevocationCutsDownloads(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	const size = 32 << 20
	s.put("/pics/k", strings.Repeat("x", size))
	w := s.dial(t)
	if tcp, ok := w.conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(64 << 10) // so that the kernel does not take the whole body
	}
	w.write(s.rawHead(request{method: "GET", target: "/pics/k"}, 0))
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := s.auth.SetKeyDisabled(t.Context(), s.key.id, true); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("the download went on to its end, %d bytes more", n)
	}
}

// An upload that runs when its key is revoked stores nothing.
func TestRevocationStopsUploads(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "old")
	doomed := s.newKey(auth.Grant{Bucket: "*", Rights: auth.Full})
	w := s.dial(t)
	q := request{method: "PUT", target: "/pics/k", payload: sigv4.UnsignedPayload, as: &doomed}
	w.write(s.rawHead(q, 10, "Expect: 100-continue"))
	if line, err := w.r.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatal(line, err)
	}
	_, _ = w.r.ReadString('\n')
	w.write("12345")
	if err := s.auth.DeleteKey(t.Context(), doomed.id); err != nil {
		t.Fatal(err)
	}
	w.write("67890")
	if a := w.must(); a.status != 403 || a.code() != "AccessDenied" {
		t.Error(a)
	}
	s.holds("/pics/k", "old")
}
