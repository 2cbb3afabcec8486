package e2e_test

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
)

// crowd is 16 writers at work, until the server dies or refuses.
type crowd struct {
	acks atomic.Int64
	done chan struct{}
}

// startCrowd lets the writers go. With brokenDisk they take a refusal with a
// server's error for an end, as they do a broken connection.
func startCrowd(c *s3Client, book *ledger, round int, brokenDisk bool) *crowd {
	g := &crowd{done: make(chan struct{})}
	go func() {
		defer close(g.done)
		atOnce(crashWriters, func(i int) error {
			w := &crashWriter{c: c, book: book, id: i, acks: &g.acks, choose: random(fmt.Sprint("writer ", round, i)), brokeDisk: brokenDisk}
			return w.run()
		})
	}()
	return g
}

// awaitAcks waits until the writers are well under way.
func (g *crowd) awaitAcks(t *testing.T) {
	t.Helper()
	await(t, "first acknowledgements", readyWithin, func() bool { return g.acks.Load() > crashWriters })
}

// wait returns when all writers have ended.
func (g *crowd) wait() { <-g.done }

// crashWriter writes to keys of its own until the server is gone.
type crashWriter struct {
	c         *s3Client
	book      *ledger
	id        int
	acks      *atomic.Int64
	choose    *rand.Rand
	brokeDisk bool // the server may say that its disk failed
}

func (w *crashWriter) run() error {
	sizes := crashSizes()
	for {
		key := fmt.Sprintf("w%02d/%03d", w.id, w.choose.IntN(40))
		was := w.book.stateOf(key)
		// Small ones often, so that many records are under way at the kill.
		next := state{version: was.version + 1, size: sizes[w.choose.IntN(1+w.choose.IntN(len(sizes)))]}
		act := w.put
		switch dice := w.choose.IntN(40); {
		case dice < 6 && was.version > 0:
			act, next = w.delete, state{}
		case dice == 6:
			act, next.size = w.multipart, 5<<20+77
		}
		w.book.intend(key, next)
		if err := act(key, next); err != nil {
			return err // the server is dying; what stands will be looked at
		}
		w.book.ack(key)
		w.acks.Add(1)
	}
}

func (w *crashWriter) send(status int, method, target string, body []byte) (answer, error) {
	a, err := w.c.try(w.c.t.Context(), method, target, body, 0)
	if err == nil && a.status != status {
		if err = fmt.Errorf("status %d", a.status); !w.brokeDisk || a.status < 500 {
			w.c.t.Errorf("%s %s: %v", method, target, a)
		}
	}
	return a, err
}

func (w *crashWriter) put(key string, s state) error {
	_, err := w.send(http.StatusOK, http.MethodPut, "/"+crashBucket+"/"+key, crashBody(key, s))
	return err
}

func (w *crashWriter) delete(key string, _ state) error {
	_, err := w.send(http.StatusNoContent, http.MethodDelete, "/"+crashBucket+"/"+key, nil)
	return err
}

func (w *crashWriter) multipart(key string, s state) error {
	target, body := "/"+crashBucket+"/"+key, crashBody(key, s)
	a, err := w.send(http.StatusOK, http.MethodPost, target+"?uploads=", nil)
	if err != nil {
		return err
	}
	var started struct {
		UploadID string `xml:"UploadId"`
	}
	if err := xml.Unmarshal(a.body, &started); err != nil {
		return err
	}
	var etags []string
	for i, part := range [][]byte{body[:5<<20], body[5<<20:]} {
		a, err := w.send(http.StatusOK, http.MethodPut, fmt.Sprintf("%s?partNumber=%d&uploadId=%s", target, i+1, started.UploadID), part)
		if err != nil {
			return err
		}
		etags = append(etags, a.header.Get("ETag"))
	}
	_, err = w.send(http.StatusOK, http.MethodPost, target+"?uploadId="+started.UploadID, completeXML(etags))
	return err
}
