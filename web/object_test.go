package web_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"larder/store"
	"larder/web"
)

// hostile are names that routers clean, browsers run, or eyes misread.
func hostile() []string {
	return []string{
		"a/../b", "../x", "a//b", "//", "/", "/lead", "a%2Fb", "a%252Fb", "a?b=c#d", "a&b=c", "a b+c", ".", "..", "%", "%zz",
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "javascript:alert(1)", "{{.}}", "`${1}`",
		"photo\u202egpj.exe", "zero\u200bwidth", "line\nbreak", "tab\there", "emoji 🫙", "e\u0301", "CON", `..\..\x`, "a;b", "a:b",
		"fold\u202eer/x\u2066y", "line\nfolder +%41/z",
		strings.Repeat("long/", 200) + "x",
	}
}

func TestHostileNamesSurviveEveryPage(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("hostile")
	for _, key := range hostile() {
		l.put("hostile", key, "body of "+key)
		if strings.HasSuffix(key, "/") {
			continue // a folder has no page of its own
		}
		a := b.get(at("/objects/show", "hostile", key)).status(t, http.StatusOK)
		link, _ := a.doc.Find(`a.button-primary`).Attr("href")
		if got := b.get(link).status(t, http.StatusOK); got.body != "body of "+key {
			t.Errorf("download of %q gives %q", key, got.body)
		}
		if u, err := url.Parse(value(a, "object-path")); err != nil || u.Host != "nas.test:9000" || u.Path != "/hostile/"+key || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("the address of %q is %q (%v)", key, value(a, "object-path"), err)
		}
		inert(t, a)
	}
	folders(t, b, "/objects?bucket=hostile", 0)
	for _, key := range hostile() {
		token := b.token("/")
		b.postForm(at("/objects/delete", "hostile", ""), url.Values{"token": {token}, "pick": {url.QueryEscape(key)}}).status(t, http.StatusSeeOther)
	}
	if got := l.keys("hostile"); got != "" {
		t.Errorf("left after deleting each: %s", got)
	}
}

// folders opens every folder link of the browser, and every page of it.
func folders(t *testing.T, b *browser, link string, depth int) {
	t.Helper()
	a := b.get(link).status(t, http.StatusOK)
	inert(t, a)
	if depth > 4 {
		return
	}
	a.doc.Find(".main-cell .icon-folder + a").Each(func(_ int, s *goquery.Selection) {
		href, _ := s.Attr("href")
		folders(t, b, href, depth+1)
	})
}

// TestFilterWithinHostileFolders sends the search form of a folder whose name
// no form value could carry as it is.
func TestFilterWithinHostileFolders(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("hostile")
	for _, folder := range []string{"fold\u202eer/", "line\nfolder +%41/", "plain/"} {
		l.put("hostile", folder+"one", "")
		l.put("hostile", folder+"two", "")
		form := url.Values{"filter": {"o"}}
		a := b.get(at("/objects", "hostile", folder))
		a.doc.Find(".search input[type=hidden]").Each(func(_ int, s *goquery.Selection) {
			form.Set(s.AttrOr("name", ""), s.AttrOr("value", ""))
		})
		found := b.get("/objects?"+form.Encode()).status(t, http.StatusOK).has(t, "1 entry")
		inert(t, found)
		if link := found.doc.Find(".main-cell a").AttrOr("href", ""); link != at("/objects/show", "hostile", folder+"one") {
			t.Errorf("the search in %q finds %q", folder, link)
		}
		if prefix, err := url.PathUnescape(a.doc.Find("#uploads").AttrOr("data-prefix", "")); err != nil || prefix != folder {
			t.Errorf("uploads into %q go to %q (%v)", folder, prefix, err)
		}
	}
}

// inert fails the test when a page holds something that runs, or, in its text
// or an attribute, a character that turns the direction of text.
func inert(t *testing.T, a *answer) {
	t.Helper()
	a.doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, attr := range s.Nodes[0].Attr {
			if strings.HasPrefix(attr.Key, "on") || attr.Key == "style" || strings.HasPrefix(strings.ToLower(attr.Val), "javascript:") {
				t.Errorf("%s has %s=%q", a.Request.URL, attr.Key, attr.Val)
			}
			if strings.ContainsAny(attr.Val, turning) {
				t.Errorf("%s has a control character in %s=%q", a.Request.URL, attr.Key, attr.Val)
			}
		}
	})
	if n := a.doc.Find("script:not([src]), style, iframe, object, embed, img").Length(); n > 0 {
		t.Errorf("%s has %d elements that could run or load", a.Request.URL, n)
	}
	if strings.ContainsAny(a.doc.Text()+a.body, turning) {
		t.Errorf("%s shows a control character as it is", a.Request.URL)
	}
}

// turning are the controls of direction, and a space without width.
const turning = "\u200b\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

