package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const pageWithin = 30 * time.Second

// browser is a headless Chromium with an empty profile. It remembers what the
// pages complained about: script errors and breaches of the content policy.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

// newBrowser starts Chromium. Inside it, the host name leads to the loopback.
func newBrowser(t *testing.T, host string) *browser {
	t.Helper()
	path := chromium(t)
	b := &browser{t: t}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("host-resolver-rules", "MAP "+host+" 127.0.0.1"),
		chromedp.Env("HOME="+t.TempDir(), "TMPDIR="+t.TempDir()),
	}
	alloc, endAlloc := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, endPage := chromedp.NewContext(alloc, chromedp.WithListener(b.listen))
	t.Cleanup(func() { endPage(); endAlloc() })
	b.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return b
}

// listen notes complaints. The browser's event loop calls it.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text+" "+e.ExceptionDetails.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// heard returns the complaints since the last call.
func (b *browser) heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.complaints
	b.complaints = nil
	return list
}

// chromium is the path of Debian's Chromium or of a Chrome.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	skips.skip(t, "no chromium")
	return ""
}

// run does the steps in order. On a failure the page is kept as a picture
// where E2E_PICTURES names a folder, and its text is printed.
func (b *browser) run(what string, steps ...step) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.picture("failed-" + what)
		b.t.Fatalf("%s: %v\non the page:\n%.1500s", what, err, b.text())
	}
}

// text is what a person reads on the page.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, pageWithin)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil && !errors.Is(err, context.Canceled) {
		return err.Error()
	}
	return text
}

// picture stores the page as it looks, for a person, where the environment
// variable E2E_PICTURES names a folder.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("E2E_PICTURES")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, pageWithin)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".png"), png, 0o600); err != nil {
		b.t.Log(err)
	}
}

// step is what a person does, or waits for.
type step = chromedp.Action[chromedp.Void]

// submit presses the button with that text and waits for the page that follows.
func submit(text string) step {
	return clickThrough(`//main//button[normalize-space()="` + text + `"]`)
}

// clickThrough clicks and waits for the page that follows.
func clickThrough(xpath string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.Search(xpath)))
		return err
	})
}

// fillIn types into the field of that name.
func fillIn(name, text string) step {
	return chromedp.SendKeys(chromedp.CSS(`input[name="`+name+`"]`), text)
}

// visible waits for an element.
func visible(css string) step { return chromedp.WaitVisible(chromedp.CSS(css)) }

// read returns what get finds on the page.
func read[T any](b *browser, what string, get chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageWithin)
	defer cancel()
	v, err := chromedp.Run(ctx, get)
	if err != nil {
		b.t.Fatalf("%s: %v\non the page:\n%.1500s", what, err, b.text())
	}
	return v
}
