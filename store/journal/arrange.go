package journal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// misfit says why the segments on the disk are not one journal: which of them
// shows it, where, and what a person can do.
type misfit struct {
	segment uint64
	offset  int64
	reason  string
	hint    string
}

func (m *misfit) Error() string { return m.reason }

// arrangement is which segments count. A compacted segment takes the place of all
// segments with smaller numbers whose ranges lie within its own. What is left, the
// winners, must hold all sequences from 1 on without a gap, and the last of them
// is the head.
type arrangement struct {
	winners []segmentHead // in the order of their records; never changed in place
	beaten  []Superseded  // the others
}

// arrange finds the winners among all segments but those to omit, which must be
// there all the same: where one begins, the one before it ends. It does not change
// all.
func arrange(all []segmentHead, omit func(segmentHead) bool) (a arrangement, m *misfit) {
	sorted := slices.Clone(all)
	spread(sorted)
	sorted = slices.DeleteFunc(sorted, omit)
	slices.SortFunc(sorted, func(x, y segmentHead) int {
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(y.last, x.last), cmp.Compare(y.number, x.number))
	})
	var top *segmentHead // the winner that reaches furthest
	for i := range sorted {
		s := &sorted[i]
		switch {
		case top == nil || s.first > top.last:
			top = s
		case top.compacted && s.number < top.number && s.last <= top.last:
			a.beaten = append(a.beaten, Superseded{Number: s.number, By: top.number})
			continue
		case !s.empty() || top.compacted:
			return a, overlap(s, top)
		}
		a.winners = append(a.winners, *s)
	}
	slices.SortFunc(a.winners, func(x, y segmentHead) int {
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.number, y.number))
	})
	return a, tile(a.winners)
}

// spread sets the last sequence of every segment that was not compacted: the one
// before the next first. The head, the newest of them, has no last one yet.
func spread(all []segmentHead) {
	slices.SortFunc(all, func(x, y segmentHead) int {
		return cmp.Or(cmp.Compare(y.first, x.first), cmp.Compare(y.number, x.number))
	})
	next, group := uint64(math.MaxUint64), uint64(math.MaxUint64) // the first behind the group; the group's own
	raw := false                                                  // the group has a raw segment already
	head := headOf(all)
	for i := range all {
		s := &all[i]
		if s.first != group {
			next, group, raw = group, s.first, false
		}
		if s.compacted {
			continue
		}
		switch {
		case s.number == head:
			s.last = math.MaxUint64
		case raw: // a newer one begins with the same record: this one never had any
			s.last = s.first - 1
		default:
			s.last = next - 1
		}
		raw = true
	}
}

// headOf returns the number of the newest segment that was not compacted, or 0.
func headOf(all []segmentHead) (number uint64) {
	for i := range all {
		if !all[i].compacted {
			number = max(number, all[i].number)
		}
	}
	return number
}

func overlap(s, top *segmentHead) *misfit {
	return &misfit{segment: s.number, hint: hintOverlap,
		reason: fmt.Sprintf("it begins with record %d, out of order: segment %d already holds %s", s.first, top.number, top.span())}
}

// tile looks for holes between the winners.
func tile(winners []segmentHead) *misfit {
	next, newest := uint64(1), uint64(0)
	for i := range winners {
		s := &winners[i]
		if s.first != next {
			return hole(winners, i, next)
		}
		if !s.compacted && s.number < newest {
			return &misfit{segment: s.number, hint: hintOverlap,
				reason: fmt.Sprintf("it begins with record %d, out of order: segment %d is older", s.first, newest)}
		}
		if !s.compacted {
			newest = s.number
		}
		next = s.last + 1
	}
	if n := len(winners); n > 0 && winners[n-1].compacted {
		return hole(winners, n, next)
	}
	return nil
}

// hole says that the segment before winner i is missing.
func hole(winners []segmentHead, i int, next uint64) *misfit {
	if i == 0 {
		return &misfit{segment: winners[0].number, hint: hintHole,
			reason: fmt.Sprintf("it begins with record %d, but no segment holds the records from 1 on", winners[0].first)}
	}
	before := &winners[i-1]
	m := &misfit{segment: before.number, offset: before.length, hint: hintHole,
		reason: fmt.Sprintf("the segment ends with record %d, but the one behind it is missing", before.last)}
	if i < len(winners) {
		m.reason = fmt.Sprintf("the segment ends with record %d, but the next one begins with record %d", before.last, winners[i].first)
	}
	return m
}

func (s *segmentHead) span() string {
	if s.growing() {
		return fmt.Sprintf("all from record %d on", s.first)
	}
	return fmt.Sprintf("the records %d to %d", s.first, s.last)
}
