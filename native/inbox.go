package native

import (
	"io"
	"sync"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// errUnwanted is the state of a body that nobody reads any more.
var errUnwanted = fault.New("native", fault.Canceled, "", nil)

const firstInbox = 4 << 10 // bytes

// inbox is the body of a request on its way in: the connection's reader puts
// DATA into it, and the request takes it out. It holds the stream's credit at
// most, and gives its memory back with the body's end.
type inbox struct {
	pace pace
	give func(stream, connection int64) // tells the client of credit

	mu       sync.Mutex
	readable sync.Cond
	ring     []byte
	start, n int   // of what is in the ring
	credit   int64 // what the client may still send
	taken    int64 // since credit was given last
	came     int64 // bytes of the body so far
	trailer  wire.Trailer
	ended    bool  // trailer is there
	err      error // why there will be no more
	waited   *time.Timer
	waiting  bool
	patience time.Duration // what is left of the time that the client may take
}

func newInbox(p pace, give func(stream, connection int64)) *inbox {
	in := &inbox{pace: p, give: give, credit: wire.StreamCredit, patience: p.allow(0)}
	in.readable.L = &in.mu
	return in
}

// fill takes n bytes of DATA from read, which must give all of them or fail. It
// answers false when the client had no credit for them. What comes for a body
// that nobody wants any more is passed over with discard.
func (in *inbox) fill(n int, read func([]byte) error, discard func(int) error) (allowed bool, err error) {
	in.mu.Lock()
	if int64(n) > in.credit {
		in.mu.Unlock()
		return false, nil
	}
	in.credit -= int64(n)
	if in.err != nil || in.ended {
		in.mu.Unlock()
		in.give(0, int64(n))
		return true, discard(n)
	}
	in.room(n)
	first, second := in.space(n)
	in.mu.Unlock()
	// The free part of the ring is the reader's alone: Read touches what is
	// counted in n only, and room is called by this goroutine only.
	if err := read(first); err != nil {
		return true, err
	}
	if len(second) > 0 {
		if err := read(second); err != nil {
			return true, err
		}
	}
	if !in.arrived(n) {
		in.give(0, int64(n))
	}
	return true, nil
}

// arrived counts bytes that stand in the ring now. It is false when nobody
// wants them any more.
func (in *inbox) arrived(n int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err != nil {
		return false
	}
	in.n += n
	in.came += int64(n)
	in.readable.Signal()
	return true
}

// room makes the ring large enough for n more bytes.
func (in *inbox) room(n int) {
	need := in.n + n
	if need <= len(in.ring) {
		return
	}
	size := max(len(in.ring), firstInbox)
	for size < need {
		size *= 2
	}
	next := make([]byte, size)
	in.copyOut(next[:in.n])
	in.ring, in.start = next, 0
}

// copyOut copies the first bytes of the ring.
func (in *inbox) copyOut(p []byte) {
	c := copy(p, in.ring[in.start:min(in.start+len(p), len(in.ring))])
	copy(p[c:], in.ring)
}

// space is the free part for n bytes, in one piece or two.
func (in *inbox) space(n int) (first, second []byte) {
	at := (in.start + in.n) % len(in.ring)
	first = in.ring[at:min(at+n, len(in.ring))]
	return first, in.ring[:n-len(first)]
}

// end notes the body's END.
func (in *inbox) end(t wire.Trailer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || in.err != nil {
		return
	}
	in.trailer, in.ended = t, true
	switch {
	case t.Code != fault.OK:
		in.err = fault.New("native", fault.IncompleteBody, "", nil).WithHint("The client could not send the body to its end.")
	case t.Length != in.came:
		in.err = fault.New("native", fault.IncompleteBody, "", nil).WithHint("The body has another length than its end says.")
	}
	in.readable.Signal()
}

// fail lets Read fail with err once what has come is read.
func (in *inbox) fail(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil && !in.ended {
		in.err = err
	}
	in.readable.Signal()
}

// Read gives the body. io.EOF comes only behind an END that fits; every other
// end is an error that says why.
func (in *inbox) Read(p []byte) (int, error) {
	in.mu.Lock()
	for in.n == 0 && !in.ended && in.err == nil {
		in.await()
	}
	if in.err != nil {
		defer in.mu.Unlock()
		return 0, in.err
	}
	if in.n == 0 {
		defer in.mu.Unlock()
		in.ring = nil
		return 0, io.EOF
	}
	n := min(len(p), in.n)
	in.copyOut(p[:n])
	in.start = (in.start + n) % len(in.ring)
	in.n -= n
	in.taken += int64(n)
	credit := int64(0)
	if in.taken >= wire.StreamCredit/4 && !in.ended {
		credit, in.taken = in.taken, 0
		in.credit += credit
	}
	in.patience = min(in.patience+in.pace.piece*time.Duration(n)/pieceBytes, 2*in.pace.piece)
	in.mu.Unlock()
	in.give(credit, int64(n))
	return n, nil
}

// await waits for the reader, and fails the body when the client takes too long.
func (in *inbox) await() {
	if in.waited == nil {
		in.waited = time.AfterFunc(in.patience, in.tooSlow)
	} else {
		in.waited.Reset(in.patience)
	}
	began := time.Now()
	in.waiting = true
	in.readable.Wait()
	in.waiting = false
	in.waited.Stop()
	in.patience = max(in.patience-time.Since(began), 0)
}

// tooSlow ends the body when nothing came within the time.
func (in *inbox) tooSlow() {
	in.mu.Lock()
	waiting := in.waiting && in.n == 0
	in.mu.Unlock()
	if !waiting {
		return
	}
	in.fail(fault.New("native", fault.IncompleteBody, "", nil).WithHint("The client sends its body too slowly."))
}

// close passes over what is still to come.
func (in *inbox) close() {
	in.mu.Lock()
	if in.err == nil {
		in.err = errUnwanted
	}
	left := int64(in.n)
	in.n, in.ring = 0, nil
	in.mu.Unlock()
	if left > 0 {
		in.give(0, left)
	}
}

// verdict compares the END with a body that was read to its end.
func (in *inbox) verdict(crc32c []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.ended || in.err != nil {
		return fault.New("native", fault.IncompleteBody, "", in.err)
	}
	if in.trailer.HasCRC && string(crc32c) != string(bigEndian(in.trailer.CRC)) {
		return fault.New("native", fault.BadDigest, "", nil).
			WithHint("The body arrived changed: its CRC32C is not the one that its end names.")
	}
	return nil
}
