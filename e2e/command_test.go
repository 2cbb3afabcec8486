package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCommands speaks to the running server over its unix socket, and looks
// that S3 follows from the next request on.
func TestCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	run := func(args ...string) string {
		t.Helper()
		out, err := s.run(args...)
		if err != nil {
			t.Fatalf("larder %q: %v\n%s", args, err, out)
		}
		return out
	}
	run("healthcheck")
	run("bucket", "create", "shelf")
	s.client().must(http.StatusOK, http.MethodHead, "/shelf", nil)
	if out := run("key", "list"); !strings.Contains(out, s.key) {
		t.Errorf("key list lacks the first key:\n%s", out)
	}
	var made struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(run("key", "create", "reader", "--bucket", "shelf", "--rights", "read", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	reader := newS3Client(t, "http://"+s.s3, made.ID, made.Secret)
	reader.must(http.StatusOK, http.MethodGet, "/shelf?list-type=2", nil)
	if a := reader.do(http.MethodPut, "/shelf/x", []byte("x")); a.code != "AccessDenied" {
		t.Errorf("a put with a key that may only read: %v", a)
	}
	run("key", "disable", made.ID)
	if a := reader.do(http.MethodGet, "/shelf?list-type=2", nil); a.status != http.StatusForbidden {
		t.Errorf("a disabled key: %v", a)
	}
	run("bucket", "delete", "shelf")
	s.client().must(http.StatusNotFound, http.MethodHead, "/shelf", nil)
	if out, err := s.run("bucket", "delete", "shelf"); err == nil || strings.Contains(out, "panic") {
		t.Errorf("deleting a bucket that is gone: %v\n%s", err, out)
	}
}

// TestCleanStop lets a running upload finish after SIGTERM.
func TestCleanStop(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/stop", nil)
	hold := newGate(payload("stop", 0, 1<<20), 512<<10)
	done := make(chan answer, 1)
	go func() {
		// The body is asked for by the server's handler, so that the upload is under way when half of it was read.
		a, err := c.try(t.Context(), http.MethodPut, "/stop/object", hold, 1<<20, withContinue)
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	<-hold.half
	go func() {
		await(t, "the server to begin its stop", stopWithin, func() bool { return strings.Contains(s.log.String(), "stopping") })
		close(hold.rest)
	}()
	s.stop()
	if a := <-done; a.status != http.StatusOK {
		t.Errorf("the upload that ran during the stop: %v", a)
	}
	s.restart()
	a := c.must(http.StatusOK, http.MethodGet, "/stop/object", nil)
	if string(a.body) != string(payloadBytes("stop", 0, 1<<20)) {
		t.Error("the object has other bytes")
	}
}

// TestBearer uses a key without signatures, on S3 and on the admin API, and
// floods both with wrong secrets: a good client of another kind goes on.
func TestBearer(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/bearer", nil)
	ask := func(url, secret string) answer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.key+":"+secret)
		a, err := c.send(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	bucket, summary := "http://"+s.s3+"/bearer", "http://"+s.console+"/api/v1/summary"
	if a := ask(bucket, s.secret); a.status != http.StatusOK {
		t.Errorf("S3 with a bearer secret: %v", a)
	}
	var sum struct{ Buckets int }
	if a := ask(summary, s.secret); a.status != http.StatusOK || json.Unmarshal(a.body, &sum) != nil || sum.Buckets != 1 {
		t.Errorf("the summary with a bearer secret: %v", a)
	}
	count := map[int]int{}
	began := time.Now()
	for i := range 300 {
		count[ask([]string{bucket, summary}[i%2], fmt.Sprint("wrong", i)).status]++
	}
	t.Logf("300 wrong secrets: %v in %.1f s", count, time.Since(began).Seconds())
	if count[http.StatusOK] > 0 || count[http.StatusUnauthorized]+count[http.StatusForbidden] > 50 {
		t.Error("wrong secrets were accepted, or too many of them were checked")
	}
	if a := ask(bucket, s.secret); a.status != http.StatusOK {
		t.Errorf("the right secret afterwards, from the same address: %v", a)
	}
	if a := c.do(http.MethodGet, "/bearer", nil); a.status != http.StatusOK {
		t.Errorf("a signed request afterwards, from the same address: %v", a)
	}
}
