package journal

import (
	"errors"
	"fmt"
	"io"

	"larder/fault"
	"larder/store/vfs"
)

// ReadBody returns the inline body of a record, read with one read and verified
// whole: header, meta and every chunk. The body lies in buf, or in a new buffer
// when buf has less room than loc.Length. Bytes that are not what was stored are
// fault.Corrupt around a *Damage.
func (j *Journal) ReadBody(loc Location, buf []byte) (body []byte, err error) {
	b, h, err := j.read(loc, loc.Length, buf)
	if err != nil {
		return nil, err
	}
	if why := checkBody(b, &h); why != "" {
		return nil, j.c.corrupt("journal.ReadBody", loc.Segment, loc.Offset, why)
	}
	return b[loc.BodyOffset : loc.BodyOffset+loc.BodyLength : loc.BodyOffset+loc.BodyLength], nil
}

// ReadRecord returns a record without its body, which is not verified.
func (j *Journal) ReadRecord(loc Location) (*Record, error) {
	b, h, err := j.read(loc, loc.BodyOffset, nil)
	if err != nil {
		return nil, err
	}
	const op = "journal.ReadRecord"
	if err := h.checkKnown(); err != nil {
		return nil, fault.New(op, fault.NewerFormat, j.c.path(loc.Segment), err)
	}
	f := frame{header: h, b: b}
	r, err := f.decode()
	if err != nil {
		return nil, j.c.corrupt(op, loc.Segment, loc.Offset, err.Error())
	}
	return r, nil
}

// read reads the first n bytes of a record and verifies header and meta.
func (j *Journal) read(loc Location, n int64, buf []byte) ([]byte, header, error) {
	const op = "journal.Read"
	if !loc.possible() {
		return nil, header{}, j.c.corrupt(op, loc.Segment, loc.Offset, "no record can lie as the index says")
	}
	f, err := j.files.acquire(loc.Segment)
	if err != nil {
		return nil, header{}, err
	}
	defer j.files.release(f)
	if int64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if got, err := f.file.ReadAt(buf, loc.Offset); int64(got) < n {
		if errors.Is(err, io.EOF) {
			return nil, header{}, j.c.corrupt(op, loc.Segment, loc.Offset, "the file ends within the record")
		}
		return nil, header{}, fault.New(op, vfs.CodeOfRead(err), j.c.path(loc.Segment), err)
	}
	h, why := parseHeader(buf, &j.c.StoreID)
	if why == "" {
		why = loc.mismatch(&h)
	}
	if why == "" {
		why = checkFrame(buf, &h)
	}
	if why != "" {
		return nil, header{}, j.c.corrupt(op, loc.Segment, loc.Offset, why)
	}
	return buf, h, nil
}

// possible holds a location against the limits of the format, before memory is
// taken for it: the index may be damaged.
func (l *Location) possible() bool {
	return l.Segment > 0 && l.Offset >= segmentHeader && l.Offset%recordAlign == 0 &&
		l.BodyOffset >= recordHeader && l.BodyOffset <= recordHeader+MaxMeta &&
		l.BodyLength >= 0 && l.BodyLength <= MaxBody && l.Length == align(l.BodyOffset+l.BodyLength)
}

func (l *Location) mismatch(h *header) string {
	if h.bodyOffset() != l.BodyOffset || int64(h.bodyLen) != l.BodyLength {
		return "the record is not as long as the index says"
	}
	if l.Sequence != 0 && l.Sequence != h.sequence {
		return fmt.Sprintf("record %d stands where the index has record %d", h.sequence, l.Sequence)
	}
	return ""
}
