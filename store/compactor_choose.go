package store

import "larder/store/journal"

const (
	mergeMin = 4  // small segments that are worth merging though nothing of them is dead
	runMax   = 64 // segments that are rewritten into one
)

// choose picks the run of sealed segments that is most worth rewriting, or nil.
// The one with the largest dead share begins it. Neighbours join that are worth
// it too, or small, as long as what is needed of all fits into one segment.
// Where the disk is full it is the one segment that needs the least room.
func (c *compactor) choose(segments []journal.Segment) []journal.Segment {
	ch := &choice{segments: segments, need: c.estimate.needed(segments), size: c.store.cfg.SegmentSize}
	ch.open, ch.futile = make([]bool, len(segments)), make([]bool, len(segments))
	c.mu.Lock()
	for i, s := range segments {
		ch.open[i] = !s.Head && s.Last >= s.First && !c.broken[s.Number] && s.Last <= c.store.index.Applied().Sequence
		needed, tried := c.futile[s.Number]
		ch.futile[i] = tried && ch.need[i] > needed-s.Size/16
	}
	c.mu.Unlock()
	if c.store.room(0) != nil {
		return ch.cheapest()
	}
	best := -1
	for i := range segments {
		if ch.worth(i) && (best < 0 || ch.share(i) > ch.share(best)) {
			best = i
		}
	}
	if best >= 0 {
		return ch.extend(best)
	}
	return ch.merge()
}

// choice is what a choice is made from. All slices have the segments' order.
type choice struct {
	segments []journal.Segment
	need     []int64 // about how many bytes are needed
	open     []bool  // may be chosen
	futile   []bool  // was looked at, and little has changed since
	size     int64   // that a segment should have
}

func (ch *choice) dead(i int) int64 { return ch.segments[i].Size - ch.need[i] }

func (ch *choice) share(i int) float64 { return float64(ch.dead(i)) / float64(ch.segments[i].Size) }

func (ch *choice) worth(i int) bool {
	return ch.open[i] && !ch.futile[i] && ch.dead(i) > 0 && ch.dead(i)*gain >= ch.segments[i].Size
}

// small tells whether a segment may join a run though little of it is dead.
func (ch *choice) small(i int) bool { return ch.open[i] && ch.segments[i].Size <= ch.size/mergeMin }

// extend makes a run of the neighbours of segment i.
func (ch *choice) extend(i int) []journal.Segment {
	from, to, need := i, i+1, ch.need[i]
	joins := func(k int) bool {
		return k >= 0 && k < len(ch.segments) && (ch.worth(k) || ch.small(k)) && need+ch.need[k] <= ch.size && to-from < runMax
	}
	for grown := true; grown; {
		grown = false
		if joins(to) {
			need += ch.need[to]
			to, grown = to+1, true
		}
		if joins(from - 1) {
			need += ch.need[from-1]
			from, grown = from-1, true
		}
	}
	return ch.segments[from:to]
}

// merge finds at least mergeMin small neighbours.
func (ch *choice) merge() []journal.Segment {
	for i := range ch.segments {
		if !ch.small(i) {
			continue
		}
		if run := ch.extend(i); len(run) >= mergeMin {
			return run
		}
	}
	return nil
}

// cheapest is the one segment that is worth it and of which the least is needed.
func (ch *choice) cheapest() []journal.Segment {
	best := -1
	for i := range ch.segments {
		if ch.worth(i) && (best < 0 || ch.need[i] < ch.need[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return ch.segments[best : best+1]
}
