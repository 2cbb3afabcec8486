package web

import (
	"net/http"
	"slices"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/web/view"
)

func (c *Console) showUsers(x *exchange) error {
	users, err := c.cfg.Admin.Users(x.ctx(), x.caller)
	if err != nil {
		return err
	}
	var lines []view.User
	for _, u := range users {
		lines = append(lines, view.User{
			Name: u.Name, Role: u.Role, Created: u.Created, Self: u.Name == x.caller.ID(), Delete: "/users/delete?" + query("name", u.Name),
		})
	}
	return x.show(http.StatusOK, view.UsersPage(x.shell("users", "Users"), lines))
}

type userForm struct {
	name, password, again view.Field
	role                  string
}

func newUserForm() userForm {
	return userForm{
		name:     view.Field{Name: "name", Label: "User name", Class: "input-narrow", MaxLength: "64", Autofocus: true, Hint: "Lower-case letters, digits, dots, hyphens and underscores are safest."},
		password: passwordField("password", "Password", "new-password", passwordHint),
		again:    passwordField("again", "The same password again", "new-password", ""),
		role:     auth.RoleViewer,
	}
}

func roleChoices(chosen string) []view.Choice {
	list := []view.Choice{
		{Value: auth.RoleAdmin, Title: "Administrator", Text: "Everything, users and keys too."},
		{Value: auth.RoleOperator, Title: "Operator", Text: "Creates and deletes buckets and objects, but neither users nor keys."},
		{Value: auth.RoleViewer, Title: "Viewer", Text: "Looks at everything and downloads; changes nothing."},
	}
	for i := range list {
		list[i].Checked = list[i].Value == chosen
	}
	return list
}

func (c *Console) showNewUser(x *exchange) error {
	if _, err := c.cfg.Admin.Users(x.ctx(), x.caller); err != nil {
		return err
	}
	return x.newUserPage(http.StatusOK, newUserForm(), "")
}

func (x *exchange) newUserPage(status int, f userForm, text string) error {
	p := view.Problems{Text: text, Fields: []view.Field{f.name, f.password, f.again}}
	return x.show(status, view.NewUserPage(x.shell("users", "Create user"), p, f.name, f.password, f.again, roleChoices(f.role)))
}

func (c *Console) createUser(x *exchange) error {
	f := newUserForm()
	f.name.Value, f.role = x.form("name"), x.form("role")
	if f.name.Value == "" {
		f.name.Error = "Give the user a name."
	}
	if !slices.Contains([]string{auth.RoleAdmin, auth.RoleOperator, auth.RoleViewer}, f.role) {
		return x.newUserPage(http.StatusUnprocessableEntity, f, "Choose one of the three roles.")
	}
	f.again.Error = differs(x.form("password"), x.form("again"))
	if f.name.Error != "" || f.again.Error != "" {
		return x.newUserPage(http.StatusUnprocessableEntity, f, "")
	}
	u, err := c.cfg.Admin.CreateUser(x.ctx(), x.caller, f.name.Value, auth.Secret(x.form("password")), f.role)
	switch fault.CodeOf(err) {
	case fault.OK:
		return x.done("/users", view.Good, "The user "+u.Name+" can log in now.")
	case fault.WeakPassword:
		f.password.Error = textOf(err)
	case fault.UserExists, fault.InvalidArgument:
		f.name.Error = textOf(err)
	default:
		return err
	}
	return x.newUserPage(http.StatusUnprocessableEntity, f, "")
}

func (c *Console) askDeleteUser(x *exchange) error {
	name := x.query("name")
	users, err := c.cfg.Admin.Users(x.ctx(), x.caller)
	if err == nil && !slices.ContainsFunc(users, func(u auth.User) bool { return u.Name == name }) {
		err = fault.New("web.askDeleteUser", fault.NoSuchUser, name, nil)
	}
	q := view.Confirm{
		Crumbs: []view.Crumb{{Name: "Users", Link: "/users"}, {Name: name}, {Name: "Delete user"}},
		Title:  "Delete the user " + name + "?", Action: "/users/delete", Button: "Delete user", Danger: true, Cancel: "/users",
		Hidden: []view.Hidden{{Name: "name", Value: name}},
	}
	return x.ask("users", q, err,
		view.Consequence{Icon: "logout", Text: "The person is logged out everywhere and cannot log in again."},
		view.Consequence{Icon: "key", Text: "Access keys stay as they are, also those that this person created."},
		view.Consequence{Icon: "check", Text: "Nothing stored is deleted."})
}

func (c *Console) deleteUser(x *exchange) error {
	name := x.form("name")
	if err := c.cfg.Admin.DeleteUser(x.ctx(), x.caller, name); err != nil {
		return err
	}
	return x.done("/users", view.Good, "The user "+name+" is deleted.")
}

type accountForm struct{ current, password, again view.Field }

func newAccountForm() accountForm {
	return accountForm{
		current:  passwordField("current", "Your password now", "current-password", ""),
		password: passwordField("password", "New password", "new-password", passwordHint),
		again:    passwordField("again", "The new password again", "new-password", ""),
	}
}

func (c *Console) showAccount(x *exchange) error {
	return x.accountPage(http.StatusOK, newAccountForm(), "")
}

func (x *exchange) accountPage(status int, f accountForm, text string) error {
	p := view.Problems{Text: text, Fields: []view.Field{f.current, f.password, f.again}}
	return x.show(status, view.AccountPage(x.shell("account", "Your account"), p, f.current, f.password, f.again))
}

// changePassword ends every session of the user, this one too.
func (c *Console) changePassword(x *exchange) error {
	f := newAccountForm()
	if f.again.Error = differs(x.form("password"), x.form("again")); f.again.Error != "" {
		return x.accountPage(http.StatusUnprocessableEntity, f, "")
	}
	err := c.cfg.Admin.ChangePassword(x.ctx(), x.caller, admin.PasswordChange{
		User: x.caller.ID(), Current: auth.Secret(x.form("current")), New: auth.Secret(x.form("password")),
	})
	switch fault.CodeOf(err) {
	case fault.OK:
		c.secrets.dropSession(x.session)
		x.signOut()
		return x.redirect("/login?changed=1")
	case fault.WeakPassword:
		f.password.Error = textOf(err)
	case fault.Unauthenticated:
		f.current.Error = "This is not your password."
	case fault.RateLimited:
		return x.accountPage(http.StatusTooManyRequests, f, textOf(err))
	default:
		return err
	}
	return x.accountPage(http.StatusUnprocessableEntity, f, "")
}
