// Package privatefile keeps small secrets as files of the data folder: the key
// that seals S3 secrets, the private key of the certificate. Such a file is
// made once, durably, readable by its owner alone, and is refused later when
// anybody else can read it.
package privatefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"larder/fault"
	"larder/store/vfs"
)

const maxSize = 64 << 10 // bytes

// Read returns the content of a private file. The error of a file that is not
// there is fs.ErrNotExist; a file that others can read, or that is larger than
// a secret can be, is refused with a hint that says what to do.
func Read(files vfs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := refuseShared(f, name); err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxSize {
		return nil, fault.New("privatefile.Read", fault.Corrupt, name, fmt.Errorf("%d bytes", size))
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text, nil
}

// refuseShared fails when a mode bit lets group or others near the file.
// Simulated files have no mode.
func refuseShared(f vfs.File, name string) error {
	real, ok := f.(vfs.OSFile)
	if !ok {
		return nil
	}
	info, err := real.OSFile().Stat()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fault.New("privatefile.Read", fault.Denied, name, fmt.Errorf("mode %04o", mode)).
			WithHint(fmt.Sprintf("Other users can read %s. If nobody has read it, run: chmod 600 %s", name, real.OSFile().Name()))
	}
	return nil
}

// Create writes a file that must not exist. On return without an error its
// bytes and its name survive a power cut; a crash before leaves the old state.
func Create(files vfs.FS, name string, text []byte) error {
	if _, err := files.Stat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	tmp := name + ".new"
	if err := files.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(files, tmp, text); err != nil {
		return err
	}
	if err := files.Rename(tmp, name); err != nil {
		return err
	}
	return files.SyncDir(path.Dir(name))
}

func write(files vfs.FS, name string, text []byte) error {
	f, err := files.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
