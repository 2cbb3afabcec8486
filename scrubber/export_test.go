package scrubber

// Pace is pace, Late is late.
var (
	Pace = pace
	Late = late
)

const MinRate, DefaultMaxRate = minRate, defaultMaxRate

// Shrink lets a join remember so many bytes only.
func (s *Scrubber) Shrink(room int) { s.room = room }
