package s3_test

import (
	"bytes"
	"strings"
	"testing"

	"larder/s3"
)

// What a client can cause at will is no error of the server's: it must not
// fill the log, nor hide what is one.
func TestClientsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := startStack(t, options{config: func(c *s3.Config) { c.Log = newLog(&log) }})
	s.bucket("pics")
	etag := s.put("/pics/k", "hello").header.Get("ETag")
	for _, q := range []request{
		{method: "GET", target: "/pics/k", header: map[string]string{"If-None-Match": etag}},
		{method: "HEAD", target: "/pics/k", header: map[string]string{"If-None-Match": etag}},
		{method: "GET", target: "/pics/k", header: map[string]string{"If-Match": `"x"`}},
		{method: "GET", target: "/pics/k", header: map[string]string{"Range": "bytes=9-"}},
		{method: "GET", target: "/pics/none"},
		{method: "GET", target: "/pics/k", anonymous: true},
		{method: "GET", target: "/pics?made-up"},
	} {
		if a := s.send(q); a.status < 300 {
			t.Errorf("%s %s: %d", q.method, q.target, a.status)
		}
	}
	s.http.Close() // every request has written its line
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, `"level":"DEBUG"`) {
			t.Error(line)
		}
	}
}
