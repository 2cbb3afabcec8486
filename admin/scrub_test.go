package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/scrubber"
	"larder/store"
)

// withTasks is a fixture with a scrubber over a store of its own, and something
// that says it makes backups.
func withTasks(t *testing.T, files admin.Files) (*fixture, chan struct{}) {
	t.Helper()
	f := open(t)
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), CompactRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sc, err := scrubber.New(t.Context(), scrubber.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	f.Service = admin.New(admin.Config{Auth: f.auth, Store: s, Scrubber: sc, Files: files, Stopping: stop})
	return f, stop
}

// slowFiles reports progress and then waits for the end of ctx, or fails.
type slowFiles struct{ err error }

func (s slowFiles) Backup(ctx context.Context, req admin.BackupRequest, say func(admin.BackupProgress)) (admin.BackupReport, error) {
	say(admin.BackupProgress{Stage: "blobs", Files: 1})
	if s.err == nil && req.Dir == "wait" {
		<-ctx.Done()
		return admin.BackupReport{}, fault.New("test", fault.Canceled, "", ctx.Err()).WithHint("Interrupted.")
	}
	return admin.BackupReport{Dir: req.Dir}, s.err
}

func (s slowFiles) Export(context.Context, auth.Caller, admin.ExportRequest, func(admin.ExportProgress)) (admin.ExportReport, error) {
	return admin.ExportReport{}, s.err
}

func (slowFiles) Snapshots(context.Context) ([]admin.Snapshot, error) { return nil, nil }

// lines posts a request and decodes the lines of its answer.
func (f *fixture) lines(t *testing.T, c auth.Caller, path, body string) (status int, out []map[string]any) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.client(t, c, nil).handler.ServeHTTP(w, r)
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		out = append(out, line)
	}
	return w.Code, out
}

func TestVerify(t *testing.T) {
	t.Parallel()
	f, _ := withTasks(t, nil)
	status, lines := f.lines(t, f.auth.Local(), "/api/v1/verify", "")
	last := lines[len(lines)-1]
	report, _ := last["done"].(map[string]any)
	if status != http.StatusOK || report["complete"] != true || report["damaged"] != false {
		t.Errorf("%d %v", status, lines)
	}
	c := f.client(t, f.auth.Local(), nil)
	c.want(204, "", "POST", "/api/v1/scrub/pause", "")
	if st := c.want(200, "", "GET", "/api/v1/scrub", ""); st["state"] != "paused" {
		t.Errorf("%v", st)
	}
	c.want(204, "", "POST", "/api/v1/scrub/resume", "")
	c.want(400, "invalid_argument", "POST", "/api/v1/scrub/stop", "")
	if got := c.want(200, "", "GET", "/api/v1/scrub/findings", ""); len(got["findings"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
}

// TestStream: an error before the first line is an answer like any other, one
// after it is the last line, and a stop of the server ends the work.
func TestStream(t *testing.T) {
	t.Parallel()
	f, stop := withTasks(t, slowFiles{})
	if status, lines := f.lines(t, f.auth.Local(), "/api/v1/backup", `{"dir":"x"}`); status != 200 || len(lines) != 2 || lines[1]["done"] == nil {
		t.Errorf("%d %v", status, lines)
	}
	if status, lines := f.lines(t, f.auth.Local(), "/api/v1/backup", `{"nonsense":1}`); status != 400 || lines[0]["error"] == nil {
		t.Errorf("%d %v", status, lines)
	}
	go close(stop)
	status, lines := f.lines(t, f.auth.Local(), "/api/v1/backup", `{"dir":"wait"}`)
	if e, _ := lines[len(lines)-1]["error"].(map[string]any); status != 200 || e["message"] != "Interrupted." {
		t.Errorf("%d %v", status, lines)
	}
	broken, _ := withTasks(t, slowFiles{err: fault.New("test", fault.NoSpace, "", errors.New("private")).WithHint("The disk is full.")})
	if status, lines := broken.lines(t, broken.auth.Local(), "/api/v1/export", `{"bucket":"b","dir":"x"}`); status != 507 || lines[0]["error"] == nil {
		t.Errorf("%d %v", status, lines)
	}
}

// TestFoldersAreForTheLocalCaller: no administrator names a folder of the
// server's machine from afar.
func TestFoldersAreForTheLocalCaller(t *testing.T) {
	t.Parallel()
	f, _ := withTasks(t, slowFiles{})
	boss := f.user(t, "boss", auth.RoleAdmin)
	for _, path := range []string{"/api/v1/backup", "/api/v1/export"} {
		if status, _ := f.lines(t, boss, path, `{"dir":"x"}`); status != http.StatusForbidden {
			t.Errorf("%s as an administrator: %d", path, status)
		}
	}
}
