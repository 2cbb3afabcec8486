package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"larder/client"
)

// target is a folder that objects are written to. No name leads out of it, by
// links in it neither.
type target struct{ root *os.Root }

// openTarget opens a folder, and makes it where it is missing.
func openTarget(folder string) (target, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return target{}, err
	}
	root, err := os.OpenRoot(folder)
	return target{root}, err
}

// download writes an object to a file below the target. Until it is whole and
// on the disk it has another name; what was there before stays till then.
func (r *Remote) download(ctx context.Context, from Location, to target, name string) error {
	mode, err := to.replaceable(name)
	if err != nil {
		return err
	}
	if err := to.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	return r.persist(ctx, func() error { return r.fetch(ctx, from, to, name, mode) })
}

// replaceable tells the mode of the file that is there, 0 where none is.
func (t target) replaceable(name string) (fs.FileMode, error) {
	info, err := t.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		return 0, nil // the link is replaced, and not what it points to
	case !info.Mode().IsRegular():
		return 0, &fs.PathError{Op: "write", Path: name, Err: errors.New("what is there is no regular file")}
	}
	return info.Mode().Perm(), nil
}

// fetch is one attempt of download.
func (r *Remote) fetch(ctx context.Context, from Location, to target, name string, mode fs.FileMode) (err error) {
	body, err := r.client.Get(ctx, from.Bucket, from.Key, nil)
	if err != nil {
		return err
	}
	defer body.Close() // all that counts has been read by then
	f, part, err := to.temporary(path.Dir(name))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()            // it is not kept
			_ = to.root.Remove(part) // nobody takes it for a file of the user
		}
	}()
	if _, err := io.Copy(f, io.TeeReader(body, r.progress)); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	return to.keep(f, part, name, body.Info())
}

// temporary makes a file of a name that nothing else has.
func (t target) temporary(folder string) (*os.File, string, error) {
	var id [temporaryDigits / 2]byte
	_, _ = rand.Read(id[:]) // never fails: https://pkg.go.dev/crypto/rand#Read
	part := path.Join(folder, temporaryPrefix+hex.EncodeToString(id[:])+temporarySuffix)
	f, err := t.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return f, part, err
}

// keep gives a whole file its name. It is on the disk before, so that after a
// power cut one of the two is there.
func (t target) keep(f *os.File, part, name string, info client.Object) error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	at := modified(info)
	if err := t.root.Chtimes(part, at, at); err != nil {
		return err
	}
	return t.root.Rename(part, name)
}

// destination is the folder and the name that an object gets at a path: below
// it, if it is a folder or ends like one.
func destination(at, key string) (folder, name string, err error) {
	info, err := os.Stat(at)
	isFolder := err == nil && info.IsDir()
	if isFolder || os.IsPathSeparator(at[len(at)-1]) {
		name = base(key)
		return at, name, checkName(name)
	}
	return filepath.Dir(at), filepath.Base(at), nil
}

// Cat writes objects to the output, one behind the other. "-" is the input.
func (r *Remote) Cat(ctx context.Context, texts []string) error {
	for _, text := range texts {
		if text != "-" {
			if _, err := object(text); err != nil {
				return err
			}
		}
	}
	for _, text := range texts {
		if err := r.cat(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (r *Remote) cat(ctx context.Context, text string) error {
	if text == "-" {
		_, err := io.Copy(r.cfg.Out, r.cfg.In)
		return err
	}
	l, err := object(text)
	if err != nil {
		return err
	}
	body, err := r.client.Get(ctx, l.Bucket, l.Key, nil)
	if err != nil {
		return err
	}
	defer body.Close() // all that counts has been read by then
	_, err = io.Copy(r.cfg.Out, body)
	return err
}
