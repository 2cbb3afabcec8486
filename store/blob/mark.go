package blob

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"

	"larder/fault"
	"larder/store/vfs"
)

const (
	markFile   = "MARK"
	markMagic  = "LARDMARK"
	markFormat = 1
	markLen    = 64
	tagLen     = 4
)

// tag is what all ids have in common that were made since the last doubt: see
// Begin.
type tag [tagLen]byte

// mark is the file MARK: see docs/format.md for its bytes.
type mark struct {
	tag      tag
	sequence uint64 // the journal held a record with this number
}

func (m *mark) encode(store *[16]byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, markLen)
	copy(b, markMagic)
	le.PutUint16(b[8:], markFormat)
	copy(b[12:], m.tag[:])
	copy(b[16:], store[:])
	le.PutUint64(b[32:], m.sequence)
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

var errMark = errors.New("the mark is broken")

func decodeMark(b []byte, store *[16]byte) (m mark, err error) {
	le := binary.LittleEndian
	if len(b) != markLen || string(b[:8]) != markMagic || le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return m, errMark
	}
	if f := le.Uint16(b[8:]); f != markFormat || le.Uint16(b[10:]) != 0 || !bytes.Equal(b[40:60], make([]byte, 20)) {
		return m, fmt.Errorf("mark format %d: %w", f, errNewer)
	}
	if !bytes.Equal(b[16:32], store[:]) {
		return m, errForeign
	}
	copy(m.tag[:], b[12:])
	m.sequence = le.Uint64(b[32:])
	return m, nil
}

// Begin decides which orphans a sweep may remove. It is called once, before the
// first Create, with the sequence of the journal's last record.
//
// A blob that no record names may be left over from a crash, or it may be named
// by a record that is missing: when an older copy of the journal was restored
// beside newer blobs, or when an index was made anew from a journal that lacks
// segments. The mark tells the first: it names a later record than the journal
// holds. doubt tells the second. In both cases, and where there is no mark to
// go by, nothing that is there now is ever swept: blobs made from now on get
// ids with a tag of their own, durably noted first, and only those may be.
func (s *Store) Begin(held uint64, doubt bool) error {
	m, err := s.readMark()
	why := ""
	switch {
	case vfs.CodeOf(err) == fault.Unavailable:
		return fault.New("blob.Begin", fault.Unavailable, s.markPath(), err)
	case errors.Is(err, fs.ErrNotExist):
		why = "there is no mark"
	case err != nil:
		why = err.Error()
	case m.sequence > held:
		why = fmt.Sprintf("the journal ends with record %d and held record %d before", held, m.sequence)
	case doubt:
		why = "the index was made anew"
	default:
		s.begin(m, true)
		return nil
	}
	if held > 0 {
		s.c.Log.Info("blobs of before that no record names, if there are any, are kept", "because", why)
	}
	return s.newMark(held)
}

func (s *Store) begin(m mark, sure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark, s.sure = m, sure
}

// newMark begins a new tag. Without room for it, or on a file system that is
// read-only, blobs get a tag that no mark names: then nothing is swept.
func (s *Store) newMark(held uint64) error {
	m := mark{sequence: held}
	rand.Read(m.tag[:]) // never fails
	err := s.writeMark(m)
	switch vfs.CodeOf(err) {
	case fault.OK:
	case fault.NoSpace, fault.ReadOnly, fault.Unavailable:
		s.c.Log.Warn("no mark could be written; no orphaned blob is removed in this run", "error", err)
	default:
		return fault.New("blob.Begin", vfs.CodeOf(err), s.markPath(), err)
	}
	s.begin(m, err == nil)
	return nil
}

func (s *Store) markPath() string { return path.Join(s.c.Dir, markFile) }

func (s *Store) readMark() (mark, error) {
	f, err := s.c.FS.Open(s.markPath())
	if err != nil {
		return mark{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, markLen+1))
	if err != nil {
		return mark{}, err
	}
	return decodeMark(b, &s.c.StoreID)
}

// writeMark replaces the mark, durably.
func (s *Store) writeMark(m mark) error {
	name := s.markPath()
	if err := s.c.FS.Remove(name + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := s.c.FS.Create(name + ".new")
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(m.encode(&s.c.StoreID), 0); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.c.FS.Rename(name+".new", name)
	}
	if err == nil {
		err = s.c.FS.SyncDir(s.c.Dir)
	}
	return err
}

// Noted says that the journal durably holds a record with this sequence, which
// named a blob. The mark is written over in place and not synced: it costs
// nothing, and the system writes it down within half a minute. Where it comes
// too late, or fails, the next Begin knows a little less. It belongs to the one
// goroutine that commits.
func (s *Store) Noted(sequence uint64) {
	s.mu.Lock()
	s.mark.sequence = max(s.mark.sequence, sequence)
	m, sure := s.mark, s.sure
	s.mu.Unlock()
	if !sure {
		return
	}
	f, err := s.c.FS.OpenWrite(s.markPath())
	if err == nil {
		_, err = f.WriteAt(m.encode(&s.c.StoreID), 0)
		f.Close() // nothing is promised of it
	}
	if err != nil {
		s.c.Log.Debug("the mark of the blobs was not written", "error", err)
	}
}

// Sweepable tells whether a blob may be removed when no record names it: whether
// it was made after the last doubt about what the journal held.
func (s *Store) Sweepable(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sure && validID(id) && id[4:4+2*tagLen] == hex.EncodeToString(s.mark.tag[:])
}
