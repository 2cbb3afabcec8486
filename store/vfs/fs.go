// Package vfs is the only way to the files of a data folder, SQLite's own files
// apart. It has three kinds of file system: OS, confined to one folder; Mem, a
// simulated twin that knows which bytes and names a power cut would take; and
// Counted, which counts what passes through it.
//
// The package promises what the kernel promises and no more: bytes are durable
// after File.Sync, names are durable after SyncDir of their folder, and after a
// failed Sync nothing is known about what was written since the last good one.
package vfs

import (
	"errors"
	"io"
	"os"
)

// ErrLocked is the cause of Lock's error when another process holds the file.
var ErrLocked = errors.New("held by another process")

// FS holds the files of one folder. Names are slash-separated and relative to
// it; "." is the folder itself. All methods may be called at once by many
// goroutines. Errors wrap the errno; CodeOf classifies them.
type FS interface {
	// Create makes a file that must not exist, readable and writable by the
	// owner alone. The name is durable only after SyncDir of its folder.
	Create(name string) (File, error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	// OpenWrite opens an existing file for reading and writing.
	OpenWrite(name string) (File, error)
	// SyncDir makes the names in a folder durable: creations, renames, removals.
	// Any error is final, as that of File.Sync, but one of fault.Unavailable:
	// there was no descriptor to open the folder with, so nothing was tried.
	SyncDir(name string) error
	// Rename moves a file, over an existing one if there is one.
	Rename(from, to string) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// Mkdir makes a folder for the owner alone. It is no error when it is there.
	Mkdir(name string) error
	// List returns the entries of a folder, sorted by name.
	List(name string) ([]Entry, error)
	// Stat describes one name. A name that is not there is fs.ErrNotExist.
	Stat(name string) (Entry, error)
	// Lock takes an exclusive lock on a file, which it makes when there is none,
	// and holds it until the Closer is closed or the process ends. It does not
	// wait: a lock held elsewhere is fault.Locked around ErrLocked. On a read-only
	// file system the file has to be there.
	Lock(name string) (io.Closer, error)
	// Space tells how much room the folder's file system has.
	Space() (Space, error)
}

// File is an open file. ReadAt and WriteAt may be called at once by many
// goroutines.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the file's bytes and size durable (fdatasync). Any error is
	// final: a later nil does not mean that the bytes reached the disk.
	Sync() error
	// Truncate sets the size. It is durable after Sync.
	Truncate(size int64) error
	// Preallocate reserves room for size bytes. The file reads as zeros where
	// nothing was written, and its size is at least size.
	Preallocate(size int64) error
	// Size returns the current size in bytes.
	Size() (int64, error)
}

// OSFile is implemented by the files of OS, so that sendfile can be used. The
// file belongs to the File: do not close it, and do not keep it longer.
type OSFile interface {
	OSFile() *os.File
}

// Entry describes one name in a folder.
type Entry struct {
	Name  string // the last element
	Size  int64  // bytes; 0 for a folder
	IsDir bool
}

// Space is the room of a file system.
type Space struct {
	Free       int64 // bytes an unprivileged process may still use
	Total      int64 // bytes
	FreeInodes int64 // -1 where the file system sets no limit
	ReadOnly   bool  // it is mounted so
}

// uncacher is implemented by files that stand on a page cache.
type uncacher interface {
	Uncache(off, n int64) error
}

// Uncache asks the system to forget the file's clean cached pages, so that the
// next read comes from the disk. After a failed Sync the cache may hold bytes
// the disk never got; only a read past it tells. Files without a cache ignore it.
func Uncache(f File) error { return UncacheRange(f, 0, 0) }

// UncacheRange is Uncache for the pages that hold n bytes from off on; n = 0
// means all from off on.
func UncacheRange(f File, off, n int64) error {
	if u, ok := f.(uncacher); ok {
		return u.Uncache(off, n)
	}
	return nil
}
