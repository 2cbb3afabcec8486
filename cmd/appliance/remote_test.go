package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// commander runs commands of the real binary against a server's native port.
type commander struct {
	*process
	addr string
	env  []string
}

// nativeAddr is what a server said at its start.
func (p *process) nativeAddr(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`"native":"([^"]+)"`).FindStringSubmatch(p.logText())
	if m == nil {
		t.Fatalf("the server does not say where its native port is:\n%s", p.logText())
	}
	return m[1]
}

func commands(t *testing.T) *commander {
	t.Helper()
	p := serveForTest(t)
	_, id, _ := strings.Cut(firstKey()[0], "=")
	_, secret, _ := strings.Cut(firstKey()[1], "=")
	return &commander{p, p.nativeAddr(t), []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TZ=UTC", "LARDER_KEY_ID=" + id, "LARDER_KEY_SECRET=" + secret,
	}}
}

// command prepares one; --server goes behind its name.
func (c *commander) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*startLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary(t), append([]string{args[0], "--server", c.addr}, args[1:]...)...)
	cmd.Env = c.env
	return cmd
}

// finished is a command that has ended.
type finished struct {
	out, err string
	code     int
}

func (c *commander) feed(t *testing.T, in string, args ...string) finished {
	t.Helper()
	cmd := c.command(t, args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return finished{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

func (c *commander) run(t *testing.T, args ...string) finished {
	t.Helper()
	return c.feed(t, "", args...)
}

// must fails the test unless the command succeeds, and returns its output.
func (c *commander) must(t *testing.T, args ...string) string {
	t.Helper()
	f := c.run(t, args...)
	if f.code != 0 {
		t.Fatalf("larder %q: exit code %d\n%s%s", args, f.code, f.out, f.err)
	}
	return f.out
}

// refused wants an exit code and words on the error output.
func (c *commander) refused(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	f := c.run(t, args...)
	if f.code != code || !strings.Contains(f.err, words) {
		t.Errorf("larder %q: exit code %d, want %d and %q\n%s%s", args, f.code, code, words, f.out, f.err)
	}
}

func write(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, at, at))
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names are the files below a folder.
func names(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(folder, path)
			out[name] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// noise is text that does not repeat.
func noise(size int) string {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size), byte(size >> 8)}).Read(b)
	return string(b)
}

func TestRemoteBuckets(t *testing.T) {
	t.Parallel()
	c := commands(t)
	c.must(t, "mb", "larder:one")
	c.must(t, "mb", "larder:two")
	c.refused(t, 1, "bucket exists", "mb", "larder:one")
	c.refused(t, 2, "names no bucket", "mb", "larder:one/key")
	c.refused(t, 2, "names no bucket", "mb", "one")
	if out := c.must(t, "ls"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "one\n") || !strings.Contains(out, "two\n") {
		t.Errorf("ls: %q", out)
	}
	var b struct{ Bucket string }
	if err := json.Unmarshal([]byte(strings.SplitAfter(c.must(t, "ls", "--json"), "\n")[1]), &b); err != nil || b.Bucket != "two" {
		t.Errorf("ls --json: %+v, %v", b, err)
	}
}

