package e2e_test

import (
	"net/http"
	"testing"
)

// TestExpectEmpty puts an empty object with "Expect: 100-continue", as boto3
// and the aws cli do. A final answer without the 100 before it must end the
// connection: botocore would read the next answer on it wrongly and wait for
// 60 seconds (AWSConnection in botocore/awsrequest.py keeps the status line).
func TestExpectEmpty(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/expect", nil)
	for _, tc := range []struct {
		name   string
		edits  []edit
		status int
	}{
		{"taken", nil, http.StatusOK},
		{"refused", []edit{header("If-None-Match", "*")}, http.StatusPreconditionFailed},
	} {
		w := dial(t, s.s3)
		edits := append(tc.edits, header("Expect", "100-continue"))
		w.head(c.request(t.Context(), http.MethodPut, "/expect/empty", []byte{}, 0, edits...))
		first := w.answer()
		last := first
		if first.status == http.StatusContinue {
			last = w.answer()
		}
		if last.status != tc.status {
			t.Errorf("%s: %v, want %d", tc.name, last, tc.status)
		}
		if first.status != http.StatusContinue && !last.closes {
			t.Errorf("%s: %d without 100 Continue, and the connection stays open", tc.name, last.status)
		}
	}
}
