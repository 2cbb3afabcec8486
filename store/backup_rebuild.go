package store

import (
	"errors"
	"io/fs"

	"larder/fault"
	"larder/store/vfs"
)

// indexFiles are the index and what is noted about it.
func indexFiles() []string {
	return []string{indexFile, indexFile + "-wal", indexFile + "-shm", openedFile, "index.floor", "index.damaged", loggedFile}
}

// DropIndex removes the index of a data folder that no process uses, so that the
// next Open makes it again from the journal. With it goes what it knew beyond
// the end of the journal: whoever calls this takes the journal for the truth.
// fault.Locked when a process uses the folder.
func DropIndex(dir string) error {
	const op = "store.DropIndex"
	files, err := vfs.OS(dir)
	if err != nil {
		return fault.New(op, fault.InvalidArgument, dir, err).WithHint("The data folder cannot be opened.")
	}
	if _, err := readIdentity(files, dir, versionFile); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fault.New(op, fault.InvalidArgument, dir, err).WithHint("There is no store in this folder.")
		}
		return err
	}
	lock, err := files.Lock(lockFile)
	if err != nil {
		return lockFault(dir, err)
	}
	for _, name := range indexFiles() {
		if err := files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fault.New(op, vfs.CodeOf(err), name, err), lock.Close())
		}
	}
	if err := files.SyncDir("."); err != nil {
		return errors.Join(fault.New(op, vfs.CodeOf(err), dir, err), lock.Close())
	}
	return lock.Close()
}
