package vfs

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoLink is the cause of Link's error when the two places cannot share a
// file: they lie on different file systems, or are no files of the system.
var ErrNoLink = errors.New("the file cannot be shared by a link")

// Link gives an open file another name, in another folder of the same file
// system. The name must not exist; it is durable after SyncDir of its folder.
func Link(f File, to FS, name string) error {
	from, ok := f.(OSFile)
	dir, okTo := to.(*osFS)
	if !ok || !okTo {
		return ErrNoLink
	}
	folder, err := dir.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	// By way of /proc, since AT_EMPTY_PATH needs a capability: see linkat(2).
	err = onFD(from.OSFile(), func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), int(folder.Fd()), path.Base(name), unix.AT_SYMLINK_FOLLOW)
	})
	if errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EMLINK) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", ErrNoLink, err)
	}
	if err != nil {
		return &fs.PathError{Op: "linkat", Path: name, Err: err}
	}
	return nil
}

// Identity tells a file from every copy of it: its inode and the time at which
// that was made, as one line of text with a checksum. ok is false where the
// system does not say.
func Identity(f File) (id string, ok bool) {
	real, isOS := f.(OSFile)
	if !isOS {
		return "", false
	}
	var st unix.Statx_t
	err := onFD(real.OSFile(), func(fd int) error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	})
	if err != nil || st.Mask&unix.STATX_INO == 0 {
		return "", false
	}
	born := int64(0)
	if st.Mask&unix.STATX_BTIME != 0 {
		born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	text := fmt.Sprintf("inode %d born %d", st.Ino, born)
	return fmt.Sprintf("%s sum %08x", text, crc32.ChecksumIEEE([]byte(text))), true
}

// IsIdentity tells whether text is what Identity returned once: of a file that
// was not synced, a power cut may leave zeros.
func IsIdentity(text string) bool {
	before, sum, found := strings.Cut(text, " sum ")
	return found && sum == fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(before)))
}

// Version tells whether a file may have been changed since an earlier look:
// its identity, size and time of last change. ok is as for Identity.
func Version(f File) (v string, ok bool) {
	id, ok := Identity(f)
	if !ok {
		return "", false
	}
	info, err := f.(OSFile).OSFile().Stat()
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%s size %d changed %d", id, info.Size(), info.ModTime().UnixNano()), true
}
