package s3

import (
	"math"
	"strconv"
	"strings"

	"larder/store"
)

// span is the part of an object that a read is for.
type span struct {
	off, n  int64
	partial bool // answered with 206 and Content-Range
}

// parseRange reads a Range header against an object's size. What S3 does not
// understand (another unit, several ranges, an end before the begin) means the
// whole object; a range that lies outside is refused.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
func parseRange(header string, size int64) (span, error) {
	whole := span{n: size}
	spec, ok := strings.CutPrefix(strings.TrimSpace(header), "bytes=")
	first, last, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok || !dash || strings.Contains(spec, ",") {
		return whole, nil
	}
	if first == "" {
		return suffixRange(last, size)
	}
	from, ok := parseOffset(first)
	if !ok {
		return whole, nil
	}
	to := int64(math.MaxInt64)
	if last != "" {
		if to, ok = parseOffset(last); !ok || to < from {
			return whole, nil
		}
	}
	if from >= size {
		return span{}, refuse(invalidRange, "")
	}
	to = min(to, size-1)
	return span{off: from, n: to - from + 1, partial: true}, nil
}

// suffixRange is the last n bytes. The end of an empty object is all of it.
func suffixRange(digits string, size int64) (span, error) {
	n, ok := parseOffset(digits)
	switch {
	case !ok:
		return span{n: size}, nil
	case n == 0:
		return span{}, refuse(invalidRange, "")
	case size == 0:
		return span{}, nil
	}
	n = min(n, size)
	return span{off: size - n, n: n, partial: true}, nil
}

// parseOffset reads digits; a number too large for an int64 is the largest.
func parseOffset(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

// partSpan is the part of a multipart object, or part 1 of any other.
func partSpan(info store.Info, number string) (span, error) {
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || n < 1 || n > store.MaxParts {
		return span{}, refuse(invalidArgument, "Part number must be an integer between 1 and 10000, inclusive.")
	}
	sizes := info.PartSizes
	if len(sizes) == 0 {
		sizes = []int64{info.Size}
	}
	if int(n) > len(sizes) {
		return span{}, refuse(invalidPartNumber, "")
	}
	var off int64
	for _, size := range sizes[:n-1] {
		off += size
	}
	return span{off: off, n: sizes[n-1], partial: sizes[n-1] > 0}, nil
}

// contentRange is the Content-Range header of a partial answer.
func (s span) contentRange(size int64) string {
	return "bytes " + itoa(s.off) + "-" + itoa(s.off+s.n-1) + "/" + itoa(size)
}

// parseCopyRange reads x-amz-copy-source-range, which allows one form only and
// must lie within the source. "" is the whole source.
func parseCopyRange(header string) (off, n int64, err error) {
	if header == "" {
		return 0, -1, nil
	}
	bad := refuse(invalidArgument,
		"The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy.")
	spec, ok := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	from, fine := parseOffset(first)
	to, fine2 := parseOffset(last)
	if !ok || !dash || !fine || !fine2 || to < from || to == math.MaxInt64 {
		return 0, 0, bad
	}
	return from, to - from + 1, nil
}
