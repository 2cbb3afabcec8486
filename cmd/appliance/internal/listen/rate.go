package listen

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// MinimumRate hands requests on to next with a body whose reads fail with
// os.ErrDeadlineExceeded once the client has sent less than minRate bytes a
// second for stall in all. There is no limit on the whole transfer, and only
// the time spent waiting for the client counts, not the server's own work.
//
// An answer to a request whose body was not read to its end closes the
// connection: net/http would wait for the rest of the body before it answers,
// and for that wait there is no deadline.
//
// The limit belongs here and not into Conn, since between two requests and
// while a long answer goes out a silent client owes nothing.
func MinimumRate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			w.Header().Set("Connection", "close")
			r.Body = &pacedBody{ReadCloser: r.Body, header: w.Header(), conn: http.NewResponseController(w), patience: stall}
		}
		next.ServeHTTP(w, r)
	})
}

// pacedBody has patience that waiting uses up and bytes earn back.
type pacedBody struct {
	io.ReadCloser
	header   http.Header // of the answer
	conn     *http.ResponseController
	patience time.Duration // at most stall
}

// Read sets the connection's deadline to the end of the patience. After the
// body's end it lifts the deadline: net/http then reads on in the background to
// learn when the client goes away, for as long as the answer takes.
func (b *pacedBody) Read(p []byte) (int, error) {
	began := time.Now()
	_ = b.conn.SetReadDeadline(began.Add(b.patience)) // unsupported by test recorders only
	n, err := b.ReadCloser.Read(p)
	earned := time.Duration(n) * time.Second / minRate
	b.patience = min(stall, max(0, b.patience-time.Since(began))+earned)
	if err == io.EOF {
		b.header.Del("Connection")
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
