package journal

import (
	"errors"
	"fmt"
	"io/fs"

	"larder/fault"
	"larder/store/vfs"
)

var errReserve = errors.New("the reserve is used up")

// roll seals the head and begins a new segment with room for need bytes of
// record. The sealed segment is durable before the new one exists.
func (a *appending) roll(need int64) error {
	j := a.j
	if !j.head.sealed {
		a.touched = true
		if err := j.head.seal(); err != nil {
			return err
		}
	}
	number := j.allocate()
	next, err := j.begin(number, need)
	if a.frees && lacksSpace(err) {
		next, err = j.beginFromReserve(number, need)
	}
	if err != nil {
		return err
	}
	a.touched = true
	sealed := j.head.record()
	sealed.last = j.next - 1
	a.sealed = append(a.sealed, sealed)
	if j.head.handle != a.before.handle {
		j.files.release(j.head.handle)
	}
	j.head = next
	return nil
}

func lacksSpace(err error) bool {
	var lack *noRoom
	return errors.As(err, &lack) && lack.code == fault.NoSpace
}

// begin makes a segment file, durable with its header and name. A lack of space
// leaves no file behind.
func (j *Journal) begin(number uint64, need int64) (head, error) {
	name := j.c.path(number)
	file, err := j.c.FS.Create(name)
	if err != nil {
		return head{}, j.discard(name, soft(name, err))
	}
	return j.newHead(number, file, max(j.c.SegmentSize, segmentHeader+need))
}

// beginFromReserve makes a segment of the reserve, which has its space already.
func (j *Journal) beginFromReserve(number uint64, need int64) (head, error) {
	name, room := j.c.path(number), j.c.reserveSize()
	if !j.reserve || segmentHeader+need > room {
		return head{}, &noRoom{code: fault.NoSpace, path: name, err: errReserve}
	}
	file, err := j.c.FS.OpenWrite(j.c.reservePath())
	if err != nil {
		return head{}, soft(j.c.reservePath(), err)
	}
	j.reserve = false
	if err := j.c.FS.Rename(j.c.reservePath(), name); err != nil {
		file.Close()
		return head{}, err
	}
	j.c.Log.Warn("journal: the disk is full, deletes use the reserve", "segment", number)
	return j.newHead(number, file, room)
}

// newHead makes a segment of an empty file, or removes it for lack of space.
func (j *Journal) newHead(number uint64, file vfs.File, room int64) (head, error) {
	if err := j.format(file, number, room); err != nil {
		file.Close()
		return head{}, j.discard(j.c.path(number), err)
	}
	if err := j.c.FS.SyncDir(j.c.Dir); err != nil {
		file.Close()
		return head{}, j.discard(j.c.path(number), soft(j.c.Dir, err))
	}
	h := j.files.add(number, file)
	return head{number: number, first: j.next, handle: h, end: segmentHeader, room: room, zeroed: segmentHeader}, nil
}

// discard removes what lack of space left of a file, durably, and returns the
// cause; after any other error, or a second one, all is lost anyway.
func (j *Journal) discard(name string, cause error) error {
	var lack *noRoom
	if !errors.As(cause, &lack) {
		return cause
	}
	err := j.c.FS.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return cause
	}
	if err == nil {
		err = j.c.FS.SyncDir(j.c.Dir)
	}
	if err != nil {
		return fmt.Errorf("%v; then %w", cause, err) // hides the lack: this is final
	}
	return cause
}

// format gives a segment file its size and header.
func (j *Journal) format(file vfs.File, number uint64, room int64) error {
	name := j.c.path(number)
	if err := file.Preallocate(room); err != nil {
		return soft(name, err)
	}
	h := segmentHead{number: number, first: j.next, created: j.c.Now().UnixNano()}
	if _, err := file.WriteAt(h.encode(&j.c.StoreID), 0); err != nil {
		return soft(name, err)
	}
	return file.Sync()
}

// keepReserve makes the reserve when it is not there. Batches that need space
// are refused without it: what is left is for those that give some back.
func (j *Journal) keepReserve() error {
	if j.reserve {
		return nil
	}
	name := j.c.reservePath()
	err := j.makeReserve(name)
	if err == nil {
		j.reserve = true
		return nil
	}
	if rerr := j.c.FS.Remove(name); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return fmt.Errorf("%v; then %w", err, rerr)
	}
	return soft(name, err)
}

func (j *Journal) makeReserve(name string) error {
	file, err := j.c.FS.Create(name)
	if err != nil {
		return err
	}
	err = file.Preallocate(j.c.reserveSize())
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// renewReserve finds the reserve of an earlier run, or makes one. It need not be
// durable: a power cut may take it, and the next start makes it again.
func (j *Journal) renewReserve() error {
	name := j.c.reservePath()
	e, err := j.c.FS.Stat(name)
	if err == nil {
		if j.reserve = e.Size == j.c.reserveSize() && j.untouched(name); j.reserve {
			return nil
		}
		if err := j.c.FS.Remove(name); err != nil {
			return err
		}
	}
	err = j.keepReserve()
	var lack *noRoom
	if errors.As(err, &lack) {
		j.c.Log.Warn("journal: no room for the reserve", "error", err)
		return nil
	}
	return err
}

// untouched reports whether a file begins with zeros. A power cut may undo the
// use of a reserve when it had its header already, which is not to be taken for
// that of a later segment.
func (j *Journal) untouched(name string) bool {
	f, err := j.c.FS.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, segmentHeader)
	n, err := f.ReadAt(b, 0)
	return err == nil && n == len(b) && allZero(b)
}
