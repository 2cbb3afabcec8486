package web

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"larder/admin"
	"larder/auth"
	"larder/web/view"
)

// exchange is one request and its answer, with who sent it. It lives as long
// as the request and is for its goroutine only.
type exchange struct {
	c       *Console
	w       http.ResponseWriter
	r       *http.Request
	id      string
	addr    netip.Addr
	caller  auth.Caller // nobody without a session
	session string      // the session's token; a secret
	raw     bool        // the sender is our script: answer in plain text
}

func (c *Console) exchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{c: c, w: w, r: r, id: w.Header().Get("X-Request-Id"), addr: remoteAddr(r)}
}

func (x *exchange) ctx() context.Context { return x.r.Context() }

func (x *exchange) query(name string) string { return x.r.URL.Query().Get(name) }

func (x *exchange) form(name string) string { return x.r.PostForm.Get(name) }

// show answers with a page. It is drawn whole before the first byte goes out,
// also when the request's context is gone: net/http cancels it when the body
// stalls, and an answer that is not drawn would go out as an empty 200.
func (x *exchange) show(status int, page templ.Component) error {
	var b bytes.Buffer
	if err := page.Render(context.WithoutCancel(x.ctx()), &b); err != nil {
		return err
	}
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	x.w.WriteHeader(status)
	_, err := x.w.Write(b.Bytes())
	return err
}

// redirect answers 303 to a path of ours, so that loading the next page again
// repeats nothing.
func (x *exchange) redirect(to string) error {
	http.Redirect(x.w, x.r, to, http.StatusSeeOther)
	return nil
}

// done is redirect with a message that the next page shows once.
func (x *exchange) done(to string, kind view.Kind, text string) error {
	x.setFlash(kind, text)
	return x.redirect(to)
}

// shell is what surrounds a page with a session.
func (x *exchange) shell(section, title string) view.Shell {
	s := view.Shell{
		Title: title, Section: section, User: x.caller.Name(), Theme: x.theme(), Token: x.formToken(),
		Here: x.here(), Version: x.c.cfg.Version, Now: x.c.cfg.Now(), Flash: x.takeFlash(),
	}
	s.May = x.may()
	if sum, err := x.c.cfg.Admin.Summary(x.ctx(), x.caller); err == nil {
		s.Notices = standing(sum, section == "home")
		s.May.Write = s.May.Write && sum.ReadOnly == ""
	}
	return s
}

// may tells which doors to show. The Guard is asked without a trace, since
// looking at a page is no attempt to do what it offers.
func (x *exchange) may() view.May {
	allows := func(act auth.Action) bool {
		return x.c.cfg.Auth.Guard().Allows(x.ctx(), x.caller, act, auth.Resource{})
	}
	return view.May{Keys: allows(auth.ManageKeys), Users: allows(auth.ManageUsers), Write: allows(auth.CreateBucket)}
}

// lone is what surrounds a page without a session.
func (x *exchange) lone(title string) view.Lone {
	return view.Lone{
		Title: title, Theme: x.theme(), Token: x.formToken(), Here: x.here(), SecureURL: x.secureURL(),
	}
}

// here is the page's own address, to come back to after a change of colours.
func (x *exchange) here() string {
	if x.r.Method != http.MethodGet {
		return "/"
	}
	return x.r.URL.RequestURI()
}

// encrypted tells whether the person's connection is, as far as one can know:
// by our own TLS or by the word of a proxy, which is good enough for a notice.
func (x *exchange) encrypted() bool {
	return x.r.TLS != nil || x.r.Header.Get("X-Forwarded-Proto") == "https"
}

// secureURL is the same page over TLS on the same port, or "" when the
// connection is encrypted already or there is no certificate.
func (x *exchange) secureURL() string {
	if x.encrypted() || x.c.cfg.CertFingerprint == "" {
		return ""
	}
	u := url.URL{Scheme: "https", Host: x.r.Host, Path: x.r.URL.Path}
	if x.r.Method == http.MethodGet {
		u.RawQuery = x.r.URL.RawQuery
	}
	return u.String()
}

// s3URL is the address of the S3 port as the person's programs reach it.
func (x *exchange) s3URL() string { return x.c.cfg.S3URL(x.r) }

func defaultS3URL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + hostName(r.Host) + ":9000"
}

// standing are the notices that stand on every page until their cause is gone.
// The home page says the same in its health line.
func standing(sum admin.Summary, home bool) []view.Notice {
	h := health(sum)
	if home || h.Kind == view.Good {
		return nil
	}
	return []view.Notice{{Kind: h.Kind, Title: h.Title, Text: h.Text}}
}
