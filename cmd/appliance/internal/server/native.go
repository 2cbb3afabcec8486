package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"syscall"
	"time"

	"larder/cmd/appliance/internal/config"
	"larder/fault"
	"larder/gate"
	"larder/native"
	"larder/native/wire"
)

// nativePort is the native protocol on a listener.
type nativePort struct {
	listener net.Listener
	server   *native.Server
}

func (p *nativePort) String() string { return "native" }

func (p *nativePort) serve() error {
	err := p.server.Serve(p.listener)
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *nativePort) stop(ctx context.Context) (finished bool) {
	_ = p.listener.Close() // it accepts nothing more either way
	return p.server.Shutdown(ctx) == nil
}

// listenNative opens the port of the native protocol, if the setting wants it. An
// address that nobody chose and that is taken is no reason not to start.
func (s *Server) listenNative(open func(setting, addr string, refusal []byte) (net.Listener, error)) (err error) {
	if s.cfg.Native == "" {
		return nil
	}
	s.native, err = open("native", s.cfg.Native, nativeRefusal())
	if s.cfg.Native == config.DefaultNative && errors.Is(err, syscall.EADDRINUSE) {
		s.log.Warn("the native protocol is off", "reason", fault.HintOf(err))
		return nil
	}
	return err
}

// nativeRefusal is what a plain connection gets where TLS is demanded.
func nativeRefusal() []byte {
	p := wire.Preface{Lowest: wire.Version, Refusal: "This port speaks TLS only (the setting require-tls)."}
	_, _ = rand.Read(p.Nonce[:]) // never fails: https://pkg.go.dev/crypto/rand#Read
	return p.Append(nil)
}

// wireNative gives the native protocol its door, and returns nil when it is off.
func (s *Server) wireNative(doors *gate.Gate) *native.Server {
	if s.native == nil {
		return nil
	}
	started := time.Now()
	return native.New(native.Config{
		Gate: doors, Auth: s.auth, Program: "larder/" + s.version, Log: s.log,
		Info: func() wire.ServerInfo {
			return wire.ServerInfo{
				Version: s.version, Store: s.store.ID(), Uptime: time.Since(started), ReadOnly: s.store.Stats().ReadOnly != "",
			}
		},
	})
}
