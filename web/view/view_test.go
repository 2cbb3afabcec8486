package view_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"larder/web/view"
)

func draw(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10239: "10 KiB", 10240: "10 KiB", 1023 << 10: "1023 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB",
		5 << 30: "5.0 GiB", 1 << 40: "1.0 TiB", 1 << 50: "1.0 PiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := view.SizeText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 123456: "123,456", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := view.Count(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if view.Plural(1, "object", "objects") != "1 object" || view.Plural(0, "object", "objects") != "0 objects" {
		t.Error("wrong noun")
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "just now", 44 * time.Second: "just now", time.Minute: "a minute ago", 10 * time.Minute: "10 minutes ago", time.Hour: "an hour ago",
		5 * time.Hour: "5 hours ago", 30 * time.Hour: "30 hours ago", 48 * time.Hour: "2 days ago", 24 * 90 * time.Hour: "3 months ago",
		24 * 800 * time.Hour: "2 years ago", -time.Hour: "in an hour",
	} {
		if got := view.Ago(now.Add(-d), now); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	doc := draw(t, view.Moment(now.Add(-time.Hour), now))
	if title, _ := doc.Find("time").Attr("title"); title != "2026-11-30 11:00:00 UTC" {
		t.Errorf("exact time %q", title)
	}
}

func TestInert(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"plain": "plain", "": "", "ü🫙": "ü🫙", "a\u202eb": "aU+202Eb", "a\nb": "aU+000Ab", "\x00": "U+0000", "a\u2028b\u200b": "aU+2028bU+200B",
		"bad\xffbyte": `bad\xFFbyte`, "\ufffd": "\ufffd", "\u2066x\u2069": "U+2066xU+2069", "\u3164": "U+3164",
	} {
		if got := view.Inert(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
	}
}

func FuzzPieces(f *testing.F) {
	for _, s := range []string{"a", "\u202e", "\xff\xfe", "a\u200db", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := view.Inert(s)
		if strings.ContainsAny(shown, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x00\n\r\u2028\u2029\u200e\u200f") {
			t.Errorf("%q is shown as %q", s, shown)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	doc := draw(t, view.Text("<b>x</b>\u202egpj"))
	if doc.Find("bdi b").Length() != 0 || doc.Find("bdi").Text() != "<b>x</b>U+202Egpj" || doc.Find(".name-esc").Text() != "U+202E" {
		html, _ := doc.Html()
		t.Errorf("drawn as %s", html)
	}
}

func TestFieldTiesItsNotes(t *testing.T) {
	t.Parallel()
	doc := draw(t, view.FieldBox(view.Field{Name: "n", Label: "Name", Hint: "how", Error: "why", Value: `"><script>`}))
	input := doc.Find("input#f-n")
	if by, _ := input.Attr("aria-describedby"); by != "f-n-hint f-n-error" {
		t.Errorf("described by %q", by)
	}
	if invalid, _ := input.Attr("aria-invalid"); invalid != "true" || doc.Find(`label[for="f-n"]`).Length() != 1 || doc.Find("script").Length() != 0 {
		t.Error("label, state or escaping is wrong")
	}
	if v, _ := input.Attr("value"); v != `"><script>` {
		t.Errorf("value %q", v)
	}
}

func TestPageFrame(t *testing.T) {
	t.Parallel()
	s := view.Shell{Title: "Keys\u202e", Section: "keys", User: "<i>ann</i>", Theme: "dark", Token: "tok", May: view.May{Keys: true}, Now: time.Now()}
	doc := draw(t, view.KeysPage(s, nil))
	checks := map[string]bool{
		"one h1":             doc.Find("h1").Length() == 1,
		"language":           doc.Find(`html[lang="en"][data-theme="dark"]`).Length() == 1,
		"skip link":          doc.Find(`a.skip[href="#main"]`).Length() == 1 && doc.Find("main#main").Length() == 1,
		"current place":      doc.Find(`.side a[aria-current="page"]`).Text() == "Keys",
		"hidden place":       doc.Find(`.side a[href="/users"]`).Length() == 0,
		"escaped user":       doc.Find(".who i").Length() == 0 && strings.Contains(doc.Find(".who").Text(), "<i>ann</i>"),
		"token in each form": doc.Find(`form[method="post"]`).Length() == doc.Find(`form[method="post"] input[name="token"][value="tok"]`).Length(),
		"inert title":        doc.Find("title").Text() == "KeysU+202E · Larder",
		"empty state":        strings.Contains(doc.Find(".empty").Text(), "No keys yet"),
		"no inline":          doc.Find("style, script:not([src]), [style], [onclick]").Length() == 0,
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("the frame fails: %s", name)
		}
	}
}

func TestTabsHaveOnePanelEach(t *testing.T) {
	t.Parallel()
	list := []view.Snippet{{Program: "a", Parts: []view.SnippetPart{{Title: "t", Code: "c < d"}}}, {Program: "b"}, {Program: "c"}, {Program: "d"}}
	doc := draw(t, view.KeyPage(view.Shell{}, view.Key{}, nil, list))
	if doc.Find(".tab").Length() != 4 || doc.Find(".panel").Length() != 4 || doc.Find(".tab input:checked, .tab input[checked]").Length() != 1 {
		t.Error("tabs and panels do not fit")
	}
	if doc.Find("#code-0-0").Text() != "c < d" {
		t.Errorf("code is %q", doc.Find("#code-0-0").Text())
	}
}

func TestBarIsNeverWider(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, whole int64
		want        string
	}{{0, 10, "0%"}, {5, 10, "50.0%"}, {20, 10, "100.0%"}, {1, 1 << 40, "1.0%"}, {1, 0, "0%"}, {-1, 10, "0%"}} {
		if got, _ := draw(t, view.Bar(c.part, c.whole, "", "x")).Find(".bar-part").Attr("width"); got != c.want {
			t.Errorf("%d of %d is %s wide, want %s", c.part, c.whole, got, c.want)
		}
	}
}
