package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pages are all that a person can look at once a bucket, a key and a user are
// there. KEY stands for the key's id.
func pages() map[string]string {
	return map[string]string{
		"home": "/", "system": "/system", "account": "/account",
		"buckets": "/buckets", "bucket-new": "/buckets/new", "bucket-delete": "/buckets/delete?bucket=empty-one", "bucket-full": "/buckets/delete?bucket=photos",
		"bucket-settings": "/buckets/settings?bucket=photos",
		"objects":         "/objects?bucket=photos", "objects-empty": "/objects?bucket=empty-one", "objects-none": "/objects?bucket=photos&filter=zzz",
		"folder": "/objects?bucket=photos&key=summer%2F", "folder-new": "/objects/folder?bucket=photos",
		"object": "/objects/show?bucket=photos&key=notes.txt", "object-delete": "/objects/delete?bucket=photos&key=notes.txt",
		"folder-delete": "/objects/delete?bucket=photos&key=summer%2F",
		"keys":          "/keys", "key-new": "/keys/new", "key": "/keys/show?id=KEY", "key-disable": "/keys/disable?id=KEY", "key-delete": "/keys/delete?id=KEY",
		"users": "/users", "user-new": "/users/new", "user-delete": "/users/delete?name=ann",
		"missing": "/nothing",
	}
}

// TestInBrowser goes the way of a new owner in a real Chromium: set-up,
// bucket, upload, key, copy; then looks at every page in two widths and both
// colours. No page may break the policy, complain, or be wider than the window.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	l := newLarder(t)
	c := newChromium(t, l.serve(false).Listener.Addr().String())
	c.size(1280, "light")
	claimInBrowser(c, l)
	c.notices()
	l.furnish()
	uploadInBrowser(c, l)
	folderInBrowser(c, l)
	cancelInBrowser(c, l)
	id := keyInBrowser(c)
	c.open("/users/new")
	c.fill("name", "ann")
	c.fill("password", password)
	c.fill("again", password)
	c.press("main form .button-primary")
	c.calm("the journey")
	stateInBrowser(c)
	for name, path := range pages() {
		c.look(name, strings.ReplaceAll(path, "KEY", id))
	}
	l.put("photos", "harvest/a long name of a large object that somebody still needs.txt", strings.Repeat("larder ", 100_000))
	damageBlob(t, l.dir)
	pass(t, l)
	c.look("system-damaged", "/system")
}

type window struct {
	width  int64
	scheme string
}

// windows are those that every page is looked at in.
func windows() []window {
	list := []window{{1280, "light"}, {320, "dark"}}
	if os.Getenv("LARDER_SHOTS") != "" {
		list = append(list, window{1280, "dark"}, window{390, "light"}, window{390, "dark"})
	}
	return list
}

// look opens one page and looks at it in every window.
func (c *chromium) look(name, path string) {
	c.t.Helper()
	c.open(path)
	for _, w := range windows() {
		c.size(w.width, w.scheme)
		where := fmt.Sprintf("%s-%s-%d", name, w.scheme, w.width)
		if wide := evaluate[int64](c, "document.documentElement.scrollWidth"); wide > w.width {
			c.t.Errorf("%s is %d wide", where, wide)
		}
		c.picture(where)
	}
	if name == "missing" {
		c.forgive() // the browser says that the page is a 404, which it is
	}
	c.calm(name)
}

// stateInBrowser opens what only shows when it is used: drawer, menu, bulk bar.
func stateInBrowser(c *chromium) {
	c.t.Helper()
	c.size(390, "light")
	c.open("/objects?bucket=photos")
	c.do(chromedp.Click(chromedp.CSS(".topbar .icon-button")), chromedp.WaitVisible(chromedp.CSS("#places .place"), chromedp.NodeVisible))
	c.picture("drawer")
	c.do(chromedp.Click(chromedp.CSS(".side-close")))
	c.size(1280, "light")
	c.open("/objects?bucket=photos")
	c.do(chromedp.Click(chromedp.CSS("tbody tr:nth-child(3) .menu summary")), chromedp.WaitVisible(chromedp.CSS(".menu-list a"), chromedp.NodeVisible))
	c.do(chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) .check")))
	c.do(chromedp.Click(chromedp.CSS("tbody tr:nth-child(5) .check")))
	if got := evaluate[string](c, "document.querySelector('[data-bulk-count]').textContent"); got != "2 selected" {
		c.t.Errorf("the bar says %q", got)
	}
	c.do(chromedp.Click(chromedp.CSS("tbody tr:nth-child(3) .menu summary")))
	c.picture("selected")
	c.do(chromedp.KeyEvent(kb.Escape))
	if evaluate[int64](c, "document.querySelectorAll('.menu[open]').length") != 0 {
		c.t.Error("Escape does not close the menu")
	}
}

