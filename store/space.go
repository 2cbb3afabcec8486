package store

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// reserve is the free space in bytes that only changes which free space may
// use: room for the index to follow the journal, and for deletions on a full
// disk.
const reserve = 16 << 20

// room fails with fault.NoSpace when more bytes in the data folder would touch
// the reserve. It asks the file system each time, so writing goes on by itself
// once there is space again.
func (s *Store) room(more int64) error { return s.roomOn(s.fs, &s.full.data, more) }

// roomForBody is room for a body of a size, or of any size below 0: a large one
// takes its room where the blobs are.
func (s *Store) roomForBody(size int64) error {
	if s.cfg.BlobDir == s.cfg.Dir || size >= 0 && size <= int64(s.cfg.InlineLimit) {
		return s.room(max(size, 0))
	}
	if err := s.room(0); err != nil {
		return err
	}
	return s.roomOn(s.blobFS, &s.full.blobs, max(size, 0))
}

// fullness tells of each disk whether it was full when it was last asked, so
// that the log says once when that begins, and once when it ends.
type fullness struct{ data, blobs atomic.Bool }

func (s *Store) roomOn(f vfs.FS, full *atomic.Bool, more int64) error {
	space, err := f.Space()
	if err != nil {
		return nil // the write itself will tell
	}
	if now := space.Free < reserve; full.CompareAndSwap(!now, now) {
		s.logFull(now, space.Free)
	}
	switch {
	case space.ReadOnly:
		return fault.New("store", fault.ReadOnly, "", syscall.EROFS).WithHint(hintMounted)
	case space.Free-more < reserve:
		return noSpace()
	}
	return nil
}

func (s *Store) logFull(full bool, free int64) {
	if full {
		s.log.Warn("the disk is full: puts are refused until there is room", "free", free, "reserve", int64(reserve))
		return
	}
	s.log.Info("there is room on the disk again: puts are taken", "free", free)
}

// lacksRoom says why bodies are refused at the moment, or "".
func (s *Store) lacksRoom() string {
	for _, f := range []vfs.FS{s.fs, s.blobFS} {
		if space, err := f.Space(); err == nil && space.Free < reserve {
			return hintNoSpace
		}
	}
	return ""
}

const hintMounted = "The file system is mounted read-only. Reading goes on; mount it to be written to, and writing does too."

// mountedReadOnly says why nothing or not everything can be written at the
// moment, or "".
func (s *Store) mountedReadOnly() string {
	for _, f := range []vfs.FS{s.fs, s.blobFS} {
		if space, err := f.Space(); err == nil && space.ReadOnly {
			return hintMounted
		}
	}
	return ""
}

// failHint tells what to do about a failed write.
func failHint(cause error) string {
	if errors.Is(cause, syscall.EROFS) {
		return "The file system has become read-only, as the system does it after an error. Look at its log (`dmesg`), check the disk, then restart Larder."
	}
	return "Writing to the disk failed. Check the disk, then restart Larder."
}

const hintNoSpace = "The disk is full. Delete objects or make room; writing goes on by itself."

func noSpace() error {
	return fault.New("store", fault.NoSpace, "", nil).WithHint(hintNoSpace)
}

// probeFile tells whether there is room, and stands for a moment only.
const probeFile = "index.probe"

// lackOfRoom makes fault.NoSpace of an error of the index that comes from a
// quota: SQLite calls a write over quota a failed one, and only a full disk a
// lack of space. So a write of our own is asked. All other errors stay as they
// are.
func (s *Store) lackOfRoom(err error) error {
	if fault.CodeOf(err) != fault.Internal {
		return err
	}
	if vfs.CodeOf(s.probe()) == fault.NoSpace {
		return fault.New("store", fault.NoSpace, "", err).WithHint(hintNoSpace)
	}
	return err
}

// probe writes what an index would write and takes it back.
func (s *Store) probe() error {
	f, err := s.fs.Create(probeFile)
	if errors.Is(err, fs.ErrExist) {
		f, err = s.fs.OpenWrite(probeFile) // left over from a crash
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, 64<<10), 0)
	if err == nil {
		err = f.Sync() // where a file system finds out late
	}
	return errors.Join(err, f.Close(), s.fs.Remove(probeFile))
}

// indexReserveBytes is enough for the index to follow some hundred deletions.
const indexReserveBytes = 4 << 20

// keepReserve makes the index's reserve when it is not there and there is room.
// Failing to is no harm now. It belongs to the committer, and to Open before.
func (s *Store) keepReserve() {
	if s.reserved || s.room(indexReserveBytes) != nil {
		return
	}
	f, err := s.fs.Create(indexReserve)
	if errors.Is(err, fs.ErrExist) {
		f, err = s.fs.OpenWrite(indexReserve)
	}
	if err == nil {
		err = f.Preallocate(indexReserveBytes)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if s.reserved = err == nil; err != nil {
		s.log.Warn("no room could be kept for the index on a full disk", "error", err)
	}
}

// spendReserve gives the reserve's room to the index, so that deletions go on
// where another program has filled the disk. It tells whether there was one.
func (s *Store) spendReserve() bool {
	s.reserved = false
	if err := s.fs.Remove(indexReserve); err != nil {
		return false
	}
	s.log.Warn("the disk is full: the index uses its reserve")
	return true
}

// freesSpace tells whether a record only takes things away.
func freesSpace(r *journal.Record) bool {
	switch r.Kind {
	case journal.Delete, journal.BucketDelete, journal.Abort:
		return true
	}
	return false
}
