package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	readyWithin = 30 * time.Second
	stopWithin  = 40 * time.Second
	pollEvery   = 5 * time.Millisecond
)

// setup says how a server is started. The zero value is a fresh folder and a
// first key from the environment.
type setup struct {
	dir      string // the data folder; "" = a fresh one
	args     []string
	env      []string
	byPerson bool     // leave the first key and administrator to a person
	binary   string   // another program than the one under test: "" = that
	under    []string // a command line to run it under, such as strace and its flags
}

// server is the real binary on a data folder. The test that made it ends it.
type server struct {
	t           *testing.T
	setup       setup
	dir         string
	s3, console string // host:port on the loopback
	key, secret string // full rights; empty when byPerson
	cmd         *exec.Cmd
	exited      chan struct{} // closed when cmd has ended
	starts      int
	log         *logBuffer
}

// serve starts a server and waits until it is ready.
func serve(t *testing.T, how setup) *server {
	t.Helper()
	s := prepare(t, how)
	s.start()
	return s
}

// prepare makes a server that is not started yet.
func prepare(t *testing.T, how setup) *server {
	t.Helper()
	if err := readSources(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, setup: how, dir: how.dir, s3: freeAddr(t), console: freeAddr(t), log: &logBuffer{}}
	if s.dir == "" {
		s.dir = filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !how.byPerson {
		s.key, s.secret = "LARDEREXAMPLEKEY", "e2e/secret+with/signs+that/need+escaping"
	}
	t.Cleanup(s.end)
	return s
}

// start runs the binary on the server's folder and ports and returns how long
// it took from exec to ready.
func (s *server) start() time.Duration {
	s.t.Helper()
	began := time.Now()
	s.launch()
	s.awaitReady()
	return time.Since(began)
}

// launch runs the binary and does not wait for it.
func (s *server) launch() {
	s.t.Helper()
	s.starts++
	args := append([]string{"serve", "--data", s.dir, "--s3", s.s3, "--console", s.console, "--native", "127.0.0.1:0"}, s.setup.args...)
	line := append(append(slices.Clone(s.setup.under), cmp.Or(s.setup.binary, larder)), args...)
	s.cmd = exec.Command(line[0], line[1:]...)
	s.cmd.Env = append(append(cleanEnv(), "HOME="+s.dir), append(s.sabotage(), s.setup.env...)...)
	if s.key != "" {
		s.cmd.Env = append(s.cmd.Env, "LARDER_ACCESS_KEY="+s.key, "LARDER_SECRET_KEY="+s.secret)
	}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // the tests look at ProcessState
		close(exited)
	}(s.cmd, s.exited)
}

// awaitReady polls /readyz.
func (s *server) awaitReady() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), readyWithin)
	defer cancel()
	for !s.ready(ctx) {
		select {
		case <-s.exited:
			s.t.Fatalf("the server ended at start %d: %v", s.starts, s.cmd.ProcessState)
		case <-ctx.Done():
			s.t.Fatal("the server was not ready in time")
		case <-time.After(pollEvery):
		}
	}
}

func (s *server) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.console+"/readyz", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// kill is kill -9. It returns when the process is gone.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// killDuringStart starts the server after a kill and kills it again, in the
// middle of its recovery or soon after it.
func (s *server) killDuringStart(after time.Duration) {
	s.t.Helper()
	s.launch()
	select {
	case <-s.exited:
		s.t.Fatalf("the server ended at start %d: %v", s.starts, s.cmd.ProcessState)
	case <-time.After(after):
		s.kill()
	}
}

// loseIndex removes the index of a stopped server, which the journal replaces.
func (s *server) loseIndex() {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "index.db*"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no index in %s: %v", s.dir, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			s.t.Fatal(err)
		}
	}
}

// restart starts the server again after kill or stop.
func (s *server) restart() time.Duration {
	s.t.Helper()
	return s.start()
}

// stop asks for a clean shutdown and demands that it works.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(stopWithin):
		s.t.Fatal("the server did not stop on SIGTERM")
	}
	if !s.cmd.ProcessState.Success() {
		s.t.Errorf("after SIGTERM: %v", s.cmd.ProcessState)
	}
}

// end stops the server after the test, and prints its log when the test failed.
// A panic in the log fails every test, whatever the clients saw.
func (s *server) end() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	select {
	case <-s.exited:
	default:
		s.kill()
	}
	if line := s.log.find(regexp.MustCompile(`(?i).*\bpanic.*`)); line != "" {
		s.t.Errorf("the server panicked: %s", line)
	}
	if s.t.Failed() {
		s.t.Logf("the server's log ends:\n%s", s.log.tail(120))
	}
}

// client speaks plain HTTP to the S3 port with the server's first key.
func (s *server) client() *s3Client {
	return newS3Client(s.t, "http://"+s.s3, s.key, s.secret)
}

// certificate is the file with the server's own certificate, for clients that
// are to trust it.
func (s *server) certificate() string { return filepath.Join(s.dir, "tls.pem") }

// run is a command line of the binary on the server's folder, such as
// "key list".
func (s *server) run(args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), larder, append(args, "--data", s.dir)...)
	cmd.Env = cleanEnv()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// cleanEnv is the environment without settings of Larder, of proxies and of
// S3 clients, which would decide what is tested.
func cleanEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		if strings.HasPrefix(name, "LARDER_") || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "RESTIC_") ||
			strings.HasPrefix(name, "RCLONE_") || strings.HasSuffix(name, "_PROXY") {
			continue
		}
		env = append(env, kv)
	}
	return env
}

// freeAddr is an address on the loopback that nobody listened on a moment ago. It
// lies below the ports that the kernel gives to connections and to listeners that
// name none: one of those could have it while a killed server is down.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 12_000+rand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return fmt.Sprint(l.Addr())
		}
	}
	t.Fatal("no free port")
	return ""
}
