package store

import (
	"errors"
	"io/fs"

	"larder/fault"
	"larder/store/journal"
)

// reserve is the free space in bytes that only changes which free space may
// use: room for the index to follow the journal, and for deletions on a full
// disk.
const reserve = 16 << 20

// room fails with fault.NoSpace when more bytes would touch the reserve. It
// asks the file system each time, so writing goes on by itself once there is
// space again.
func (s *Store) room(more int64) error {
	space, err := s.fs.Space()
	if err != nil {
		return nil // the write itself will tell
	}
	if space.Free-more < reserve {
		return noSpace()
	}
	if s.cfg.BlobDir == s.cfg.Dir {
		return nil
	}
	if space, err = s.blobFS.Space(); err == nil && space.Free-more < reserve {
		return noSpace()
	}
	return nil
}

func noSpace() error {
	return fault.New("store", fault.NoSpace, "", nil).
		WithHint("The disk is full. Delete objects or make room; writing goes on by itself.")
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
