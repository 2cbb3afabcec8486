package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"sync/atomic"

	"larder/fault"
	"larder/store/index"
)

// Two small files beside the index say what it cannot say of itself after it
// was damaged. Neither is synced and neither need be there: they guard against
// lost and rotten bytes, not against power cuts, which SQLite bears.
const (
	// floorFile holds the sequence that the index had applied when its log was
	// last about to be moved into it. From then on the file has pages that only
	// the whole log makes consistent. An index that comes up with less has lost
	// some of it, and would mix pages of different moments, each of them whole.
	floorFile = "index.floor"

	// damageFile is made when a damaged row is met, so that the next start makes
	// the index again even when this process is killed.
	damageFile = "index.damaged"
)

const (
	floorMagic = "LARDFLR1"
	floorLen   = 8 + 8 + 4 // magic, sequence, CRC32C of both
)

// indexNotes are the two files of an open store.
type indexNotes struct {
	floor  uint64 // the last that was written; the committer's, and Open's before
	damage atomic.Bool
}

// checkpointIndex is index.Checkpoint, which the floor goes before.
func (s *Store) checkpointIndex(mode index.CheckpointMode) error {
	s.noteFloor()
	return s.index.Checkpoint(mode)
}

// noteFloor writes what the index has applied, before its log is moved.
func (s *Store) noteFloor() {
	at := s.index.Applied().Sequence
	if at <= s.notes.floor {
		return
	}
	b := make([]byte, floorLen)
	copy(b, floorMagic)
	binary.LittleEndian.PutUint64(b[8:], at)
	binary.LittleEndian.PutUint32(b[16:], floorSum(b))
	f, err := s.fs.OpenWrite(floorFile)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = s.fs.Create(floorFile)
	}
	if err == nil {
		_, err = f.WriteAt(b, 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.log.Debug("the floor of the index was not written", "error", err)
		return
	}
	s.notes.floor = at
}

func floorSum(b []byte) uint32 {
	return crc32.Checksum(b[:16], crc32.MakeTable(crc32.Castagnoli))
}

// readFloor returns what noteFloor wrote last, or 0 when that is not known.
func (s *Store) readFloor() uint64 {
	f, err := s.fs.Open(floorFile)
	if err != nil {
		return 0
	}
	defer f.Close()
	b := make([]byte, floorLen)
	if _, err := f.ReadAt(b, 0); err != nil {
		return 0
	}
	if string(b[:8]) != floorMagic || binary.LittleEndian.Uint32(b[16:]) != floorSum(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8:])
}

// loggedFile stands in the data folder while the index's log does: from when the
// index is open until just before it is closed, which is when SQLite removes the
// log itself.
const loggedFile = "index.logged"

// logWasLost tells whether the log of an index that was not closed is missing.
// Some of its pages may stand in the index already, as they do after a
// checkpoint that was cut off, and others be of an earlier time: no row shows it.
func (s *Store) logWasLost() bool {
	if _, err := s.fs.Stat(loggedFile); err != nil {
		return false
	}
	if info, err := s.fs.Stat(indexFile); err != nil || info.Size == 0 {
		return false
	}
	_, err := s.fs.Stat(indexFile + "-wal")
	return errors.Is(err, fs.ErrNotExist)
}

// noteLog makes the logged file, durably, if there is a log.
func (s *Store) noteLog() {
	if _, err := s.fs.Stat(indexFile + "-wal"); err != nil {
		return
	}
	if _, err := s.fs.Stat(loggedFile); err == nil {
		return
	}
	if err := writeSmall(s.fs, loggedFile, "the log of index.db is needed\n"); err != nil {
		s.log.Warn("that there is a log of the index could not be noted: its loss would not be known", "error", err)
	}
}

// forgetLog removes the logged file, durably, before the log goes.
func (s *Store) forgetLog() {
	err := s.fs.Remove(loggedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = s.fs.SyncDir(".")
	}
	if err != nil {
		s.log.Warn("the note that there is a log of the index could not be removed: the next start may make the index again", "error", err)
	}
}

// checkNotes fails with fault.IndexStale when the index that was just opened is
// known not to be what it was. A new index has nothing to lose.
func (s *Store) checkNotes() error {
	const op = "store.Open"
	at := s.index.Applied().Sequence
	if at == 0 {
		s.dropNotes()
		return nil
	}
	if _, err := s.fs.Stat(damageFile); err == nil {
		return fault.New(op, fault.IndexStale, indexFile, errors.New("a damaged row was found in it"))
	}
	if floor := s.readFloor(); at < floor {
		return fault.New(op, fault.IndexStale, indexFile, errors.New("its log was lost or damaged"))
	}
	return nil
}

// noteDamage makes the damage file, once.
func (s *Store) noteDamage() {
	if !s.notes.damage.CompareAndSwap(false, true) {
		return
	}
	f, err := s.fs.Create(damageFile)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		s.log.Warn("that the index is damaged could not be noted: if Larder is killed, remove index.db", "error", err)
	}
}

// dropNotes removes all of these files, when the index that they speak of is gone.
func (s *Store) dropNotes() {
	for _, name := range []string{floorFile, damageFile, loggedFile} {
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("a note about an index that is gone could not be removed", "file", name, "error", err)
		}
	}
	s.notes.floor = 0
	s.notes.damage.Store(false)
}
