package s3_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/s3"
)

// Every code of package fault has an answer, and every answer a status and,
// but for 304, a message.
func TestErrorTableIsComplete(t *testing.T) {
	t.Parallel()
	for _, c := range fault.Codes() {
		name, ok := s3.CodeFor(c)
		if !ok {
			t.Errorf("%v (%d) has no S3 code", c, c)
			continue
		}
		status, message := s3.StatusFor(name)
		if status < 300 || status > 599 || message == "" && status != http.StatusNotModified {
			t.Errorf("%v: %s has status %d and message %q", c, name, status, message)
		}
	}
	for _, r := range sigv4.Reasons() {
		name, ok := s3.ReasonCode(r)
		if status, _ := s3.StatusFor(name); !ok || status != 400 && status != 403 {
			t.Errorf("reason %d: %q, status %d", r, name, status)
		}
	}
}

func TestErrorsAreJudged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err    error
		code   string
		status int
	}{
		{errors.New("anything"), "InternalError", 500},
		{fault.New("op", fault.NoSpace, "", nil), "InsufficientStorage", 507},
		{fault.New("op", fault.RateLimited, "", nil), "SlowDown", 503},
		{fault.New("op", fault.Denied, "", fault.New("in", fault.NoSuchKey, "", nil)), "AccessDenied", 403},
		{fault.New("op", fault.Code(999), "", nil), "InternalError", 500},
		{&sigv4.Error{Reason: sigv4.Skewed}, "RequestTimeTooSkewed", 403},
		{fault.New("op", fault.Precondition, "", nil), "PreconditionFailed", 412},
		{fault.New("op", fault.BucketExists, "", nil), "BucketAlreadyOwnedByYou", 409},
	} {
		if got, status := s3.ErrorCode(tc.err), s3.ErrorStatus(tc.err); got != tc.code || status != tc.status {
			t.Errorf("%v: %s %d, want %s %d", tc.err, got, status, tc.code, tc.status)
		}
	}
}

// No route without an action, a handler and a name, and no two routes for the
// same request.
func TestRoutesAreComplete(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, r := range s3.Rows() {
		if !r.HasAction || !r.HasHandler || r.Name == "" {
			t.Errorf("%+v lacks something", r)
		}
		id := strings.Join([]string{r.Method, string(rune('0' + r.Level)), r.Selector, map[bool]string{true: "copy"}[r.Copies]}, " ")
		if seen[id] {
			t.Errorf("two routes for %s", id)
		}
		seen[id] = true
	}
	if len(seen) < 40 {
		t.Errorf("only %d routes", len(seen))
	}
}
