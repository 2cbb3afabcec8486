package journal

import (
	"bytes"
	"context"
	"errors"
	"io"

	"larder/store/vfs"
)

// window is how much a scan reads at once.
const window = 1 << 20

// scanner reads one segment file from front to back.
type scanner struct {
	ctx  context.Context
	file vfs.File
	size int64
	id   *[16]byte
	buf  []byte // the bytes from at on
	at   int64

	window int64                    // how much is read at once
	before func(off, n int64) error // when set, is asked before a read
}

// frame is one record as it stands in the file. b holds header and meta, and
// the whole record when it was asked for; it is valid until the next read.
type frame struct {
	header
	b []byte
}

// bytes returns n bytes from off on, which must lie within the file.
func (s *scanner) bytes(off, n int64) ([]byte, error) {
	if off >= s.at && off+n <= s.at+int64(len(s.buf)) {
		return s.buf[off-s.at : off-s.at+n], nil
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	want := min(max(n, s.window), s.size-off)
	if s.before != nil {
		if err := s.before(off, want); err != nil {
			return nil, err
		}
	}
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.at = s.buf[:want], off
	got, err := s.file.ReadAt(s.buf, off)
	if int64(got) == want {
		return s.buf[:n], nil
	}
	s.buf = s.buf[:0]
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, &readError{off: off, err: err}
}

// readError is a read that failed, so that it is not mistaken for a failure of
// what was done with the bytes.
type readError struct {
	off int64
	err error
}

func (e *readError) Error() string { return "it cannot be read: " + e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// frame reads the record at off and verifies header and meta. why says what is
// wrong with the bytes, or is empty; err is a failed read.
func (s *scanner) frame(off int64) (f frame, why string, err error) {
	if s.size-off < recordHeader {
		return f, "the file ends within a record header", nil
	}
	b, err := s.bytes(off, recordHeader)
	if err != nil {
		return f, "", err
	}
	f.header, why = parseHeader(b, s.id)
	if why != "" {
		return f, why, nil
	}
	if s.size-off < f.length() {
		return f, "the file ends within the record", nil
	}
	f.b, err = s.bytes(off, f.bodyOffset())
	if err != nil {
		return f, "", err
	}
	return f, checkFrame(f.b, &f.header), nil
}

// body verifies the body of the record at off, whose frame was good.
func (s *scanner) body(off int64, f *frame) (why string, err error) {
	f.b, err = s.bytes(off, f.length())
	if err != nil {
		return "", err
	}
	return checkBody(f.b, &f.header), nil
}

// empty reports whether all from off to the end of the file is zero.
func (s *scanner) empty(off int64) (bool, error) {
	for off < s.size {
		n := min(window, s.size-off)
		b, err := s.bytes(off, n)
		if err != nil {
			return false, err
		}
		if !allZero(b) {
			return false, nil
		}
		off += n
	}
	return true, nil
}

// later looks behind a broken record at off for a record of a batch after batch.
// Such a record was written after the broken one had been synced, which proves
// that a power cut did not break it. It returns where, or -1.
//
// A record whose header and meta are whole is stepped over, so that copies of
// segment files inside bodies are not taken for records, where that can be told.
// Where it cannot, the batch tells: a body only holds copies of older records.
func (s *scanner) later(off int64, batch uint64) (int64, error) {
	for s.size-off >= recordHeader {
		f, why, err := s.frame(off)
		if err != nil {
			return -1, err
		}
		if why == "" && f.batch > batch {
			return off, nil
		}
		if why == "" {
			off += f.length()
			continue
		}
		off, err = s.nextMagic(off + recordAlign)
		if err != nil {
			return -1, err
		}
	}
	return -1, nil
}

// nextMagic returns the first place from off on where a record could begin, or
// the end of the file.
func (s *scanner) nextMagic(off int64) (int64, error) {
	for off < s.size {
		n := min(64<<10, s.size-off)
		b, err := s.bytes(off, n)
		if err != nil {
			return 0, err
		}
		if i := findMagic(b); i >= 0 {
			return off + int64(i), nil
		}
		off += n
	}
	return s.size, nil
}

// findMagic returns the first aligned magic in b, which begins at an aligned
// place and has a multiple of the alignment, or ends with the file.
func findMagic(b []byte) int {
	for i := 0; ; {
		k := bytes.Index(b[i:], []byte(recordMagic))
		if k < 0 {
			return -1
		}
		if (i+k)%recordAlign == 0 {
			return i + k
		}
		i += k + 1
	}
}
