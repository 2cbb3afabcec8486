package index

import (
	"encoding/binary"
	"hash/crc32"
)

// maxScratch is how many bytes of a buffer are kept for the next row.
const maxScratch = 256 << 10

// digest computes row checksums: CRC32C over a tag of the table and all
// columns of the row in a fixed order, numbers as 8 bytes little endian,
// strings with their length before them. SQLite's pages carry no checksum, so
// this is what notices a flipped bit.
type digest struct{ buf []byte }

// start begins the checksum of a row of the table with this tag.
func (d *digest) start(tag byte) *digest {
	if cap(d.buf) > maxScratch {
		d.buf = nil
	}
	d.buf = append(d.buf[:0], tag)
	return d
}

func (d *digest) number(n uint64) *digest {
	d.buf = binary.LittleEndian.AppendUint64(d.buf, n)
	return d
}

func (d *digest) text(s string) *digest {
	d.number(uint64(len(s)))
	d.buf = append(d.buf, s...)
	return d
}

func (d *digest) bytes(b []byte) *digest {
	d.number(uint64(len(b)))
	d.buf = append(d.buf, b...)
	return d
}

func (d *digest) sum() int64 {
	return int64(crc32.Checksum(d.buf, crc32.MakeTable(crc32.Castagnoli)))
}

func (d *digest) row(r *Row) int64 {
	return d.start('o').number(r.Bucket).text(r.Key).number(r.Sequence).number(uint64(r.Size)).
		number(uint64(r.Modified)).text(r.ETag).bytes(r.Meta).sum()
}

func (d *digest) body(b *Body) int64 {
	d.start('b').number(b.Sequence).number(b.Segment).number(uint64(b.Offset)).
		number(uint64(b.Length)).number(uint64(b.BodyOffset)).number(uint64(b.BodyLength)).
		number(uint64(b.Refs)).text(b.Blob)
	if b.Current { // a row from before there was this column keeps its checksum
		d.number(1)
	}
	return d.sum()
}

func (d *digest) bucket(b *Bucket) int64 {
	return d.start('k').number(b.ID).text(b.Name).number(uint64(b.Created)).number(uint64(b.Objects)).
		number(uint64(b.Bytes)).number(uint64(b.Uploads)).bytes(b.Meta).sum()
}

func (d *digest) upload(u *Upload) int64 {
	return d.start('u').text(u.ID).number(u.Bucket).text(u.Key).number(uint64(u.Created)).
		number(u.Sequence).bytes(u.Meta).sum()
}

func (d *digest) part(p *Part) int64 {
	return d.start('p').text(p.Upload).number(uint64(p.Number)).number(p.Sequence).
		number(uint64(p.Size)).number(uint64(p.Modified)).text(p.ETag).bytes(p.Meta).sum()
}

func (d *digest) segment(number uint64) int64 { return d.start('g').number(number).sum() }

func (d *digest) state(s *state) int64 {
	return d.start('s').number(uint64(s.format)).bytes(s.store[:]).number(s.applied.Sequence).
		number(s.applied.Segment).number(uint64(s.applied.Offset)).sum()
}
