package remote

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"larder/client"
)

// mtimeKey is the user metadata that holds a file's time of modification:
// seconds since 1970 with as many decimals as it takes, as rclone writes it.
const mtimeKey = "mtime"

// formatTime is a time as rclone writes it: "1700000000.25".
func formatTime(t time.Time) string {
	ns := t.UnixNano()
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	text := fmt.Sprintf("%s%d.%09d", sign, ns/1e9, ns%1e9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// parseTime reads what formatTime writes. More than nine decimals are cut off.
func parseTime(text string) (time.Time, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, decimals, _ := strings.Cut(digits, ".")
	if len(decimals) > 9 {
		decimals = decimals[:9]
	}
	s, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || s > math.MaxInt64/1_000_000_000-1 {
		return time.Time{}, false
	}
	ns, err := strconv.ParseUint(decimals+strings.Repeat("0", 9-len(decimals)), 10, 63)
	if err != nil {
		return time.Time{}, false
	}
	total := int64(s)*1e9 + int64(ns)
	if negative {
		total = -total
	}
	return time.Unix(0, total), true
}

// modified is when the file was modified that an object was made of, or when
// the object was stored.
func modified(o client.Object) time.Time {
	if t, ok := parseTime(o.User[mtimeKey]); ok {
		return t
	}
	return o.Modified
}
