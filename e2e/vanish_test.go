package e2e_test

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"testing"
)

// TestShortAndLongBodies breaks HTTP itself, which the usual clients cannot.
func TestShortAndLongBodies(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/bad", nil)
	old := payloadBytes("old", 0, 200_000)
	c.must(http.StatusOK, http.MethodPut, "/bad/old", old)
	files := len(blobFiles(t, s.dir))
	body := badBody()

	for name, sent := range map[string][]byte{"short": body[:100_000], "empty": nil} {
		w := dial(t, s.s3)
		w.head(c.request(t.Context(), http.MethodPut, "/bad/old", bytes.NewReader(body), int64(len(body))))
		w.write(sent)
		w.endSending()
		if a := w.answer(); a.status != http.StatusBadRequest || a.code != "IncompleteBody" {
			t.Errorf("%s body: %v, want 400 IncompleteBody", name, a)
		}
		unharmed(t, c, old)
	}

	// Content-Length is smaller than the body whose hash was signed: the rest
	// must not become part of the object, nor a second request.
	w := dial(t, s.s3)
	r := c.request(t.Context(), http.MethodPut, "/bad/old", body, 0)
	r.ContentLength = int64(len(body)) - 1000
	r.Header.Del("Authorization")
	c.sign(r, timeOf(t, r))
	w.head(r)
	w.write(body)
	if a := w.answer(); a.status != http.StatusBadRequest || a.code != "XAmzContentSHA256Mismatch" {
		t.Errorf("a body longer than declared: %v, want 400 XAmzContentSHA256Mismatch", a)
	}
	unharmed(t, c, old)
	await(t, "files of refused bodies to go", wireWithin, func() bool { return len(blobFiles(t, s.dir)) == files })
}

// TestVanishedClient resets connections in the middle of uploads. Nothing may
// stay behind: no object, no part, no file.
func TestVanishedClient(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/bad", nil)
	old := payloadBytes("old", 0, 200_000)
	c.must(http.StatusOK, http.MethodPut, "/bad/old", old)
	var started struct {
		UploadID string `xml:"UploadId"`
	}
	if err := xml.Unmarshal(c.must(http.StatusOK, http.MethodPost, "/bad/parts?uploads=", nil).body, &started); err != nil {
		t.Fatal(err)
	}
	files := len(blobFiles(t, s.dir))
	const size = 40 << 20
	for _, target := range []string{"/bad/old", "/bad/new", "/bad/parts?partNumber=1&uploadId=" + started.UploadID} {
		w := dial(t, s.s3)
		w.head(c.request(t.Context(), http.MethodPut, target, bytes.NewReader(nil), size))
		w.write(payloadBytes("half", 0, size/2))
		await(t, "the upload to be in the middle", wireWithin, func() bool { return len(blobFiles(t, s.dir)) > files })
		w.vanish()
		await(t, "the file of the vanished client's body to go", wireWithin, func() bool { return len(blobFiles(t, s.dir)) == files })
		unharmed(t, c, old)
	}
	var parts struct{ Part []struct{ PartNumber int } }
	if err := xml.Unmarshal(c.must(http.StatusOK, http.MethodGet, "/bad/parts?uploadId="+started.UploadID, nil).body, &parts); err != nil || len(parts.Part) != 0 {
		t.Errorf("parts after the client vanished: %v, %v", parts, err)
	}
}
