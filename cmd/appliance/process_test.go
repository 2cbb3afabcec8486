package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the command: started as "larder", it runs
// main.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"larder": main})
}

// suite runs the tests around a folder for the binary that some of them build.
type suite struct{ *testing.M }

// scratch is set before any test runs.
var scratch string

func (s suite) Run() int {
	for _, kv := range os.Environ() { // the binary refuses what is no setting of its own
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "LARDER_") {
			os.Unsetenv(name)
		}
	}
	dir, err := os.MkdirTemp("", "larder-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	return s.M.Run()
}

const startLimit = 60 * time.Second

// process is a server that was started and has said that it is ready.
type process struct {
	cmd         *exec.Cmd
	data        string
	s3, console string // URLs
	native      string // host:port
	code        string // of the set-up page; "" when there is an administrator
	certificate string
	exited      chan struct{} // closed when the process has ended
	exit        error         // read it after exited
	mu          sync.Mutex
	log         bytes.Buffer
}

// readyLine is the log record that a server writes when it is ready.
type readyLine struct {
	Msg         string   `json:"msg"`
	S3          []string `json:"s3"`
	Console     []string `json:"console"`
	Native      string   `json:"native"`
	Code        string   `json:"setup_code"`
	Certificate string   `json:"certificate_sha256"`
}

// launch starts a binary as a server on free loopback ports and waits until it
// is ready. The error carries the server's log.
func launch(binary, dir string, env, args []string) (*process, error) {
	cmd := exec.Command(binary, append([]string{"serve", "--log-format=json", "--s3=127.0.0.1:0", "--console=127.0.0.1:0", "--native=127.0.0.1:0"}, args...)...)
	return launchCmd(cmd, dir, env)
}

func launchCmd(cmd *exec.Cmd, dir string, env []string) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	cmd.Dir, cmd.Env = dir, env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan readyLine, 1)
	go p.follow(stderr, ready)
	select {
	case line := <-ready:
		p.s3, p.console, p.native, p.code, p.certificate = line.S3[0], line.Console[0], line.Native, line.Code, line.Certificate
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("the server ended: %v\n%s", p.exit, p.logText())
	case <-time.After(startLimit):
		p.tellAndDie()
		return nil, fmt.Errorf("the server is not ready after %s:\n%s", startLimit, p.logText())
	}
}

// tellAndDie ends a process that hangs, which writes first where each of its
// goroutines stands.
func (p *process) tellAndDie() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
	}
}

// follow keeps the log and reports the ready line, then waits for the end.
func (p *process) follow(stderr io.Reader, ready chan<- readyLine) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		var line readyLine
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Larder is ready" {
			ready <- line
		}
	}
	p.exit = p.cmd.Wait()
	close(p.exited)
}

func (p *process) logText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// stop asks the process to end and returns how it did.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait()
}

func (p *process) wait() error {
	select {
	case <-p.exited:
		return p.exit
	case <-time.After(startLimit):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("the server does not end:\n%s", p.logText())
	}
}

// firstKey are the settings of a key with full rights.
func firstKey() []string {
	return []string{"LARDER_ACCESS_KEY=AKTESTTESTTESTTEST", "LARDER_SECRET_KEY=a-long-secret-for-tests-0123456789"}
}

const bearer = "Bearer AKTESTTESTTESTTEST:a-long-secret-for-tests-0123456789"

// serveForTest starts the real binary on a fresh folder with firstKey, and ends
// it with the test.
func serveForTest(t *testing.T, args ...string) *process {
	t.Helper()
	data := t.TempDir()
	p, err := launch(binary(t), data, append(os.Environ(), firstKey()...), append([]string{"--data", data}, args...))
	if err != nil {
		t.Fatal(err)
	}
	p.data = data
	t.Cleanup(func() {
		_ = p.stop()
		if t.Failed() {
			t.Log(p.logText())
		}
	})
	return p
}

// binary is the command built as a user builds it, once for all tests.
func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "larder")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// request makes one request with firstKey and returns status and body.
func request(method, url string, body io.Reader) (int, string, error) {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// mustRequest fails the test unless the answer is 2xx.
func mustRequest(t *testing.T, method, url, body string) string {
	t.Helper()
	status, text, err := request(method, url, strings.NewReader(body))
	if err != nil || status/100 != 2 {
		t.Fatalf("%s %s: %d %v %s", method, url, status, err, text)
	}
	return text
}

// larder runs a command of the real binary to its end.
func larder(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(binary(t), args...).CombinedOutput()
	return string(out), err
}
