package journal

import "slices"

// Segment describes one segment that counts.
type Segment struct {
	Number    uint64
	First     uint64 // sequence of the first record that it may hold
	Last      uint64 // of the last one; below First when it never got a record
	Size      int64  // bytes of the file; of the head up to its last record
	Compacted bool
	AsOf      uint64 // of a compacted one: see Compaction
	Head      bool
}

// Superseded is a segment on the disk that does not count: a compacted one, which
// does, holds what was needed of it.
type Superseded struct {
	Number, By uint64
}

// roster knows the segments on the disk. It is guarded by Journal.state.
type roster struct {
	all     []segmentHead // all but the pending one
	now     arrangement
	pending uint64          // output that is being written, or waits for Adopt or Discard
	output  *segmentHead    // the latter
	leaving map[uint64]bool // being removed: gone for new readers
	top     uint64          // the highest number that was ever seen
}

// allocate gives out the number of a new segment. Numbers are never used again:
// the index names segments by them.
func (j *Journal) allocate() uint64 {
	j.state.Lock()
	defer j.state.Unlock()
	j.roster.top++
	return j.roster.top
}

// roll notes that segments were sealed, among them the head, and another is it.
func (r *roster) roll(sealed []segmentHead, head segmentHead) {
	r.now.winners = slices.Clone(r.now.winners)
	for _, s := range append(sealed, head) {
		r.all = put(r.all, s)
		r.now.winners = put(r.now.winners, s)
	}
}

// put replaces a segment in the list, or adds it at the end.
func put(list []segmentHead, s segmentHead) []segmentHead {
	if i := find(list, s.number); i >= 0 {
		list[i] = s
		return list
	}
	return append(list, s)
}

func find(list []segmentHead, number uint64) int {
	return slices.IndexFunc(list, func(s segmentHead) bool { return s.number == number })
}

// lookup returns a whole segment on the disk that stays.
func (r *roster) lookup(number uint64) (segmentHead, bool) {
	if r.leaving[number] {
		return segmentHead{}, false
	}
	if r.output != nil && r.output.number == number {
		return *r.output, true
	}
	if i := find(r.all, number); i >= 0 {
		return r.all[i], true
	}
	return segmentHead{}, false
}

// beaten reports whether a segment is on the disk and does not count.
func (r *roster) beaten(number uint64) bool {
	return slices.ContainsFunc(r.now.beaten, func(s Superseded) bool { return s.Number == number })
}

// drop forgets a superseded segment.
func (r *roster) drop(number uint64) {
	r.now.beaten = slices.DeleteFunc(slices.Clone(r.now.beaten), func(s Superseded) bool { return s.Number == number })
	r.all = slices.DeleteFunc(r.all, func(s segmentHead) bool { return s.number == number })
}

// Segments returns the winners in the order of their records, the head last.
func (j *Journal) Segments() []Segment {
	j.state.Lock()
	winners, pos := j.roster.now.winners, j.pos
	j.state.Unlock()
	out := make([]Segment, len(winners))
	for i, s := range winners {
		out[i] = s.public()
	}
	if n := len(out); n > 0 {
		h := &out[n-1]
		h.Head, h.Size, h.Last = true, pos.Offset, pos.Sequence
	}
	return out
}

func (s *segmentHead) public() Segment {
	return Segment{
		Number: s.number, First: s.first, Last: s.last, Size: s.length, Compacted: s.compacted, AsOf: s.asOf,
	}
}

// Superseded returns the segments on the disk that do not count. Which of them
// the index still needs, only its owner knows: see Remove.
func (j *Journal) Superseded() []Superseded {
	j.state.Lock()
	defer j.state.Unlock()
	return slices.Clone(j.roster.now.beaten)
}

// Adopt makes an output of Compact count, and supersedes its inputs. Call it when
// the index durably relies on the output and no longer on the inputs: tombstones
// are dropped by what Segments says. A number that does not wait for it is left
// alone.
func (j *Journal) Adopt(output uint64) {
	j.state.Lock()
	defer j.state.Unlock()
	r := &j.roster
	if r.output == nil || r.output.number != output {
		return
	}
	all := append(slices.Clone(r.all), *r.output)
	now, m := arrange(all, none)
	if m != nil { // Compact took care that it fits
		j.c.Log.Error("journal: an output does not fit", "segment", m.segment, "reason", m.reason)
		return
	}
	r.all, r.now, r.output, r.pending = all, now, nil, 0
}
