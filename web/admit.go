package web

import (
	"net/http"
	"net/url"

	"larder/auth"
	"larder/fault"
)

// formHeader carries the form token of requests that our script makes.
const formHeader = "X-Larder-Form"

// admit lets a request through to its handler: the route's need first, then
// the form and its token. It answers false when it has sent the person
// elsewhere, and an error when there is nothing to send them to.
func (c *Console) admit(x *exchange, r route) (bool, error) {
	ok, err := c.meets(x, r.access)
	if err != nil || !ok {
		return false, err
	}
	if r.method == http.MethodGet {
		return true, nil
	}
	return true, x.checkForm(r)
}

func (c *Console) meets(x *exchange, need access) (bool, error) {
	if need == public {
		return true, nil
	}
	if c.cfg.Auth.SetupNeeded(x.ctx()) != (need == claim) {
		return c.elsewhere(x, need)
	}
	if need == claim {
		return true, nil
	}
	err := c.recognise(x)
	if fault.CodeOf(err) == fault.Unauthenticated || fault.CodeOf(err) == fault.Expired {
		err = nil
	}
	if err != nil {
		return false, err
	}
	if x.caller.IsZero() == (need == member) {
		return c.elsewhere(x, need)
	}
	return true, nil
}

// recognise reads the session cookie. Without one the caller stays nobody.
func (c *Console) recognise(x *exchange) error {
	token := x.cookie(c.names.session)
	if token == "" {
		return nil
	}
	caller, err := c.cfg.Auth.Session(x.ctx(), token, x.addr)
	if err != nil {
		return err
	}
	x.caller, x.session = caller, token
	return nil
}

// elsewhere sends a person to the page that they need first. What is not the
// loading of a page is refused.
func (c *Console) elsewhere(x *exchange, need access) (bool, error) {
	setup := c.cfg.Auth.SetupNeeded(x.ctx())
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		if need == claim {
			return false, fault.New("web", fault.SetupDone, "", nil)
		}
		return false, fault.New("web", fault.Unauthenticated, "", nil)
	}
	switch {
	case setup:
		return false, x.redirect("/setup")
	case need != member:
		return false, x.redirect("/")
	case x.ledHere():
		return false, x.bounce()
	}
	return false, x.redirect("/login?" + url.Values{"next": {x.here()}}.Encode())
}

// ledHere tells whether a link on another site led here, in which case the
// browser kept the session cookie back whether there is one or not.
func (x *exchange) ledHere() bool {
	if x.r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return true
	}
	from, err := url.Parse(x.r.Referer())
	return err == nil && from.Host != "" && from.Host != x.r.Host && x.r.Header.Get("Sec-Fetch-Site") == ""
}

// checkForm reads the form and compares its token.
func (x *exchange) checkForm(r route) error {
	if r.raw {
		return x.checkToken(x.r.Header.Get(formHeader))
	}
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, r.form)
	if err := x.r.ParseForm(); err != nil {
		return fault.New("web.form", fault.InvalidArgument, "", err).WithHint("The form is larger than any page of the console sends, or was cut on the way.")
	}
	return x.checkToken(x.form("token"))
}

func (x *exchange) checkToken(token string) error {
	if x.tokenHolds(token) {
		return nil
	}
	return fault.New("web.form", fault.Denied, "", nil).
		WithHint("This page was opened before you logged in or out. Go back, load it again, and repeat what you did.")
}

// signIn gives the browser a session. The token is new with every login, so a
// cookie planted before is worth nothing.
func (x *exchange) signIn(token string, caller auth.Caller) {
	x.session, x.caller = token, caller
	x.setCookie(x.c.names.session, token, 0)
	x.setCookie(x.c.names.form, "", -1)
}

// signOut takes the session from the browser.
func (x *exchange) signOut() { x.setCookie(x.c.names.session, "", -1) }

// safeNext is a path of ours to go on to after login, or "/".
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || len(next) < 2 || len(next) > 4096 {
		return "/"
	}
	if next[0] != '/' || next[1] == '/' || next[1] == '\\' {
		return "/"
	}
	for _, b := range []byte(next) {
		if b < ' ' || b == '\\' || b == 0x7f {
			return "/"
		}
	}
	return next
}