func TestBrowse(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("things")
	b.get("/objects?bucket=things").has(t, "Nothing here yet")
	for _, key := range []string{"a.txt", "b/1", "b/2", "b/c/3", "z.jpg"} {
		l.put("things", key, key)
	}
	a := b.get("/objects?bucket=things").status(t, http.StatusOK)
	if got := strings.Join(a.doc.Find("tbody .main-cell").Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) }), " "); got != "b a.txt z.jpg" {
		t.Errorf("the bucket shows %q", got)
	}
	a = b.get(at("/objects", "things", "b/")).has(t, "3 entries")
	if got := strings.Join(a.doc.Find(".crumbs li").Map(func(_ int, s *goquery.Selection) string { return s.Text() }), " "); got != "Buckets things b" {
		t.Errorf("the way is %q", got)
	}
	b.get(at("/objects", "things", "b/")+"&filter=c").has(t, "1 entry")
	b.get(at("/objects", "things", "b/")+"&filter=q").has(t, "No name begins like that")
	b.get(at("/objects", "things", "a.txt")).leads(t, at("/objects/show", "things", "a.txt"))
	b.get(at("/objects/show", "things", "a.txt")).has(t, "<b>me</b>").has(t, "5 bytes")
	b.get("/objects?bucket=none").status(t, http.StatusNotFound).has(t, "No such bucket")
	b.get(at("/objects/show", "things", "none")).status(t, http.StatusNotFound).has(t, "No such object")
}

func TestPages(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("many")
	for i := range 230 {
		l.put("many", string(rune('a'+i/26))+string(rune('a'+i%26)), "x")
	}
	seen, link, pages := 0, "/objects?bucket=many", 0
	for link != "" {
		a := b.get(link).status(t, http.StatusOK)
		seen += a.doc.Find("tbody tr").Length()
		next, _ := a.doc.Find(".pager-links a:contains('Next page')").Attr("href")
		if first := a.doc.Find(".pager-links a:contains('First page')").Length(); (first == 1) != (pages > 0) {
			t.Errorf("page %d has %d ways to the first", pages, first)
		}
		link, pages = next, pages+1
	}
	if seen != 230 || pages != 5 {
		t.Errorf("%d objects on %d pages", seen, pages)
	}
}

func TestUploadAndDownload(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("upl")
	token := b.token("/objects?bucket=upl")
	body := make([]byte, 3<<20)
	rand.Read(body)
	put := func(key string, data []byte, header ...string) *answer {
		header = append([]string{"X-Larder-Form", token, "Content-Type", "text/html; charset=utf-7"}, header...)
		return b.do(http.MethodPut, at("/objects/upload", "upl", key), bytes.NewReader(data), header...)
	}
	put("dir/ü ../x.html", body, "If-None-Match", "*").status(t, http.StatusCreated)
	again := put("dir/ü ../x.html", []byte("other"), "If-None-Match", "*").status(t, http.StatusPreconditionFailed)
	if !strings.HasPrefix(again.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("the script gets %s", again.Header.Get("Content-Type"))
	}
	a := b.get(at("/objects/download", "upl", "dir/ü ../x.html")).status(t, http.StatusOK)
	if a.body != string(body) {
		t.Errorf("%d bytes came back, not the ones sent", len(a.body))
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
		"Content-Disposition": `attachment; filename="x.html"; filename*=UTF-8''x.html`,
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	put("dir/ü ../x.html", []byte("replaced")).status(t, http.StatusCreated)
	if got := b.get(at("/objects/download", "upl", "dir/ü ../x.html")).body; got != "replaced" {
		t.Errorf("after replacing: %q", got)
	}
	put("", []byte("x")).status(t, http.StatusBadRequest)
	put(strings.Repeat("k", 1025), []byte("x")).status(t, http.StatusBadRequest)
	b.do(http.MethodPut, at("/objects/upload", "none", "x"), strings.NewReader("x"), "X-Larder-Form", token).status(t, http.StatusNotFound)
}

func TestMayUpload(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("upl")
	l.put("upl", "there", "x")
	b.get(at("/objects/may", "upl", "there")).status(t, http.StatusNoContent)
	b.get(at("/objects/may", "upl", "there")+"&new=1").status(t, http.StatusPreconditionFailed)
	b.get(at("/objects/may", "upl", "new")+"&new=1").status(t, http.StatusNoContent)
	b.get(at("/objects/may", "none", "new")).status(t, http.StatusNotFound)
}

func TestDownloadRanges(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("ran")
	l.put("ran", "k", "0123456789")
	link := at("/objects/download", "ran", "k")
	etag := b.get(link).Header.Get("ETag")
	for _, c := range []struct {
		header []string
		status int
		body   string
	}{
		{[]string{"Range", "bytes=2-4"}, 206, "234"},
		{[]string{"Range", "bytes=7-"}, 206, "789"},
		{[]string{"Range", "bytes=7-99"}, 206, "789"},
		{[]string{"Range", "bytes=7-", "If-Range", etag}, 206, "789"},
		{[]string{"Range", "bytes=7-", "If-Range", `"other"`}, 200, "0123456789"},
		{[]string{"Range", "bytes=-3"}, 200, "0123456789"},
		{[]string{"Range", "bytes=1-2,4-5"}, 200, "0123456789"},
		{[]string{"Range", "bytes=9-3"}, 200, "0123456789"},
		{[]string{"Range", "lines=1-2"}, 200, "0123456789"},
	} {
		if a := b.get(link, c.header...).status(t, c.status); a.body != c.body {
			t.Errorf("%v: %q", c.header, a.body)
		}
	}
	b.get(link, "Range", "bytes=10-").status(t, http.StatusRequestedRangeNotSatisfiable)
	if a := b.do(http.MethodHead, link, nil).status(t, http.StatusOK); a.Header.Get("Content-Length") != "10" {
		t.Errorf("HEAD says %s bytes", a.Header.Get("Content-Length"))
	}
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{"bytes=0-", "bytes=5-2", "bytes=-1", "bytes=9223372036854775807-", "bytes=0-9223372036854775807", "bytes= 1-2", ""} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, spec string, size int64) {
		if size < 0 {
			return
		}
		off, n, status, err := web.RangeOf(&http.Request{Header: http.Header{"Range": {spec}}}, store.Info{Size: size})
		if err == nil && (off < 0 || n < 0 || off+n > size || status == http.StatusPartialContent && n == 0) {
			t.Errorf("%q of %d: %d bytes at %d, status %d", spec, size, n, off, status)
		}
	})
}

