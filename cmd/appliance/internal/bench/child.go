package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"larder/cmd/appliance/internal/control"
	"larder/fault"
)

const (
	startWithin = 60 * time.Second
	stopWithin  = 60 * time.Second
	maxLog      = 64 << 10 // bytes of the server's log that are kept, the last ones
)

// child is a server of ours on a data folder of its own. Whoever starts it stops
// it.
type child struct {
	data    string
	keyID   string
	secret  string
	s3      *url.URL
	native  string // host:port; "" = nothing listens
	control *control.Client
	idle    int64 // resident bytes before the first request

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	mu     sync.Mutex
	log    bytes.Buffer // guarded by mu
}

// readyLine is the log record of a server that is ready.
type readyLine struct {
	Msg    string   `json:"msg"`
	S3     []string `json:"s3"`
	Native string   `json:"native"` // host:port; "" = nothing listens
}

// startChild runs `serve` on a folder, with a fresh key, and waits until it is
// ready.
func (b *bench) startChild(ctx context.Context, data string) (*child, error) {
	c := &child{
		data: data, keyID: "BENCH" + rand.Text()[:15], secret: rand.Text() + rand.Text(),
		control: control.NewClient(filepath.Join(data, "larder.sock")), exited: make(chan struct{}),
	}
	return c, c.start(ctx, b.cfg)
}

func (c *child) start(ctx context.Context, cfg Config) error {
	c.exited = make(chan struct{})
	c.cmd = exec.Command(cfg.Binary, "serve", "--data", c.data, "--log-format", "json",
		"--s3", "127.0.0.1:0", "--console", "127.0.0.1:0", "--native", "127.0.0.1:0")
	c.cmd.Env = append(withoutSettings(cfg.Environ), "LARDER_ACCESS_KEY="+c.keyID, "LARDER_SECRET_KEY="+c.secret)
	// A signal of the terminal is for the benchmark, which then stops the server;
	// should the benchmark be killed, the kernel ends the server.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	log, err := c.cmd.StderrPipe()
	if err != nil {
		return err
	}
	started, ready := make(chan error, 1), make(chan readyLine, 1)
	go c.live(log, started, ready)
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", cfg.Binary, err)
	}
	if err := c.await(ctx, ready); err != nil {
		c.stop()
		return err
	}
	m, err := memoryOf(c.pid())
	c.idle = m.now
	return err
}

// live starts the process, follows its log and waits for its end, all on one
// thread: to the kernel the parent whose death ends the child is a thread.
func (c *child) live(log io.Reader, started chan<- error, ready chan<- readyLine) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.exited)
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for lines := bufio.NewReader(log); ; {
		text, err := lines.ReadBytes('\n')
		c.keep(text)
		var line readyLine
		if json.Unmarshal(text, &line) == nil && line.Msg == "Larder is ready" {
			ready <- line
		}
		if err != nil {
			break
		}
	}
	_ = c.cmd.Wait() // how it ended stands in ProcessState
}

// keep adds to the log and forgets its beginning when it grows long.
func (c *child) keep(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log.Len()+len(text) > maxLog {
		c.log.Next(c.log.Len() / 2)
	}
	c.log.Write(text)
}

func (c *child) await(ctx context.Context, ready <-chan readyLine) error {
	select {
	case line := <-ready:
		return c.reachable(line)
	case <-c.exited:
		return c.gone(nil)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startWithin):
		return c.gone(fmt.Errorf("not ready after %s", startWithin))
	}
}

func (c *child) reachable(line readyLine) (err error) {
	if len(line.S3) == 0 {
		return c.gone(nil)
	}
	c.native = line.Native
	c.s3, err = url.Parse(line.S3[0])
	return err
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// stop ends the server and returns when it is gone. It does nothing twice.
func (c *child) stop() {
	if c.cmd.Process == nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-c.exited:
	case <-time.After(stopWithin):
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

// gone is the error for a server that does not answer, with the end of its log.
func (c *child) gone(cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail, why := c.log.String(), ""
	if cause != nil {
		why = " (" + cause.Error() + ")"
	}
	return fault.New("bench.serve", fault.Unavailable, c.data, cause).
		WithHint("The server that is to be measured is not there" + why + ". Its log ends:\n" + tail[max(0, len(tail)-2000):])
}

// withoutSettings takes Larder's settings out of an environment: what is measured
// must not depend on them.
func withoutSettings(environ []string) []string {
	if environ == nil {
		environ = os.Environ()
	}
	var out []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "LARDER_") {
			out = append(out, entry)
		}
	}
	return out
}
