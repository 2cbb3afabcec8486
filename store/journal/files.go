package journal

import (
	"errors"
	"sync"

	"larder/fault"
	"larder/store/vfs"
)

// maxOpen bounds the segment files that stay open for reading.
const maxOpen = 64

var errClosed = errors.New("the journal is closed")

// files keeps segment files open, the least recently used go first. A file that
// is in use is never closed.
type files struct {
	c *Config

	mu     sync.Mutex // guards all below, and refs and used of the handles
	open   map[uint64]*handle
	clock  uint64
	closed bool
}

// handle is one open segment file.
type handle struct {
	number uint64
	file   vfs.File
	refs   int
	used   uint64
	gone   bool // no longer in files.open: the last release closes it
}

func newFiles(c *Config) *files { return &files{c: c, open: map[uint64]*handle{}} }

// acquire returns the open file of a segment. release gives it back.
func (f *files) acquire(number uint64) (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fault.New("journal.Read", fault.Unavailable, "", errClosed)
	}
	h := f.open[number]
	if h == nil {
		file, err := f.c.FS.Open(f.c.path(number))
		if err != nil {
			return nil, fault.New("journal.Read", vfs.CodeOfRead(err), f.c.path(number), err)
		}
		h = f.insert(number, file)
	}
	h.refs++
	f.clock++
	h.used = f.clock
	return h, nil
}

// add takes over a file that was opened elsewhere, in use by the caller.
func (f *files) add(number uint64, file vfs.File) *handle {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.insert(number, file)
	h.refs++
	return h
}

func (f *files) insert(number uint64, file vfs.File) *handle {
	if len(f.open) >= maxOpen {
		f.evict()
	}
	h := &handle{number: number, file: file}
	f.open[number] = h
	return h
}

// evict closes the file that has been idle longest. An error means nothing: all
// that matters was synced before.
func (f *files) evict() {
	var oldest *handle
	for _, h := range f.open {
		if h.refs == 0 && (oldest == nil || h.used < oldest.used) {
			oldest = h
		}
	}
	if oldest != nil {
		delete(f.open, oldest.number)
		oldest.file.Close()
	}
}

func (f *files) release(h *handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.refs--
	if h.refs == 0 && h.gone {
		h.file.Close()
	}
}

// forget lets go of a segment that is about to be removed.
func (f *files) forget(number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.open[number]
	if h == nil {
		return
	}
	delete(f.open, number)
	h.gone = true
	if h.refs == 0 {
		h.file.Close()
	}
}

// close closes all files, those in use when they are released.
func (f *files) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	var errs []error
	for n, h := range f.open {
		delete(f.open, n)
		h.gone = true
		if h.refs == 0 {
			errs = append(errs, h.file.Close())
		}
	}
	return errors.Join(errs...)
}
