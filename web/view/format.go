package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Size is a number of bytes in IEC units, with three digits at most, in two
// parts so that the unit can be set smaller.
func Size(n int64) (value, unit string) {
	if n < 1024 {
		return strconv.FormatInt(n, 10), "B"
	}
	v, units := float64(n), []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := -1
	for v >= 1023.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64), units[i]
	}
	return strconv.FormatFloat(v, 'f', 0, 64), units[i]
}

// SizeText is Size in one string.
func SizeText(n int64) string {
	value, unit := Size(n)
	return value + " " + unit
}

// Count is a number with its thousands apart.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	head := len(digits) % 3
	if n < 0 {
		return "-" + Count(-n)
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && i%3 == head%3 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Plural is a count with its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Ago tells when t was, as seen at now, in words.
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		return "in " + Span(-d)
	}
	if d < 45*time.Second {
		return "just now"
	}
	return Span(d) + " ago"
}

// Span is a duration in its largest unit, rounded.
func Span(d time.Duration) string {
	hours := d.Hours()
	switch {
	case d < 45*time.Second:
		return "a few seconds"
	case d < 90*time.Second:
		return "a minute"
	case hours < 1:
		return fmt.Sprintf("%d minutes", int(d.Minutes()+0.5))
	case hours < 1.5:
		return "an hour"
	case hours < 36:
		return fmt.Sprintf("%d hours", int(hours+0.5))
	case hours < 24*60:
		return fmt.Sprintf("%d days", int(hours/24+0.5))
	case hours < 24*700:
		return fmt.Sprintf("%d months", int(hours/24/30.4+0.5))
	}
	return fmt.Sprintf("%d years", int(hours/24/365.25+0.5))
}

// Exact is the moment itself, for hovering and for screen readers.
func Exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Piece is a part of a text that others wrote. Escape is set for what would
// not be seen as what it is.
type Piece struct {
	Text   string
	Escape bool
}

// Pieces takes a hostile text apart: control characters, line and paragraph
// separators, invisible characters and the controls that reverse the direction
// of text become visible escapes.
func Pieces(s string) []Piece {
	var out []Piece
	start := 0
	for i, r := range s {
		if !unseen(r) && (r != utf8.RuneError || strings.HasPrefix(s[i:], "\uFFFD")) {
			continue
		}
		if i > start {
			out = append(out, Piece{Text: s[start:i]})
		}
		width := utf8.RuneLen(r)
		if r == utf8.RuneError {
			width = 1
		}
		out = append(out, Piece{Text: escape(s[i:], r), Escape: true})
		start = i + width
	}
	if start < len(s) {
		out = append(out, Piece{Text: s[start:]})
	}
	return out
}

// Inert is Pieces in one string, for attributes and titles.
func Inert(s string) string {
	var b strings.Builder
	for _, p := range Pieces(s) {
		b.WriteString(p.Text)
	}
	return b.String()
}

func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' ||
		r == '\u115F' || r == '\u1160' || r == '\u3164' || r == '\uFFA0'
}

func escape(rest string, r rune) string {
	if r == utf8.RuneError {
		return fmt.Sprintf("\\x%02X", rest[0])
	}
	return fmt.Sprintf("U+%04X", r)
}
