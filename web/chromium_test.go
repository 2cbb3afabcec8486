package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is a real browser with an empty profile, and everything it
// complained of.
type chromium struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string
}

// newChromium starts a browser that finds the console under a name that is
// neither loopback nor encrypted, as most homes do. There browsers withhold
// the clipboard and Sec-Fetch-Site.
func newChromium(t *testing.T, address string) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: needs chromium (Debian's package of that name)")
	}
	profile := t.TempDir()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile), chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP nas.test 127.0.0.1"))
	parent, stop := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(stop)
	alloc, stopAlloc := chromedp.NewExecAllocator(parent, opts...)
	t.Cleanup(stopAlloc)
	ctx, stopTab := chromedp.NewContext(alloc)
	t.Cleanup(stopTab)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) })
	c := &chromium{t: t, ctx: ctx, base: "http://nas.test:" + address[strings.LastIndexByte(address, ':')+1:]}
	if err := chromedp.Listen(ctx, c.hear); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// hear keeps what the browser says on its console: broken policies, failed
// loads, exceptions, warnings.
func (c *chromium) hear(ev any) {
	text := ""
	switch ev := ev.(type) {
	case *cdplog.EventEntryAdded:
		text = fmt.Sprint(ev.Entry.Level, ": ", ev.Entry.Text, " ", ev.Entry.URL)
	case *runtime.EventExceptionThrown:
		text = "exception: " + ev.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		text = fmt.Sprint("console.", ev.Type)
	}
	if text == "" || strings.Contains(text, "verbose: ") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, text)
}

// calm fails the test when the browser complained of something.
func (c *chromium) calm(where string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.problems {
		c.t.Errorf("%s: %s", where, p)
	}
	c.problems = nil
}

// notices fails the test unless a broken policy would be seen by it.
func (c *chromium) notices() {
	c.t.Helper()
	c.calm("before the trial")
	_ = evaluate[bool](c, `document.body.setAttribute("style", "color: red") ?? true`)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		c.mu.Lock()
		seen := slices.ContainsFunc(c.problems, func(p string) bool { return strings.Contains(p, "Content Security Policy") })
		c.mu.Unlock()
		if seen {
			c.forgive()
			return
		}
		_ = chromedp.Do(c.ctx, chromedp.Sleep(50*time.Millisecond))
	}
	c.t.Fatal("the browser was given an inline style and did not complain")
}

// forgive drops the complaints so far.
func (c *chromium) forgive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = nil
}

func (c *chromium) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		text, _ := chromedp.Run(c.ctx, chromedp.Evaluate[string](`document.title + " | " + (document.querySelector("main")?.innerText ?? "")`))
		c.t.Fatalf("%v\nthe page is: %.400s", err, text)
	}
}

func (c *chromium) open(path string) {
	c.t.Helper()
	c.do(chromedp.Navigate(c.base + path))
}

// press clicks and waits for the page that the click leads to.
func (c *chromium) press(selector string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		c.t.Fatalf("press %s: %v", selector, err)
	}
}

func (c *chromium) fill(id, text string) {
	c.t.Helper()
	c.do(chromedp.SendKeys(chromedp.ID("f-"+id), text))
}

func evaluate[T any](c *chromium, expression string) T {
	c.t.Helper()
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		c.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait polls until the expression is true, across the loading of pages.
func (c *chromium) wait(expression string) {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if ok, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")")); err == nil && ok {
			return
		}
		_ = chromedp.Do(c.ctx, chromedp.Sleep(50*time.Millisecond))
	}
	text, _ := chromedp.Run(c.ctx, chromedp.Evaluate[string](`document.querySelector("main")?.innerText ?? ""`))
	c.t.Fatalf("%s never came true\n%.400s", expression, text)
}

// size sets the window, and the colours that the system is said to prefer.
func (c *chromium) size(width int64, scheme string) {
	c.t.Helper()
	c.do(chromedp.EmulateViewport(width, 860))
	_, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// picture writes the whole page to the folder that LARDER_SHOTS names, if any.
func (c *chromium) picture(name string) {
	c.t.Helper()
	dir := os.Getenv("LARDER_SHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// script switches JavaScript on or off.
func (c *chromium) script(on bool) {
	c.t.Helper()
	_, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	if err != nil {
		c.t.Fatal(err)
	}
}
