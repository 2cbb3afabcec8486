package server_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/privatefile"
	"larder/cmd/appliance/internal/server"
	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

func TestS3URL(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, tc := range []struct {
		setting, host string
		tls           bool
		want          string
	}{
		{host: "nas:9001", want: "http://nas:" + port},
		{host: "nas", want: "http://nas:" + port},
		{host: "nas.lan:9001", tls: true, want: "https://nas.lan:" + port},
		{host: "[fd00::1]:9001", want: "http://[fd00::1]:" + port},
		{host: "[fd00::1]", want: "http://[fd00::1]:" + port},
		{host: "192.168.1.5:9001", setting: "https://s3.example.org/", want: "https://s3.example.org"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = tc.host
		if r.TLS = nil; tc.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := server.S3URL(server.ForURL(tc.setting, l), r); got != tc.want {
			t.Errorf("%s, TLS %v, setting %q: %q, want %q", tc.host, tc.tls, tc.setting, got, tc.want)
		}
	}
}

func TestBanner(t *testing.T) {
	t.Parallel()
	urls := []string{"http://localhost:9001", "http://nas:9001"}
	text := server.Banner("v1", "./data", urls, []string{"http://localhost:9000"}, []string{"localhost:9002"}, "AB:CD", "CODE-1")
	for _, part := range []string{"Larder v1", "Console   http://localhost:9001", "http://nas:9001", "S3 API    http://localhost:9000", "Native    localhost:9002", "AB:CD", "Set-up code: CODE-1"} {
		if !strings.Contains(text, part) {
			t.Errorf("the banner lacks %q:\n%s", part, text)
		}
	}
	if text := server.Banner("v1", "./data", urls, urls, nil, "AB:CD", ""); strings.Contains(text, "code") {
		t.Errorf("the banner speaks of a code when there is none:\n%s", text)
	}
}

func TestPrepareFolder(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := server.PrepareFolder(dir, log); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("looking changed the mode to %v, %v", info.Mode(), err)
	}
	if err := server.CloseToOthers(dir, log); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	missing := filepath.Join(dir, "missing")
	if err := server.PrepareFolder(missing, log); fault.CodeOf(err) != fault.ForeignStore || !strings.Contains(fault.HintOf(err), missing) {
		t.Errorf("a missing folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.PrepareFolder(file, log); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a file: %v", err)
	}
}

func TestSecretKey(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	first, err := server.SecretKey(files)
	if err != nil || len(first) != 32 {
		t.Fatalf("first start: %d bytes, %v", len(first), err)
	}
	if again, err := server.SecretKey(files); err != nil || !bytes.Equal(again, first) {
		t.Errorf("second start: another key, %v", err)
	}

	damaged := vfs.NewMem()
	if err := privatefile.Create(damaged, "secret.key", []byte("short")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.SecretKey(damaged); fault.CodeOf(err) != fault.Corrupt {
		t.Errorf("a damaged key: %v", err)
	}

	lost := vfs.NewMem()
	if err := privatefile.Create(lost, "system.db", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.SecretKey(lost); fault.CodeOf(err) != fault.ForeignStore {
		t.Errorf("a lost key: %v", err)
	}
}

// TestNetErrors: clients cannot fill the log with warnings.
func TestNetErrors(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.NewLogLogger(server.NewNetErrors(slog.NewTextHandler(&out, nil)), slog.LevelWarn)
	log.Print("http: TLS handshake error from 127.0.0.1:1: EOF")
	log.Print("http: panic serving 127.0.0.1:1: oh\n")
	if text := out.String(); strings.Contains(text, "handshake") || !strings.Contains(text, "level=ERROR") {
		t.Errorf("log: %s", text)
	}
}

func TestReasonsAgainst(t *testing.T) {
	t.Parallel()
	if got := server.ReasonsAgainst(store.Stats{}); len(got) != 0 {
		t.Errorf("a working store: %v", got)
	}
	if got := server.ReasonsAgainst(store.Stats{ReadOnly: "the disk"}); len(got) != 1 || got[0] != "the disk" {
		t.Errorf("a read-only store: %v", got)
	}
}
