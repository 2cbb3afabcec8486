package remote

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"larder/client"
)

// alike tells whether two files of one size are the same, as the options have
// it.
func (s *syncing) alike(name string, from, to item) (bool, error) {
	switch {
	case s.src.Remote && s.dst.Remote && s.opt.Checksum:
		return from.etag == to.etag, nil // else it is copied, which costs little
	case s.opt.Checksum && s.src.Remote:
		return s.sameBytes(s.path(s.dst, name), s.src.below(name))
	case s.opt.Checksum:
		return s.sameBytes(s.path(s.src, name), s.dst.below(name))
	}
	a, err := s.time(s.src, name, from)
	if err != nil {
		return false, err
	}
	b, err := s.time(s.dst, name, to)
	return err == nil && a.Sub(b).Abs() <= s.opt.Window, err
}

// path is that of a local file.
func (s *syncing) path(l Location, name string) string {
	return filepath.Join(l.Path, filepath.FromSlash(name))
}

// time is when a file or what an object was made of was modified. Lists do not
// tell of objects.
func (s *syncing) time(l Location, name string, i item) (time.Time, error) {
	if !l.Remote {
		return i.mtime, nil
	}
	o, err := s.head(l.below(name))
	return modified(o), err
}

func (s *syncing) head(l Location) (o client.Object, err error) {
	err = s.r.persist(s.ctx, func() error {
		o, err = s.r.client.Head(s.ctx, l.Bucket, l.Key, nil)
		return err
	})
	return o, err
}

// sameBytes compares contents: by the ETag where it is an MD5, else byte by
// byte.
func (s *syncing) sameBytes(path string, l Location) (bool, error) {
	o, err := s.head(l)
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // it was only read
	plain := isMD5(o.ETag)
	if plain || len(o.PartSizes) > 0 {
		etag, err := localETag(f, o)
		if err != nil || etag == o.ETag || plain {
			return etag == o.ETag, err
		}
	}
	same := false
	err = s.r.persist(s.ctx, func() error {
		same, err = s.compare(f, l, o)
		return err
	})
	return same, err
}

func isMD5(etag string) bool {
	sum, err := hex.DecodeString(etag)
	return err == nil && len(sum) == md5.Size
}

// localETag is the ETag that the object would have if it had the file's bytes
// and MD5s were made of it.
func localETag(f *os.File, o client.Object) (string, error) {
	if len(o.PartSizes) == 0 {
		sum, err := sumOf(f)
		return hex.EncodeToString(sum), err
	}
	all, at := md5.New(), int64(0)
	for _, size := range o.PartSizes {
		sum, err := sumOf(io.NewSectionReader(f, at, size))
		if err != nil {
			return "", err
		}
		all.Write(sum)
		at += size
	}
	return fmt.Sprintf("%x-%d", all.Sum(nil), len(o.PartSizes)), nil
}

func sumOf(from io.Reader) ([]byte, error) {
	sum := md5.New()
	_, err := io.Copy(sum, from)
	return sum.Sum(nil), err
}

// compare reads both, as far as they agree.
func (s *syncing) compare(f *os.File, l Location, o client.Object) (bool, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	opt := &client.GetOptions{ReadOptions: client.ReadOptions{IfMatch: []string{o.ETag}}}
	body, err := s.r.client.Get(s.ctx, l.Bucket, l.Key, opt)
	if err != nil {
		return false, err
	}
	defer body.Close() // all that counts has been read by then
	theirs, ours := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(body, theirs)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return false, err
		}
		m, problem := io.ReadFull(f, ours)
		if problem != nil && problem != io.EOF && problem != io.ErrUnexpectedEOF {
			return false, problem
		}
		if !bytes.Equal(theirs[:n], ours[:m]) {
			return false, nil
		}
		if err != nil {
			return true, nil
		}
	}
}

// overlap tells whether one of two places lies in the other one.
func overlap(a, b Location) bool {
	if !a.Remote || !b.Remote || a.Bucket != b.Bucket {
		return false
	}
	return strings.HasPrefix(a.folder(), b.folder()) || strings.HasPrefix(b.folder(), a.folder())
}
