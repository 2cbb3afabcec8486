package web

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"larder/auth"
	"larder/fault"
)

// policy lets a page load its own files and nothing else. There is no inline
// code or style anywhere, so there is no nonce.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; media-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// headers sets what every answer of the console carries. Referrer-Policy is
// same-origin and not no-referrer: the latter makes browsers send "Origin:
// null" with forms over plain HTTP, which the cross-origin check refuses.
func (c *Console) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		if r.TLS != nil {
			h.Set("Cross-Origin-Opener-Policy", "same-origin") // browsers complain of it on plain HTTP
		}
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// hosts refuses names that are not ours when Config.Hosts says which are, so
// that no foreign name can be bound to our address (DNS rebinding).
func (c *Console) hosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.answersTo(hostName(r.Host)) {
			c.fail(c.exchange(w, r), &pageMissing{status: http.StatusMisdirectedRequest})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *Console) answersTo(name string) bool {
	if len(c.cfg.Hosts) == 0 || name == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return slices.ContainsFunc(c.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// hostName is a Host header without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// limit asks the limiter before any other work is done for an address.
func (c *Console) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.cfg.Auth.Limiter().Take(remoteAddr(r), auth.CostRequest); err != nil {
			c.fail(c.exchange(w, r), err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *Console) denyCrossOrigin(w http.ResponseWriter, r *http.Request) {
	c.fail(c.exchange(w, r), fault.New("web", fault.Denied, "", nil).WithHint(
		"The request came from another site. If a proxy stands before Larder, let it pass the Host header on unchanged."))
}

// remoteAddr is the address of the socket's other end. Headers that claim
// another one are ignored.
func remoteAddr(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

func newRequestID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
