package index

import "strings"

// walk is the part of a listing that knows nothing of the database: which keys
// belong to it, which of them are rolled up into a common prefix, and where to
// look next. Strings are compared by their bytes.
type walk struct {
	prefix    string
	delimiter string // "" rolls nothing up
	after     string // "" begins at the beginning
}

// common returns the common prefix that key is rolled up into: everything up
// to and including the first delimiter behind the prefix. It is "" for a key
// that stands for itself.
func (w walk) common(key string) string {
	if w.delimiter == "" || !strings.HasPrefix(key, w.prefix) {
		return ""
	}
	i := strings.Index(key[len(w.prefix):], w.delimiter)
	if i < 0 {
		return ""
	}
	return key[:len(w.prefix)+i+len(w.delimiter)]
}

// skips tells whether after is itself a common prefix, under which everything
// has been listed.
func (w walk) skips() bool {
	return w.after != "" && w.common(w.after) == w.after
}

// start returns the smallest key to look at, and false when there is none.
func (w walk) start() (string, bool) {
	switch {
	case w.after == "" || w.after < w.prefix:
		return w.prefix, true
	case w.skips():
		return successor(w.after)
	}
	return w.after + "\x00", true
}

// successor returns the smallest string that is greater than every string with
// this prefix, and false when there is none: prefixes of only 0xFF bytes.
func successor(prefix string) (string, bool) {
	end := len(prefix)
	for end > 0 && prefix[end-1] == 0xff {
		end--
	}
	if end == 0 {
		return "", false
	}
	return prefix[:end-1] + string([]byte{prefix[end-1] + 1}), true
}