func claimInBrowser(c *chromium, l *larder) {
	c.t.Helper()
	c.open("/")
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 1280} {
			c.size(width, scheme)
			c.picture(fmt.Sprintf("setup-%s-%d", scheme, width))
		}
	}
	c.size(1280, "light")
	c.fill("code", l.code)
	c.fill("password", password)
	c.fill("again", password)
	c.press("main form .button-primary")
	c.picture("home-first")
	c.press(".step-now .button-primary") // create bucket
	c.fill("name", "photos")
	c.press("main form .button-primary")
	c.open("/buckets/new")
	c.fill("name", "No Good")
	c.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('main form').noValidate = true"))
	c.press("main form .button-primary")
	c.picture("bucket-refused")
	c.forgive()                                                       // the browser notes the answer 422, which is meant
	c.wait("document.activeElement.getAttribute('role') === 'alert'") // the focus is on the summary
}

// uploadInBrowser uploads two files by the script's own way, then one of them
// again, which is not replaced unasked.
func uploadInBrowser(c *chromium, l *larder) {
	c.t.Helper()
	dir := c.t.TempDir()
	small, large := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "film \u202e.mp4")
	for name, size := range map[string]int{small: 100, large: 2 << 20} {
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.open("/objects?bucket=photos")
	reload := "document.querySelector('.table') && [...document.querySelectorAll('.table .name')].some(n => n.textContent.includes('notes'))"
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#pick-files"), []string{small, large}))
	c.wait(reload)
	if got := l.keys("photos"); !strings.Contains(got, `"notes.txt"`) || !strings.Contains(got, `film \u202e.mp4`) {
		c.t.Errorf("after the upload the bucket holds %s", got)
	}
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#pick-files"), []string{small, large}))
	c.wait("document.querySelectorAll('.upload[data-state=exists]').length === 2")
	c.forgive() // the browser notes both answers 412, which are meant
	c.picture("upload-exists")
	c.do(chromedp.Click(chromedp.CSS("[data-uploads-replace]")))
	c.wait("document.querySelector('.table') && document.getElementById('uploads').hidden")
}

