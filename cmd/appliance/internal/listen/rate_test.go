package listen_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"larder/cmd/appliance/internal/listen"
)

// oneConn is a net.Listener that gives one connection.
type oneConn struct {
	conn net.Conn
	once sync.Once
	done chan struct{}
}

func (l *oneConn) Accept() (c net.Conn, err error) {
	l.once.Do(func() { c = l.conn })
	if c == nil {
		<-l.done
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// upload sends a body piece by piece, waiting before each, and returns what
// the handler saw of it.
func upload(t *testing.T, pieces int, piece string, wait time.Duration, after time.Duration) (read int64, err, ctxErr error) {
	t.Helper()
	near, far := net.Pipe()
	l := &oneConn{conn: near, done: make(chan struct{})}
	seen := make(chan struct{})
	srv := &http.Server{Handler: listen.MinimumRate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read, err = io.Copy(io.Discard, r.Body)
		time.Sleep(after) // the store works, the client waits
		ctxErr = r.Context().Err()
		close(seen)
	}))}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	wg.Go(func() { _, _ = io.Copy(io.Discard, far) })
	wg.Go(func() {
		_, _ = io.WriteString(far, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
		for range pieces {
			time.Sleep(wait)
			if _, err := io.WriteString(far, piece); err != nil {
				return
			}
		}
		_, _ = io.WriteString(far, "0\r\n\r\n")
	})
	<-seen
	close(l.done)
	srv.Close()
	far.Close()
	wg.Wait()
	return read, err, ctxErr
}

// chunk is n bytes in HTTP's chunked form.
func chunk(n int) string {
	const hex = "0123456789abcdef"
	var size string
	for x := n; x > 0; x /= 16 {
		size = string(hex[x%16]) + size
	}
	return size + "\r\n" + strings.Repeat("x", n) + "\r\n"
}

func TestMinimumRate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		pieces      int
		piece       int
		wait, after time.Duration
		cut         bool
	}{
		{name: "fast", pieces: 100, piece: 4000},
		{name: "a little over the lowest rate, for an hour", pieces: 360, piece: 11_000, wait: 10 * time.Second},
		{name: "a pause within the patience", pieces: 5, piece: 60_000, wait: 29 * time.Second},
		{name: "one byte now and then", pieces: 100, piece: 1, wait: 10 * time.Second, cut: true},
		{name: "half the lowest rate", pieces: 100, piece: 5000, wait: 10 * time.Second, cut: true},
		{name: "silence", pieces: 1, piece: 10, wait: 31 * time.Second, cut: true},
		{name: "the server works for an hour after the body", pieces: 1, piece: 10, after: time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				read, err, ctxErr := upload(t, tc.pieces, chunk(tc.piece), tc.wait, tc.after)
				if cut := errors.Is(err, os.ErrDeadlineExceeded); cut != tc.cut || !cut && err != nil {
					t.Errorf("after %d bytes: %v", read, err)
				}
				if whole := int64(tc.pieces * tc.piece); !tc.cut && read != whole {
					t.Errorf("read %d of %d", read, whole)
				}
				if ctxErr != nil && !tc.cut {
					t.Errorf("the request was cancelled: %v", ctxErr)
				}
			})
		})
	}
}

// TestBodiesThatNeverCome: a handler that does not read the body answers at
// once, also when the body never comes, and the connection is closed behind
// the answer. One that was read leaves the connection open.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(listen.MinimumRate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		_, _ = io.WriteString(w, "answer")
	})))
	t.Cleanup(srv.Close)
	for _, tc := range []struct {
		request string
		closed  bool
	}{
		{"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", true},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", true},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		{"POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody", false},
		{"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", false},
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // a hang fails the test
		_, _ = io.WriteString(conn, tc.request)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%q: %v", tc.request, err)
		} else if resp.Close != tc.closed {
			t.Errorf("%q: closed %v", tc.request, resp.Close)
		}
		conn.Close()
	}
}
