package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"larder/fault"
	"larder/store/vfs"
)

// list reads the headers of all segments, the newest first.
func (o *opening) list() error {
	numbers, err := o.numbers()
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(numbers) {
		h, err := o.readHead(n)
		if err != nil {
			return err
		}
		if o.unborn != n {
			o.found = append(o.found, h)
		}
	}
	return nil
}

// numbers lists the segment files, in order, and notes what unfinished
// compactions left.
func (o *opening) numbers() ([]uint64, error) {
	c := &o.j.c
	if err := o.folder(); err != nil {
		return nil, err
	}
	entries, err := c.FS.List(c.Dir)
	if err != nil {
		return nil, fault.New(opOpen, vfs.CodeOfRead(err), c.Dir, err)
	}
	var out []uint64
	for _, e := range entries {
		n, left := parseName(e.Name), parseNewName(e.Name)
		if e.IsDir || n == 0 && left == 0 {
			continue
		}
		o.j.roster.top = max(o.j.roster.top, n, left)
		if n != 0 {
			out = append(out, n)
		} else {
			o.useless = append(o.useless, path.Join(c.Dir, e.Name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// folder makes the folder of a new journal, and makes names durable that a
// process which was killed may have left without that.
func (o *opening) folder() error {
	c := &o.j.c
	if _, err := c.FS.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) && o.from.Sequence > 0 {
		return o.ahead("there are no segments")
	}
	err := c.FS.Mkdir(c.Dir)
	if err == nil {
		err = c.FS.SyncDir(".")
	}
	if err == nil {
		err = c.FS.SyncDir(c.Dir)
	}
	if err != nil {
		return fault.New(opOpen, vfs.CodeOf(err), c.Dir, err)
	}
	return nil
}

// readHead reads and checks the header of one segment. The newest that was not
// compacted is the head: what an earlier process wrote to it is made durable
// before anybody acts on it. Its header may never have been written; then the
// file holds nothing else, as the header is durable before the first record is
// written.
func (o *opening) readHead(n uint64) (segmentHead, error) {
	h, blank, err := o.header(n)
	last := o.settled == 0 && (err != nil || !h.compacted)
	if last {
		if err := o.settle(n); err != nil {
			return h, err
		}
		o.settled = n
		h, blank, err = o.header(n)
	}
	return h, o.checkHead(n, &h, last && blank, err)
}

// checkHead judges a header that was read, or not, with err.
func (o *opening) checkHead(n uint64, h *segmentHead, unborn bool, err error) error {
	path := o.j.c.path(n)
	switch {
	case err == nil && h.number != n:
		return o.damaged(n, 0, fmt.Sprintf("its header says that it is segment %d", h.number))
	case errors.Is(err, errForeign):
		return fault.New(opOpen, fault.ForeignStore, path, err).WithHint(hintForeign)
	case errors.Is(err, errNewer):
		return fault.New(opOpen, fault.NewerFormat, path, err)
	case errors.Is(err, errHeader) && unborn:
		o.unborn = n
		return nil
	case errors.Is(err, errHeader):
		return o.damaged(n, 0, err.Error())
	case err != nil:
		return o.unreadable(n, err)
	}
	return nil
}

// header reads the header of a segment. blank says that it is broken, and that
// nothing stands behind it.
func (o *opening) header(n uint64) (h segmentHead, blank bool, err error) {
	s, err := o.scan(n, o.j.c.FS.Open)
	if err != nil {
		return h, false, err
	}
	defer s.file.Close()
	s.window = compactedHeader
	b, err := s.bytes(0, min(s.size, compactedHeader))
	if err != nil {
		return h, false, err
	}
	h, err = decodeSegment(b, &o.j.c.StoreID)
	if errors.Is(err, errHeader) && !h.compacted {
		s.window = window
		empty, berr := s.empty(segmentHeader)
		if berr != nil {
			return h, false, berr
		}
		return h, empty, err
	}
	if !h.compacted {
		h.length = s.size
	}
	o.sizes[n] = s.size
	return h, false, err
}

// settle makes what an earlier process wrote to the last segment durable, before
// anybody acts on it, and then lets reads come from the disk: after a failed sync
// the page cache tells what the disk does not hold, even of the header.
func (o *opening) settle(n uint64) error {
	c := &o.j.c
	f, err := c.FS.OpenWrite(c.path(n))
	if err != nil {
		return fault.New(opOpen, vfs.CodeOfRead(err), c.path(n), err)
	}
	defer f.Close()
	if err = f.Sync(); err == nil {
		err = vfs.Uncache(f)
	}
	if err != nil {
		return fault.New(opOpen, fault.ReadOnly, c.path(n), err)
	}
	return nil
}

// scan opens a segment for scanning.
func (o *opening) scan(n uint64, open func(string) (vfs.File, error)) (*scanner, error) {
	return o.j.c.scan(o.ctx, opOpen, n, open)
}

// scan opens a segment for reading from front to back.
func (c *Config) scan(ctx context.Context, op string, n uint64, open func(string) (vfs.File, error)) (*scanner, error) {
	file, err := open(c.path(n))
	if err != nil {
		return nil, fault.New(op, vfs.CodeOfRead(err), c.path(n), err)
	}
	size, err := file.Size()
	if err != nil {
		file.Close()
		return nil, fault.New(op, vfs.CodeOfRead(err), c.path(n), err)
	}
	return &scanner{ctx: ctx, file: file, size: size, id: &c.StoreID, window: window}, nil
}
