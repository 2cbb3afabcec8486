package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"larder/fault"
	"larder/store/vfs"
)

const (
	mountsWanted = "/etc/fstab"
	mountsNow    = "/proc/self/mountinfo"
	mountsBytes  = 1 << 20 // of either that are read
)

// refuseUnmounted refuses a folder without a store in it, in which the system's
// own table says that a disk should be mounted. A new store that is made below
// an empty mount point hides all that is stored on the disk, and the disk hides
// the new one as soon as it is mounted.
func refuseUnmounted(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "VERSION")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "blobs", "VERSION")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	wanted, err := readTable(mountsWanted)
	if err != nil {
		return nil // there is none here
	}
	now, err := readTable(mountsNow)
	if err != nil {
		return nil
	}
	at := unmountedAbove(realPath(dir), wanted, now)
	if at == "" {
		return nil
	}
	return fault.New("server.Open", fault.ForeignStore, dir, nil).WithHint("The folder is empty, and the disk that " +
		mountsWanted + " names for " + at + " is not mounted. Mount it: mount " + at + ". For a new store on this disk, name another folder.")
}

func readTable(name string) ([]byte, error) {
	files, err := vfs.OS(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	f, err := files.Open(filepath.Base(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, 0, mountsBytes))
}

// realPath is dir without symlinks, or as it is where that cannot be told.
func realPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// unmountedAbove returns the mount point nearest to dir, dir itself or a folder
// above it, that fstab(5) names and on which nothing is mounted now, or "".
func unmountedAbove(dir string, fstab, mountinfo []byte) string {
	mounted := map[string]bool{}
	for _, f := range fields(mountinfo, 5) {
		mounted[unescape(f[4])] = true // proc_pid_mountinfo(5)
	}
	nearest := ""
	for _, f := range fields(fstab, 2) {
		at := filepath.Clean(unescape(f[1]))
		if !filepath.IsAbs(at) || at == "/" || mounted[at] || len(at) <= len(nearest) {
			continue
		}
		if dir == at || strings.HasPrefix(dir, at+"/") {
			nearest = at
		}
	}
	return nearest
}

// fields are the lines with at least n fields that are no comments.
func fields(text []byte, n int) (lines [][]string) {
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) >= n && !strings.HasPrefix(f[0], "#") {
			lines = append(lines, f)
		}
	}
	return lines
}

// unescape undoes \040 and its like, which stand for blanks in both tables.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
