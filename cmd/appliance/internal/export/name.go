package export

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Marks in file names. A "%" of a key is always written as %25, so that none of
// them can come from a key.
const (
	emptyPart = "%-" // an element without a letter: of "/a", "a//b" and "a/"
	goesOn    = "%+" // at the end of a folder's name: the element goes on below
	isFile    = "%=" // at the end of a file's name, where a folder has the plain one
)

// maxPart is how many bytes of a file name come from a key. Most file systems
// take 255.
const maxPart = 200

// Name is the path of a key's file, with slashes, below the folder of the
// export: the key itself, but for what no file can be called. folder says that
// there are keys below key + "/", so that this name is needed for a folder.
// Key undoes it.
//
// The path never leads out of the folder, whatever the key is.
func Name(key string, folder bool) string {
	parts := strings.Split(key, "/")
	var out []string
	for _, part := range parts {
		out = append(out, namesOf(part)...)
	}
	name := strings.Join(out, "/")
	if folder {
		name += isFile
	}
	return name
}

// namesOf is one element of a key as one or more elements of a path.
func namesOf(part string) []string {
	switch part {
	case "":
		return []string{emptyPart}
	case ".", "..":
		return []string{strings.ReplaceAll(part, ".", "%2E")}
	}
	var out []string
	var b strings.Builder
	for len(part) > 0 {
		r, n := utf8.DecodeRuneInString(part)
		piece := escaped(part[:n], r)
		if b.Len()+len(piece) > maxPart {
			out = append(out, b.String()+goesOn)
			b.Reset()
		}
		b.WriteString(piece)
		part = part[n:]
	}
	return append(out, b.String())
}

// escaped writes control characters, "%" and bytes that are no UTF-8 as %XX.
func escaped(text string, r rune) string {
	if r >= ' ' && r != '%' && r != 0x7f && (r != utf8.RuneError || len(text) > 1) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}

// Key is the key of a path that Name made.
func Key(name string) (string, error) {
	name = strings.TrimSuffix(name, isFile)
	var key strings.Builder
	fresh := true // at the beginning of an element of the key
	for i, part := range strings.Split(name, "/") {
		if i > 0 && fresh {
			key.WriteByte('/')
		}
		part, goes := strings.CutSuffix(part, goesOn)
		fresh = !goes
		if part == emptyPart {
			continue
		}
		text, err := unescape(part)
		if err != nil {
			return "", err
		}
		key.WriteString(text)
	}
	return key.String(), nil
}

func unescape(part string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(part, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		var c byte
		if len(rest) < 2 {
			return "", fmt.Errorf("%q ends within an escape", part)
		}
		if _, err := fmt.Sscanf(rest[:2], "%02X", &c); err != nil {
			return "", fmt.Errorf("%q is no escape", rest[:2])
		}
		b.WriteByte(c)
		part = rest[2:]
	}
}
