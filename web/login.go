package web

import (
	"net/http"

	"larder/auth"
	"larder/fault"
	"larder/web/view"
)

func loginFields() (user, password view.Field) {
	user = view.Field{Name: "user", Label: "User name", Autocomplete: "username", Autofocus: true, MaxLength: "128"}
	return user, passwordField("password", "Password", "current-password", "")
}

func (c *Console) showLogin(x *exchange) error {
	user, password := loginFields()
	note := ""
	if x.query("out") != "" {
		note = "You are logged out."
	}
	if x.query("changed") != "" {
		note = "Your password is changed. Log in with the new one."
	}
	return x.show(http.StatusOK, view.LoginPage(x.lone("Log in"), view.Problems{}, note, user, password, safeNext(x.query("next"))))
}

// logIn starts a session. A wrong name and a wrong password get the same
// answer.
func (c *Console) logIn(x *exchange) error {
	user, password := loginFields()
	user.Value = x.form("user")
	next := safeNext(x.form("next"))
	token, caller, err := c.cfg.Auth.Login(x.ctx(), user.Value, auth.Secret(x.form("password")), x.addr, x.r.UserAgent())
	status, p := http.StatusUnprocessableEntity, view.Problems{}
	switch fault.CodeOf(err) {
	case fault.OK:
		x.signIn(token, caller)
		return x.redirect(next)
	case fault.RateLimited:
		status, p.Text = http.StatusTooManyRequests, textOf(err)
	case fault.Unauthenticated, fault.NoSuchUser, fault.Denied:
		p.Text = "User name or password is wrong. Large and small letters differ."
	default:
		return err
	}
	return x.show(status, view.LoginPage(x.lone("Log in"), p, "", user, password, next))
}

// logOut ends the session in the server and then in the browser.
func (c *Console) logOut(x *exchange) error {
	if err := c.cfg.Auth.Logout(x.ctx(), x.session); err != nil {
		return err
	}
	c.secrets.dropSession(x.session)
	x.signOut()
	return x.redirect("/login?out=1")
}

// chooseTheme keeps the chosen colours in a cookie for a year.
func (c *Console) chooseTheme(x *exchange) error {
	switch t := x.form("theme"); t {
	case "light", "dark":
		x.setCookie(c.names.theme, t, 365*24*3600)
	default:
		x.setCookie(c.names.theme, "", -1)
	}
	return x.redirect(safeNext(x.form("next")))
}

// bounce answers a page that loads the same address again from here, so that
// the browser sends the session cookie that it kept back.
func (x *exchange) bounce() error {
	return x.show(http.StatusOK, view.BouncePage(view.Lone{Theme: x.theme()}, x.here()))
}
