package client_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain starts the server that the examples talk to, and tells them where it
// is as a user would.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "larder-client")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	s, err := openStack(dir)
	if err == nil {
		err = s.listen()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Setenv("LARDER_ADDR", s.addr)
	_ = os.Setenv("LARDER_KEY", s.keyID)
	_ = os.Setenv("LARDER_SECRET", s.secret)
	code := m.Run()
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
