package journal

import (
	"errors"
	"fmt"
	"slices"
)

// stop decides what it means that no good record begins at o.end. In a segment
// that was sealed nothing but zeros may follow. In the last one it is the end, a
// torn tail, or corruption.
func (o *opening) stop(s *scanner, segment uint64, last bool, why string) error {
	empty, err := s.empty(o.end)
	if err != nil {
		return o.unreadable(segment, err)
	}
	if empty {
		if last {
			return o.checkEnd(segment, "")
		}
		return nil
	}
	if !last || o.unborn != 0 {
		return o.damaged(segment, o.end, why+"; it was synced before a later segment was begun")
	}
	at, err := s.later(o.end, o.last+1)
	if err != nil {
		return o.unreadable(segment, err)
	}
	if at >= 0 {
		return o.j.c.corrupt(opOpen, segment, o.end, fmt.Sprintf("%s; a record of a later batch follows at offset %d", why, at)).WithHint(hintTail)
	}
	o.torn = true
	return o.checkEnd(segment, why)
}

// checkEnd compares the end of the journal with from.
func (o *opening) checkEnd(segment uint64, why string) error {
	if o.last >= o.from.Sequence {
		return nil
	}
	if why != "" { // what the index has was synced: a power cut did not do this
		return o.damaged(segment, o.end, fmt.Sprintf("%s; the index has records up to %d", why, o.from.Sequence))
	}
	return o.ahead(fmt.Sprintf("the journal ends with record %d", o.last))
}

// mend cuts the torn tail and makes the head ready. Up to here nothing on the
// disk was changed. It can be interrupted anywhere: what is left is torn still.
func (o *opening) mend() error {
	j := o.j
	j.next = o.last + 1
	if o.unborn != 0 {
		o.useless = append(o.useless, j.c.path(o.unborn))
	}
	if err := o.clear(); err != nil {
		return err
	}
	if err := j.renewReserve(); err != nil {
		return err
	}
	if len(o.now.winners) == 0 {
		return o.first()
	}
	return o.ready()
}

// clear removes, durably, what an unfinished segment or compaction left.
func (o *opening) clear() error {
	c := &o.j.c
	for _, name := range o.useless {
		c.Log.Warn("journal: removing a segment that is unfinished or replaced", "file", name)
		if err := c.FS.Remove(name); err != nil {
			return err
		}
	}
	if len(o.useless) == 0 {
		return nil
	}
	return c.FS.SyncDir(c.Dir)
}

// first begins the very first segment.
func (o *opening) first() (err error) {
	o.j.head, err = o.j.begin(o.j.allocate(), 0)
	o.found = []segmentHead{o.j.head.record()}
	o.now.winners = slices.Clone(o.found)
	return err
}

// ready makes the last segment the head again.
func (o *opening) ready() error {
	j := o.j
	h := &j.head
	h.end, h.room, h.zeroed = o.end, o.size, o.end
	if o.torn {
		j.c.Log.Warn("journal: cutting off a torn tail", "segment", h.number, "offset", h.end, "after", o.last)
		if err := h.seal(); err != nil {
			return err
		}
	}
	if h.room >= j.c.SegmentSize {
		return nil
	}
	h.sealed = false
	err := soft(j.c.path(h.number), h.handle.file.Preallocate(j.c.SegmentSize))
	var lack *noRoom
	if errors.As(err, &lack) {
		return h.seal() // the next append begins a segment when there is room again
	}
	h.room = j.c.SegmentSize
	return err
}
