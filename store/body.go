package store

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"larder/fault"
	"larder/store/blob"
	"larder/store/journal"
)

// blockSize is how much of a large body is read, digested and written at once.
// Two blocks are in use: one is filled while the other is worked on.
const blockSize = 512 << 10

// blocks lends the buffers of bodies on their way in.
var blocks = sync.Pool{New: func() any { b := make([]byte, blockSize); return &b }}

// received is a body that has been read to its end, and its digests.
type received struct {
	inline  []byte        // a small body; nil when it went into a blob
	pending *blob.Pending // a large body, written but not sealed
	digests Digests
	keep    Checksum
}

// receive reads body to its end: up to the inline limit into memory, more into
// a blob. It fails with fault.IncompleteBody when size is known and another
// one came, and leaves nothing behind then.
func (s *Store) receive(body io.Reader, size int64, want wanted) (*received, error) {
	if size > MaxPutBytes {
		return nil, tooLarge()
	}
	if err := s.roomForBody(size); err != nil {
		return nil, err
	}
	d := newDigester(want)
	head, more, err := s.readHead(body, size)
	if err != nil {
		return nil, err
	}
	r := &received{}
	if more {
		r.pending, err = s.receiveBlob(head, body, size, d)
	} else {
		r.inline = head
		err = d.write(head, nil)
	}
	if err == nil && size >= 0 && d.size != size {
		err = otherSize()
	}
	if err != nil {
		r.drop()
		return nil, err
	}
	r.digests, r.keep = d.digests(), d.keep()
	return r, nil
}

func tooLarge() error {
	return fault.New("store.Put", fault.EntityTooLarge, "", nil).
		WithHint("A single upload has at most 5 GiB. Use a multipart upload.")
}

func otherSize() error {
	return fault.New("store.Put", fault.IncompleteBody, "", nil).
		WithHint("The body's length is not the one that was announced.")
}

// readHead reads up to one byte more than may stand inline. more tells that
// the body goes on, or may go on, behind head.
func (s *Store) readHead(body io.Reader, size int64) (head []byte, more bool, err error) {
	limit := s.cfg.InlineLimit
	capacity := int64(limit) + 1
	if size >= 0 && size < capacity {
		capacity = size + 1 // one more, to see that the body ends
	}
	head = make([]byte, capacity)
	n, err := fill(body, head)
	switch {
	case err == io.EOF:
		return head[:n:n], false, nil
	case err != nil:
		return nil, false, readFault(err)
	}
	if int64(n) > int64(limit) {
		return head, true, nil
	}
	return head, false, nil // longer than announced: the caller compares
}

// readFault keeps a front end's own verdict on a body, and takes any other
// error for a client that went away.
func readFault(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.New("store.Put", fault.IncompleteBody, "", err).WithHint("The body ended too early.")
}

// receiveBlob writes head and the rest of body into a blob, digesting beside.
// On an error the blob is gone again.
func (s *Store) receiveBlob(head []byte, body io.Reader, size int64, d *digester) (*blob.Pending, error) {
	p, err := s.blobs.Create()
	if err != nil {
		return nil, s.writeFault(err)
	}
	if err := s.pour(p, head, body, size, d); err != nil {
		p.Abort()
		return nil, err
	}
	return p, nil
}

// block is a piece of a body on its way from the client to the disk.
type block struct {
	buf *[]byte
	n   int
	err error // why there is no more; io.EOF at the body's end
}

// pour copies a body into a blob. A goroutine reads ahead by one block, so
// that the network, the digests and the disk work at the same time. Nobody
// reads from body once pour has returned, so a failed disk is answered when a
// read that runs has ended: whoever hands bodies in bounds their reads in time.
func (s *Store) pour(p *blob.Pending, head []byte, body io.Reader, size int64, d *digester) error {
	if err := d.write(head, func() error { return writeAll(p, head) }); err != nil {
		return s.writeFault(err)
	}
	filled := make(chan block)
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() { readBlocks(body, filled, stop) })
	defer reader.Wait()
	defer close(stop)
	for b := range filled {
		data := (*b.buf)[:b.n]
		err := d.write(data, func() error { return writeAll(p, data) })
		blocks.Put(b.buf)
		if err != nil {
			return s.writeFault(err)
		}
		if b.err != nil && b.err != io.EOF {
			return readFault(b.err)
		}
		if d.size > MaxPutBytes {
			return tooLarge()
		}
		if size >= 0 && d.size > size {
			return otherSize()
		}
	}
	return nil
}

// readBlocks sends the body block by block until its end, an error, or stop.
func readBlocks(body io.Reader, filled chan<- block, stop <-chan struct{}) {
	defer close(filled)
	for {
		b := block{buf: blocks.Get().(*[]byte)}
		b.n, b.err = fillSafely(body, *b.buf)
		select {
		case filled <- b:
		case <-stop:
			return
		}
		if b.err != nil {
			return
		}
	}
}

// fillSafely is fill for a goroutine of our own, in which a reader's panic would
// end the process and not just its request.
func fillSafely(body io.Reader, p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fault.New("store.Put", fault.Internal, "", fmt.Errorf("the body's reader panics: %v", v))
		}
	}()
	return fill(body, p)
}

// emptyReads is how often in a row a reader may give nothing.
const emptyReads = 100

// fill reads until p is full or the body ends. Only a bare io.EOF is a body's
// end: io.ReadFull would answer io.ErrUnexpectedEOF both for that and for a
// connection that broke.
func fill(body io.Reader, p []byte) (n int, err error) {
	for empty := 0; n < len(p) && err == nil; {
		var c int
		c, err = body.Read(p[n:])
		n += c
		if empty++; c > 0 {
			empty = 0
		}
		if empty == emptyReads && err == nil {
			err = io.ErrNoProgress
		}
	}
	if n == len(p) && err == io.EOF {
		err = nil // the next read says so again
	}
	return n, err
}

func writeAll(w io.Writer, p []byte) error {
	_, err := w.Write(p)
	return err
}

// writeFault passes on what is no failure of the disk, or one that passes, and
// makes the store read-only for any other.
func (s *Store) writeFault(err error) error {
	switch fault.CodeOf(err) {
	case fault.NoSpace, fault.Unavailable, fault.MetadataTooLarge, fault.EntityTooLarge:
		return err
	}
	s.fail(err)
	return s.writable()
}

// drop forgets a body that will not be stored.
func (r *received) drop() {
	if r != nil && r.pending != nil {
		r.pending.Abort()
		r.pending = nil
	}
}

// attach makes the body part of a record: the bytes themselves, or a sealed
// blob whose data is durable on return.
func (s *Store) attach(rec *journal.Record, r *received) error {
	rec.Size = r.digests.Size
	rec.MD5, rec.SHA256 = r.digests.MD5, r.digests.SHA256
	rec.Checksum = r.keep.record()
	if r.pending == nil {
		rec.Body = r.inline
		return nil
	}
	sealed, err := r.pending.Seal(rec.AppendMeta(nil))
	if err != nil {
		r.drop()
		return s.writeFault(err)
	}
	r.pending = nil
	rec.Blob, rec.SumsCRC = sealed.ID, sealed.SumsCRC
	return nil
}

// commitBody submits a change whose record names a sealed blob, and removes
// the blob when the record did not get into the journal: nobody ever saw it.
func (s *Store) commitBody(ch *change, blobID string) error {
	err := s.committer.submit(ch)
	if err != nil && blobID != "" && !ch.appended {
		s.reclaimer.remove(file{blob: blobID})
		s.blobs.Done(blobID)
	}
	return err
}
