package journal

import (
	"errors"
	"fmt"
	"slices"

	"larder/fault"
)

// choose decides which of the segments on the disk count.
//
// Without an index the winners do. An index holds bodies in the segments that it
// knows, so with one it is so:
//
//   - An output that it does not know does not count: its swap had not begun. It is
//     given up. When the others do not hold all records without it, the index is
//     older than the swap, and has to be made anew.
//   - A segment that it knows, but that is gone: likewise.
//   - An output that it knows, together with inputs that it knows: the swap was
//     interrupted. The output counts, and the owner of the index finishes it.
//   - A superseded segment that it does not know is of no use.
func (o *opening) choose() error {
	spread(o.found)
	known := map[uint64]bool{}
	for _, n := range o.j.c.Known {
		known[n] = true
		o.j.roster.top = max(o.j.roster.top, n)
	}
	o.j.roster.top = max(o.j.roster.top, o.from.Segment)
	unknown := func(s segmentHead) bool { return len(known) > 0 && s.compacted && !known[s.number] }
	now, m := arrange(o.found, unknown)
	whole := m == nil
	for i := 0; i < len(o.found) && whole; i++ {
		if !unknown(o.found[i]) {
			continue
		}
		var err error
		if whole, err = o.replaces(now.winners, &o.found[i]); err != nil {
			return err
		}
	}
	stale := ""
	if !whole && slices.ContainsFunc(o.found, unknown) {
		stale = "segments were compacted since"
		now, m = arrange(o.found, none)
	}
	if m != nil {
		return o.misfit(m)
	}
	if stale == "" {
		stale = o.missing()
	}
	o.now = now
	if err := o.checkSizes(); err != nil {
		return err
	}
	if stale != "" {
		return o.stale(stale)
	}
	o.known = known
	o.sortOut(unknown)
	return nil
}

func none(segmentHead) bool { return false }

// replaces tells whether the winners hold all that an output was made of, so that
// it can be given up. Headers do not tell: where the last of several inputs is
// gone, the one before it seems to reach further than it does.
func (o *opening) replaces(winners []segmentHead, out *segmentHead) (bool, error) {
	check := &opening{j: o.j, ctx: o.ctx, sizes: o.sizes, dry: true}
	for i := range winners {
		w := &winners[i]
		if w.last < out.first || w.first > out.last {
			continue
		}
		if w.compacted && w.first <= out.first && w.last >= out.last {
			return true, nil // it was replaced itself
		}
		if w.first < out.first || w.last > out.last {
			return false, nil
		}
		check.last = w.first - 1
		if w.empty() {
			continue
		}
		err := check.segment(w, false)
		if fault.CodeOf(err) == fault.Corrupt || err == nil && check.last != w.last {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// missing names a segment that the index knows and the disk does not hold.
func (o *opening) missing() string {
	for _, n := range o.j.c.Known {
		if _, there := o.sizes[n]; !there {
			return fmt.Sprintf("segment %d is gone", n)
		}
	}
	return ""
}

func (o *opening) misfit(m *misfit) error {
	return o.j.c.corrupt(opOpen, m.segment, m.offset, m.reason).WithHint(m.hint)
}

// checkSizes holds the lengths of compacted segments against their files.
func (o *opening) checkSizes() error {
	for _, s := range o.now.winners {
		if size := o.sizes[s.number]; s.compacted && size != s.length {
			return o.damaged(s.number, min(size, s.length),
				fmt.Sprintf("the file has %d bytes, its header says %d", size, s.length))
		}
	}
	return nil
}

// stale is the answer to an index that names what is gone, but only when the
// journal is whole: a segment that was lost is no reason to throw the index away.
func (o *opening) stale(why string) error {
	check := &opening{j: o.j, ctx: o.ctx, now: o.now, sizes: o.sizes, unborn: o.unborn, dry: true}
	if err := check.replay(); err != nil {
		return err
	}
	if check.last < o.from.Sequence {
		return o.ahead(fmt.Sprintf("the journal ends with record %d", check.last))
	}
	return fault.New(opOpen, fault.IndexStale, o.j.c.Dir, errors.New(why)).WithHint(hintStale)
}

// sortOut notes which files are of no use to an index that knows its segments:
// outputs that are given up, and what is superseded and not known.
func (o *opening) sortOut(unknown func(segmentHead) bool) {
	if len(o.known) == 0 {
		return
	}
	gone := map[uint64]bool{}
	for _, s := range o.found {
		gone[s.number] = unknown(s)
	}
	for _, b := range o.now.beaten {
		gone[b.Number] = !o.known[b.Number]
	}
	for _, s := range o.found {
		if gone[s.number] {
			o.useless = append(o.useless, o.j.c.path(s.number))
		}
	}
	slices.Sort(o.useless)
	o.now.beaten = slices.DeleteFunc(o.now.beaten, func(s Superseded) bool { return gone[s.Number] })
	o.found = slices.DeleteFunc(o.found, func(s segmentHead) bool { return gone[s.number] })
}
