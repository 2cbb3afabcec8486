package auth_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"larder/auth"
	"larder/fault"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // a name in this file
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update ./auth writes it anew):\n%s", name, diff(string(want), got))
	}
}

func diff(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var x, y string
		if i < len(w) {
			x = w[i]
		}
		if i < len(g) {
			y = g[i]
		}
		if x != y {
			fmt.Fprintf(&b, "-%s\n+%s\n", x, y)
		}
	}
	return b.String()
}

// callers makes one caller of every sort that the matrix knows.
func callers(t *testing.T, f *fixture) (names []string, all map[string]auth.Caller) {
	t.Helper()
	all = map[string]auth.Caller{"nobody": {}, "local": f.Local()}
	names = []string{"nobody", "local"}
	for _, role := range auth.Roles() {
		password := f.user(t, role+"-user", role)
		_, c, err := f.Login(t.Context(), role+"-user", password, addr(1), "")
		if err != nil {
			t.Fatal(err)
		}
		names, all["user "+role] = append(names, "user "+role), c
	}
	keys := map[string]auth.Grant{
		"key other bucket":  {Bucket: "other", Rights: auth.Full},
		"key wrong prefix":  {Bucket: "photos", Prefix: "2024/", Rights: auth.Full},
		"key pattern":       {Bucket: "pho*", Rights: auth.ReadWrite},
		"key full on photo": {Bucket: "photos", Rights: auth.Full},
		"key full prefix":   {Bucket: "*", Prefix: "2025/", Rights: auth.Full},
	}
	for _, name := range auth.RightsNames() {
		r, err := auth.ParseRights(name)
		if err != nil {
			t.Fatal(err)
		}
		keys["key "+name] = auth.Grant{Bucket: "*", Rights: r}
	}
	order := []string{"key other bucket", "key wrong prefix", "key pattern", "key full on photo", "key full prefix"}
	for _, name := range auth.RightsNames() {
		order = append(order, "key "+name)
	}
	for _, name := range order {
		names, all[name] = append(names, name), f.caller(t, keys[name])
	}
	return append(names, lost(t, f, all)...), all
}

