package server_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"larder/cmd/appliance/internal/server"
	"larder/fault"
)

// TestNoPort checks that an address that cannot be had says why, and which
// setting it is.
func TestNoPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, inUse := net.Listen("tcp", taken.Addr().String())
	for want, cause := range map[string]error{
		"Another program listens": inUse,
		"no such address":         fmt.Errorf("listen: %w", syscall.EADDRNOTAVAIL),
		"from 1024 on":            fmt.Errorf("listen: %w", syscall.EACCES),
		"other than these":        errors.New("other than these"),
	} {
		hint := fault.HintOf(server.NoPort("console", "127.0.0.1:9001", cause))
		if !strings.Contains(hint, want) || !strings.Contains(hint, "LARDER_CONSOLE") {
			t.Errorf("%v: the hint is %q", cause, hint)
		}
	}
}
