package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// program runs a foreign program with settings of its own and no others: its
// home folder is empty.
type program struct {
	t   *testing.T
	env []string
	dir string
}

func newProgram(t *testing.T, env ...string) *program {
	home := t.TempDir()
	return &program{t: t, dir: home, env: append(append(cleanEnv(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home), env...)}
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), args[0], args[1:]...)
	cmd.Env, cmd.Dir = p.env, p.dir
	return cmd
}

// run returns what the program printed. A failure ends the test.
func (p *program) run(args ...string) string {
	p.t.Helper()
	out, err := p.try(args...)
	if err != nil {
		p.t.Fatalf("%q: %v\n%s", args, err, lastBytes(out, 3000))
	}
	return out
}

func (p *program) try(args ...string) (string, error) {
	out, err := p.command(args...).CombinedOutput()
	return string(out), err
}

// timed is run, with the time it took in the test's log.
func (p *program) timed(what string, args ...string) string {
	p.t.Helper()
	began := time.Now()
	out := p.run(args...)
	p.t.Logf("%s: %.1f s", what, time.Since(began).Seconds())
	return out
}

// write puts a file into the program's home and returns its path.
func (p *program) write(name string, content []byte) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *program) read(name string) []byte {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// same fails the test when a file in the program's home has other bytes.
func (p *program) same(name string, want []byte) {
	p.t.Helper()
	if got := p.read(name); !bytes.Equal(got, want) {
		p.t.Fatalf("%s: %d bytes that are not the %d expected", name, len(got), len(want))
	}
}

func lastBytes(s string, n int) string { return s[max(0, len(s)-n):] }
