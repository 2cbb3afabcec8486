package control_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/control"
	"larder/fault"
)

// serve answers on a socket in dir until the test ends.
func serve(t *testing.T, dir string, h http.HandlerFunc) string {
	t.Helper()
	path := filepath.Join(dir, "larder.sock")
	l, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close(); <-done })
	return path
}

func TestCall(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"short": t.TempDir(),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("x", 100)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := serve(t, dir, func(w http.ResponseWriter, r *http.Request) {
				var in map[string]string
				_ = json.NewDecoder(r.Body).Decode(&in)
				_ = json.NewEncoder(w).Encode(map[string]string{"did": r.Method + " " + r.URL.Path + " " + in["name"]})
			})
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info, err)
			}
			var out struct{ Did string }
			err := control.NewClient(path).Call(context.Background(), http.MethodPost, "/api/v1/x", map[string]string{"name": "n"}, &out)
			if err != nil || out.Did != "POST /api/v1/x n" {
				t.Errorf("%q, %v", out.Did, err)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	path := serve(t, t.TempDir(), func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusConflict)
		if r.URL.Path == "/said" {
			_, _ = w.Write([]byte(`{"error":{"code":"bucket_exists","message":"There is a bucket of that name."}}`))
		}
	})
	c := control.NewClient(path)
	if err := c.Call(context.Background(), http.MethodGet, "/said", nil, nil); err == nil || err.Error() != "There is a bucket of that name." {
		t.Errorf("with a message: %v", err)
	}
	if err := c.Call(context.Background(), http.MethodGet, "/unsaid", nil, nil); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("without one: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := control.NewClient(filepath.Join(dir, "larder.sock"))
	_, err := missing.Health(context.Background())
	if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(fault.HintOf(err), "larder serve") {
		t.Errorf("no socket: %v", err)
	}
	l, err := control.Listen(filepath.Join(dir, "left.sock"))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	left := control.NewClient(filepath.Join(dir, "left.sock"))
	if _, err := left.Health(context.Background()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a socket that was left behind: %v", err)
	}
}
