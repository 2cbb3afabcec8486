package e2e_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// logBuffer keeps what a process prints, over all its starts.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// find returns the last submatch of the first match, or "".
func (b *logBuffer) find(re *regexp.Regexp) string {
	m := re.FindStringSubmatch(b.String())
	if m == nil {
		return ""
	}
	return m[len(m)-1]
}

// tail returns the last lines.
func (b *logBuffer) tail(n int) string {
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// await polls until ok holds, and fails the test when it does not in time.
func await(t *testing.T, what string, within time.Duration, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s in vain: %s", within, what)
		case <-time.After(pollEvery):
		}
	}
}
