package vfs

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// spareFiles is how many descriptors one call needs at most: those of the
// folders on the way to a name, and that of the name.
const spareFiles = 3

// spare holds descriptors back for what must go on when the process has no more
// of them: a folder that cannot be opened cannot be synced, and a change that
// was written would have to be taken back for that.
type spare struct {
	mu   sync.Mutex
	held []*os.File
}

// keep fills the spare up, as far as it can be.
func (s *spare) keep(root *os.Root) {
	for len(s.held) < spareFiles {
		f, err := root.Open(".")
		if err != nil {
			return
		}
		s.held = append(s.held, f)
	}
}

// lend runs a call, and once more with the spare descriptors when there were
// no others. It may still fail with EMFILE: others want descriptors too.
func (s *spare) lend(root *os.Root, call func() error) error {
	err := call()
	if !noFiles(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.held {
		f.Close() // a folder that was only read
	}
	s.held = nil
	defer s.keep(root)
	return call()
}

// noFiles tells whether a call failed for lack of a descriptor, before it did
// anything.
func noFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
