package auth

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"larder/fault"
)

// Limits of grants.
const (
	MaxGrants      = 64 // of one key
	maxPattern     = 63
	maxPrefixBytes = 1024
)

// Grant gives rights on the keys below Prefix in the buckets that match Bucket.
//
// Bucket is a bucket name in which "*" stands for any characters, also none.
// Prefix "" is the whole bucket. A prefix that does not end with "/" means the
// key of that very name and everything below it as a folder: "photos" covers
// "photos" and "photos/a", never "photos2".
type Grant struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix"`
	Rights Rights `json:"rights"`
}

// allows decides for one grant. Buckets are made, set up and deleted by full
// rights on everything only.
func (g Grant) allows(act Action, r Resource) bool {
	switch act {
	case CreateBucket, DeleteBucket, SetBucket, ReadSummary:
		return g.Rights == Full && g.Bucket == "*" && g.Prefix == ""
	case ReadBucket:
		return matches(g.Bucket, r.Bucket) && g.Rights.allows(act, "")
	case ListObjects, ListUploads:
		return matches(g.Bucket, r.Bucket) && listsWithin(g.Prefix, r.Key) && g.Rights.allows(act, r.Key)
	}
	return matches(g.Bucket, r.Bucket) && within(g.Prefix, r.Key) && g.Rights.allows(act, r.Key)
}

// within tells whether a key lies in the scope of a prefix. It never lets a
// prefix end in the middle of a name: CVE-2026-35605.
func within(prefix, key string) bool {
	if prefix == "" || key == prefix && !strings.HasSuffix(prefix, "/") {
		return true
	}
	return strings.HasPrefix(key, folder(prefix))
}

// listsWithin tells whether every key that begins with the requested prefix
// lies in the scope of the granted one.
func listsWithin(prefix, requested string) bool {
	return prefix == "" || strings.HasPrefix(requested, folder(prefix))
}

func folder(prefix string) string {
	if strings.HasSuffix(prefix, "/") {
		return prefix
	}
	return prefix + "/"
}

// matches compares a bucket name with a pattern. It takes time in proportion to
// the product of their lengths, at most 63 each.
func matches(pattern, name string) bool {
	if pattern == "*" || !strings.Contains(pattern, "*") {
		return name != "" && (pattern == "*" || pattern == name)
	}
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	rest, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

func checkGrants(op string, grants []Grant) error {
	if len(grants) == 0 || len(grants) > MaxGrants {
		return fault.New(op, fault.InvalidArgument, "grants", nil).
			WithHint("A key needs at least one grant and has at most 64.")
	}
	for _, g := range grants {
		if err := g.check(op); err != nil {
			return err
		}
	}
	return nil
}

func (g Grant) check(op string) error {
	bad := func(field, hint string) error {
		return fault.New(op, fault.InvalidArgument, field, nil).WithHint(hint)
	}
	if g.Bucket == "" || len(g.Bucket) > maxPattern || strings.Trim(g.Bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-*") != "" {
		return bad("bucket", "A grant names a bucket; * stands for any characters.")
	}
	if len(g.Prefix) > maxPrefixBytes || !utf8.ValidString(g.Prefix) || strings.ContainsRune(g.Prefix, 0) {
		return bad("prefix", "The prefix of a grant is at most 1,024 bytes of UTF-8.")
	}
	if g.Rights < Read || g.Rights > Full {
		return bad("rights", "Rights are one of: "+strings.Join(RightsNames(), ", ")+".")
	}
	return nil
}

// encodeGrants and decodeGrants are the form in system.db.
func encodeGrants(grants []Grant) string {
	b, err := json.Marshal(grants)
	if err != nil {
		panic(err) // a slice of two strings and a name always encodes
	}
	return string(b)
}

// decodeGrants fails on anything that it does not know wholly, so that a grant
// it cannot read gives no rights.
func decodeGrants(text string) ([]Grant, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	var grants []Grant
	if err := dec.Decode(&grants); err != nil {
		return nil, err
	}
	return grants, checkGrants("auth.decodeGrants", grants)
}
