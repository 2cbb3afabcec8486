package blob

import (
	"encoding/binary"
	"hash/crc32"
)

// TrailerLenForTest is the length of a blob's fixed end.
const TrailerLenForTest = trailerLen

// PathForTest returns the file of a blob.
func (s *Store) PathForTest(id string) string {
	name, _ := s.path(id)
	return name
}

// FixTrailerForTest puts the right checksum on a changed trailer.
func FixTrailerForTest(b []byte) {
	t := b[len(b)-trailerLen:]
	binary.LittleEndian.PutUint32(t[68:], crc32.Checksum(t[:68], castagnoli))
}

// DecodeTrailerForTest reads a trailer and encodes it again.
func DecodeTrailerForTest(b []byte, store, id [16]byte, size int64) ([]byte, error) {
	t, err := decodeTrailer(b, &store, &id, size)
	if err != nil {
		return nil, err
	}
	return t.encode(&store), nil
}

// FileForTest returns the whole file of a blob with a given id.
func FileForTest(store, id [16]byte, body, meta []byte) []byte {
	p := &Pending{s: &Store{c: Config{StoreID: store}}}
	p.t.id = id
	p.sum(body)
	return append(append([]byte{}, body...), p.footer(meta)...)
}

// ErrMarkForTest is what a broken mark is.
var ErrMarkForTest = errMark

// MarkForTest returns the bytes of a mark.
func MarkForTest(store [16]byte, t [4]byte, sequence uint64) []byte {
	m := mark{tag: t, sequence: sequence}
	return m.encode(&store)
}

// DecodeMarkForTest reads a mark and encodes it again.
func DecodeMarkForTest(b []byte, store [16]byte) ([]byte, error) {
	m, err := decodeMark(b, &store)
	if err != nil {
		return nil, err
	}
	return m.encode(&store), nil
}
