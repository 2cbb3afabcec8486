package store

import (
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

// freesSpace tells whether a record only takes things away.
func freesSpace(r *journal.Record) bool {
	switch r.Kind {
	case journal.Delete, journal.BucketDelete, journal.Abort:
		return true
	}
	return false
}
