package remote

import (
	"path/filepath"
	"strings"

	"larder/fault"
)

// checkName refuses keys that are no names of files below a folder: those that
// would lead out of it, or that two keys would share.
func checkName(name string) error {
	var hint string
	switch {
	case strings.HasPrefix(name, "/"):
		hint = "The key would be an absolute path, outside of the target folder."
	case strings.Contains(name, "\x00"):
		hint = "No file can have this name."
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case hint != "":
		case element == "..":
			hint = "The key would lead out of the target folder."
		case element == "" || element == ".":
			hint = "The key has an empty element, which no file can be called."
		}
	}
	if hint == "" && !filepath.IsLocal(filepath.FromSlash(name)) {
		hint = "No file below the target folder can have this name."
	}
	if hint != "" {
		return fault.New("remote.checkName", fault.InvalidKey, name, nil).WithHint(hint)
	}
	return nil
}

// isMarker tells whether an object only stands for a folder, as other programs
// make them. There is nothing in it to be copied.
func isMarker(name string, size int64) bool {
	return size == 0 && (name == "" || strings.HasSuffix(name, "/") && !strings.HasSuffix(name, "//"))
}
