package e2e_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const adminPassword = "a password for machines"

// logIn is a person's login at a server whose administrator the environment
// made.
func logIn(b *browser, s *server) {
	b.t.Helper()
	b.run("log in", chromedp.Navigate(b.url(s, "/buckets")), visible(`input[name="password"]`),
		chromedp.Clear(chromedp.CSS(`input[name="user"]`)), fillIn("user", "admin"), fillIn("password", adminPassword),
		submit("Log in"), visible("main h1"))
}

// TestConsoleObjects uploads, downloads and deletes in the browser, and looks
// through S3 whether it happened.
func TestConsoleObjects(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: []string{"LARDER_ADMIN_PASSWORD=" + adminPassword}})
	b := newBrowser(t, house)
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/shelf", nil)
	files := map[string][]byte{
		"notes & more #1 ü.txt": payloadBytes("notes", 0, 100),
		"photo+100%.bin":        payloadBytes("photo", 0, 6<<20+1),
	}
	var paths []string
	for name, content := range files {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}

	logIn(b, s)
	b.run("upload", b.open("/objects?bucket=shelf"), chromedp.SetUploadFiles(chromedp.ID("pick-files"), paths))
	for name := range files { // the page loads itself again when all are done
		b.run("uploaded", chromedp.WaitVisible(chromedp.Search(entryLink(name))))
	}
	b.picture("uploaded")
	for name, content := range files {
		got := c.must(http.StatusOK, http.MethodGet, "/shelf/"+url.PathEscape(name), nil)
		if !bytes.Equal(got.body, content) {
			t.Errorf("%s came through S3 with other bytes", name)
		}
		consoleObject(b, name, content)
		c.must(http.StatusNotFound, http.MethodHead, "/shelf/"+url.PathEscape(name), nil)
	}
	if complaints := b.heard(); len(complaints) > 0 {
		t.Errorf("the browser complained: %q", complaints)
	}
}

// entryLink is the link of a name in the list of objects.
func entryLink(name string) string { return `//td//a[normalize-space()="` + name + `"]` }

// consoleObject opens an object from the list, downloads and deletes it.
func consoleObject(b *browser, name string, want []byte) {
	b.t.Helper()
	b.run("object", b.open("/objects?bucket=shelf"),
		clickThrough(entryLink(name)), visible("#object-path"))
	b.picture("object")
	const download = `(async () => {
		const link = [...document.querySelectorAll("main a")].find((a) => a.textContent.trim() === "Download");
		const bytes = new Uint8Array(await (await fetch(link.href)).arrayBuffer());
		let text = "";
		for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
		return btoa(text);
	})()`
	text := read(b, "download", chromedp.Evaluate[string](download, chromedp.EvalAwaitPromise))
	if got, err := base64.StdEncoding.DecodeString(text); err != nil || !bytes.Equal(got, want) {
		b.t.Errorf("%s was downloaded in the browser with other bytes (%d of %d, %v)", name, len(got), len(want), err)
	}
	b.run("delete", clickThrough(`//main//a[normalize-space()="Delete"]`), submit("Delete"), visible("main h1"))
}

// TestConsoleRevokesKey disables, enables and deletes a key in the browser
// while a client uses it. Each counts from the client's next request on.
func TestConsoleRevokesKey(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: []string{"LARDER_ADMIN_PASSWORD=" + adminPassword}})
	b := newBrowser(t, house)
	s.client().must(http.StatusOK, http.MethodPut, "/shelf", nil)
	logIn(b, s)
	k := createKey(b, "camera", "shelf")
	c := newS3Client(t, "http://"+s.s3, k.id, k.secret)
	c.must(http.StatusOK, http.MethodPut, "/shelf/picture", []byte("1"))
	if a := c.do(http.MethodPut, "/elsewhere", nil); a.code != "AccessDenied" {
		t.Errorf("a key for one bucket makes another: %v", a)
	}
	for _, step := range []struct {
		verb, code string
	}{{"disable", "AccessDenied"}, {"enable", ""}, {"delete", "InvalidAccessKeyId"}} {
		button := strings.ToUpper(step.verb[:1]) + step.verb[1:] + " key"
		b.run(step.verb, b.open("/keys/"+step.verb+"?id="+k.id), submit(button), visible("main h1"))
		if a := c.do(http.MethodPut, "/shelf/picture", []byte("2")); a.code != step.code {
			t.Errorf("after %s the client's next request is answered %v, want code %q", step.verb, a, step.code)
		}
	}
	if complaints := b.heard(); len(complaints) > 0 {
		t.Errorf("the browser complained: %q", complaints)
	}
}
