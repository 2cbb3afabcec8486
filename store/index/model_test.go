package index_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"larder/store/index"

	"pgregory.net/rapid"
)

// entry is a row, an upload or a common prefix, in the order of a listing.
type entry struct {
	name   string // key or common prefix
	id     string // of an upload
	common bool
}

func (e entry) String() string { return e.name + " " + e.id }

// rollUp is the naive meaning of prefix and delimiter.
func rollUp(key, prefix, delimiter string) entry {
	rest, _ := strings.CutPrefix(key, prefix)
	if delimiter != "" {
		if before, _, found := strings.Cut(rest, delimiter); found {
			return entry{name: prefix + before + delimiter, common: true}
		}
	}
	return entry{name: key}
}

// modelUploads lists (key, id) pairs the slow way. An id of "" stands for an
// object, so that the same model serves both listings.
func modelUploads(all []entry, prefix, delimiter, key, id string) []entry {
	var out []entry
	for _, e := range all {
		rolled := rollUp(e.name, prefix, delimiter)
		rolled.id = e.id
		if rolled.common {
			rolled.id = ""
		}
		behind := e.name > key || key == "" || (e.name == key && id != "" && e.id > id)
		switch {
		case !strings.HasPrefix(e.name, prefix) || !behind:
		case rolled.common && key != "" && rolled.name == key:
		case len(out) > 0 && out[len(out)-1] == rolled:
		default:
			out = append(out, rolled)
		}
	}
	return out
}

func sortEntries(all []entry) []entry {
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	return slices.Compact(all)
}

// merge puts the two halves of a page back into their order. It fails when a
// half is out of order or something appears twice.
func merge(rows []index.Row, uploads []index.Upload, prefixes []string) ([]entry, error) {
	var out []entry
	for _, r := range rows {
		out = append(out, entry{name: r.Key})
	}
	for _, u := range uploads {
		out = append(out, entry{name: u.Key, id: u.ID})
	}
	if sorted := sortEntries(slices.Clone(out)); !slices.Equal(out, sorted) {
		return nil, fmt.Errorf("items out of order: %q", out)
	}
	if !slices.IsSorted(prefixes) || len(slices.Compact(slices.Clone(prefixes))) != len(prefixes) {
		return nil, fmt.Errorf("prefixes out of order: %q", prefixes)
	}
	for _, p := range prefixes {
		out = append(out, entry{name: p, common: true})
	}
	slices.SortStableFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	return out, nil
}

// letters make prefixes collide, delimiters overlap and bounds overflow.
var letters = []string{"a", "b", "/", "-", "\x00", "\xff", "\xc3\xa9"}

func genText(least, most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(letters), least, most).Draw(t, "letters"), "")
	})
}

func genDelimiter() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "/", "-", "//", "aa", "a/", "\xff", "\xc3\xa9", "\x00"})
}

// genMarker draws a key, a common prefix of this query, or anything.
func genMarker(all []entry, prefix, delimiter string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if kind == 0 || len(all) == 0 {
			return genText(0, 4).Draw(t, "any")
		}
		e := rapid.SampledFrom(all).Draw(t, "one")
		if kind == 1 {
			return e.name
		}
		return rollUp(e.name, prefix, delimiter).name
	})
}