// cancelInBrowser begins a large upload, which the server takes only the
// beginning of, and takes it back.
func cancelInBrowser(c *chromium, l *larder) {
	c.t.Helper()
	big := filepath.Join(c.t.TempDir(), "big.held")
	if err := os.WriteFile(big, make([]byte, 32<<20), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.open("/objects?bucket=photos")
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#pick-files"), []string{big}))
	c.wait("document.querySelector('.upload[data-state=sending] progress')?.value > 0")
	c.picture("upload-sending")
	c.do(chromedp.Click(chromedp.CSS("[data-uploads-cancel]")))
	c.wait("document.querySelector('.upload[data-state=cancelled]')")
	close(l.release)
	c.do(chromedp.Click(chromedp.CSS("[data-uploads-done]")))
	if got := l.keys("photos"); strings.Contains(got, "big.held") {
		c.t.Errorf("after cancelling the bucket holds %s", got)
	}
}

// folderInBrowser uploads a folder, whose names become the keys.
func folderInBrowser(c *chromium, l *larder) {
	c.t.Helper()
	dir := filepath.Join(c.t.TempDir(), "trip")
	if err := os.MkdirAll(filepath.Join(dir, "day 1"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range []string{"plan.txt", "day 1/a+b.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.open(at("/objects", "photos", "winter/"))
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#pick-folder"), []string{dir}))
	c.wait("[...document.querySelectorAll('.table .name')].some(n => n.textContent.includes('trip'))")
	if got := l.keys("photos"); !strings.Contains(got, `"winter/trip/day 1/a+b.txt"`) || !strings.Contains(got, `"winter/trip/plan.txt"`) {
		c.t.Errorf("after uploading a folder the bucket holds %s", got)
	}
}

// keyInBrowser makes a key and copies its secret, where there is no clipboard
// API. It returns the key's id.
func keyInBrowser(c *chromium) string {
	c.t.Helper()
	c.open("/keys")
	c.picture("keys-empty")
	c.press("main .button-primary")
	c.fill("name", "restic on the laptop")
	c.do(chromedp.Click(chromedp.CSS(`.choice input[value="append-only"]`)))
	c.press("main form .button-primary")
	if evaluate[bool](c, "window.isSecureContext") {
		c.t.Error("the test does not run where the clipboard is withheld")
	}
	c.do(chromedp.Click(chromedp.CSS(`[data-copy="#key-secret"]`)))
	c.wait(`document.querySelector('[data-copy="#key-secret"] [data-copy-word]').textContent === "Copied"`)
	c.do(chromedp.Click(chromedp.CSS(`[data-copy="#code-0-0"]`)))
	c.wait(`document.querySelector('[data-copy="#code-0-0"] [data-copy-word]').textContent === "Copied"`)
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			c.size(width, scheme)
			c.picture(fmt.Sprintf("secret-%s-%d", scheme, width))
		}
	}
	c.size(1280, "light")
	id := evaluate[string](c, "document.getElementById('key-id').value")
	c.press("main form .button-primary")
	return id
}

// furnish puts things on the shelves. With LARDER_SHOTS they are many and
// large enough for a picture.
func (l *larder) furnish() {
	l.t.Helper()
	n, size := 3, 4<<10
	if os.Getenv("LARDER_SHOTS") != "" {
		n, size = 60, 400<<10
	}
	for i, name := range []string{"empty-one", "backup-laptop", "backup-nas", "documents"} {
		l.bucket(name)
		for j := range n * i {
			l.put(name, "data/"+strconv.Itoa(j%10)+"/"+strconv.Itoa(j), strings.Repeat("x", size+j*997))
			if j%10 == 0 {
				s := l.store.Stats()
				l.web.AddSample(s.Objects, s.Bytes, s.Objects+int64(j%4*3))
			}
		}
	}
	for j, key := range []string{"summer/italy/1.jpg", "summer/IMG_2041.jpg", "summer/IMG_2042.jpg", "winter/1.jpg", "archive-2025.tar.zst", "letter.pdf", "song.flac", "evening\u202egpj.exe"} {
		l.put("photos", key, strings.Repeat("x", size/8*(j+1)))
	}
}

// TestWithoutScript makes a bucket and a key, deletes and logs out with
// JavaScript switched off.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	l := newLarder(t)
	c := newChromium(t, l.serve(false).Listener.Addr().String())
	c.size(1280, "light")
	c.script(false)
	c.open("/")
	c.fill("code", l.code)
	c.fill("password", password)
	c.fill("again", password)
	c.press("main form .button-primary")
	c.open("/buckets/new")
	c.fill("name", "photos")
	c.press("main form .button-primary")
	l.put("photos", "a", "a")
	c.open("/objects?bucket=photos")
	c.do(chromedp.Click(chromedp.CSS(".check")))
	c.press(".bulk .button-danger")
	c.press("main form .button-danger")
	if got := l.keys("photos"); got != "" {
		t.Errorf("after deleting: %s", got)
	}
	c.open("/keys/new")
	c.fill("name", "k")
	c.press("main form .button-primary")
	c.do(chromedp.Click(chromedp.CSS(".tab-2")), chromedp.WaitVisible(chromedp.CSS(".panel-2 pre"), chromedp.NodeVisible))
	c.press(`form[action="/logout"] button`)
	c.do(chromedp.WaitVisible(chromedp.ID("f-user")))
	c.calm("without script")
}

// TestThemeChangesAtOnce holds that no frame shows the fill of one theme below
// the text of the other, in a browser that is allowed to move things.
func TestThemeChangesAtOnce(t *testing.T) {
	t.Parallel()
	l := newLarder(t)
	c := newChromium(t, l.serve(false).Listener.Addr().String())
	c.open("/")
	const colours = `(() => { const s = getComputedStyle(document.querySelector("main form .button-primary")); return s.backgroundColor + " " + s.color })()`
	flip := func(theme string) string {
		return evaluate[string](c, `document.documentElement.dataset.theme = "`+theme+`", `+colours)
	}
	for range 2 {
		for theme, want := range map[string]string{"light": "rgb(163, 75, 26) rgb(255, 255, 255)", "dark": "rgb(230, 148, 92) rgb(27, 24, 21)"} {
			if got := flip(theme); got != want {
				t.Errorf("%s begins as %s, want %s", theme, got, want)
			}
		}
	}
	c.calm("after changing the theme")
}
