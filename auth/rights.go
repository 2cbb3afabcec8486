package auth

import (
	"slices"
	"strings"

	"larder/fault"
)

// Rights is a preset of what a grant allows. The names are stored, the numbers
// are not.
type Rights uint8

// The presets.
const (
	Read       Rights = iota + 1 // get, head and list
	Write                        // put, overwrite, delete; neither get nor list
	ReadWrite                    // Read and Write
	AppendOnly                   // read, list and create; no overwriting; deletes only below .../locks/
	List                         // list names and sizes only
	Full                         // all of the above; on the bucket "*" without a prefix also create and delete buckets
)

// String returns the name as it is stored and shown, "read-write" for example.
func (r Rights) String() string {
	if names := RightsNames(); r >= Read && r <= Full {
		return names[r-1]
	}
	return "none"
}

// RightsNames returns the names of all presets, in the order of the constants.
func RightsNames() []string {
	return []string{"read", "write", "read-write", "append-only", "list", "full"}
}

// ParseRights returns the preset of that name, or fault.InvalidArgument.
func ParseRights(name string) (Rights, error) {
	if i := slices.Index(RightsNames(), name); i >= 0 {
		return Rights(i + 1), nil
	}
	return 0, fault.New("auth.ParseRights", fault.InvalidArgument, "rights", nil).
		WithHint("Rights are one of: " + strings.Join(RightsNames(), ", ") + ".")
}

// MarshalText makes JSON show the name.
func (r Rights) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name; anything else is fault.InvalidArgument.
func (r *Rights) UnmarshalText(text []byte) error {
	parsed, err := ParseRights(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}

// allows tells whether the preset covers an action on a key that lies within
// the grant's scope.
func (r Rights) allows(act Action, key string) bool {
	switch act {
	case ReadBucket:
		return r >= Read && r <= Full
	case ListObjects:
		return r == Read || r == ReadWrite || r == AppendOnly || r == List || r == Full
	case GetObject:
		return r == Read || r == ReadWrite || r == AppendOnly || r == Full
	case PutObject:
		return r == Write || r == ReadWrite || r == Full
	case CreateObject, ListUploads, AbortUpload, ListParts:
		return r == Write || r == ReadWrite || r == AppendOnly || r == Full
	case DeleteObject:
		return r == Write || r == ReadWrite || r == Full || r == AppendOnly && isLock(key)
	}
	return false
}

// isLock tells whether a key names a file directly in a folder called locks.
// restic keeps its lock files there and must be able to remove them, also with
// a key that may otherwise only add:
// https://restic.readthedocs.io/en/stable/design.html.
func isLock(key string) bool {
	parent, name, ok := cutLast(key)
	if !ok || name == "" {
		return false
	}
	_, last, _ := cutLast("/" + parent)
	return last == "locks"
}

func cutLast(s string) (before, after string, ok bool) {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