func TestRemoteCopyOneFile(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	at := time.Unix(1_700_000_000, 123_456_700)
	a := filepath.Join(dir, "a %41 ü.txt")
	write(t, a, noise(300_000), at)
	write(t, filepath.Join(dir, "empty"), "", at)
	c.must(t, "cp", a, filepath.Join(dir, "empty"), "larder:bkt/folder/")
	c.must(t, "cp", a, "larder:bkt/other")

	status, mtime := c.head(t, "/bkt/other")
	if status != http.StatusOK || mtime != "1700000000.1234567" {
		t.Errorf("other: %d, mtime %q", status, mtime)
	}
	down := filepath.Join(dir, "down")
	c.must(t, "cp", "larder:bkt/folder/a %41 ü.txt", "larder:bkt/folder/empty", mkdir(t, down))
	if got := names(t, down); len(got) != 2 || got["a %41 ü.txt"] != noise(300_000) || got["empty"] != "" {
		t.Errorf("downloaded %d files", len(got))
	}
	if info, err := os.Stat(filepath.Join(down, "empty")); err != nil || !info.ModTime().Equal(at) {
		t.Errorf("modified %v, %v", info.ModTime(), err)
	}
	c.must(t, "cp", "larder:bkt/other", "larder:bkt/copies/")
	if out := c.must(t, "cat", "larder:bkt/copies/other", "larder:bkt/folder/empty", "larder:bkt/other"); out != noise(300_000)+noise(300_000) {
		t.Errorf("cat: %d bytes", len(out))
	}
	if f := c.feed(t, "from the input", "cp", "-", "larder:bkt/in"); f.code != 0 {
		t.Errorf("cp -: %+v", f)
	}
	if out := c.must(t, "cp", "larder:bkt/in", "-"); out != "from the input" {
		t.Errorf("cp to -: %q", out)
	}
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// head asks over S3 for the metadata that rclone reads.
func (c *commander) head(t *testing.T, path string) (status int, mtime string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodHead, c.s3+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("x-amz-meta-mtime")
}

func TestRemoteListAndRemove(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	for _, name := range []string{"a/1", "a/2", "ab", "b\tc"} {
		write(t, filepath.Join(dir, name), strings.Repeat("x", 2048), time.Unix(1_700_000_000, 0))
	}
	c.must(t, "cp", "-r", dir, "larder:bkt")
	if out := c.must(t, "ls", "larder:bkt/a"); strings.Count(out, "\n") != 2 || !strings.Contains(out, " a/\n") || !strings.Contains(out, " 2048  ab\n") {
		t.Errorf("ls: %q", out)
	}
	if out := c.must(t, "ls", "-r", "--human", "larder:bkt"); strings.Count(out, "2.0 KiB") != 4 || !strings.Contains(out, `"b\tc"`) {
		t.Errorf("ls -r --human: %q", out)
	}
	if out := c.must(t, "ls", "--json", "larder:bkt/a/1"); !strings.Contains(out, `{"key":"a/1","size":2048,"modified":"20`) {
		t.Errorf("ls --json: %q", out)
	}
	c.must(t, "rm", "larder:bkt/b\tc", "larder:bkt/never was")
	c.refused(t, 2, "--yes", "rm", "-r", "larder:bkt/a")
	c.refused(t, 2, "--recursive", "rm", "larder:bkt")
	c.must(t, "rm", "-r", "--yes", "larder:bkt/a")
	if out := c.must(t, "ls", "-r", "larder:bkt"); strings.Count(out, "\n") != 1 || !strings.Contains(out, " ab\n") {
		t.Errorf("what is left: %q", out)
	}
	c.refused(t, 1, "no such bucket", "rm", "larder:other/key")
}

func TestRemoteUsage(t *testing.T) {
	t.Parallel()
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:bkt")
	file := filepath.Join(dir, "file")
	write(t, file, "x", time.Now())
	c.refused(t, 2, "is on the server", "cp", file, filepath.Join(dir, "copy"))
	c.refused(t, 2, "end in /", "cp", file, file, "larder:bkt/x")
	c.refused(t, 2, "--recursive", "cp", "larder:bkt/", dir)
	c.refused(t, 2, "unknown flag", "cp", "--what", file, "larder:bkt/")
	c.refused(t, 2, "requires at least 2", "cp", file)
	c.refused(t, 1, "no such file", "cp", filepath.Join(dir, "none"), "larder:bkt/")
	c.refused(t, 1, "no such key", "cat", "larder:bkt/none")
	c.refused(t, 1, "it is a folder", "cp", dir, "larder:bkt/")
	without := *c
	without.env = c.env[:4]
	without.refused(t, 2, "LARDER_KEY_SECRET", "ls")
	without.env = c.env[:3]
	without.refused(t, 2, "no access key", "ls")
	wrong := *c
	wrong.env = append(c.env[:4:4], "LARDER_KEY_SECRET=another-secret-0123456789")
	wrong.refused(t, 1, "bad signature", "ls")
	secret := filepath.Join(dir, "secret")
	write(t, secret, strings.TrimPrefix(c.env[4], "LARDER_KEY_SECRET=")+"\n", time.Now())
	without.must(t, "ls", "--key-id", strings.TrimPrefix(c.env[3], "LARDER_KEY_ID="), "--secret-file", secret)
	nobody := *c
	nobody.addr = "127.0.0.1:1"
	nobody.refused(t, 1, "cannot be reached", "ls")
}

func TestRemoteTLS(t *testing.T) {
	t.Parallel()
	c := commands(t)
	c.must(t, "mb", "--tls-fingerprint", c.certificate, "larder:bkt")
	c.must(t, "ls", "--tls-fingerprint", strings.ToLower(strings.ReplaceAll(c.certificate, ":", "")), "larder:bkt")
	other := strings.Map(func(r rune) rune {
		if r == ':' {
			return r
		}
		return 'A'
	}, c.certificate)
	c.refused(t, 1, "certificate", "ls", "--tls-fingerprint", other)
	c.refused(t, 1, "certificate", "ls", "--tls")
	c.refused(t, 2, "64 hexadecimal", "ls", "--tls-fingerprint", "12:34")
}
