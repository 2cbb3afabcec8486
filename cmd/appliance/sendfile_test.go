package main

import (
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestSendfile watches the system calls of the real binary while a large object
// is read: all but its beginning must leave by sendfile. A wrapper around the
// connection or the response writer that hides ReadFrom fails here.
func TestSendfile(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed (./task test installs it)")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v %s", err, out)
	}
	data := t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, "-D", "-f", "-e", "trace=sendfile", "-o", trace, binary(t), "serve",
		"--data", data, "--log-format=json", "--s3=127.0.0.1:0", "--console=127.0.0.1:0")
	p, err := launchCmd(cmd, data, append(os.Environ(), firstKey()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop() })

	const size = 16 << 20
	body := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(body)
	mustRequest(t, http.MethodPut, p.s3+"/bkt", "")
	mustRequest(t, http.MethodPut, p.s3+"/bkt/large", string(body))
	if got := mustRequest(t, http.MethodGet, p.s3+"/bkt/large", ""); got != string(body) {
		t.Fatal("other bytes came back")
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if sent := sentBySendfile(t, trace); sent < size*9/10 {
		t.Errorf("%d of %d bytes left by sendfile", sent, size)
	}
}

// sentBySendfile adds up what the calls in a trace returned.
func sentBySendfile(t *testing.T, trace string) (total int) {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	result := regexp.MustCompile(`sendfile.*\) += (\d+)$`)
	for line := range strings.Lines(string(text)) {
		if m := result.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			n, _ := strconv.Atoi(m[1])
			total += n
		}
	}
	return total
}
