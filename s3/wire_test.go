package s3_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/auth/sigv4"
	"larder/s3"
)

// wire is a raw connection to a stack.
type wire struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (s *stack) dial(t *testing.T) *wire {
	t.Helper()
	addr := s.http.Listener.Addr().String()
	conn, err := net.Dial("tcp", addr)
	if err == nil && strings.HasPrefix(s.url, "https") {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the test server's own certificate
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // a hang fails the test
	return &wire{t, conn, bufio.NewReader(conn)}
}

func (w *wire) write(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.conn, text); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads one response.
func (w *wire) answer() (answer, error) {
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(resp.Body)
	a := answer{resp.StatusCode, resp.Header, string(body)}
	if resp.Close {
		a.header.Set("Connection", "close")
	}
	return a, err
}

func (w *wire) must() answer {
	w.t.Helper()
	a, err := w.answer()
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// closed demands that nothing more comes.
func (w *wire) closed() {
	w.t.Helper()
	if rest, err := io.ReadAll(w.r); len(rest) > 0 || isTimeout(err) {
		w.t.Errorf("the connection goes on: %q, %v", rest, err)
	}
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

// head is a signed request's head, with further lines before the blank one.
func (s *stack) rawHead(q request, length int64, lines ...string) string {
	s.t.Helper()
	r := s.build(q)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", q.method, q.target, r.URL.Host, length)
	for name, values := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", name, values[0])
	}
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

// Who may not, and what cannot be, is refused before the body
// is asked for.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "old")
	for name, tc := range map[string]struct {
		status int
		q      request
	}{
		"no right":         {403, request{method: "PUT", target: "/pics/k", anonymous: true}},
		"wrong signature":  {403, request{method: "PUT", target: "/pics/k", as: &keyPair{s.key.id, "guess"}, payload: sigv4.UnsignedPayload}},
		"failed condition": {412, request{method: "PUT", target: "/pics/k", header: map[string]string{"If-None-Match": "*"}, payload: sigv4.UnsignedPayload}},
		"no bucket":        {404, request{method: "PUT", target: "/none/k", payload: sigv4.UnsignedPayload}},
		"no upload":        {404, request{method: "PUT", target: "/pics/k?partNumber=1&uploadId=x", payload: sigv4.UnsignedPayload}},
		"bad metadata":     {400, request{method: "PUT", target: "/pics/k", header: map[string]string{"x-amz-meta-a": strings.Repeat("x", 3000)}, payload: sigv4.UnsignedPayload}},
	} {
		w := s.dial(t)
		w.write(s.rawHead(tc.q, 5<<30, "Expect: 100-continue"))
		a := w.must()
		if a.status != tc.status || a.header.Get("Connection") != "close" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.body)
		}
		w.closed()
	}
	w := s.dial(t)
	w.write(s.rawHead(request{method: "PUT", target: "/pics/k", payload: sigv4.UnsignedPayload}, 3, "Expect: 100-continue"))
	if line, _ := w.r.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%q", line)
	}
	_, _ = w.r.ReadString('\n')
	w.write("new")
	if a := w.must(); a.status != 200 {
		t.Error(a)
	}
	s.holds("/pics/k", "new")
}

// What stands in an unread body is never a request.
func TestUnreadBodiesAreNoRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	smuggled := s.rawHead(request{method: "DELETE", target: "/pics"}, 0)
	for name, q := range map[string]request{
		"denied":    {method: "PUT", target: "/pics/k", anonymous: true},
		"refused":   {method: "PUT", target: "/pics/k", header: map[string]string{"x-amz-acl": "odd"}, payload: sigv4.UnsignedPayload},
		"on a GET":  {method: "GET", target: "/none", payload: sigv4.UnsignedPayload},
		"not there": {method: "PUT", target: "/none/k", payload: sigv4.UnsignedPayload},
	} {
		for _, size := range []int{len(smuggled), 1 << 20} {
			w := s.dial(t)
			body := smuggled + strings.Repeat("x", size-len(smuggled))
			go func() { _, _ = io.WriteString(w.conn, s.rawHead(q, int64(size))+body) }()
			if a := w.must(); a.status < 400 {
				t.Errorf("%s: %d", name, a.status)
			} else if a.header.Get("Connection") == "close" {
				w.closed()
			} else {
				w.write(s.rawHead(request{method: "GET", target: "/pics"}, 0))
				if b := w.must(); b.status != 200 {
					t.Errorf("%s: the next request got %d", name, b.status)
				}
			}
		}
	}
	s.want(200, request{method: "HEAD", target: "/pics"})
}

// A client that announces a body and never sends it gets its answer at once,
// and the connection is closed, or it is cut by the pace of bodies. net/http
// alone would wait for ever. CVE-2022-31028.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "hello")
	for name, q := range map[string]request{
		"get":     {method: "GET", target: "/pics/k", payload: sigv4.UnsignedPayload},
		"list":    {method: "GET", target: "/pics", payload: sigv4.UnsignedPayload},
		"missing": {method: "GET", target: "/pics/none", payload: sigv4.UnsignedPayload},
		"denied":  {method: "GET", target: "/pics/k", anonymous: true},
	} {
		w := s.dial(t)
		w.write(s.rawHead(q, 1<<20))
		if a := w.must(); a.header.Get("Connection") != "close" {
			t.Errorf("%s: %d, and the connection stays open", name, a.status)
			continue
		}
		w.closed()
	}
	w := s.dial(t)
	w.write(s.rawHead(request{method: "GET", target: "/pics/k", payload: sigv4.UnsignedPayload}, 5) + "12345")
	if a := w.must(); a.status != 200 || a.header.Get("Connection") == "close" {
		t.Error("a small body that came: ", a)
	}
}

