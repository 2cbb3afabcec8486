package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"larder/auth"
	"larder/web/view"
)

func (c *Console) showKeys(x *exchange) error {
	keys, err := c.cfg.Admin.Keys(x.ctx(), x.caller)
	if err != nil {
		return err
	}
	var lines []view.Key
	for _, k := range keys {
		lines = append(lines, keyLine(k, c.cfg.Now()))
	}
	return x.show(http.StatusOK, view.KeysPage(x.shell("keys", "Keys"), lines))
}

func keyLink(path, id string) string { return path + "?id=" + url.QueryEscape(id) }

func keyLine(k auth.Key, now time.Time) view.Key {
	v := view.Key{
		ID: k.ID, Name: k.Name, Created: k.Created, Expires: k.Expires, LastUse: k.LastUsed, LastAddr: k.LastAddr, Disabled: k.Disabled,
		Link: keyLink("/keys/show", k.ID), Toggle: keyLink("/keys/disable", k.ID), Delete: keyLink("/keys/delete", k.ID),
	}
	if v.Name == "" {
		v.Name = k.ID
	}
	v.StateKind, v.State = view.Good, "Enabled"
	if !k.Expires.IsZero() && !now.Before(k.Expires) {
		v.StateKind, v.State = view.Warn, "Expired"
	}
	if k.Disabled {
		v.StateKind, v.State, v.Toggle = view.Warn, "Disabled", keyLink("/keys/enable", k.ID)
	}
	for _, g := range k.Grants {
		v.Grants = append(v.Grants, view.Grant{Bucket: g.Bucket, Prefix: g.Prefix, Rights: g.Rights.String()})
	}
	return v
}

func (c *Console) showKey(x *exchange) error {
	k, err := c.cfg.Admin.Key(x.ctx(), x.caller, x.query("id"))
	if err != nil {
		return err
	}
	line := keyLine(k, c.cfg.Now())
	facts := []view.Fact{{Term: "Created", Time: k.Created}, never("Last used", k.LastUsed)}
	if k.LastAddr != "" {
		facts = append(facts, view.Fact{Term: "Last used from", Value: k.LastAddr})
	}
	facts = append(facts, never("Expires", k.Expires))
	list := snippets(settings{endpoint: x.s3URL(), keyID: k.ID, secret: "YOUR-SECRET-KEY", grants: k.Grants, fingerprint: c.cfg.CertFingerprint})
	return x.show(http.StatusOK, view.KeyPage(x.shell("keys", line.Name), line, facts, list))
}

func never(term string, t time.Time) view.Fact {
	if t.IsZero() {
		return view.Fact{Term: term, Value: "never"}
	}
	return view.Fact{Term: term, Time: t}
}

// showSecret shows a new key's secret to the session that made it, for a few
// minutes. Loading the page changes nothing.
func (c *Console) showSecret(x *exchange) error {
	handle := x.query("handle")
	id, secret, ok := c.secrets.get(x.session, handle)
	if !ok {
		return x.done("/keys", view.Info, "The secret is not shown any more. If you did not store it, delete the key and create another one.")
	}
	k, err := c.cfg.Admin.Key(x.ctx(), x.caller, id)
	if err != nil {
		return err
	}
	line := keyLine(k, c.cfg.Now())
	return x.show(http.StatusOK, view.SecretPage(x.shell("keys", "Your new key"), view.NewSecret{
		Key: line, Secret: secret.Reveal(), Endpoint: x.s3URL(), Handle: handle, Minutes: "10",
		Snippets: snippets(settings{endpoint: x.s3URL(), keyID: k.ID, secret: secret.Reveal(), grants: k.Grants, fingerprint: c.cfg.CertFingerprint}),
	}))
}

func (c *Console) forgetSecret(x *exchange) error {
	handle := x.form("handle")
	id, _, ok := c.secrets.get(x.session, handle)
	c.secrets.drop(x.session, handle)
	if !ok {
		return x.redirect("/keys")
	}
	return x.redirect(keyLink("/keys/show", id))
}

// keyQuestion is the frame of the three questions about a key.
func (c *Console) keyQuestion(x *exchange, verb string) (view.Confirm, error) {
	k, err := c.cfg.Admin.Key(x.ctx(), x.caller, x.query("id"))
	line := keyLine(k, c.cfg.Now())
	return view.Confirm{
		Crumbs: []view.Crumb{{Name: "Keys", Link: "/keys"}, {Name: line.Name, Link: line.Link}, {Name: verb}},
		Title:  verb + " the key " + line.Name + "?", Button: verb + " key", Cancel: line.Link,
		Action: "/keys/" + strings.ToLower(verb), Hidden: []view.Hidden{{Name: "id", Value: k.ID}},
	}, err
}

func (x *exchange) ask(section string, q view.Confirm, err error, lines ...view.Consequence) error {
	if err != nil {
		return err
	}
	q.Consequences = lines
	return x.show(http.StatusOK, view.ConfirmPage(x.shell(section, q.Title), view.Problems{}, q))
}

func (c *Console) askDisableKey(x *exchange) error {
	q, err := c.keyQuestion(x, "Disable")
	return x.ask("keys", q, err,
		view.Consequence{Icon: "pause", Text: "Clients that use it are refused from their next request."},
		view.Consequence{Icon: "play", Text: "It can be enabled again at any time, with the same secret."},
		view.Consequence{Icon: "check", Text: "Nothing stored is deleted."})
}

func (c *Console) askEnableKey(x *exchange) error {
	q, err := c.keyQuestion(x, "Enable")
	return x.ask("keys", q, err,
		view.Consequence{Icon: "play", Text: "Clients that have its secret are let in again from their next request, with the rights it had."})
}

func (c *Console) askDeleteKey(x *exchange) error {
	q, err := c.keyQuestion(x, "Delete")
	q.Danger = true
	return x.ask("keys", q, err,
		view.Consequence{Icon: "trash", Text: "Clients that use it are refused from their next request, for good: a deleted key cannot be brought back."},
		view.Consequence{Icon: "check", Text: "Nothing stored is deleted."})
}

func (c *Console) disableKey(x *exchange) error { return c.switchKey(x, true, "is disabled.") }

func (c *Console) enableKey(x *exchange) error { return c.switchKey(x, false, "is enabled.") }

func (c *Console) switchKey(x *exchange, disabled bool, done string) error {
	id := x.form("id")
	if err := c.cfg.Admin.SetKeyDisabled(x.ctx(), x.caller, id, disabled); err != nil {
		return err
	}
	return x.done("/keys", view.Good, "The key "+c.keyName(x, id)+" "+done)
}

func (c *Console) deleteKey(x *exchange) error {
	id := x.form("id")
	name := c.keyName(x, id)
	if err := c.cfg.Admin.DeleteKey(x.ctx(), x.caller, id); err != nil {
		return err
	}
	return x.done("/keys", view.Good, "The key "+name+" is deleted.")
}

// keyName is the key's name for a message, or its id.
func (c *Console) keyName(x *exchange, id string) string {
	if k, err := c.cfg.Admin.Key(x.ctx(), x.caller, id); err == nil && k.Name != "" {
		return k.Name
	}
	return id
}
