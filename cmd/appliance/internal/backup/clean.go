package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"larder/fault"
	"larder/store/vfs"
)

// clean removes what the manifest does not name: files of earlier backups and of
// runs that were interrupted. It comes last, so that an error here costs room
// and nothing else.
func (r *run) clean(ctx context.Context) error {
	r.say("clean-up")
	keep := map[string]bool{r.next.Blobs.List.Stored: true}
	for _, f := range r.next.Files {
		keep[f.Stored] = true
	}
	for _, dir := range []string{filesDir, segmentsDir} {
		entries, err := r.files.List(dir)
		if err != nil {
			return r.fault(dir, err)
		}
		for _, e := range entries {
			if name := path.Join(dir, e.Name); !keep[name] && !e.IsDir {
				if err := r.drop(name); err != nil {
					return err
				}
			}
		}
	}
	if err := r.cleanBlobs(ctx); err != nil {
		return err
	}
	return r.sync()
}

func (r *run) drop(name string) error {
	r.report.Removed++
	r.dirty[path.Dir(name)] = true
	return r.remove(name)
}

// cleanBlobs goes through the folders and the list side by side: both are in
// ascending order, so neither is ever held in memory as a whole.
func (r *run) cleanBlobs(ctx context.Context) error {
	list, err := openList(r.files, r.next.Blobs.List.Stored)
	if err != nil {
		return r.fault(r.next.Blobs.List.Stored, err)
	}
	defer list.Close()
	wanted, _, more := list.next()
	err = walkBlobs(ctx, r.files, func(name string) error {
		id := path.Base(name)
		for more && wanted < id {
			wanted, _, more = list.next()
		}
		if more && wanted == id {
			return nil
		}
		return r.drop(name)
	})
	if err == nil {
		err = list.err
	}
	return err
}

// walkBlobs calls fn for every file in the shards, in order of their names.
func walkBlobs(ctx context.Context, files vfs.FS, fn func(name string) error) error {
	return eachShard(files, blobsDir, func(outer string) error {
		return eachShard(files, outer, func(shard string) error {
			if err := ctx.Err(); err != nil {
				return fault.New("backup", fault.Canceled, shard, err)
			}
			entries, err := files.List(shard)
			if err != nil {
				return fault.New("backup", vfs.CodeOf(err), shard, err)
			}
			for _, e := range entries {
				if e.IsDir {
					continue
				}
				if err := fn(path.Join(shard, e.Name)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// eachShard calls fn for every folder in dir that may hold blobs.
func eachShard(files vfs.FS, dir string, fn func(string) error) error {
	entries, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New("backup", vfs.CodeOf(err), dir, err)
	}
	for _, e := range entries {
		if !e.IsDir || len(e.Name) != 2 || strings.Trim(e.Name, "0123456789abcdef") != "" {
			continue
		}
		if err := fn(path.Join(dir, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

func openList(files vfs.FS, name string) (*blobList, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, fault.New("backup", vfs.CodeOfRead(err), name, err)
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return nil, fault.New("backup", vfs.CodeOfRead(err), name, err)
	}
	return &blobList{Closer: f, lines: bufio.NewScanner(io.NewSectionReader(f, 0, size))}, nil
}

// blobList reads the list of blobs.
type blobList struct {
	io.Closer
	lines *bufio.Scanner
	err   error
}

// next returns the next blob's id and size; more is false at the end.
func (l *blobList) next() (id string, size int64, more bool) {
	if l.err != nil || !l.lines.Scan() {
		if l.err == nil {
			l.err = l.lines.Err()
		}
		return "", 0, false
	}
	_, err := fmt.Sscanf(l.lines.Text(), "%s %d", &id, &size)
	if err != nil || !validBlob(id) || size < 0 {
		l.err = fault.New("backup", fault.Corrupt, "blobs.list", fmt.Errorf("line %.80q", l.lines.Text())).
			WithHint("The list of blobs is damaged. Use another backup, or make this one anew in an empty folder.")
		return "", 0, false
	}
	return id, size, true
}
