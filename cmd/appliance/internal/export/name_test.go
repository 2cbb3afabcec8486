package export_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/export"
)

// checkName holds what Name promises for one key.
func checkName(t *testing.T, key string, folder bool) string {
	t.Helper()
	name := export.Name(key, folder)
	if !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
		t.Errorf("%q: %q leads elsewhere", key, name)
	}
	for _, part := range strings.Split(name, "/") {
		if len(part) > 255 {
			t.Errorf("%q: an element of %d bytes", key, len(part))
		}
	}
	if back, err := export.Key(name); err != nil || back != key {
		t.Errorf("%q is %q, which is %q, %v", key, name, back, err)
	}
	return name
}

func TestNames(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a/b.txt": "a/b.txt", "Überall/ß": "Überall/ß", "a b": "a b", ".hidden": ".hidden", "...": "...",
		"..": "%2E%2E", "a/../b": "a/%2E%2E/b", "/etc/passwd": "%-/etc/passwd", "a//b": "a/%-/b", "dir/": "dir/%-",
		"/": "%-/%-", "100%": "100%25", "%2E%2E": "%252E%252E", "a\x00b": "a%00b", "line\nbreak": "line%0Abreak",
		"%-": "%25-", "a%=": "a%25=", "\xff": "%FF",
	} {
		if got := checkName(t, key, false); got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
		checkName(t, key, true)
	}
	long := checkName(t, "x/"+strings.Repeat("ä", 500)+"/y", true)
	if !strings.Contains(long, "%+/") {
		t.Errorf("%q", long)
	}
}

// TestNamesDiffer: no two keys share a file, also where one is a folder's name.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"a", "a/", "a//", "/a", "%-/a", "a%=", "a/%-", "%2E", ".", "%", "%25", strings.Repeat("x", 300), strings.Repeat("x", 200) + "%+/" + strings.Repeat("x", 100)} {
		for _, folder := range []bool{false, true} {
			name := export.Name(key, folder)
			if other, twice := seen[name]; twice {
				t.Errorf("%q and %q are both %q", key, other, name)
			}
			seen[name] = key
		}
	}
}

func FuzzName(f *testing.F) {
	for _, key := range []string{"a", "../b", "/c", "d//", "%", strings.Repeat("é", 400)} {
		f.Add(key, false)
		f.Add(key, true)
	}
	f.Fuzz(func(t *testing.T, key string, folder bool) {
		if key != "" && len(key) <= 1024 {
			checkName(t, key, folder)
		}
	})
}
