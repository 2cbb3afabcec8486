package e2e_test

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const house = "nas.test" // the appliance's name in the browser

// TestJourney is the first evening with Larder: a person starts it, sets it up
// in the browser with the code from the terminal, makes a bucket and a key,
// pastes the settings that the page shows, and backs a folder up and restores it.
func TestJourney(t *testing.T) {
	heavy(t)
	need(t, "restic", "diff")
	chromium(t)
	folder := needTree(t, fullTree)
	s := serve(t, setup{byPerson: true})
	b := newBrowser(t, house)
	setUp(b, s)
	createBucket(b, "backups")
	shown := createKey(b, "restic on the laptop", "backups")
	if complaints := b.heard(); len(complaints) > 0 {
		t.Errorf("the browser complained: %q", complaints)
	}

	_, port, err := net.SplitHostPort(s.s3)
	if err != nil {
		t.Fatal(err)
	}
	if want := "export RESTIC_REPOSITORY=s3:http://" + house + ":" + port + "/backups"; !strings.Contains(shown.restic, want) {
		t.Fatalf("the page shows %q, want a line %q", shown.restic, want)
	}
	if !strings.Contains(shown.restic, shown.secret) || !strings.Contains(shown.restic, shown.id) {
		t.Error("the settings for restic lack the key or its secret")
	}
	backUpAndRestore(t, newPastedRestic(t, shown.restic), folder)

	b.run("home", chromedp.Navigate(b.url(s, "/")), visible("main"))
	b.picture("home with a backup")
	b.run("bucket", chromedp.Navigate(b.url(s, "/objects?bucket=backups")), visible("main"))
	for _, name := range []string{"config", "data", "index", "keys", "snapshots"} {
		if !strings.Contains(b.text(), name) {
			t.Errorf("the browser of objects does not show %s", name)
		}
	}
	b.picture("objects of a repository")
}

func (b *browser) url(s *server, path string) string {
	_, port, err := net.SplitHostPort(s.console)
	if err != nil {
		b.t.Fatal(err)
	}
	return "http://" + house + ":" + port + path
}

// setUp claims the server. The console sends a fresh visitor to the right page.
func setUp(b *browser, s *server) {
	b.t.Helper()
	code := s.log.find(regexp.MustCompile(`Set-up code: (\S+)`))
	if code == "" {
		b.t.Fatalf("the server printed no set-up code:\n%s", s.log)
	}
	const password = "correct horse battery"
	b.run("open", chromedp.Navigate(b.url(s, "/")), visible(`input[name="code"]`))
	b.picture("set-up")
	b.run("wrong code", fillIn("code", "WRONG-CODE"), fillIn("password", password), fillIn("again", password), submit("Set up Larder"),
		visible(`[role="alert"]`))
	b.heard() // the browser's log has the status of the refusal
	b.run("set-up", chromedp.Clear(chromedp.CSS(`input[name="code"]`)), fillIn("code", code), fillIn("password", password),
		fillIn("again", password), submit("Set up Larder"), visible("main h1"))
	if text := b.text(); !strings.Contains(text, "Larder is yours") {
		b.t.Fatalf("after set-up the page says:\n%.1500s", text)
	}
	b.picture("home after set-up")
}

func createBucket(b *browser, name string) {
	b.t.Helper()
	b.run("bucket", b.open("/buckets/new"), fillIn("name", name), submit("Create bucket"))
	if text := b.text(); !strings.Contains(text, name) {
		b.t.Fatalf("after the bucket was made the page says:\n%.1500s", text)
	}
	b.picture("bucket")
}

// open goes to a path of the console, as a click on a link would.
func (b *browser) open(path string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		origin, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.origin"))
		if err != nil {
			return err
		}
		return chromedp.Do(ctx, chromedp.Navigate(origin+path))
	})
}

// shownKey is what the page shows once.
type shownKey struct{ id, secret, restic string }

func createKey(b *browser, name, bucket string) (k shownKey) {
	b.t.Helper()
	b.run("new key", b.open("/keys/new"), fillIn("name", name),
		chromedp.SetValue(chromedp.CSS(`select[name="bucket"]`), bucket), submit("Create key"), visible("#key-secret"))
	b.picture("secret")
	k.id = read(b, "key id", chromedp.Value(chromedp.ID("key-id")))
	k.secret = read(b, "secret", chromedp.Value(chromedp.ID("key-secret")))
	k.restic = read(b, "settings for restic", chromedp.TextContent(chromedp.ID("code-0-0")))
	b.run("stored", submit("I have stored the secret"), visible("#key-id"))
	if strings.Contains(b.text(), k.secret) {
		b.t.Error("the secret is still shown after it was stored")
	}
	return k
}

// newPastedRestic is restic in a shell into which the settings were pasted.
func newPastedRestic(t *testing.T, settings string) *restic {
	p := newProgram(t, "HTTP_PROXY="+nameServer(t))
	file := p.write("settings.sh", []byte(settings))
	return newRestic(p, "sh", "-c", `. "$0"; exec restic "$@"`, file)
}
