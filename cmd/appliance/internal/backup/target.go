package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"

	"golang.org/x/time/rate"

	"larder/fault"
	"larder/store/vfs"
)

// blockSize is how much is read and written at once.
const blockSize = 1 << 20

// target is a folder that files are copied into: durable bytes first, then the
// name, and the folders at the end, by sync.
type target struct {
	files vfs.FS
	pace  *rate.Limiter // of copied bytes; nil = none
	buf   []byte
	dirs  map[string]bool // made or checked
	dirty map[string]bool // with names that are not durable yet
}

func newTarget(files vfs.FS, bytesPerSecond int64) *target {
	t := &target{files: files, buf: make([]byte, blockSize), dirs: map[string]bool{".": true}, dirty: map[string]bool{}}
	if bytesPerSecond > 0 {
		t.pace = rate.NewLimiter(rate.Limit(bytesPerSecond), blockSize)
	}
	return t
}

// copied is what came of a copy.
type copied struct {
	size   int64
	sha256 string
}

// copy writes the first size bytes of a file under a name that is chosen when
// its hash is known. Where that name is there already, with that size, nothing is
// changed. The bytes are durable on return, the name is after sync.
func (t *target) copy(ctx context.Context, from io.ReaderAt, size int64, dir string, name func(sum string) string) (copied, bool, error) {
	if err := t.mkdir(dir); err != nil {
		return copied{}, false, err
	}
	tmp := path.Join(dir, "copy"+newSuffix)
	sum, err := t.fill(ctx, tmp, from, size)
	if err != nil {
		return copied{}, false, err
	}
	c := copied{size, sum}
	to := name(sum)
	t.touch(to)
	if e, err := t.files.Stat(to); err == nil && e.Size == size {
		return c, false, t.remove(tmp)
	}
	if err := t.files.Rename(tmp, to); err != nil {
		return c, false, t.fault(to, err)
	}
	return c, true, nil
}

// touch has a name made durable by the next sync. That goes for names too that
// were there already: a run that was killed may have made them and no more.
func (t *target) touch(name string) {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		t.dirty[dir] = true
		if dir == "." {
			return
		}
	}
}

// fill writes a file anew and syncs it.
func (t *target) fill(ctx context.Context, name string, from io.ReaderAt, size int64) (sum string, err error) {
	if err := t.remove(name); err != nil {
		return "", err
	}
	f, err := t.files.Create(name)
	if err != nil {
		return "", t.fault(name, err)
	}
	h := sha256.New()
	if err = t.pour(ctx, f, from, size, h); err == nil {
		if err = f.Sync(); err == nil {
			err = vfs.Uncache(f) // so that the copy does not push out what clients read
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", t.fault(name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (t *target) pour(ctx context.Context, to vfs.File, from io.ReaderAt, size int64, h hash.Hash) error {
	for off := int64(0); off < size; {
		b := t.buf[:min(int64(len(t.buf)), size-off)]
		if err := t.wait(ctx, len(b)); err != nil {
			return err
		}
		n, err := from.ReadAt(b, off)
		if n < len(b) {
			return fault.New("backup.copy", fault.Corrupt, "", fmt.Errorf("%d of %d bytes are there: %w", off+int64(n), size, err)).
				WithHint("A file is shorter than it must be, or cannot be read. Run `larder verify`.")
		}
		if _, err := to.WriteAt(b, off); err != nil {
			return err
		}
		h.Write(b)
		off += int64(n)
	}
	return nil
}

func (t *target) wait(ctx context.Context, n int) error {
	err := ctx.Err()
	if err == nil && t.pace != nil {
		err = t.pace.WaitN(ctx, n)
	}
	if err != nil {
		return fault.New("backup.copy", fault.Canceled, "", err).WithHint("Interrupted. The next run goes on where this one stopped.")
	}
	return nil
}

// mkdir makes a folder and those above it.
func (t *target) mkdir(dir string) error {
	if t.dirs[dir] {
		return nil
	}
	if err := t.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	if err := t.files.Mkdir(dir); err != nil {
		return t.fault(dir, err)
	}
	t.dirs[dir] = true
	t.touch(path.Join(dir, "x"))
	return nil
}

// write puts a small file in place, durably at once.
func (t *target) write(name string, text []byte) error {
	tmp := name + newSuffix
	if err := t.remove(tmp); err != nil {
		return err
	}
	f, err := t.files.Create(tmp)
	if err != nil {
		return t.fault(tmp, err)
	}
	if _, err = f.WriteAt(text, 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = t.files.Rename(tmp, name)
	}
	if err == nil {
		err = t.files.SyncDir(path.Dir(name))
	}
	if err != nil {
		return t.fault(name, err)
	}
	return nil
}

// sync makes the names durable.
func (t *target) sync() error {
	for dir := range t.dirty {
		if err := t.files.SyncDir(dir); err != nil {
			return t.fault(dir, err)
		}
		delete(t.dirty, dir)
	}
	return nil
}

// remove removes a file that need not be there.
func (t *target) remove(name string) error {
	if err := t.files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t.fault(name, err)
	}
	return nil
}

func (t *target) fault(name string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	f := fault.New("backup", vfs.CodeOf(err), name, err)
	if f.Code == fault.NoSpace {
		return f.WithHint("The folder that is written to has no room left.")
	}
	return f.WithHint("The folder cannot be written to: " + err.Error())
}
