package store

import (
	"encoding/binary"
	"hash/crc32"
)

// The polynomials of the CRCs in reflected form, as their algorithms use them.
const crc64NVMEPoly = 0x9a6c9329ac4bc9b5

// gfMatrix is a linear map over GF(2) on CRC registers of up to 64 bits:
// column i is the image of bit i.
type gfMatrix [64]uint64

func (m *gfMatrix) times(v uint64) uint64 {
	var sum uint64
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			sum ^= m[i]
		}
	}
	return sum
}

func (m *gfMatrix) squared() *gfMatrix {
	var out gfMatrix
	for i := range m {
		out[i] = m.times(m[i])
	}
	return &out
}

// zeroByte is the map that feeding one zero byte applies to a register.
func zeroByte(poly uint64, bits int) *gfMatrix {
	var bit gfMatrix // one zero bit
	bit[0] = poly
	for i := 1; i < bits; i++ {
		bit[i] = 1 << (i - 1)
	}
	return bit.squared().squared().squared()
}

// combineCRC gives the CRC of two joined pieces from the CRC of each and the
// length of the second: the method of zlib's crc32_combine, by repeated
// squaring.
func combineCRC(poly uint64, bits int, first, second uint64, secondLength int64) uint64 {
	m := zeroByte(poly, bits)
	for n := secondLength; n > 0; n >>= 1 {
		if n&1 != 0 {
			first = m.times(first)
		}
		m = m.squared()
	}
	return first ^ second
}

// joinChecksums gives the full-object checksum of parts from theirs. The
// algorithm must be a CRC: S3 offers full-object checksums of multipart uploads
// for those alone. ok is false when a part has no value or another algorithm.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
func joinChecksums(a Algorithm, parts []Part) (value []byte, ok bool) {
	poly, bits := a.polynomial()
	if poly == 0 {
		return nil, false
	}
	var sum uint64
	for _, p := range parts {
		if p.Checksum.Algorithm != a || len(p.Checksum.Value) != a.Size() {
			return nil, false
		}
		sum = combineCRC(poly, bits, sum, readCRC(p.Checksum.Value), p.Size)
	}
	if bits == 32 {
		return binary.BigEndian.AppendUint32(nil, uint32(sum)), true
	}
	return binary.BigEndian.AppendUint64(nil, sum), true
}

func (a Algorithm) polynomial() (poly uint64, bits int) {
	switch a {
	case CRC32:
		return crc32.IEEE, 32
	case CRC32C:
		return crc32.Castagnoli, 32
	case CRC64NVME:
		return crc64NVMEPoly, 64
	}
	return 0, 0
}

func readCRC(value []byte) uint64 {
	if len(value) == 4 {
		return uint64(binary.BigEndian.Uint32(value))
	}
	return binary.BigEndian.Uint64(value)
}