func TestAttachment(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.txt":          `attachment; filename="a.txt"; filename*=UTF-8''a.txt`,
		"a b+c.txt":      `attachment; filename="a b+c.txt"; filename*=UTF-8''a%20b%2Bc.txt`,
		"ü.txt":          `attachment; filename="_.txt"; filename*=UTF-8''%C3%BC.txt`,
		"a\"\r\nX: y":    `attachment; filename="a___X: y"; filename*=UTF-8''a%22__X%3A%20y`,
		"a\u202egpj.exe": `attachment; filename="a_gpj.exe"; filename*=UTF-8''a_gpj.exe`,
		`..\..\x`:        `attachment; filename=".._.._x"; filename*=UTF-8''.._.._x`,
	} {
		if got := web.Attachment(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestNewFolder(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("fol")
	form := at("/objects/folder", "fol", "a/")
	b.post(form, form, "name", "b/c/").leads(t, at("/objects", "fol", "a/b/c/"))
	b.get(at("/objects", "fol", "a/b/c/")).has(t, "Nothing here yet")
	b.get(at("/objects", "fol", "a/b/")).status(t, http.StatusOK)
	b.post(form, form, "name", "b/c").leads(t, at("/objects", "fol", "a/b/c/"))
	b.post(form, form, "name", "//").status(t, http.StatusUnprocessableEntity).has(t, "A folder needs a name")
	b.post(form, form, "name", strings.Repeat("k", 1030)).status(t, http.StatusUnprocessableEntity)
	if got := l.keys("fol"); got != `"a/b/c/"` {
		t.Errorf("the bucket holds %s", got)
	}
}

func TestDeleteSelected(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("del")
	for _, key := range []string{"a", "b", "dir/1", "dir/sub/2", "dirx/3", "keep"} {
		l.put("del", key, key)
	}
	ask := b.post("/objects/pick?bucket=del", "/objects?bucket=del", "pick", "a", "pick", url.QueryEscape("dir/")).status(t, http.StatusOK)
	ask.has(t, "Delete 2 entries?").has(t, "dir/ with 2 objects").has(t, "for good")
	if got := l.keys("del"); strings.Count(got, `"`) != 12 {
		t.Errorf("asking deleted something: %s", got)
	}
	form := url.Values{}
	ask.doc.Find("main form input[type=hidden]").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		value, _ := s.Attr("value")
		form.Add(name, value)
	})
	action, _ := ask.doc.Find("main form").Attr("action")
	b.postForm(action, form).leads(t, "/objects?bucket=del")
	b.get("/objects?bucket=del").has(t, "Deleted 3 objects.")
	if got := l.keys("del"); got != `"b" "dirx/3" "keep"` {
		t.Errorf("left: %s", got)
	}
	b.post("/objects/pick?bucket=del", "/objects?bucket=del").leads(t, "/objects?bucket=del")
	b.get(at("/objects/delete", "del", "b")).has(t, "Delete b?")
}

func TestDeleteFolderOfManyPages(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("del")
	for i := range 1100 {
		l.put("del", "dir/"+strings.Repeat("x", 1+i%7)+string(rune('0'+i%10))+strings.Repeat("y", i/70), "")
	}
	b.get(at("/objects/delete", "del", "dir/")).has(t, "and everything in it?")
	b.post("/objects/delete?bucket=del", "/", "pick", url.QueryEscape("dir/")).leads(t, "/objects?bucket=del")
	if got := l.keys("del"); got != "" {
		t.Errorf("left: %.100s", got)
	}
}
