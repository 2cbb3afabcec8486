package server_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/cmd/appliance/internal/server"
)

// TestEarlyAnswers: while the index is made again, probes and the command line
// learn how far that has come.
func TestEarlyAnswers(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: t.TempDir(), S3: "127.0.0.1:0", Console: "127.0.0.1:0"}
	progress, end := server.Early(cfg)
	client := control.NewClient(cfg.Socket())
	if running, err := client.Running(context.Background()); running || err != nil {
		t.Errorf("before: %v %v", running, err)
	}
	progress(30, 120)
	health, err := client.Health(context.Background())
	if err != nil || health.Ready || !strings.Contains(strings.Join(health.Reasons, ""), "rebuilding the index, 25 %") {
		t.Errorf("%+v %v", health, err)
	}
	err = client.Call(context.Background(), http.MethodGet, "/api/v1/summary", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "rebuilding the index") {
		t.Errorf("the command line: %v", err)
	}
	progress(60, 0)
	if health, err = client.Health(context.Background()); err != nil || !strings.Contains(health.Reasons[0], "catches up") {
		t.Errorf("%+v %v", health, err)
	}
	end()
	if running, err := client.Running(context.Background()); running || err != nil {
		t.Errorf("afterwards: %v %v", running, err)
	}
	if err := os.Remove(filepath.Join(cfg.Data, "larder.sock")); err != nil {
		t.Error(err)
	}
}