// Two of what may be there once, over a raw socket.
func TestContradictingRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	host := strings.TrimPrefix(s.url, "http://")
	for name, head := range map[string]string{
		"absolute form":        "GET http://other/pics HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
		"two hosts":            "GET / HTTP/1.1\r\nHost: " + host + "\r\nHost: other\r\n\r\n",
		"two lengths":          "PUT /pics/k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"two authorizations":   "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
		"two metadata":         "GET / HTTP/1.1\r\nHost: h\r\nX-Amz-Acl: a\r\nX-Amz-Acl: b\r\n\r\n",
		"blank before colon":   "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n",
		"two encodings":        "PUT /pics/k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
		"NUL in a header":      "GET / HTTP/1.1\r\nHost: h\r\nX-A: a\x00b\r\n\r\n",
		"bare CR in a header":  "GET / HTTP/1.1\r\nHost: h\r\nX-A: a\rb\r\n\r\n",
		"star":                 "GET * HTTP/1.1\r\nHost: h\r\n\r\n",
		"broken escape":        "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
		"two copies of params": "GET /pics?prefix=a&prefix=b HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		w := s.dial(t)
		w.write(head)
		if a := w.must(); a.status != 400 && a.status != 501 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	s.want(200, request{method: "HEAD", target: "/pics"})
}

// A client that vanishes at any point leaves nothing.
func TestVanishingClients(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "old")
	id := s.create("/pics/k")
	body := strings.Repeat("0123456789", 40_000)
	for i := range 20 {
		for _, target := range []string{"/pics/k", "/pics/k?partNumber=1&uploadId=" + id} {
			w := s.dial(t)
			w.write(s.rawHead(request{method: "PUT", target: target, payload: sigv4.UnsignedPayload}, int64(len(body))))
			w.write(body[:len(body)*i/20])
			w.conn.Close()
		}
		u := upload{target: "/pics/k", body: body, mode: sigv4.SignedChunks, pieces: 7}
		r := s.build(request{method: "PUT", target: "/pics/k", payload: u.mode, header: map[string]string{"x-amz-decoded-content-length": strconvItoa(len(body))}})
		framed := u.wire(s.framer(r))
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(framed[:len(framed)*i/20])), int64(len(framed))
		if resp, err := s.client.Do(r); err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				t.Error("half a body was stored")
			}
		}
	}
	s.http.CloseClientConnections()
	s.eventually("blobs of vanished clients are removed", func() bool { return s.blobs() == 0 })
	s.holds("/pics/k", "old")
	if b := s.want(200, request{method: "GET", target: "/pics/k?uploadId=" + id}).body; strings.Contains(b, "<Part>") {
		t.Error("half a part was stored:", b)
	}
}

// eventually polls until ok holds.
func (s *stack) eventually(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("not true in time:", what)
		}
	}
}

// A client that sends too slowly is told so, and is gone.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.server.SetPace(50*time.Millisecond, time.Second, 1024)
	s.bucket("pics")
	w := s.dial(t)
	w.write(s.rawHead(request{method: "PUT", target: "/pics/k", payload: sigv4.UnsignedPayload}, 1<<20))
	w.write("a few bytes")
	if a := w.must(); a.status != 400 || a.code() != "RequestTimeout" {
		t.Error(a)
	}
	w.closed()
	s.gone("/pics/k")
}

// A connection goes on after a request whose body was waited for.
func TestDeadlinesAreLifted(t *testing.T) {
	t.Parallel()
	for _, tls := range []bool{false, true} {
		s := startStack(t, options{tls: tls})
		s.server.SetPace(30*time.Millisecond, 30*time.Millisecond, 1)
		s.bucket("pics")
		w := s.dial(t)
		for range 2 {
			w.write(s.rawHead(request{method: "PUT", target: "/pics/k", payload: sigv4.UnsignedPayload}, 3) + "abc")
			if a := w.must(); a.status != 200 {
				t.Fatal(a)
			}
			w.write(s.rawHead(request{method: "GET", target: "/pics/k"}, 0))
			if a := w.must(); a.body != "abc" {
				t.Fatal(a)
			}
			time.Sleep(60 * time.Millisecond) // longer than every deadline that was set
		}
	}
}

// A panic becomes a 500 with an id, and the next request works.
func TestPanicsAreContained(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := startStack(t, options{config: func(c *s3.Config) { c.Gate = nil; c.Log = newLog(&log) }})
	for range 2 {
		a := s.send(request{method: "GET", target: "/"})
		if a.status != 500 || a.code() != "InternalError" || !strings.Contains(a.body, a.header.Get("X-Amz-Request-Id")) || strings.Contains(a.body, "goroutine") {
			t.Error(a)
		}
	}
	if s.server.Requests() != 2 {
		t.Error(s.server.Requests())
	}
	s.http.Close()
	if !strings.Contains(log.String(), "panic while answering") {
		t.Error(log.String())
	}
}
