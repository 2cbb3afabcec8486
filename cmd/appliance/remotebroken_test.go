package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wire stands between a command and a server. It holds everything up when the
// server has sent, or the command has, so many bytes, until it is cut.
type wire struct {
	net.Listener
	held chan struct{} // closed when the limit has been reached

	mu    sync.Mutex // guards all below
	to    string
	left  int64
	conns []net.Conn
	cuts  int
	cut   chan struct{} // closed at the next cut
}

func wireTo(t *testing.T, addr string, limit int64) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, held: make(chan struct{}), to: addr, left: limit, cut: make(chan struct{})}
	t.Cleanup(func() {
		_ = l.Close()
		w.join("")
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(conn)
		}
	}()
	return w
}

func (w *wire) serve(conn net.Conn) {
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		conn.Close()
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, conn, server)
	w.mu.Unlock()
	go w.pass(server, conn)
	w.pass(conn, server)
}

func (w *wire) pass(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		if hold := w.count(int64(n)); hold != nil {
			<-hold
			return
		}
		if _, problem := to.Write(b[:n]); err != nil || problem != nil {
			return
		}
	}
}

// count takes bytes off the limit. Behind it there is a channel to wait for.
func (w *wire) count(n int64) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cuts > 0 {
		return nil
	}
	if w.left -= n; w.left > 0 {
		return nil
	}
	if w.left+n > 0 {
		close(w.held)
	}
	return w.cut
}

// join ends all connections; new ones go to another server, without a limit.
func (w *wire) join(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cuts++; w.cuts == 1 {
		close(w.cut)
	}
	for _, c := range w.conns {
		c.Close()
	}
	w.conns, w.to = nil, addr
}

// awaitHold waits until the wire holds everything up.
func (w *wire) awaitHold(t *testing.T) {
	t.Helper()
	select {
	case <-w.held:
	case <-time.After(startLimit):
		t.Fatal("the limit was never reached")
	}
}

// begin starts a command that goes over a wire.
func (c *commander) begin(t *testing.T, w *wire, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	over := *c
	over.addr = w.Addr().String()
	cmd := over.command(t, args...)
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &all
}

// restart kills the server and starts another one on its folder.
func (c *commander) restart(t *testing.T) *commander {
	t.Helper()
	_ = c.cmd.Process.Kill()
	<-c.exited
	next := *c
	next.process = c.again(t)
	next.addr = next.nativeAddr(t)
	return &next
}

const large = 80 << 20

// TestRemoteInterruptedDownload ends a download in the middle, kindly and not.
// The file that was there stays as it was.
func TestRemoteInterruptedDownload(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	write(t, filepath.Join(dir, "up"), noise(8<<20), time.Now())
	c.must(t, "cp", filepath.Join(dir, "up"), "larder:bkt/down")
	target := filepath.Join(dir, "target", "down")
	write(t, target, "the old one", time.Now())
	for signal, left := range map[os.Signal]int{os.Interrupt: 1, syscall.SIGKILL: 2} {
		w := wireTo(t, c.addr, 4<<20)
		cmd, out := c.begin(t, w, "cp", "larder:bkt/down", target)
		w.awaitHold(t)
		eventually(t, "a file for the download", func() bool { return len(names(t, filepath.Dir(target))) == 2 })
		_ = cmd.Process.Signal(signal)
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v: the command succeeded: %s", signal, out)
		}
		if signal == os.Interrupt && (cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "interrupted")) {
			t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
		}
		if got := names(t, filepath.Dir(target)); len(got) != left || got["down"] != "the old one" {
			t.Errorf("%v: %d files are there", signal, len(got))
		}
		for name := range names(t, filepath.Dir(target)) {
			if name != "down" { // no sync takes what is left for a file
				c.says(t, "0 copied, 0 unchanged, 0 deleted.", "larder:bkt/none", filepath.Dir(target))
				c.says(t, "1 copied, 0 unchanged, 0 deleted.", filepath.Dir(target), "larder:bkt/up", "--delete")
				_ = os.Remove(filepath.Join(filepath.Dir(target), name))
			}
		}
	}
	c.must(t, "cp", "larder:bkt/down", target)
	if read(t, target) != noise(8<<20) {
		t.Error("the download has other bytes")
	}
}

