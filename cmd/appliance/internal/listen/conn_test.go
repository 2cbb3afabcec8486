package listen_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"larder/cmd/appliance/internal/listen"
)

// pipe is a Conn and its peer. The pipe has no buffer: a write waits for its
// reader.
func pipe(t *testing.T) (*listen.Conn, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return listen.NewConn(near, func() {}), far
}

// TestStalledReader writes to a peer that reads nothing.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, _ := pipe(t)
		began := time.Now()
		n, err := conn.Write(make([]byte, 1024))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n != 0 {
			t.Errorf("wrote %d, %v", n, err)
		}
		if took := time.Since(began); took != 31*time.Second { // the stall and a second for 1 KiB
			t.Errorf("cut after %s", took)
		}
	})
}

// TestSlowReaderMayTakeHours reads 16 MiB at twice the lowest rate.
func TestSlowReaderMayTakeHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, far := pipe(t)
		go func() {
			buf := make([]byte, 20<<10)
			for {
				time.Sleep(10 * time.Second)
				if _, err := io.ReadFull(far, buf); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		if n, err := conn.Write(make([]byte, 16<<20)); err != nil || n != 16<<20 {
			t.Errorf("wrote %d, %v", n, err)
		}
		if took := time.Since(began); took < 2*time.Hour {
			t.Errorf("took only %s", took)
		}
		conn.Close()
		far.Close()
	})
}

// TestDeadlineFromOutside holds although Write sets its own.
func TestDeadlineFromOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, _ := pipe(t)
		began := time.Now()
		if err := conn.SetDeadline(began.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("cut after %s", took)
		}
	})
}

// TestReadFrom sends a file in every way that io knows and compares the bytes.
func TestReadFrom(t *testing.T) {
	t.Parallel()
	const size = 3<<20 + 17
	text := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(text)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	addr, cert := serve(t, listen.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		switch r.URL.Path {
		case "/file":
			_, err = io.Copy(w, f)
		case "/part":
			_, _ = f.Seek(1000, io.SeekStart)
			_, err = io.CopyN(w, f, 1<<20)
		case "/memory":
			_, err = io.Copy(w, bytes.NewReader(text))
		case "/short": // a limit beyond the end of the file
			_, err = io.Copy(w, &io.LimitedReader{R: f, N: size * 2})
		}
		if err != nil {
			t.Error(r.URL.Path, err)
		}
	}))
	for path, want := range map[string][]byte{
		"/file": text, "/part": text[1000 : 1000+1<<20], "/memory": text, "/short": text,
	} {
		for _, scheme := range []string{"http://", "https://"} {
			if got, err := get(t, scheme+addr+path, cert); err != nil || got != string(want) {
				t.Errorf("%s%s: %d bytes, %v; want %d", scheme, path, len(got), err, len(want))
			}
		}
	}
}

// TestLimitedReaderIsAdvanced: net/http and the doors count on N.
func TestLimitedReaderIsAdvanced(t *testing.T) {
	t.Parallel()
	conn, far := pipe(t)
	go func() { _, _ = io.Copy(io.Discard, far) }()
	lr := &io.LimitedReader{R: bytes.NewReader(make([]byte, 1<<20)), N: 700_000}
	n, err := conn.ReadFrom(lr)
	if n != 700_000 || err != nil || lr.N != 0 && lr.N != 700_000 {
		t.Errorf("sent %d, %v, left %d", n, err, lr.N)
	}
}
