package store

import (
	"bytes"
	"errors"
	"fmt"

	"larder/fault"
	"larder/store/blob"
	"larder/store/journal"
	"larder/store/vfs"
)

// pieceDamage is what is wrong with a blob.
type pieceDamage struct {
	file           string
	offset, length int64
	reason         string
}

func (d *pieceDamage) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", d.file, d.offset, d.reason)
}

// blobDamage tells damage of a blob, whose body has so many bytes, from a read
// that could not be made. What is damaged behind the body spoils all of it.
func blobDamage(err error, size int64) *pieceDamage {
	var own *pieceDamage
	if errors.As(err, &own) {
		return own
	}
	switch fault.CodeOf(err) {
	case fault.Corrupt, fault.ForeignStore, fault.NewerFormat:
	default:
		return nil
	}
	file := fault.ResourceOf(err)
	var d *blob.Damage
	if errors.As(err, &d) && d.Offset < size {
		return &pieceDamage{file, d.Offset, min(blob.ChunkSize, size-d.Offset), d.Reason}
	}
	if d != nil {
		return &pieceDamage{file, d.Offset, -1, d.Reason}
	}
	return &pieceDamage{file, -1, -1, errors.Unwrap(err).Error()}
}

// checkBlob verifies the blob that a record brought, from byte from of its body
// on, about limit bytes. It returns how many bytes it has verified and whether
// that was all. At the start of the body it verifies all that stands behind it.
func (s *Store) checkBlob(r *journal.Record, from, limit int64) (n int64, done bool, err error) {
	b, err := s.openUncached(r.Blob, from, limit)
	if err != nil {
		return 0, false, err
	}
	defer b.Close()
	if from == 0 {
		if err := checkFooter(b, r); err != nil {
			return 0, false, err
		}
	}
	buf := windows.Get().(*[]byte)
	defer windows.Put(buf)
	for n < limit && from+n < b.Size() {
		c := min(windowSize, b.Size()-from-n)
		if err := readWindow(b, (*buf)[:c], from+n); err != nil {
			return n, false, err
		}
		n += c
	}
	return n, from+n >= b.Size(), nil
}

// openUncached opens a blob and drops what is to be read from the page cache.
func (s *Store) openUncached(id string, from, limit int64) (*blob.Body, error) {
	b, err := s.blobs.OpenUncached(id)
	if err != nil {
		return nil, err
	}
	if from == 0 {
		size, serr := b.File().Size()
		if err = serr; err == nil {
			err = uncache(b, b.Size(), size-b.Size())
		}
	}
	if err == nil {
		err = uncache(b, from, limit)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func uncache(b *blob.Body, off, n int64) error {
	if err := vfs.UncacheRange(b.File(), off, n); err != nil {
		return fault.New("store.Inspect", vfs.CodeOf(err), "", err)
	}
	return nil
}

// checkFooter verifies what stands behind the body, and holds it against the
// record: a blob that is whole in itself may be the wrong one.
func checkFooter(b *blob.Body, r *journal.Record) error {
	wrong := func(reason string) error {
		return &pieceDamage{blobFile(r.Blob), b.Size(), -1, reason}
	}
	if b.Size() != r.Size || b.SumsCRC() != r.SumsCRC {
		return wrong("the blob is whole, but not the one that its record names")
	}
	if err := b.VerifySums(); err != nil {
		return err
	}
	meta, err := b.Meta()
	if err != nil {
		return err
	}
	m, err := journal.DecodeMeta(meta)
	if err != nil {
		return wrong("the copy of the record cannot be read: " + err.Error())
	}
	if !sameBody(m, r) {
		return wrong("the copy of the record is another record's")
	}
	return nil
}

// sameBody tells whether two records speak of the same bytes. MD5 and SHA-256 may
// both be missing; the checksum never is where a body came from a client.
func sameBody(a, b *journal.Record) bool {
	return a.Size == b.Size && bytes.Equal(a.MD5, b.MD5) && bytes.Equal(a.SHA256, b.SHA256) &&
		a.Checksum.Algorithm == b.Checksum.Algorithm && bytes.Equal(a.Checksum.Value, b.Checksum.Value)
}

// blobFile is the file of a blob, as findings name it.
func blobFile(id string) string { return blobsDir + "/" + id[:2] + "/" + id[2:4] + "/" + id }
