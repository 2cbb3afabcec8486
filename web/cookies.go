package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"larder/web/view"
)

// cookieNames are the names of the console's cookies on plain HTTP. On TLS
// they begin with __Host-, which keeps others on this host from setting them.
type cookieNames struct{ session, form, flash, theme string }

func newCookieNames(instance string) cookieNames {
	base := "larder"
	if instance != "" {
		base += "-" + instance
	}
	return cookieNames{session: base, form: base + "-form", flash: base + "-flash", theme: base + "-theme"}
}

func (x *exchange) cookieName(name string) string {
	if x.r.TLS != nil {
		return "__Host-" + name
	}
	return name
}

func (x *exchange) cookie(name string) string {
	ck, err := x.r.Cookie(x.cookieName(name))
	if err != nil {
		return ""
	}
	return ck.Value
}

// setCookie sets a cookie that scripts cannot read and that browsers send only
// from pages of ours. maxAge is in seconds; 0 = until the browser closes, -1
// removes it.
func (x *exchange) setCookie(name, value string, maxAge int) {
	http.SetCookie(x.w, &http.Cookie{
		Name: x.cookieName(name), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: x.r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// theme is the colours chosen by hand, or "" for the system's.
func (x *exchange) theme() string {
	switch t := x.cookie(x.c.names.theme); t {
	case "light", "dark":
		return t
	}
	return ""
}

// formToken is the token that every form of this page carries. It is made from
// a cookie that only this browser has, so it holds across restarts and needs
// no store. Without any such cookie one is set.
func (x *exchange) formToken() string {
	seed := x.formSeed()
	if seed == "" {
		seed = rand.Text()
		x.setCookie(x.c.names.form, seed, 0)
		x.r.AddCookie(&http.Cookie{Name: x.cookieName(x.c.names.form), Value: seed})
	}
	return tokenFrom(seed)
}

// formSeed is the session's token, or the cookie that stands in for it before
// login.
func (x *exchange) formSeed() string {
	if s := x.cookie(x.c.names.session); s != "" {
		return s
	}
	return x.cookie(x.c.names.form)
}

func tokenFrom(seed string) string {
	m := hmac.New(sha256.New, []byte(seed))
	m.Write([]byte("larder console form"))
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// tokenHolds tells whether the form came from a page that we gave this browser.
func (x *exchange) tokenHolds(token string) bool {
	seed := x.formSeed()
	return seed != "" && hmac.Equal([]byte(token), []byte(tokenFrom(seed)))
}

// setFlash leaves a message for the next page. It is signed, since others on
// this host can set cookies for us over plain HTTP.
func (x *exchange) setFlash(kind view.Kind, text string) {
	if len(text) > 1500 {
		text = strings.ToValidUTF8(text[:1500], "") + "…"
	}
	body := base64.RawURLEncoding.EncodeToString([]byte(string(kind) + "\n" + text))
	x.setCookie(x.c.names.flash, body+"."+x.c.sign(body), 60)
}

// takeFlash gives the message that was left, once.
func (x *exchange) takeFlash() *view.Notice {
	value := x.cookie(x.c.names.flash)
	if value == "" {
		return nil
	}
	x.setCookie(x.c.names.flash, "", -1)
	body, mac, _ := strings.Cut(value, ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || !hmac.Equal([]byte(mac), []byte(x.c.sign(body))) {
		return nil
	}
	kind, message, _ := strings.Cut(string(text), "\n")
	return &view.Notice{Kind: view.Kind(kind), Text: message}
}

func (c *Console) sign(body string) string {
	m := hmac.New(sha256.New, c.key[:])
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil)[:16])
}
