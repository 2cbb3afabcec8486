package vfs

import (
	"errors"
	"io/fs"
	"syscall"

	"larder/fault"
)

// CodeOf classifies an error of this package by what the caller should do:
// NoSpace (free some, try again), Unavailable (too many open files, try again),
// ReadOnly, Locked, or Internal for all else.
func CodeOf(err error) fault.Code {
	switch {
	case err == nil:
		return fault.OK
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.NoSpace
	case noFiles(err):
		return fault.Unavailable
	case errors.Is(err, syscall.EROFS):
		return fault.ReadOnly
	case errors.Is(err, ErrLocked):
		return fault.Locked
	}
	return fault.Internal
}

// CodeOfRead is CodeOf for reads of bytes that were stored: what is missing or
// cannot be read counts as Corrupt.
func CodeOfRead(err error) fault.Code {
	if errors.Is(err, syscall.EIO) || errors.Is(err, fs.ErrNotExist) {
		return fault.Corrupt
	}
	return CodeOf(err)
}
