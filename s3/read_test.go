package s3_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/auth/sigv4"
	"larder/s3"
)

// newLog writes everything to b, one goroutine at a time.
func newLog(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// A broken body is never answered as a whole: with an error while nothing has
// been sent, with a cut connection later.
func TestCorruptBodies(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	body := strings.Repeat("0123456789abcdef", 200_000)
	s.put("/pics/k", body)
	s.damage(2_500_000)
	if a, err := s.raw("/pics/k", nil); err == nil && a.status == 200 {
		t.Errorf("a complete answer of %d bytes with a broken one in it", len(a.body))
	}
	if a, err := s.raw("/pics/k", map[string]string{"Range": "bytes=0-99"}); err != nil || a.status != 206 || a.body != body[:100] {
		t.Error("a sound range:", a.status, err)
	}
	a, err := s.raw("/pics/k", map[string]string{"Range": "bytes=2500000-2500001"})
	if err != nil || a.status != 500 || a.code() != "InternalError" || a.header.Get("Content-Range") != "" || a.header.Get("Etag") != "" {
		t.Error("a range that is broken from its first byte on:", a, err)
	}
}

func (s *stack) raw(target string, header map[string]string) (answer, error) {
	resp, err := s.client.Do(s.build(request{method: "GET", target: target, header: header}))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// damage flips a byte of the only blob.
func (s *stack) damage(offset int64) {
	s.t.Helper()
	_ = filepath.WalkDir(filepath.Join(s.dir, "blobs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(d.Name()) != 32 {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		defer f.Close()
		_, err = f.WriteAt([]byte("~"), offset)
		return err
	})
}

// countingConn counts what net/http hands to the connection from files, which
// is where sendfile happens.
type countingConn struct {
	*net.TCPConn
	fromFiles *atomic.Int64
}

func (c countingConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := c.TCPConn.ReadFrom(r)
	if l, ok := r.(*io.LimitedReader); ok {
		if _, ok := l.R.(*os.File); ok {
			c.fromFiles.Add(n)
		}
	}
	return n, err
}

type countingListener struct {
	net.Listener
	fromFiles *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c.(*net.TCPConn), l.fromFiles}, nil
}

func TestLargeBodiesGoBySendfile(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var count atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.server}
	go func() { _ = server.Serve(countingListener{l, &count}) }()
	t.Cleanup(func() { server.Close() })
	s.url = "http://" + l.Addr().String()
	s.bucket("pics")
	body := strings.Repeat("0123456789abcdef", 300_000)
	s.put("/pics/k", body)
	s.holds("/pics/k", body)
	// net/http copies the first 512 bytes itself, together with the header.
	if n := count.Load(); n < int64(len(body))-512 {
		t.Errorf("%d of %d bytes came from files", n, len(body))
	}
}

// One of many racing writers wins.
func TestRacingCreates(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	var won, lost atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			a := s.send(request{method: "PUT", target: "/pics/k", body: "x", header: map[string]string{"If-None-Match": "*"}})
			switch a.status {
			case 200:
				won.Add(1)
			case 412:
				lost.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || lost.Load() != 49 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

// One line a request, and no secret in any.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := startStack(t, options{config: func(c *s3.Config) { c.Log = newLog(&log) }})
	s.bucket("pics")
	s.put("/pics/k%0A%1B[31m", "body text")
	r := s.build(request{method: "GET", target: "/pics/k"})
	_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	link := s.link("GET", "pics", "k", nil)
	s.follow("GET", link, "")
	s.send(request{method: "GET", target: "/", anonymous: true, header: map[string]string{"Authorization": "Bearer " + s.key.id + ":canary-secret"}})
	s.upload(upload{target: "/pics/k", body: "chunked", mode: sigv4.SignedChunks})
	s.http.Close()
	text := log.String()
	_, linkSignature, _ := strings.Cut(link, "X-Amz-Signature=")
	for _, secret := range []string{s.key.secret, signature, linkSignature, "canary-secret", "X-Amz-Signature", "AWS4-HMAC-SHA256", "\x1b"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if lines, requests := strings.Count(text, "\n"), int(s.server.Requests()); lines != requests {
		t.Errorf("%d lines for %d requests:\n%s", lines, requests, text)
	}
}
