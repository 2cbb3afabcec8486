package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is a local file below a folder.
type file struct {
	name  string // relative, with slashes
	path  string
	size  int64
	mtime time.Time
}

// walker finds the regular files of a tree. What it passes over, such as
// symbolic links, it names to skipped, and folders that it cannot read to
// failed.
type walker struct {
	ctx     context.Context
	follow  bool
	visit   func(file)
	skipped func(name, why string)
	failed  func(name string, err error)
}

// tree walks a folder. It is an error that there is none.
func (w *walker) tree(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: folder, Err: fmt.Errorf("it is no folder")}
	}
	w.folder(folder, "", []os.FileInfo{info})
	return w.ctx.Err()
}

// folder walks one folder. above are the folders that led to it: a link back to
// one of them would never end.
func (w *walker) folder(folder, name string, above []os.FileInfo) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		w.failed(name+"/", err)
	}
	for _, e := range entries {
		if w.ctx.Err() != nil {
			return
		}
		w.entry(filepath.Join(folder, e.Name()), path.Join(name, e.Name()), e, above)
	}
}

func (w *walker) entry(at, name string, e fs.DirEntry, above []os.FileInfo) {
	if isTemporary(e.Name()) {
		return
	}
	link := e.Type()&fs.ModeSymlink != 0
	if link && !w.follow {
		w.skipped(name, "a symbolic link; --follow copies what it points to")
		return
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		w.failed(name, err)
	case info.IsDir() && link && isAbove(info, above):
		w.skipped(name, "a symbolic link to a folder that it lies in")
	case info.IsDir():
		w.folder(at, name, append(above[:len(above):len(above)], info))
	case !info.Mode().IsRegular():
		w.skipped(name, "no regular file")
	default:
		w.visit(file{name: name, path: at, size: info.Size(), mtime: info.ModTime()})
	}
}

func isAbove(info os.FileInfo, above []os.FileInfo) bool {
	for _, a := range above {
		if os.SameFile(info, a) {
			return true
		}
	}
	return false
}

// Downloads are written to files of such names until they are whole. One that a
// killed program has left behind is no file of the user.
const (
	temporaryPrefix = ".larder-"
	temporarySuffix = ".part"
)

func isTemporary(name string) bool {
	middle, ok := strings.CutPrefix(name, temporaryPrefix)
	middle, part := strings.CutSuffix(middle, temporarySuffix)
	return ok && part && len(middle) == temporaryDigits && strings.Trim(middle, "0123456789abcdef") == ""
}

const temporaryDigits = 16

// What is named as a single source and cannot be copied as one.
var (
	errNotFollowed = errors.New("it is a symbolic link; --follow copies what it points to")
	errFolder      = errors.New("it is a folder; --recursive copies what is in it")
)
