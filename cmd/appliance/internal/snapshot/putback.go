package snapshot

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"larder/admin"
	"larder/fault"
	"larder/store/vfs"
)

const identityFile = "system.db"

// OpenedFile stands in the data folder while system.db is open and says which
// file that is. A clean stop removes it. A copy of the folder that was made
// meanwhile has it beside a system.db of another identity, which may be made of
// pages of different moments: nothing in the file shows that.
const OpenedFile = "system.open"

// maxMark bounds what is read of a mark in bytes.
const maxMark = 256

// Mark says which file system.db is, while it is open; durably, so that no power
// cut brings back the mark of an earlier one.
func Mark(files vfs.FS) error {
	id, ok := identity(files)
	if !ok {
		return nil
	}
	if err := files.Remove(OpenedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := files.Create(OpenedFile)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(id), 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return files.SyncDir(".")
}

// Unmark says that system.db was closed cleanly, or that whoever runs Larder
// vouches for it.
func Unmark(files vfs.FS) error {
	if err := files.Remove(OpenedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// WasCopied tells whether system.db is a copy of one that was in use.
func WasCopied(files vfs.FS) bool {
	f, err := files.Open(OpenedFile)
	if err != nil {
		return false
	}
	defer f.Close()
	mark, err := io.ReadAll(io.NewSectionReader(f, 0, maxMark))
	id, ok := identity(files)
	return err == nil && ok && vfs.IsIdentity(string(mark)) && string(mark) != id
}

func identity(files vfs.FS) (string, bool) {
	f, err := files.Open(identityFile)
	if err != nil {
		return "", false
	}
	defer f.Close()
	return vfs.Identity(f)
}

// PutBack puts a snapshot in the place of system.db, which is kept under the
// name that is returned, "" when there was none. The snapshot stays. It is for a
// data folder whose lock the caller holds; durable on return.
func PutBack(ctx context.Context, files vfs.FS, name string, now time.Time) (aside string, err error) {
	if err := copyFile(ctx, files, path.Join(Dir, name), identityFile+".new"); err != nil {
		return "", writeFault(name, err)
	}
	if _, err := files.Stat(identityFile); err == nil {
		aside = identityFile + "." + now.UTC().Format(layout)
	}
	for _, ending := range []string{"-shm", "-wal", ""} {
		old := identityFile + ending
		if aside == "" {
			err = files.Remove(old)
		} else {
			err = files.Rename(old, aside+ending)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", writeFault(old, err)
		}
	}
	if err := settleFile(files, identityFile+".new", identityFile); err != nil {
		return "", writeFault(identityFile, err)
	}
	return aside, errors.Join(Unmark(files), files.SyncDir("."))
}

func copyFile(ctx context.Context, files vfs.FS, from, to string) error {
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := files.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := files.Create(to)
	if err != nil {
		return err
	}
	size, err := in.Size()
	buf := make([]byte, 1<<20)
	for off := int64(0); err == nil && off < size; off += int64(len(buf)) {
		if err = ctx.Err(); err != nil {
			break
		}
		b := buf[:min(int64(len(buf)), size-off)]
		if _, err = in.ReadAt(b, off); err == nil {
			_, err = out.WriteAt(b, off)
		}
	}
	return errors.Join(err, out.Close())
}

// Choose returns the snapshot of a name, or the newest good one for "".
func Choose(ctx context.Context, data string, files vfs.FS, secretKey []byte, name string) (admin.Snapshot, error) {
	const op = "snapshot.Choose"
	if name == "" {
		if s, ok := NewestGood(ctx, data, files, secretKey); ok {
			return s, nil
		}
		return admin.Snapshot{}, fault.New(op, fault.NoSuchKey, filepath.Join(data, Dir), nil).
			WithHint("There is no snapshot that is whole and belongs to secret.key.")
	}
	list, err := List(files)
	if err != nil {
		return admin.Snapshot{}, err
	}
	for _, s := range list {
		if s.Name == filepath.Base(name) {
			return s, nil
		}
	}
	return admin.Snapshot{}, fault.New(op, fault.InvalidArgument, name, nil).
		WithHint("There is no such snapshot; `larder snapshot list` shows them.")
}
