package native

import (
	"io"

	"larder/fault"
	"larder/native/wire"
	"larder/store"
)

// get sends an object or a part of it.
func (k *call) get() error {
	o, err := k.c.s.gate.Get(k.ctx, k.c.caller, k.req.Bucket, k.req.Key)
	if err != nil {
		return err
	}
	defer o.Close()
	info := o.Info()
	if err := k.readCondition().Check(info.ETag, info.Modified); err != nil {
		return err
	}
	off, n, err := choose(k.req.Range, info.Size)
	if err != nil {
		return err
	}
	s := k.newSender(&info, off, n)
	if n > 0 {
		var w io.Writer = s
		if _, ok := k.c.nc.(io.ReaderFrom); ok {
			w = fileSender{s}
		}
		if _, err := o.CopyRange(k.ctx, w, off, n); err != nil {
			s.breakOff()
			return err
		}
	}
	return s.end()
}

// choose decides which bytes of an object of that size are meant. A range is cut
// at the object's end, as RFC 9110 section 14.1.2 has it, and must begin before
// it; the whole of an empty object is empty.
func choose(r wire.Range, size int64) (off, n int64, err error) {
	switch r.Form {
	case wire.From:
		off, n = r.Offset, size-r.Offset
	case wire.Span:
		off, n = r.Offset, min(r.Length, size-r.Offset)
	case wire.Suffix:
		n = min(r.Length, size)
		off = size - n
	default:
		return 0, size, nil
	}
	if n <= 0 && (size > 0 || off > 0 || r.Form != wire.From) {
		return 0, 0, fault.New("native.Get", fault.InvalidRange, "", nil).
			WithHint("The range has no byte within the object.")
	}
	return off, n, nil
}

// crcOf is the CRC32C of an object's body, if n bytes are all of it and the store
// knows that checksum; else nil.
func crcOf(info *store.Info, n int64) []byte {
	c := info.Checksum
	if n != info.Size || c.Algorithm != store.CRC32C || c.Type != store.FullObject || len(c.Value) != 4 {
		return nil
	}
	return c.Value
}
