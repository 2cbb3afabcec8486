package web

import (
	"net/http"

	"larder/auth"
	"larder/fault"
	"larder/web/view"
)

const passwordHint = "8 to 72 characters. A sentence that you remember is better than a word with digits."

type setupForm struct{ code, password, again view.Field }

func newSetupForm() setupForm {
	return setupForm{
		code: view.Field{
			Name: "code", Label: "One-time code", Class: "input-code", Autocomplete: "one-time-code", Autofocus: true,
			Hint: "Larder printed it when it started. Look at the terminal, at “journalctl -u larder” or at “docker logs larder”.",
		},
		password: passwordField("password", "Password", "new-password", passwordHint),
		again:    passwordField("again", "The same password again", "new-password", ""),
	}
}

func passwordField(name, label, complete, hint string) view.Field {
	return view.Field{Name: name, Label: label, Type: "password", Autocomplete: complete, Hint: hint}
}

func (f setupForm) problems(text string) view.Problems {
	return view.Problems{Text: text, Fields: []view.Field{f.code, f.password, f.again}}
}

func (c *Console) showSetup(x *exchange) error {
	f := newSetupForm()
	return x.show(http.StatusOK, view.SetupPage(x.lone("Set up"), view.Problems{}, f.code, f.password, f.again))
}

// setUp makes the first administrator, once, for whoever knows the code.
func (c *Console) setUp(x *exchange) error {
	f := newSetupForm()
	f.code.Value = x.form("code")
	password := x.form("password")
	if f.code.Value == "" {
		f.code.Error = "Enter the code from the log."
	}
	f.again.Error = differs(password, x.form("again"))
	if f.code.Error != "" || f.again.Error != "" {
		return x.setupAgain(f, http.StatusUnprocessableEntity, "")
	}
	token, caller, err := c.cfg.Auth.Setup(x.ctx(), f.code.Value, auth.Secret(password), x.addr, x.r.UserAgent())
	switch fault.CodeOf(err) {
	case fault.OK:
		x.signIn(token, caller)
		return x.done("/", view.Good, "Larder is yours. From now on you log in as admin.")
	case fault.WeakPassword:
		f.password.Error = textOf(err)
		return x.setupAgain(f, http.StatusUnprocessableEntity, "")
	case fault.Unauthenticated, fault.Denied, fault.InvalidArgument:
		f.code.Error = "This is not the code of this start. A new one is printed each time Larder starts without a user."
		return x.setupAgain(f, http.StatusUnprocessableEntity, "")
	case fault.RateLimited:
		return x.setupAgain(f, http.StatusTooManyRequests, textOf(err))
	}
	return err
}

func (x *exchange) setupAgain(f setupForm, status int, text string) error {
	return x.show(status, view.SetupPage(x.lone("Set up"), f.problems(text), f.code, f.password, f.again))
}

// differs is the error of a field that repeats a password, or "".
func differs(password, again string) string {
	if password == again {
		return ""
	}
	return "The two passwords differ. Type the same one twice."
}
