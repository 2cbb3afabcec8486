package journal

import "fmt"

// order is the rule that the records of a segment follow each other by.
type order struct {
	gaps  bool   // compacted: sequences ascend, but not by one
	last  uint64 // sequence of the record before
	batch uint64 // its batch, 0 when not known
}

// begin makes the rule that of a segment. The batch goes over from one segment to
// the next, but not from a compacted one, where the batch's end may be gone.
func (o *order) begin(h *segmentHead) {
	if o.gaps || h.compacted {
		o.batch = 0
	}
	o.gaps = h.compacted
}

// check tells what is wrong with h as the next record of the segment, or nothing.
func (o *order) check(h *header, s *segmentHead) string {
	switch {
	case o.gaps && (h.sequence <= o.last || h.sequence < s.first):
		return fmt.Sprintf("record %d stands behind record %d", h.sequence, o.last)
	case o.gaps && h.sequence > s.last:
		return fmt.Sprintf("record %d stands in a segment that ends with record %d", h.sequence, s.last)
	case !o.gaps && h.sequence != o.last+1:
		return fmt.Sprintf("record %d stands where record %d belongs", h.sequence, o.last+1)
	case h.batch > h.sequence, !o.gaps && h.batch != h.sequence && o.batch != 0 && h.batch != o.batch:
		return fmt.Sprintf("record %d is of batch %d, which it cannot be", h.sequence, h.batch)
	case Kind(h.kind) == Body && !s.compacted:
		return fmt.Sprintf("record %d is a carrier, which only a compacted segment may hold", h.sequence)
	}
	return ""
}

func (o *order) step(h *header) { o.last, o.batch = h.sequence, h.batch }

// checkCarrier tells what is wrong with a carrier, or nothing.
func checkCarrier(r *Record, bodyLen int) string {
	if r.Kind == Body && bodyLen == 0 && r.Blob == "" {
		return fmt.Sprintf("record %d carries a body but has none", r.Sequence)
	}
	return ""
}
