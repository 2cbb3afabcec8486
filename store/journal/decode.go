package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// cursor reads a meta part. Its text fields share one copy of the bytes.
type cursor struct {
	b    []byte
	text string // the same bytes, from the same start
	off  int
}

// DecodeMeta is the reverse of AppendMeta. It accepts only what AppendMeta
// writes: tags in ascending order, each at most once, none unknown, no default
// values, shortest numbers. So decoding and encoding again gives the same bytes.
// The record keeps nothing of b.
func DecodeMeta(b []byte) (*Record, error) {
	if len(b) > MaxMeta {
		return nil, fmt.Errorf("journal: meta of %d bytes is over the limit", len(b))
	}
	r := new(Record)
	c := cursor{b: b, text: string(b)}
	var last uint64
	for c.off < len(b) {
		tag, value, err := c.field(last)
		if err != nil {
			return nil, fmt.Errorf("journal: meta at byte %d: %w", c.off, err)
		}
		if err := r.set(tag, value); err != nil {
			return nil, fmt.Errorf("journal: meta tag %d: %w", tag, err)
		}
		last = tag
	}
	return r, nil
}

// field reads a tag and its value, and leaves the cursor behind it.
func (c *cursor) field(last uint64) (tag uint64, value cursor, err error) {
	tag, err = c.uvarint()
	if err != nil {
		return 0, value, err
	}
	if tag <= last {
		return 0, value, fmt.Errorf("tag %d after tag %d", tag, last)
	}
	if tag > lastTag {
		return 0, value, fmt.Errorf("tag %d: %w", tag, errNewer)
	}
	start, size, err := c.span()
	if err != nil {
		return 0, value, err
	}
	if size == 0 {
		return 0, value, fmt.Errorf("tag %d is empty", tag)
	}
	end := start + size
	return tag, cursor{b: c.b[start:end:end], text: c.text[start:end]}, nil
}

// span reads a length and steps over as many bytes.
func (c *cursor) span() (start, size int, err error) {
	n, err := c.uvarint()
	if err != nil {
		return 0, 0, err
	}
	if n > uint64(len(c.b)-c.off) {
		return 0, 0, errors.New("length reaches past the end")
	}
	start = c.off
	c.off += int(n)
	return start, int(n), nil
}

// uvarint reads a number in its shortest form.
func (c *cursor) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.b[c.off:])
	if n <= 0 {
		return 0, errors.New("broken number")
	}
	if n > 1 && c.b[c.off+n-1] == 0 {
		return 0, errors.New("number is not in its shortest form")
	}
	c.off += n
	return v, nil
}

// positive reads a number that an int64 can hold.
func (c *cursor) positive() (int64, error) {
	v, err := c.uvarint()
	if err == nil && v > math.MaxInt64 {
		err = errors.New("number is out of range")
	}
	return int64(v), err
}

func (c *cursor) done() bool { return c.off == len(c.b) }

func (c *cursor) exactly(n int) error {
	if len(c.b) != n {
		return fmt.Errorf("%d bytes long instead of %d", len(c.b), n)
	}
	return nil
}

// set stores the value of one tag.
func (r *Record) set(tag uint64, c cursor) error {
	if p := r.text(tag); p != nil {
		*p = c.text
		return nil
	}
	if _, ok := r.number(tag); ok {
		v, err := c.uvarint()
		if err != nil {
			return err
		}
		if v == 0 || !c.done() {
			return errors.New("not one number above zero")
		}
		return r.setNumber(tag, v)
	}
	return r.setOther(tag, c)
}

