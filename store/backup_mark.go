package store

import (
	"errors"
	"io"
	"io/fs"

	"larder/fault"
	"larder/store/vfs"
)

// openedFile stands in the data folder while the index is open and says which
// file that is. A clean close removes it.
//
// A copy of the folder that was made meanwhile (rsync, cp) holds it too, beside
// an index that was read while it changed: pages of different moments, each
// with its checksum right. Nothing in such an index shows that, but the mark
// does, since the copy is another file. Then the index is made again. After a
// crash the mark names the very file that is there, and the index is good.
const openedFile = "index.open"

// maxMark bounds what is read of a mark in bytes.
const maxMark = 256

// indexWasCopied tells whether the index is a copy of one that was in use.
func (s *Store) indexWasCopied() bool {
	mark, err := readSmall(s.fs, openedFile)
	if err != nil || !vfs.IsIdentity(mark) {
		return false
	}
	id, ok := identityOf(s.fs, indexFile)
	return ok && id != mark
}

// markIndex writes the mark for the index as it is, durably, so that no power cut
// brings back the mark of an earlier index. Without a mark all that is lost is
// the warning.
func (s *Store) markIndex() {
	id, ok := identityOf(s.fs, indexFile)
	if !ok {
		return
	}
	if mark, err := readSmall(s.fs, openedFile); err == nil && mark == id {
		return
	}
	if err := writeSmall(s.fs, openedFile, id); err != nil {
		s.log.Warn("the mark of an open index could not be written: a copy of the folder will not be known as one", "error", err)
	}
}

// unmarkIndex says that the index was closed cleanly, so that copies of it are
// as good as itself.
func (s *Store) unmarkIndex() {
	if err := s.fs.Remove(openedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("the mark of an open index could not be removed", "error", err)
	}
}

// MarkCopied lets the next Open look at the folder of a closed store as at a copy
// of one that was in use: it makes the index again, and refuses the folder while
// large bodies are missing. fault.Locked when a process uses the folder.
func MarkCopied(dir string) error {
	const op = "store.MarkCopied"
	files, err := vfs.OS(dir)
	if err != nil {
		return fault.New(op, fault.InvalidArgument, dir, err).WithHint("The data folder cannot be opened.")
	}
	lock, err := files.Lock(lockFile)
	if err != nil {
		return lockFault(dir, err)
	}
	other, ok := identityOf(files, versionFile) // a file that index.db never is
	if ok {
		if err = writeSmall(files, openedFile, other); err != nil {
			err = fault.New(op, vfs.CodeOf(err), openedFile, err)
		}
	}
	return errors.Join(err, lock.Close())
}

func identityOf(files vfs.FS, name string) (id string, ok bool) {
	f, err := files.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	return vfs.Identity(f)
}

func readSmall(files vfs.FS, name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxMark))
	return string(text), err
}

func writeSmall(files vfs.FS, name, text string) error {
	if err := files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := files.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return files.SyncDir(".")
}
