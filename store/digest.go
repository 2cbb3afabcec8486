package store

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"hash"
	"hash/crc32"
	"sync"

	"github.com/minio/crc64nvme"

	"larder/fault"
)

// parallelFrom is the block size from which digests are computed side by side:
// below it, waking goroutines costs more than it saves.
const parallelFrom = 64 << 10

// digester computes a body's digests while it is stored.
type digester struct {
	size   int64
	md5    hash.Hash   // nil when skipped
	sha256 hash.Hash   // nil when skipped
	asked  summer      // the checksum that the request named
	kept   *summer     // another one that is kept with it, or nil
	hashes []hash.Hash // all of these that are in use
}

// wanted says which digests of a body are computed.
type wanted struct {
	asked, keep         Algorithm // keep is NoChecksum, or another one that is kept
	skipMD5, skipSHA256 bool
}

// summer is one additional checksum in the making.
type summer struct {
	algorithm Algorithm
	hash      hash.Hash
}

// newDigester computes the asked algorithm, a second one when keep names
// another, and MD5 and SHA-256 unless they are skipped.
func newDigester(w wanted) *digester {
	d := &digester{asked: newSummer(w.asked)}
	d.hashes = append(make([]hash.Hash, 0, 4), d.asked.hash)
	if w.keep != w.asked && w.keep != NoChecksum {
		k := newSummer(w.keep)
		d.kept = &k
		d.hashes = append(d.hashes, k.hash)
	}
	if !w.skipMD5 {
		d.md5 = md5.New()
		d.hashes = append(d.hashes, d.md5)
	}
	if !w.skipSHA256 {
		d.sha256 = sha256.New()
		d.hashes = append(d.hashes, d.sha256)
	}
	return d
}

func newSummer(a Algorithm) summer {
	if a == NoChecksum {
		a = CRC64NVME
	}
	return summer{algorithm: a, hash: a.New()}
}

func (s summer) checksum() Checksum {
	return Checksum{Algorithm: s.algorithm, Type: FullObject, Value: s.hash.Sum(nil)}
}

// New returns a hash of the algorithm, whose Sum has S3's byte order. Of an
// unknown algorithm it returns nil.
func (a Algorithm) New() hash.Hash {
	switch a {
	case CRC32:
		return crc32.NewIEEE()
	case CRC32C:
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case CRC64NVME:
		return crc64nvme.New()
	case SHA1:
		return sha1.New()
	case SHA256:
		return sha256.New()
	}
	return nil
}

// checkAlgorithm refuses numbers that stand for no algorithm.
func checkAlgorithm(a Algorithm) error {
	if a == NoChecksum || a.Size() > 0 {
		return nil
	}
	return fault.New("store.Checksum", fault.InvalidArgument, "", nil).
		WithHint("This checksum algorithm is not known.")
}

// Size is the length of the algorithm's value in bytes, 0 of an unknown one.
func (a Algorithm) Size() int {
	switch a {
	case CRC32, CRC32C:
		return 4
	case CRC64NVME:
		return 8
	case SHA1:
		return sha1.Size
	case SHA256:
		return sha256.Size
	}
	return 0
}

// write takes the next block in and, beside it, runs also (which may be nil).
// It returns when all are done with p.
func (d *digester) write(p []byte, also func() error) error {
	d.size += int64(len(p))
	if len(p) < parallelFrom {
		for _, h := range d.hashes {
			h.Write(p)
		}
		return call(also)
	}
	var wg sync.WaitGroup
	for _, h := range d.hashes {
		wg.Go(func() { h.Write(p) })
	}
	err := call(also)
	wg.Wait()
	return err
}

func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (d *digester) digests() Digests {
	return Digests{
		Size: d.size, MD5: sumOf(d.md5), SHA256: sumOf(d.sha256), Checksum: d.asked.checksum(),
	}
}

// sumOf is a hash's sum, nil of one that was skipped.
func sumOf(h hash.Hash) []byte {
	if h == nil {
		return nil
	}
	return h.Sum(nil)
}

// keep is the checksum that is stored.
func (d *digester) keep() Checksum {
	if d.kept != nil {
		return d.kept.checksum()
	}
	return d.asked.checksum()
}
