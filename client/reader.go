package client

import (
	"context"
	"hash/crc32"
	"io"

	"larder/fault"
	"larder/native/wire"
)

// GetOptions says more about a Get. The zero value is fine, and so is nil.
type GetOptions struct {
	Range Range // From, Span or Suffix; the zero value is all of the object
	ReadOptions
}

// Get reads the object under a key, or a range of it. The reader has to be
// closed; the context ends what it reads, not only the call.
func (c *Client) Get(ctx context.Context, bucket, key string, opt *GetOptions) (*Reader, error) {
	req := wire.Request{Op: wire.OpGet, Bucket: bucket, Key: key}
	if opt != nil {
		req.Range = opt.Range
		opt.put(&req)
	}
	s, message, err := c.ask(ctx, &req)
	if err != nil {
		return nil, err
	}
	r := &Reader{ctx: ctx, stream: s, bucket: bucket, key: key}
	r.info, r.offset, err = wire.ParseObject(message)
	offset, length := extent(req.Range, r.info.Size)
	if err == nil && (s.isLast() || offset != r.offset) {
		err = violation("Behind the answer is not the body that was asked for.")
	}
	if err != nil {
		s.finish()
		return nil, unreadable(&req, err)
	}
	r.length = length
	return r, nil
}

// extent tells where a range of an object begins, and how long it is.
func extent(part Range, size int64) (offset, length int64) {
	switch part.Form {
	case wire.From:
		return part.Offset, max(0, size-part.Offset)
	case wire.Span:
		return part.Offset, min(part.Length, max(0, size-part.Offset))
	case wire.Suffix:
		length = min(part.Length, size)
		return size - length, length
	}
	return 0, size
}

// Reader reads a body. Its last bytes come only when the length and the CRC32C
// of all agree with what the server said behind them: whoever has read to the
// end, or as many bytes as Len says, has the right ones. A server that does not
// know the CRC32C says the length alone. A Reader is for one goroutine at a
// time.
type Reader struct {
	ctx         context.Context
	stream      *stream // nil when nothing more is needed from it
	bucket, key string
	info        Object
	offset      int64 // of the first byte in the object
	length      int64 // of the body

	at   *chunk // being read
	rest []byte // of it
	came int64  // bytes that were taken out
	crc  uint32 // of them
	err  error  // of all further reads

	closed bool
}

// Info describes the object.
func (r *Reader) Info() Object { return r.info }

// Offset is where in the object the body begins.
func (r *Reader) Offset() int64 { return r.offset }

// Len is how many bytes of the body are left.
func (r *Reader) Len() int { return int(r.length-r.came) + len(r.rest) }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.more(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: it copies nothing on the way.
func (r *Reader) WriteTo(w io.Writer) (n int64, err error) {
	for {
		switch err := r.more(); err {
		case nil:
		case io.EOF:
			return n, nil
		default:
			return n, err
		}
		some, err := w.Write(r.rest)
		n += int64(some)
		r.rest = r.rest[some:]
		if err != nil {
			return n, err
		}
	}
}

// Close gives the body up. What has not come of it is not sent any more.
func (r *Reader) Close() error {
	r.closed = true
	r.end()
	return nil
}

// end gives up what the reader holds.
func (r *Reader) end() {
	if r.at != nil {
		r.at.free()
	}
	r.at, r.rest = nil, nil
	r.release()
}

func (r *Reader) release() {
	if r.stream != nil {
		r.stream.finish()
		r.stream = nil
	}
}

// more sees to it that there are bytes to be read.
func (r *Reader) more() error {
	if len(r.rest) > 0 {
		return nil
	}
	switch {
	case r.err != nil:
	case r.closed:
		r.err = r.fault(fault.Canceled, "The reader is closed.", nil)
	default:
		r.err = r.advance()
	}
	if r.err != nil {
		r.end()
	}
	return r.err
}

// advance takes the next chunk. The last one is held back until the body has
// proved to be whole.
func (r *Reader) advance() error {
	used := 0
	if r.at != nil {
		used = len(r.at.data)
		r.at.free()
		r.at = nil
	}
	if r.stream == nil {
		return io.EOF
	}
	k, err := r.next(used)
	if err != nil {
		return err
	}
	if k != nil {
		r.at = k
		r.came += int64(len(k.data))
		r.crc = crc32.Update(r.crc, castagnoli, k.data)
		if r.came < r.length {
			r.rest = k.data
			return nil
		}
	}
	if err := r.verify(); err != nil {
		return err
	}
	r.release()
	if r.at == nil {
		return io.EOF
	}
	r.rest = r.at.data
	return nil
}

// next waits for the next chunk, nil at the body's end. used bytes were read of
// the one before it.
func (r *Reader) next(used int) (*chunk, error) {
	for {
		k, ended := r.stream.take(int64(used), r.length-r.came)
		used = 0
		if k != nil || ended {
			return k, nil
		}
		if err := r.lost(); err != nil {
			return nil, err
		}
		if err := r.stream.wait(r.ctx); err != nil {
			return nil, canceled("client.Get", r.bucket+"/"+r.key, err)
		}
	}
}

// lost is why there will be no more of the body, nil while there may be.
func (r *Reader) lost() error {
	s := r.stream
	s.conn.mu.Lock()
	stopped, code, broke := s.stopped, s.code, s.broken
	s.conn.mu.Unlock()
	switch {
	case stopped:
		return r.fault(refusal(code), "The server broke the body off.", nil)
	case broke:
		return r.fault(fault.Unavailable, "The connection broke before the body was complete.", s.conn.failure())
	}
	return nil
}

func (r *Reader) fault(code fault.Code, hint string, cause error) error {
	return fault.New("client.Get", code, r.bucket+"/"+r.key, cause).WithHint(hint)
}

// verify waits for the END and compares it with what came.
func (r *Reader) verify() error {
	for {
		k, ended := r.stream.take(0, 0)
		if k != nil {
			k.free()
			return r.fault(fault.IncompleteBody, "The body is longer than the object.", nil)
		}
		if ended {
			break
		}
		if err := r.lost(); err != nil {
			return err
		}
		if err := r.stream.wait(r.ctx); err != nil {
			return canceled("client.Get", r.bucket+"/"+r.key, err)
		}
	}
	switch t := r.stream.trailer; {
	case t.Code != fault.OK:
		return r.fault(t.Code, "The server could not send the body to its end.", nil)
	case t.Length != r.came || r.came != r.length:
		return r.fault(fault.IncompleteBody, "The body is not as long as it should be.", nil)
	case t.HasCRC && t.CRC != r.crc:
		return r.fault(fault.BadDigest, "The body was damaged on its way.", nil)
	}
	return nil
}

// take takes the next chunk of the body out, and gives the stream's credit back
// for used bytes, once they are a quarter of it, and if more than it has left
// is to come. ended says that there is no chunk any more.
func (s *stream) take(used, toCome int64) (k *chunk, ended bool) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	due := false
	if s.eaten += used; s.eaten >= max(1, c.terms.streamCredit/4) && !s.over() {
		due = s.window < toCome
	}
	if due {
		c.outbox.giveBack(s.id, s.eaten)
		s.window += s.eaten
		s.eaten = 0
		c.wakeWriter()
	}
	if s.taken == len(s.chunks) {
		return nil, s.ended
	}
	k = s.chunks[s.taken]
	s.chunks[s.taken] = nil
	s.taken++
	if s.taken == len(s.chunks) {
		s.chunks, s.taken = s.chunks[:0], 0
	}
	return k, false
}
