package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math/rand/v2"

	"github.com/minio/crc64nvme"
)

// payload is the body of an object: a block of noise, some times over. It can be
// read as often as needed and at once by many.
type payload struct {
	block []byte
	times int
}

// stamp is the length of the number that each block of a payload of several
// begins with, so that no two are alike.
const stamp = 8

const payloadBlock = 1 << 20 // of a payload that is longer than that

// noise makes a payload of a size, the same for the same seed.
func noise(seed, size int64) payload {
	p := payload{times: 1}
	if size > 32*payloadBlock && size%payloadBlock == 0 {
		p.times, size = int(size/payloadBlock), payloadBlock
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(seed))
	p.block = make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(p.block) // never fails
	return p
}

func (p payload) size() int64 { return int64(len(p.block)) * int64(p.times) }

// reader reads the payload from its start.
func (p payload) reader() io.Reader {
	if p.times == 1 {
		return bytes.NewReader(p.block)
	}
	return &blocks{p: p}
}

// sha256 is what SDKs compute of every body that they sign over plain HTTP.
func (p payload) sha256() string {
	if p.times == 1 {
		sum := sha256.Sum256(p.block)
		return hex.EncodeToString(sum[:])
	}
	h := sha256.New()
	_, _ = p.reader().(*blocks).WriteTo(h) // neither fails
	return hex.EncodeToString(h.Sum(nil))
}

// checksum is the CRC64-NVME of the payload.
func (p payload) checksum() uint64 {
	h := crc64nvme.New()
	_, _ = io.Copy(h, p.reader()) // neither fails
	return h.Sum64()
}

// piece is as long as a part of the payload; of several blocks it takes whole ones.
func (p payload) piece(from, to int64) payload {
	if p.times > 1 {
		return payload{block: p.block, times: int((to - from) / int64(len(p.block)))}
	}
	return payload{block: p.block[from:to], times: 1}
}

// blocks reads a payload of several blocks.
type blocks struct {
	p   payload
	at  int // the block
	off int // within it
}

// Read gives the stamp of a block and then the rest of it.
func (r *blocks) Read(b []byte) (int, error) {
	if r.at >= r.p.times {
		return 0, io.EOF
	}
	n := 0
	if r.off < stamp {
		mark := r.stamp()
		n = copy(b, mark[r.off:])
		r.off += n
	}
	if r.off >= stamp {
		m := copy(b[n:], r.p.block[r.off:])
		n, r.off = n+m, r.off+m
	}
	if r.off == len(r.p.block) {
		r.at, r.off = r.at+1, 0
	}
	return n, nil
}

// WriteTo saves a copy of each block.
func (r *blocks) WriteTo(w io.Writer) (n int64, err error) {
	for ; r.at < r.p.times; r.at, r.off = r.at+1, 0 {
		mark := r.stamp()
		for _, b := range [][]byte{mark[min(r.off, stamp):], r.p.block[max(r.off, stamp):]} {
			m, err := w.Write(b)
			n, r.off = n+int64(m), r.off+m
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (r *blocks) stamp() (mark [stamp]byte) {
	binary.BigEndian.PutUint64(mark[:], uint64(r.at))
	return mark
}