func (r *Record) setOther(tag uint64, c cursor) (err error) {
	switch tag {
	case tagTime:
		return r.setTime(c)
	case tagMD5:
		r.MD5 = slices.Clone(c.b)
		return c.exactly(md5Size)
	case tagSHA256:
		r.SHA256 = slices.Clone(c.b)
		return c.exactly(sha256Size)
	case tagChecksum:
		return r.setChecksum(c)
	case tagUser:
		r.User, err = c.pairs()
	case tagTags:
		r.Tags, err = c.pairs()
	case tagSettings:
		r.Settings, err = c.pairs()
	case tagLock:
		return r.setLock(c)
	case tagExtents:
		r.Extents, err = c.extents()
	case tagPartSizes:
		r.PartSizes, err = c.sizes()
	case tagSums:
		r.Sums, err = c.sums()
	case tagSumsCRC:
		return r.setSumsCRC(c)
	}
	return err
}

func (r *Record) setTime(c cursor) error {
	if err := c.exactly(8); err != nil {
		return err
	}
	r.Time = int64(binary.LittleEndian.Uint64(c.b))
	return nonZero(r.Time != 0)
}

func (r *Record) setSumsCRC(c cursor) error {
	if err := c.exactly(4); err != nil {
		return err
	}
	r.SumsCRC = binary.LittleEndian.Uint32(c.b)
	return nonZero(r.SumsCRC != 0)
}

func (r *Record) setChecksum(c cursor) error {
	if len(c.b) < 2 {
		return errors.New("too short")
	}
	r.Checksum = Checksum{Algorithm: c.b[0], Type: c.b[1]}
	if len(c.b) > 2 {
		r.Checksum.Value = slices.Clone(c.b[2:])
	}
	return nonZero(r.Checksum.Algorithm != 0)
}

func (r *Record) setLock(c cursor) error {
	if err := c.exactly(10); err != nil {
		return err
	}
	if c.b[1] > 1 {
		return errors.New("hold is neither 0 nor 1")
	}
	r.Lock = Lock{Mode: c.b[0], Hold: c.b[1] == 1, Until: int64(binary.LittleEndian.Uint64(c.b[2:]))}
	return nonZero(r.Lock != Lock{})
}

// nonZero refuses default values, which are never written.
func nonZero(ok bool) error {
	if !ok {
		return errors.New("a default value is written out")
	}
	return nil
}

func (c *cursor) pairs() ([]Pair, error) {
	var out []Pair
	for !c.done() {
		name, err := c.string()
		if err != nil {
			return nil, err
		}
		value, err := c.string()
		if err != nil {
			return nil, err
		}
		out = append(out, Pair{Name: name, Value: value})
	}
	return out, checkPairs(out)
}

func (c *cursor) string() (string, error) {
	start, size, err := c.span()
	if err != nil {
		return "", err
	}
	return c.text[start : start+size], nil
}

func checkPairs(pairs []Pair) error {
	for i := 1; i < len(pairs); i++ {
		if pairs[i-1].Name >= pairs[i].Name {
			return errors.New("names are not in ascending order")
		}
	}
	return nil
}

func (c *cursor) extents() ([]Extent, error) {
	var out []Extent
	for !c.done() {
		body, err := c.uvarint()
		if err != nil {
			return nil, err
		}
		offset, err := c.positive()
		if err != nil {
			return nil, err
		}
		length, err := c.positive()
		if err != nil {
			return nil, err
		}
		out = append(out, Extent{Body: body, Offset: offset, Length: length})
	}
	return out, nil
}

func (c *cursor) sizes() ([]int64, error) {
	var out []int64
	for !c.done() {
		n, err := c.positive()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (c *cursor) sums() ([]uint32, error) {
	if len(c.b)%4 != 0 {
		return nil, errors.New("length is not a multiple of 4")
	}
	out := make([]uint32, len(c.b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(c.b[4*i:])
	}
	return out, nil
}

// findSums returns the raw chunk sums of a meta part whose checksum was
// verified, without decoding the rest.
func findSums(meta []byte) []byte {
	c := cursor{b: meta}
	for !c.done() {
		tag, err := c.uvarint()
		if err != nil {
			return nil
		}
		start, size, err := c.span()
		if err != nil {
			return nil
		}
		if tag == tagSums {
			return meta[start : start+size]
		}
	}
	return nil
}
