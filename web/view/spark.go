package view

import (
	"strconv"
	"strings"
)

// sparkPath is the line through the points in a field of 100 by 40, with room
// for the stroke. A flat line stands in the lower third.
func sparkPath(points []float64) string {
	low, high := bounds(points)
	var b strings.Builder
	for i, p := range points {
		x := float64(i) * 100 / float64(len(points)-1)
		y := 30.0
		if high > low {
			y = 36 - (p-low)/(high-low)*32
		}
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteString(" L")
		}
		b.WriteString(coordinate(x) + " " + coordinate(y))
	}
	return b.String()
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func bounds(points []float64) (low, high float64) {
	for i, p := range points {
		if i == 0 {
			low, high = p, p
		}
		low, high = min(low, p), max(high, p)
	}
	return low, high
}
