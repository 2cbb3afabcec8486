package assets_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"larder/web/assets"
)

func TestServe(t *testing.T) {
	t.Parallel()
	b, err := assets.Load()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	total := 0
	for _, p := range b.Paths() {
		plain, packed := get(b, p, ""), get(b, p, "gzip, br")
		if want := types[filepath.Ext(p)]; plain.Header().Get("Content-Type") != want || want == "" {
			t.Errorf("%s is %q", p, plain.Header().Get("Content-Type"))
		}
		if !strings.Contains(plain.Header().Get("Cache-Control"), "immutable") || plain.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", p, plain.Header())
		}
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		total += packed.Body.Len()
		if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
			t.Errorf("%s: the packed body differs (%v)", p, err)
		}
	}
	if len(b.Paths()) != 4 || total > 40<<10 {
		t.Errorf("%d assets of %d bytes packed", len(b.Paths()), total)
	}
	for _, p := range []string{"/assets/larder.css", "/assets/", "/assets/../assets.go", "/assets/css/tokens.css"} {
		if got := get(b, p, "").Code; got != http.StatusNotFound {
			t.Errorf("%s: %d", p, got)
		}
	}
}

func get(b *assets.Bundle, path, encoding string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL.Path = path
	r.Header.Set("Accept-Encoding", encoding)
	b.ServeHTTP(w, r)
	return w
}

func read(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// TestNothingFromElsewhere holds that no asset names another host or brings
// code that the policy refuses.
func TestNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(read(t, "*/*.*"), "http://www.w3.org/2000/svg", "")
	for _, bad := range []string{"http://", "https://", "@import", "url(", "eval(", "innerHTML", "document.write", "setAttribute(\"style", "new Function"} {
		if strings.Contains(text, bad) {
			t.Errorf("the assets hold %q", bad)
		}
	}
}

func TestEveryIconIsThere(t *testing.T) {
	t.Parallel()
	sheet := read(t, "svg/icons.svg")
	for _, m := range regexp.MustCompile(`(?:Icon\(|LinkButton\([^,]+, |Button\(|menuLink\([^,]+, |iconPath\()"([a-z-]+)"`).FindAllStringSubmatch(read(t, "../view/*.templ"), -1) {
		if !strings.Contains(sheet, `id="`+m[1]+`"`) {
			t.Errorf("there is no icon %q", m[1])
		}
	}
}

// TestContrast holds WCAG 2.2 AA for every pair of colours in use, in both
// themes: 4.5:1 for text, 3:1 for the edges of controls.
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark := tokens(t)
	pairs := []struct {
		front, back string
		least       float64
	}{
		{"ink", "paper", 4.5}, {"ink", "surface", 4.5}, {"ink", "sunken", 4.5}, {"ink", "accent-soft", 4.5},
		{"muted", "paper", 4.5}, {"muted", "surface", 4.5}, {"muted", "sunken", 4.5},
		{"accent", "paper", 4.5}, {"accent", "surface", 4.5}, {"accent", "sunken", 4.5}, {"accent", "accent-soft", 4.5}, {"accent-strong", "accent-soft", 4.5},
		{"on-accent", "accent", 4.5}, {"on-accent", "accent-strong", 4.5},
		{"good", "good-soft", 4.5}, {"warn", "warn-soft", 4.5}, {"bad", "bad-soft", 4.5}, {"info", "info-soft", 4.5},
		{"ink", "good-soft", 4.5}, {"ink", "warn-soft", 4.5}, {"ink", "bad-soft", 4.5}, {"ink", "info-soft", 4.5},
		{"good", "surface", 4.5}, {"bad", "surface", 4.5}, {"warn", "surface", 4.5},
		{"paper", "ink", 4.5}, {"edge", "surface", 3}, {"edge", "paper", 3}, {"accent", "line", 3}, {"bad", "line", 3}, {"warn", "line", 3},
	}
	for _, p := range pairs {
		for theme, colours := range map[string]map[string]string{"light": light, "dark": dark} {
			if got := contrast(t, colours[p.front], colours[p.back]); got < p.least {
				t.Errorf("%s: %s on %s is %.2f:1, needs %.1f:1", theme, p.front, p.back, got, p.least)
			}
		}
	}
}

// TestColoursDoNotMove holds that no transition touches a colour, and that a
// filled button takes its pair of tokens in every state that it names.
func TestColoursDoNotMove(t *testing.T) {
	t.Parallel()
	css := read(t, "css/*.css")
	for _, m := range regexp.MustCompile(`transition(?:-property)?:\s*([^;}]+)`).FindAllStringSubmatch(css, -1) {
		if m[1] != "none !important" && m[1] != "inline-size var(--quick)" {
			t.Errorf("a transition of %s", m[1])
		}
	}
	states := map[string]string{"": "accent", ":hover": "accent-strong"}
	for _, m := range regexp.MustCompile(`\.button-primary([^ ,{]*)[^{}]*\{([^}]*)\}`).FindAllStringSubmatch(css, -1) {
		fill, known := states[m[1]]
		if !known || !strings.Contains(m[2], "background: var(--"+fill+");") || !strings.Contains(m[2], " color: var(--on-accent);") {
			t.Errorf("the primary button%s is {%s}", m[1], m[2])
		}
		delete(states, m[1])
	}
	if len(states) != 0 {
		t.Errorf("no rule for the primary button's states %v", states)
	}
}

func tokens(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	light, dark = map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(read(t, "css/tokens.css"), -1) {
		light[m[1]], dark[m[1]] = m[2], m[3]
	}
	return light, dark
}

// contrast is the ratio of WCAG 2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		if len(colour) != 7 {
			t.Fatalf("no colour %q", colour)
		}
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
