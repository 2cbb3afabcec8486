package native

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"

	"larder/auth"
	"larder/fault"
	"larder/native/wire"
	"larder/store"
)

// smallData is up to which size bytes wait for what comes behind them, so that a
// small object leaves in one packet.
const smallData = 32 << 10

// sender sends the body of an answer in DATA frames. ANSWER waits for the first
// bytes: an object whose first bytes are broken still gets an error of its own.
type sender struct {
	k       *call
	waiting []byte // frames that were not sent yet
	unsent  int64  // bytes of the body in waiting
	left    int64  // bytes of the body
	sum     []byte // CRC32C of the body, where the store has it
	hash    uint32 // of what went by
	unseen  bool   // something went by that was not looked at
}

// fileSender sends files by sendfile. It is for connections that can.
type fileSender struct{ *sender }

var _ io.ReaderFrom = fileSender{}

func (k *call) newSender(info *store.Info, off, n int64) *sender {
	s := &sender{k: k, left: n, sum: crcOf(info, n)}
	object := objectOf(info)
	b, at := wire.BeginAnswer(make([]byte, 0, 512+min(n, smallData)), k.id, false)
	b = object.Append(b)
	b = wire.AppendBodyOffset(b, off)
	s.waiting = wire.EndFrame(b, at)
	return s
}

// Write sends bytes, or keeps a few for the next packet.
func (s *sender) Write(p []byte) (total int, err error) {
	if s.sum == nil {
		s.hash = crc32.Update(s.hash, crc32.MakeTable(crc32.Castagnoli), p)
	}
	for len(p) > 0 {
		n, err := s.next(int64(len(p)))
		if err != nil {
			return total, err
		}
		piece := p[:n]
		p = p[n:]
		head := wire.Header{Type: wire.TypeData, Stream: s.k.id, Length: uint32(n)}
		if len(s.waiting)+int(n) <= smallData {
			s.waiting = append(head.Append(s.waiting), piece...)
			s.unsent += n
			err = s.sent(n)
		} else {
			err = s.through(head, func(c net.Conn) error { _, err := c.Write(piece); return err })
		}
		if err != nil {
			return total, err
		}
		total += int(n)
	}
	return total, nil
}

// ReadFrom sends what r gives, which must be an *io.LimitedReader, by sendfile
// where it is over a file. When r ends early the connection is broken off, for
// the frame that was begun cannot be ended.
func (s fileSender) ReadFrom(r io.Reader) (total int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		return io.Copy(s.sender, r)
	}
	s.unseen = true
	for limited.N > 0 {
		n, err := s.next(limited.N)
		if err != nil {
			return total, err
		}
		head := wire.Header{Type: wire.TypeData, Stream: s.k.id, Length: uint32(n)}
		err = s.through(head, func(c net.Conn) error {
			sent, err := io.Copy(c, &io.LimitedReader{R: limited.R, N: n})
			limited.N -= sent
			total += sent
			if err == nil && sent < n {
				err = io.ErrUnexpectedEOF
			}
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// next waits for credit, up to n bytes and a frame's limit, and asks again
// whether the caller may read: a right that was taken away ends a long download.
func (s *sender) next(n int64) (int64, error) {
	k := s.k
	if k.begun {
		res := auth.Resource{Bucket: k.req.Bucket, Key: k.req.Key}
		if err := k.c.s.auth.Guard().Check(k.ctx, k.c.caller, auth.GetObject, res); err != nil {
			return 0, err
		}
	}
	got, err := s.credit(&k.credit, min(n, wire.MaxData, s.left))
	if err != nil {
		return 0, err
	}
	both, err := s.credit(&k.c.credit, got)
	if both < got {
		k.credit.grow(got - both)
	}
	return both, err
}

// credit takes credit of the stream or the connection. Before it waits, it sends what waits.
func (s *sender) credit(w *window, n int64) (int64, error) {
	if got, _ := w.try(n); got > 0 {
		return got, nil
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return w.take(s.k.ctx, n, s.k.c.s.pace.piece)
}

func (s *sender) flush() error {
	if len(s.waiting) == 0 {
		return nil
	}
	s.k.begun = true
	err := gone(s.k.c.out.send(s.waiting, false))
	s.waiting, s.unsent = s.waiting[:0], 0
	return err
}

// breakOff is called when the body cannot be sent to its end, before the client
// is told so. What nobody has seen of the answer is dropped, and its credit is
// given back.
func (s *sender) breakOff() {
	if s.k.begun {
		_ = s.flush() // its failure is met again when the client is told
		return
	}
	s.k.c.credit.grow(s.unsent)
	s.waiting, s.unsent, s.k.sent = nil, 0, 0
}

// through sends what waits and a DATA frame whose payload f writes.
func (s *sender) through(head wire.Header, f func(net.Conn) error) error {
	s.k.begun = true
	frames := head.Append(s.waiting)
	s.waiting, s.unsent = frames[:0], 0
	if err := gone(s.k.c.out.exclusive(frames, f)); err != nil {
		return err
	}
	return s.sent(int64(head.Length))
}

func (s *sender) sent(n int64) error {
	s.left -= n
	s.k.sent += n
	if s.left < 0 {
		return fault.New("native.Get", fault.Internal, "", io.ErrShortWrite)
	}
	return nil
}

// end sends END, with what waits before it.
func (s *sender) end() error {
	t := wire.Trailer{Length: s.k.sent}
	switch {
	case s.sum != nil:
		t.CRC, t.HasCRC = binary.BigEndian.Uint32(s.sum), true
	case !s.unseen:
		t.CRC, t.HasCRC = s.hash, true
	}
	return s.k.last(t.Append(s.waiting, s.k.id))
}
