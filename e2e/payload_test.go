package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
)

// payload is the bytes that belong to a key and version under the run's seed:
// whoever reads an object can tell whether the bytes are the right ones. It is
// a stream, so that 2 GiB need no memory.
func payload(key string, version int, size int64) io.Reader {
	var seed [16]byte
	binary.LittleEndian.PutUint64(seed[:], runSeed)
	binary.LittleEndian.PutUint64(seed[8:], uint64(version))
	return io.LimitReader(rand.NewChaCha8(sha256.Sum256(append(seed[:], key...))), size)
}

func payloadBytes(key string, version int, size int64) []byte {
	b := make([]byte, size)
	if _, err := io.ReadFull(payload(key, version, size), b); err != nil {
		panic(err) // a generator does not fail
	}
	return b
}

// sameStream compares got with want to the end of both and says where they
// differ. It holds 256 KiB of each.
func sameStream(got, want io.Reader) error {
	a, b := make([]byte, 128<<10), make([]byte, 128<<10)
	for offset := int64(0); ; {
		n, errGot := io.ReadFull(got, a)
		m, errWant := io.ReadFull(want, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			return fmt.Errorf("the bytes differ between %d and %d (%d and %d read, %v)", offset, offset+int64(max(n, m)), n, m, errGot)
		}
		offset += int64(n)
		if errGot != nil && errGot != io.EOF && errGot != io.ErrUnexpectedEOF {
			return errGot
		}
		if errGot != nil || errWant != nil {
			return nil
		}
	}
}

// random makes choices that follow from the run's seed and the name.
func random(name string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", runSeed, name))
	return rand.New(rand.NewChaCha8(sum))
}