// TestRemoteParts sends a large file and a long stream in parts.
func TestRemoteParts(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	file := filepath.Join(dir, "large")
	write(t, file, noise(large), time.Unix(1_600_000_000, 1))
	c.must(t, "sync", dir, "larder:bkt/t")
	c.says(t, "0 copied, 1 unchanged, 0 deleted.", dir, "larder:bkt/t", "--checksum")
	if out := c.must(t, "ls", "--json", "larder:bkt/t/large"); !strings.Contains(out, `-5"`) {
		t.Errorf("not made of five parts: %s", out)
	}
	if f := c.feed(t, noise(large), "cp", "-", "larder:bkt/stream"); f.code != 0 {
		t.Error(f)
	}
	if out := c.must(t, "ls", "--json", "larder:bkt/stream"); !strings.Contains(out, `-3"`) {
		t.Errorf("not made of three parts: %s", out)
	}
	c.must(t, "cp", "larder:bkt/stream", file)
	if read(t, file) != noise(large) {
		t.Error("the stream came back as other bytes")
	}

	w := wireTo(t, c.addr, large/2)
	cmd, out := c.begin(t, w, "cp", file, "larder:bkt/never")
	w.awaitHold(t)
	_ = cmd.Process.Signal(os.Interrupt)
	w.join(c.addr) // so that the upload can be removed
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("interrupted: %v, %s", err, out)
	}
	if list := mustRequest(t, http.MethodGet, c.s3+"/bkt?uploads", ""); strings.Contains(list, "<Upload>") {
		t.Errorf("an upload is left: %s", list)
	}
}

// TestRemoteSyncThroughRestart kills the server in the middle of syncs up and
// down. They wait for it and go on.
func TestRemoteSyncThroughRestart(t *testing.T) {
	t.Parallel()
	c, up, down := commands(t), t.TempDir(), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	tree(t, up)
	for _, args := range [][]string{{"sync", up, "larder:bkt"}, {"sync", "larder:bkt", down}} {
		w := wireTo(t, c.addr, 4<<20)
		cmd, out := c.begin(t, w, args...)
		w.awaitHold(t)
		next := c.restart(t)
		w.join(next.addr)
		if err := cmd.Wait(); err != nil || !strings.HasSuffix(out.String(), "300 copied, 0 unchanged, 0 deleted.\n") {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		c = next
	}
	sameTree(t, up, down)
}

// TestRemoteWatch watches through a restart of the server.
func TestRemoteWatch(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	file := filepath.Join(dir, "file")
	write(t, file, "x", time.Now())
	w := wireTo(t, c.addr, 1<<30)
	over := *c
	over.addr = w.Addr().String()
	cmd := over.command(t, "watch", "larder:bkt/in/", "--json")
	out, notes := pipes(t, cmd)
	if line, err := notes.ReadString('\n'); err != nil || !strings.Contains(line, "Watching larder:bkt/in/") {
		t.Fatalf("%q, %v", line, err)
	}
	c.must(t, "cp", file, "larder:bkt/out")
	c.must(t, "cp", file, "larder:bkt/in/a")
	c.must(t, "rm", "larder:bkt/in/a")
	wantEvent(t, out, "stored", "in/a")
	wantEvent(t, out, "removed", "in/a")

	next := c.restart(t)
	w.join(next.addr)
	next.must(t, "cp", file, "larder:bkt/in/b")
	wantEvent(t, out, "stored", "in/b")
	_ = cmd.Process.Signal(os.Interrupt)
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("behind the last event: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	next.refused(t, 1, "no such bucket", "watch", "larder:none")
}

func pipes(t *testing.T, cmd *exec.Cmd) (out, errOut *bufio.Reader) {
	t.Helper()
	o, err1 := cmd.StdoutPipe()
	e, err2 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(o), bufio.NewReader(e)
}

// wantEvent reads the next event. A gap may come before it, since a server that
// has started again knows nothing of before.
func wantEvent(t *testing.T, out *bufio.Reader, event, key string) {
	t.Helper()
	for {
		line, err := out.ReadString('\n')
		var e struct{ Event, Bucket, Key string }
		if err != nil || json.Unmarshal([]byte(line), &e) != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Event == "gap" {
			continue
		}
		if e.Event != event || e.Key != key || e.Bucket != "bkt" {
			t.Fatalf("the event is %q, want %s %s", line, event, key)
		}
		return
	}
}
