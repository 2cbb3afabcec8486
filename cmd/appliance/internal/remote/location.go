package remote

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scheme begins a location on the server.
const scheme = "larder:"

// Location is a place on the server or on this machine.
type Location struct {
	Remote bool
	Bucket string // "" names all buckets
	Key    string // a key or the beginning of keys
	Path   string // of a local file or folder; "-" is a standard stream
}

// Parse reads a location: larder:BUCKET/KEY, or a path.
func Parse(text string) (Location, error) {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		if text == "" {
			return Location{}, usage("an empty name is neither a file nor larder:BUCKET/KEY")
		}
		return Location{Path: text}, nil
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if bucket == "" && key != "" {
		return Location{}, usage("%s: name the bucket: larder:BUCKET/KEY", text)
	}
	return Location{Remote: true, Bucket: bucket, Key: key}, nil
}

func parseAll(texts []string) ([]Location, error) {
	out := make([]Location, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// String is what Parse reads.
func (l Location) String() string {
	switch {
	case !l.Remote:
		return l.Path
	case l.Key == "":
		return scheme + l.Bucket
	}
	return scheme + l.Bucket + "/" + l.Key
}

// stream tells whether the location is a standard stream.
func (l Location) stream() bool { return !l.Remote && l.Path == "-" }

// folder is the prefix of what lies below the location.
func (l Location) folder() string {
	if l.Key == "" || strings.HasSuffix(l.Key, "/") {
		return l.Key
	}
	return l.Key + "/"
}

// below is a remote location in the folder.
func (l Location) below(name string) Location {
	return Location{Remote: true, Bucket: l.Bucket, Key: l.folder() + name}
}

// object wants one key of one bucket.
func object(text string) (Location, error) {
	l, err := Parse(text)
	if err == nil && (!l.Remote || l.Bucket == "" || l.Key == "") {
		err = usage("%s names no object: write larder:BUCKET/KEY", text)
	}
	return l, err
}

// base is the last element of a key.
func base(key string) string { return path.Base(key) }

// shown is a name for a person: as it is, or quoted where it could be mistaken
// for something else or change the terminal.
func shown(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
