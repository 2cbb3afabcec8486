package store

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"larder/fault"
	"larder/store/vfs"
)

// scrubFile holds what the scrubber remembers; maxScrubFile is what may be in
// it, in bytes.
const (
	scrubFile    = "scrub.json"
	maxScrubFile = 16 << 20
)

// scrubFiles are what the scrubber keeps open. A second descriptor of index.db
// must not be closed while SQLite has the file open: that would drop SQLite's
// own locks (https://sqlite.org/howtocorrupt.html, section 2.2).
type scrubFiles struct {
	mu    sync.Mutex
	index vfs.File
}

// uncacheIndex lets the next reads of the index come from the disk.
func (s *Store) uncacheIndex() error {
	s.scrub.mu.Lock()
	defer s.scrub.mu.Unlock()
	if s.scrub.index == nil {
		f, err := s.fs.Open(indexFile)
		if err != nil {
			return fault.New("store.Inspect", vfs.CodeOf(err), indexFile, err)
		}
		s.scrub.index = f
	}
	return vfs.Uncache(s.scrub.index)
}

func (f *scrubFiles) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index != nil {
		f.index.Close() // it was only read
		f.index = nil
	}
}

// SaveScrub replaces what the scrubber remembers, atomically; it is durable on
// return.
func (s *Store) SaveScrub(state []byte) error {
	const op = "store.SaveScrub"
	tmp := scrubFile + ".new"
	if err := s.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(op, vfs.CodeOf(err), tmp, err)
	}
	f, err := s.fs.Create(tmp)
	if err != nil {
		return fault.New(op, vfs.CodeOf(err), tmp, err)
	}
	_, err = f.WriteAt(state, 0)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.fs.Rename(tmp, scrubFile)
	}
	if err == nil {
		err = s.fs.SyncDir(".")
	}
	if err != nil {
		return fault.New(op, vfs.CodeOf(err), scrubFile, err)
	}
	return nil
}

// LoadScrub returns what SaveScrub has kept, nil when there is nothing.
func (s *Store) LoadScrub() ([]byte, error) {
	const op = "store.LoadScrub"
	f, err := s.fs.Open(scrubFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(op, vfs.CodeOfRead(err), scrubFile, err)
	}
	defer f.Close()
	state, err := io.ReadAll(io.NewSectionReader(f, 0, maxScrubFile))
	if err != nil {
		return nil, fault.New(op, vfs.CodeOfRead(err), scrubFile, err)
	}
	return state, nil
}

// InspectSize estimates how many bytes an inspection reads from its start to
// its end: segments, index, and the sizes of all objects, some of which stand
// in segments or share their bytes.
func (s *Store) InspectSize() int64 {
	var size int64
	for _, seg := range s.journal.Segments() {
		size += seg.Size
	}
	if e, err := s.fs.Stat(indexFile); err == nil {
		size += e.Size
	}
	for _, b := range s.buckets.all() {
		size += b.Bytes
	}
	return size
}
