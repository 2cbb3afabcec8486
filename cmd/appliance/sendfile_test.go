package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"larder/client"
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
		"--data", data, "--log-format=json", "--s3=127.0.0.1:0", "--console=127.0.0.1:0", "--native=127.0.0.1:0")
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
	if got := getNative(t, p, "bkt", "large"); !bytes.Equal(got, body) {
		t.Fatal("other bytes came back by the native protocol")
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if sent := sentBySendfile(t, trace); sent < 2*size*9/10 {
		t.Errorf("%d of %d bytes left by sendfile", sent, 2*size)
	}
}

// getNative reads an object by the native protocol.
func getNative(t *testing.T, p *process, bucket, key string) []byte {
	t.Helper()
	c, err := client.New(client.Config{Addr: p.native, KeyID: "AKTESTTESTTESTTEST", Secret: "a-long-secret-for-tests-0123456789"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Get(t.Context(), bucket, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
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