func (f *fixture) caller(t *testing.T, grants ...auth.Grant) auth.Caller {
	t.Helper()
	k, secret := f.key(t, grants...)
	c, err := f.Bearer(t.Context(), k.ID, secret, addr(1))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lost makes callers that had all rights and lost them.
func lost(t *testing.T, f *fixture, all map[string]auth.Caller) []string {
	t.Helper()
	full := auth.Grant{Bucket: "*", Rights: auth.Full}
	all["key disabled"] = f.caller(t, full)
	if err := f.SetKeyDisabled(t.Context(), all["key disabled"].ID(), true); err != nil {
		t.Fatal(err)
	}
	all["key deleted"] = f.caller(t, full)
	if err := f.DeleteKey(t.Context(), all["key deleted"].ID()); err != nil {
		t.Fatal(err)
	}
	k, secret, err := f.CreateKey(t.Context(), auth.KeySpec{Grants: []auth.Grant{full}, Expires: f.clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if all["key expired"], err = f.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Hour)
	password := f.user(t, "gone", auth.RoleAdmin)
	if _, all["user deleted"], err = f.Login(t.Context(), "gone", password, addr(1), ""); err != nil {
		t.Fatal(err)
	}
	if err := f.DeleteUser(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	return []string{"key disabled", "key deleted", "key expired", "user deleted"}
}

// TestMatrix: every sort of caller and every action, on one object, on a
// restic lock and on no object, against the table in testdata.
func TestMatrix(t *testing.T) {
	t.Parallel()
	f := open(t)
	names, all := callers(t, f)
	var b strings.Builder
	b.WriteString("# caller x action: o = photos/2025/cat.jpg, l = photos/locks/01, b = photos as a whole\n")
	fmt.Fprintf(&b, "%-18s", "")
	for _, name := range names {
		fmt.Fprintf(&b, "|%s", name)
	}
	b.WriteString("\n")
	resources := []struct {
		mark string
		auth.Resource
	}{
		{"o", auth.Resource{Bucket: "photos", Key: "2025/cat.jpg"}},
		{"l", auth.Resource{Bucket: "photos", Key: "locks/01"}},
		{"b", auth.Resource{Bucket: "photos"}},
	}
	for _, act := range auth.Actions() {
		fmt.Fprintf(&b, "%-18s", act)
		for _, name := range names {
			cell := ""
			for _, r := range resources {
				if f.Guard().Check(t.Context(), all[name], act, r.Resource) == nil {
					cell += r.mark
				} else {
					cell += "-"
				}
			}
			fmt.Fprintf(&b, "|%-*s", len(name), cell)
		}
		b.WriteString("\n")
	}
	golden(t, "matrix.txt", b.String())
}

func TestNobodyIsDeniedEverything(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, act := range append(auth.Actions(), 0, 200) {
		err := f.Guard().Check(t.Context(), auth.Caller{}, act, auth.Resource{Bucket: "b", Key: "k"})
		wantCode(t, err, fault.Denied)
	}
	if f.Guard().Sees(t.Context(), auth.Caller{}, "b") {
		t.Error("nobody sees a bucket")
	}
}

// TestPrefixes: a prefix ends at a slash, and a listing stays within it.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	f := open(t)
	slash := f.caller(t, auth.Grant{Bucket: "b", Prefix: "photos/", Rights: auth.Full})
	bare := f.caller(t, auth.Grant{Bucket: "b", Prefix: "photos", Rights: auth.Full})
	for _, tt := range []struct {
		act         auth.Action
		key         string
		slash, bare bool
	}{
		{auth.GetObject, "photos/x", true, true},
		{auth.GetObject, "photos/", true, true},
		{auth.GetObject, "photos//x", true, true},
		{auth.GetObject, "photos/../secret", true, true}, // the key of that very name
		{auth.GetObject, "photos", false, true},
		{auth.GetObject, "photos2/x", false, false},
		{auth.GetObject, "Photos/x", false, false},
		{auth.GetObject, "/photos/x", false, false},
		{auth.GetObject, "photo", false, false},
		{auth.GetObject, "", false, false},
		{auth.PutObject, "photos2/x", false, false},
		{auth.DeleteObject, "photos2/x", false, false},
		{auth.ListObjects, "photos/", true, true},
		{auth.ListObjects, "photos/2", true, true},
		{auth.ListObjects, "photos", false, false}, // would show photos2 too
		{auth.ListObjects, "photo", false, false},
		{auth.ListObjects, "", false, false},
		{auth.ListUploads, "", false, false},
		{auth.ListUploads, "photos/", true, true},
	} {
		res := auth.Resource{Bucket: "b", Key: tt.key}
		for name, c := range map[string]struct {
			auth.Caller
			want bool
		}{"photos/": {slash, tt.slash}, "photos": {bare, tt.bare}} {
			if got := f.Guard().Allows(t.Context(), c.Caller, tt.act, res); got != c.want {
				t.Errorf("grant %q: %v %q: %v", name, tt.act, tt.key, got)
			}
		}
	}
}

func TestSees(t *testing.T) {
	t.Parallel()
	f := open(t)
	c := f.caller(t, auth.Grant{Bucket: "a", Prefix: "x/", Rights: auth.Write}, auth.Grant{Bucket: "c*", Rights: auth.List})
	for bucket, want := range map[string]bool{"a": true, "b": false, "c": true, "cc": true, "ac": false, "": false} {
		if got := f.Guard().Sees(t.Context(), c, bucket); got != want {
			t.Errorf("%q: %v", bucket, got)
		}
	}
}

// TestCreateFollowsPut: whoever may put may also create, which gate relies on.
func TestCreateFollowsPut(t *testing.T) {
	t.Parallel()
	f := open(t)
	names, all := callers(t, f)
	for _, name := range names {
		for _, key := range []string{"2025/cat.jpg", "locks/01", ""} {
			res := auth.Resource{Bucket: "photos", Key: key}
			put := f.Guard().Allows(t.Context(), all[name], auth.PutObject, res)
			if put && !f.Guard().Allows(t.Context(), all[name], auth.CreateObject, res) {
				t.Errorf("%s may put but not create %q", name, key)
			}
		}
	}
}
