package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"

	"larder/auth"
	"larder/auth/sigv4"
	"larder/fault"
)

// apiBody is the largest body of an admin API request, in bytes.
const apiBody = 64 << 10

// api is the admin API with the console's ways to say who one is: a bearer
// secret, a signature, or the session of the browser.
func (c *Console) api() http.Handler {
	h := c.cfg.Admin.Handler(c.cfg.Gate, c.apiCaller)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, apiBody)
		h.ServeHTTP(w, r)
	})
}

func (c *Console) apiCaller(r *http.Request) (auth.Caller, error) {
	switch sigv4.SchemeOf(r) {
	case sigv4.Bearer:
		return c.bearer(r)
	case sigv4.Anonymous:
		return c.apiSession(r)
	}
	return c.signed(r)
}

// bearer reads "Authorization: Bearer KEYID:SECRET".
func (c *Console) bearer(r *http.Request) (auth.Caller, error) {
	_, value, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	id, secret, ok := strings.Cut(strings.TrimSpace(value), ":")
	if !ok {
		return auth.Caller{}, fault.New("web.bearer", fault.Unauthenticated, "", nil).
			WithHint("The header is: Authorization: Bearer KEYID:SECRET")
	}
	return c.cfg.Auth.Bearer(r.Context(), id, auth.Secret(secret), remoteAddr(r))
}

// apiSession is the caller of a browser's session. What changes something also
// needs the form token, since a cookie alone proves no intent.
func (c *Console) apiSession(r *http.Request) (auth.Caller, error) {
	x := &exchange{c: c, r: r, addr: remoteAddr(r)}
	if err := c.recognise(x); err != nil {
		return auth.Caller{}, err
	}
	if x.caller.IsZero() {
		return auth.Caller{}, fault.New("web.api", fault.Unauthenticated, "", nil).
			WithHint("Send an access key (Authorization: Bearer KEYID:SECRET, or an AWS signature) or log in.")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := x.checkToken(r.Header.Get(formHeader)); err != nil {
			return auth.Caller{}, err
		}
	}
	return x.caller, nil
}

// signed verifies an AWS signature, and that the body is the signed one.
func (c *Console) signed(r *http.Request) (auth.Caller, error) {
	req, err := sigv4.Parse(r, c.cfg.Now())
	if err != nil {
		return auth.Caller{}, err
	}
	caller, _, err := c.cfg.Auth.VerifySignature(r.Context(), auth.SignedRequest{
		KeyID: req.KeyID, Date: req.Date, Region: req.Region, Service: req.Service,
		StringToSign: req.StringToSign, Alternates: req.Alternates, Signature: req.Signature,
	}, remoteAddr(r))
	if err != nil {
		return auth.Caller{}, err
	}
	return caller, checkPayload(r, req)
}

// checkPayload compares the body with the digest under the signature. A link
// and an unsigned payload prove no body, so they are good for reading only.
func checkPayload(r *http.Request, req sigv4.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		switch {
		case req.Presigned:
			return fault.New("web.api", fault.Denied, "", nil).WithHint("A presigned link may only read.")
		case req.PayloadHash == sigv4.UnsignedPayload:
			return fault.New("web.api", fault.Denied, "", nil).
				WithHint("An unsigned payload may only read: sign the SHA-256 of the body in x-amz-content-sha256.")
		}
	}
	if req.Presigned {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fault.New("web.api", fault.EntityTooLarge, "", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.Sum256(body)
	if req.PayloadHash != sigv4.UnsignedPayload && req.PayloadHash != hex.EncodeToString(sum[:]) {
		return fault.New("web.api", fault.BadDigest, "", nil).WithHint("The body is not the one whose SHA-256 was signed.")
	}
	return nil
}
