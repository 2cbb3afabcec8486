// Package control is the way from the command line to the running server: a
// unix socket in the data folder that carries the admin API. Whoever may open
// the socket may open the data folder, and so is trusted with everything.
package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxPath is what sun_path holds besides its final zero, unix(7).
const maxPath = 107

// Listen listens on a new socket at path, for the owner alone. The folder must
// keep others out until the mode is set. A socket that a crash left behind
// must have been removed.
func Listen(path string) (*net.UnixListener, error) {
	short, release, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by a name that may be gone by then; the server removes it
	if err := os.Chmod(short, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// dial connects to the socket at path.
func dial(ctx context.Context, path string) (net.Conn, error) {
	short, release, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// shorten returns a name for path that fits a socket address. A long one goes
// through the descriptor of its folder, which release closes.
func shorten(path string) (short string, release func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return short, func() { dir.Close() }, nil
}
