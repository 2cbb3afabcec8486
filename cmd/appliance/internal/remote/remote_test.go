package remote

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTimesAsRcloneWritesThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"0":                    time.Unix(0, 0),
		"1700000000":           time.Unix(1_700_000_000, 0),
		"1700000000.25":        time.Unix(1_700_000_000, 250_000_000),
		"1700000000.000000001": time.Unix(1_700_000_000, 1),
		"-0.5":                 time.Unix(0, -500_000_000),
		"-3600":                time.Unix(-3600, 0),
	} {
		if got := formatTime(want); got != text {
			t.Errorf("%v is written as %q, want %q", want, got, text)
		}
		if got, ok := parseTime(text); !ok || !got.Equal(want) {
			t.Errorf("%q is read as %v, %v", text, got, ok)
		}
	}
	if got, ok := parseTime("1.1234567891234"); !ok || got.UnixNano() != 1_123_456_789 {
		t.Errorf("too many decimals: %v, %v", got, ok)
	}
	for _, text := range []string{"", "x", "1.x", "1e9", "--1", "+1", "1.-5", "99999999999", "2024-01-01"} {
		if got, ok := parseTime(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a/b", "...", "a/..b", "a /b ", ".hidden", `a\b`, "%2e%2e/x", "a:b"} {
		if err := checkName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "/", "/a", "a/", "a//b", "../a", "a/..", "a/../b", "a/.", "./a", "a\x00b"} {
		if err := checkName(name); err == nil {
			t.Errorf("%q is let through", name)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Location{
		"larder:":        {Remote: true},
		"larder:b":       {Remote: true, Bucket: "b"},
		"larder:b/":      {Remote: true, Bucket: "b"},
		"larder:b//k":    {Remote: true, Bucket: "b", Key: "/k"},
		"larder:b/k/l/":  {Remote: true, Bucket: "b", Key: "k/l/"},
		"./larder:b":     {Path: "./larder:b"},
		"-":              {Path: "-"},
		"C:/larder:path": {Path: "C:/larder:path"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q is read as %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "larder:/key"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is let through", text)
		}
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	at := func(text string) Location {
		l, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for pair, want := range map[[2]string]bool{
		{"larder:b", "larder:b/x"}:       true,
		{"larder:b/x/y", "larder:b/x"}:   true,
		{"larder:b/x", "larder:b/x"}:     true,
		{"larder:b/x", "larder:b/xy"}:    false,
		{"larder:b/x", "larder:c/x"}:     false,
		{"larder:b", "b"}:                false,
		{"larder:b/x/1", "larder:b/x/2"}: false,
	} {
		if got := overlap(at(pair[0]), at(pair[1])); got != want {
			t.Errorf("%v: %v", pair, got)
		}
	}
}

func TestPartSize(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{manyParts, 100 << 30, 5 << 40} {
		step := partSize(size)
		if n := (size + step - 1) / step; n > mostParts || step < leastPart || step > 5<<30 {
			t.Errorf("%d bytes: %d parts of %d", size, n, step)
		}
	}
	if partSize(math.MaxInt64/2) <= 0 {
		t.Error("an overflow")
	}
}

func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	if name := temporaryPrefix + "0123456789abcdef" + temporarySuffix; !isTemporary(name) {
		t.Errorf("%s is none", name)
	}
	for _, name := range []string{".larder-", ".part", ".larder-.part", ".larder-notes.part", ".larder-0123456789abcdeX.part", "0123456789abcdef"} {
		if isTemporary(name) {
			t.Errorf("%s is one", name)
		}
	}
}

// TestShown holds that a key cannot write to the terminal what it likes.
func TestShown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "ü/世界", "%00"} {
		if shown(name) != name {
			t.Errorf("%q is shown as %s", name, shown(name))
		}
	}
	for _, name := range []string{"a\nb", "\x1b[2J", "\xff", "a\u202eb"} {
		if got := shown(name); !strings.HasPrefix(got, `"`) || strings.Contains(got, name) {
			t.Errorf("%q is shown as %s", name, got)
		}
	}
}
