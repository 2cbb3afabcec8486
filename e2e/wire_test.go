package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

const wireWithin = 20 * time.Second

// wire is one connection on which a test writes what no HTTP client would.
type wire struct {
	t    *testing.T
	conn *net.TCPConn
	in   *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, wireWithin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(wireWithin)); err != nil {
		t.Fatal(err)
	}
	return &wire{t: t, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
}

// head writes a request's head with its Content-Length.
func (w *wire) head(r *http.Request) {
	w.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", r.Method, r.URL.RequestURI(), r.URL.Host, r.ContentLength)
	if err := r.Header.Write(&b); err != nil {
		w.t.Fatal(err)
	}
	b.WriteString("\r\n")
	w.write(b.Bytes())
}

func (w *wire) write(p []byte) {
	w.t.Helper()
	if _, err := w.conn.Write(p); err != nil {
		w.t.Fatalf("writing to the server: %v", err)
	}
}

// endSending tells the server that no more bytes will come.
func (w *wire) endSending() {
	w.t.Helper()
	if err := w.conn.CloseWrite(); err != nil {
		w.t.Fatal(err)
	}
}

// vanish breaks the connection as a client does that loses its power: a reset.
func (w *wire) vanish() {
	w.t.Helper()
	if err := w.conn.SetLinger(0); err != nil {
		w.t.Fatal(err)
	}
	if err := w.conn.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads the next response.
func (w *wire) answer() answer {
	w.t.Helper()
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		w.t.Fatalf("reading the answer: %v", err)
	}
	a, err := readAnswer(resp)
	if err != nil {
		w.t.Fatalf("reading the answer's body: %v", err)
	}
	return a
}
