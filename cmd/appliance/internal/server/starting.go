package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"larder/cmd/appliance/internal/control"
	"larder/s3"
	"larder/store/vfs"
)

// early answers on the ports while the store is being opened, once that takes
// longer than a moment: a supervisor and a person then learn what goes on
// instead of being refused. It begins with the first progress of a replay, when
// the folder's lock is held.
type early struct {
	server *Server
	begun  sync.Once
	done   atomic.Int64
	total  atomic.Int64
	ports  []*http.Server
	served sync.WaitGroup
}

// progress is store.Config.Progress.
func (e *early) progress(done, total int64) {
	e.done.Store(done)
	e.total.Store(total)
	e.begun.Do(e.begin)
}

// begin listens where it can; whoever holds a port is named when the server
// itself listens. Plain HTTP only, since the certificate is not read yet.
func (e *early) begin() {
	cfg := e.server.cfg
	if l, err := e.socket(); err == nil {
		e.serve(l)
	}
	if cfg.RequireTLS {
		return
	}
	for _, addr := range []string{cfg.S3, cfg.Console} {
		var lc net.ListenConfig
		if l, err := lc.Listen(context.Background(), "tcp", addr); err == nil {
			e.serve(l)
		}
	}
}

func (e *early) socket() (net.Listener, error) {
	files, err := vfs.OS(e.server.cfg.Data)
	if err != nil {
		return nil, err
	}
	if err := files.Remove(socketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return control.Listen(e.server.cfg.Socket())
}

func (e *early) serve(l net.Listener) {
	srv := &http.Server{Handler: e, ReadHeaderTimeout: s3.ReadHeaderTimeout, MaxHeaderBytes: s3.MaxHeaderBytes}
	e.ports = append(e.ports, srv)
	e.served.Go(func() { _ = srv.Serve(l) }) // ends with end
}

// ServeHTTP answers 503, and says when to come back.
func (e *early) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if r.URL.Path == "/healthz" {
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Retry-After", "5")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"ready": false, "reasons": []string{e.reason()}, "warnings": []string{},
		"error": map[string]string{"code": "unavailable", "message": e.reason()}, // for the admin API's clients
	})
}

func (e *early) reason() string {
	done, total := e.done.Load(), e.total.Load()
	if total <= 0 {
		return "Larder is starting: the index catches up with the journal."
	}
	return fmt.Sprintf("Larder is starting: rebuilding the index, %d %%.", min(99, done*100/total))
}

// end frees the ports for the server itself.
func (e *early) end() {
	e.begun.Do(func() {})
	for _, p := range e.ports {
		_ = p.Close() // nothing of value is on these connections
	}
	e.served.Wait()
}
