package e2e_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
)

// send makes a request that has to be answered with status. Anything else ends
// the writer, and fails the test unless it is what a dying server may do.
func (w *crashWriter) send(status int, method, target string, body []byte, edits ...edit) (answer, error) {
	a, err := w.c.try(w.c.t.Context(), method, target, body, 0, edits...)
	if err == nil && a.status != status {
		if err = fmt.Errorf("status %d", a.status); !w.brokenDisk || a.status < 500 {
			w.c.t.Errorf("%s %s: %v", method, target, a)
		}
	}
	return a, err
}

func (w *crashWriter) put(key string, s state) error {
	_, err := w.send(http.StatusOK, http.MethodPut, "/"+crashBucket+"/"+key, s.body(key), header(metaState, s.meta()))
	return err
}

func (w *crashWriter) delete(key string, _ state) error {
	_, err := w.send(http.StatusNoContent, http.MethodDelete, "/"+crashBucket+"/"+key, nil)
	return err
}

// deleteMany deletes some of the writer's keys with one request.
func (w *crashWriter) deleteMany() error {
	var request bytes.Buffer
	var keys []string
	for range 1 + w.choose.IntN(6) {
		if key := w.key(); !slices.Contains(keys, key) && !w.book.open(key) {
			keys = append(keys, key)
			fmt.Fprintf(&request, "<Object><Key>%s</Key></Object>", key)
			w.book.intend(key, state{})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	body := []byte("<Delete><Quiet>true</Quiet>" + request.String() + "</Delete>")
	a, err := w.send(http.StatusOK, http.MethodPost, "/"+crashBucket+"?delete=", body, contentMD5(body))
	if err != nil {
		return err
	}
	if bytes.Contains(a.body, []byte("<Error>")) {
		if !w.brokenDisk {
			w.c.t.Errorf("deleting %q: %v", keys, a)
		}
		return fmt.Errorf("refused: %.200s", a.body)
	}
	for _, key := range keys {
		if !w.book.ack(key) {
			return errTooLate
		}
		w.acks.Add(1)
	}
	return nil
}

// copy makes a key a copy of another one of the same writer, which nobody
// changes meanwhile.
func (w *crashWriter) copy(key string, version int) error {
	from := w.key()
	source := w.book.stateOf(from)
	if source.version == 0 || from == key || w.book.open(from) || w.book.open(key) {
		return nil
	}
	return w.change(key, source.copied(from, version), func(key string, s state) error {
		_, err := w.send(http.StatusOK, http.MethodPut, "/"+crashBucket+"/"+key, nil,
			header("X-Amz-Copy-Source", "/"+crashBucket+"/"+from),
			header("X-Amz-Metadata-Directive", "REPLACE"), header(metaState, s.meta()))
		return err
	})
}

// multipart uploads in parts of 5 MiB and a last one.
func (w *crashWriter) multipart(key string, s state) error {
	id, etags, err := w.parts(key, s)
	if err != nil {
		return err
	}
	_, err = w.send(http.StatusOK, http.MethodPost, "/"+crashBucket+"/"+key+"?uploadId="+id, completeXML(etags))
	return err
}

// abort begins an upload and gives it up: what stands under the key stays.
func (w *crashWriter) abort(key string) error {
	id, _, err := w.parts(key, state{version: 1, size: w.size()})
	if err != nil {
		return err
	}
	_, err = w.send(http.StatusNoContent, http.MethodDelete, "/"+crashBucket+"/"+key+"?uploadId="+id, nil)
	return err
}

// parts begins an upload and sends its parts.
func (w *crashWriter) parts(key string, s state) (id string, etags []string, err error) {
	target := "/" + crashBucket + "/" + key
	a, err := w.send(http.StatusOK, http.MethodPost, target+"?uploads=", nil, header(metaState, s.meta()))
	if err != nil {
		return "", nil, err
	}
	var started struct {
		UploadID string `xml:"UploadId"`
	}
	if err := xml.Unmarshal(a.body, &started); err != nil {
		return "", nil, err
	}
	body := s.body(key)
	for i := 0; i == 0 || len(body) > 0; i++ {
		part := body[:min(len(body), 5<<20)]
		body = body[len(part):]
		a, err := w.send(http.StatusOK, http.MethodPut, fmt.Sprintf("%s?partNumber=%d&uploadId=%s", target, i+1, started.UploadID), part)
		if err != nil {
			return "", nil, err
		}
		etags = append(etags, a.header.Get("ETag"))
	}
	return started.UploadID, etags, nil
}

// contentMD5 is the header that S3 wants with a batch delete.
func contentMD5(body []byte) edit {
	sum := md5.Sum(body)
	return header("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
}
