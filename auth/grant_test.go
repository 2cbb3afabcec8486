package auth_test

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"larder/auth"
	"larder/fault"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "b", true}, {"*", "", false}, {"b", "b", true}, {"b", "bb", false}, {"b*", "b", true},
		{"b*", "ab", false}, {"*b", "ab", true}, {"a*b", "ab", true}, {"a*b", "axxb", true},
		{"a*a", "a", false}, {"a*b*c", "a-b-c", true}, {"a*b*c", "acb", false}, {"**", "x", true},
		{"a*b*", "ab", true}, {"*-backup", "nas-backup", true}, {"*ab*ab", "ab", false}, {"*ab*ab", "abab", true},
		{"", "", false}, {"", "b", false},
	} {
		if got := auth.Matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q on %q: %v", tt.pattern, tt.name, got)
		}
	}
}

// FuzzMatches compares with package path, whose * is the same where there is no
// slash.
func FuzzMatches(f *testing.F) {
	for _, s := range [][2]string{{"a*b", "acb"}, {"*", "x"}, {"**a*", "bab"}, {"a*a", "a"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.ContainsAny(pattern+name, `/\[]?`) || !utf8.ValidString(pattern+name) || name == "" || len(pattern) > 63 || len(name) > 63 {
			t.Skip()
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Skip()
		}
		if got := auth.Matches(pattern, name); got != want {
			t.Errorf("%q on %q: %v", pattern, name, got)
		}
	})
}

// FuzzWithin: what a prefix covers begins with it, and ends it at a separator.
func FuzzWithin(f *testing.F) {
	f.Add("photos/", "photos2/x")
	f.Add("photos", "photos")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, prefix, key string) {
		if !auth.Within(prefix, key) {
			return
		}
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok || prefix != "" && !strings.HasSuffix(prefix, "/") && rest != "" && rest[0] != '/' {
			t.Errorf("%q covers %q", prefix, key)
		}
		if auth.ListsWithin(prefix, key) && !auth.Within(prefix, key+"x") {
			t.Errorf("%q lets %q be listed, which shows %q", prefix, key, key+"x")
		}
	})
}

func FuzzDecodeGrants(f *testing.F) {
	f.Add(`[{"bucket":"b","prefix":"p/","rights":"append-only"}]`)
	f.Add(`[{"bucket":"*","prefix":"","rights":"full"},{"bucket":"b","prefix":"","rights":"read"}]`)
	f.Add(`[{"bucket":"b","rights":"read","deny":true}]`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		grants, err := auth.DecodeGrants(text)
		if err != nil {
			return
		}
		again, err := auth.DecodeGrants(auth.EncodeGrants(grants))
		if err != nil || len(again) != len(grants) {
			t.Fatalf("%v does not survive: %v", grants, err)
		}
		for i := range grants {
			if grants[i] != again[i] {
				t.Errorf("%v became %v", grants[i], again[i])
			}
		}
	})
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\nb\x1b[31m\u202e\u2028", 10)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 || limit > 1<<16 {
			t.Skip()
		}
		got := auth.CleanText(s, limit)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b\u2028\u202e") || utf8.RuneCountInString(got) > limit {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func TestBadGrants(t *testing.T) {
	t.Parallel()
	f := open(t)
	many := make([]auth.Grant, auth.MaxGrants+1)
	for i := range many {
		many[i] = auth.Grant{Bucket: "b", Rights: auth.Read}
	}
	for name, spec := range map[string]auth.KeySpec{
		"none":         {},
		"too many":     {Grants: many},
		"no bucket":    {Grants: []auth.Grant{{Rights: auth.Read}}},
		"odd bucket":   {Grants: []auth.Grant{{Bucket: "B/", Rights: auth.Read}}},
		"long bucket":  {Grants: []auth.Grant{{Bucket: strings.Repeat("b", 64), Rights: auth.Read}}},
		"no rights":    {Grants: []auth.Grant{{Bucket: "b"}}},
		"odd rights":   {Grants: []auth.Grant{{Bucket: "b", Rights: 7}}},
		"long prefix":  {Grants: []auth.Grant{{Bucket: "b", Prefix: strings.Repeat("p", 1025), Rights: auth.Read}}},
		"NUL":          {Grants: []auth.Grant{{Bucket: "b", Prefix: "a\x00", Rights: auth.Read}}},
		"not UTF-8":    {Grants: []auth.Grant{{Bucket: "b", Prefix: "\xff", Rights: auth.Read}}},
		"long name":    {Name: strings.Repeat("n", 129), Grants: many[:1]},
		"control name": {Name: "a\nb", Grants: many[:1]},
		"bidi name":    {Name: "a\u202eb", Grants: many[:1]},
		"past":         {Grants: many[:1], Expires: f.clock.Now()},
	} {
		_, secret, err := f.CreateKey(t.Context(), spec)
		if fault.CodeOf(err) != fault.InvalidArgument || fault.HintOf(err) == "" || secret != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys, _ := f.Keys(t.Context()); len(keys) != 0 {
		t.Errorf("%d keys were made", len(keys))
	}
}

// TestUnreadableGrants: a key whose grants cannot be read keeps its identity
// and has no rights.
func TestUnreadableGrants(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.sql(t, `UPDATE keys SET grants = '[{"bucket":"*","prefix":"","rights":"everything"}]'`)
	again := f.openAgain(t)
	c, err := again.Bearer(t.Context(), k.ID, secret, addr(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range auth.Actions() {
		if again.Guard().Allows(t.Context(), c, act, auth.Resource{Bucket: "b", Key: "k"}) {
			t.Errorf("may %v", act)
		}
	}
}
