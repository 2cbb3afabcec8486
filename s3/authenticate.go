package s3

import (
	"strings"

	"larder/auth"
	"larder/auth/sigv4"
)

// authenticate finds out who calls. Without credentials the caller stays
// nobody, whom the gate refuses everything.
func (c *call) authenticate() error {
	switch sigv4.SchemeOf(c.r) {
	case sigv4.Anonymous:
		return nil
	case sigv4.Bearer:
		return c.bearer()
	}
	return c.signature()
}

func (c *call) signature() error {
	req, err := sigv4.Parse(c.r, c.s.now())
	if err != nil {
		return err
	}
	c.signed = &req
	c.caller, c.key, err = c.s.auth.VerifySignature(c.ctx, auth.SignedRequest{
		KeyID: req.KeyID, Date: req.Date, Region: req.Region, Service: req.Service,
		StringToSign: req.StringToSign, Signature: req.Signature, Alternates: req.Alternates,
	}, c.addr)
	return err
}

// bearer reads "Bearer KEYID:SECRET".
func (c *call) bearer() error {
	value := strings.TrimSpace(c.r.Header.Get("Authorization"))
	_, token, _ := strings.Cut(value, " ")
	id, secret, ok := strings.Cut(strings.TrimSpace(token), ":")
	if !ok || id == "" || secret == "" {
		return refuse(authMalformed, "The authorization header is malformed; expecting \"Bearer KEYID:SECRET\".")
	}
	var err error
	c.caller, err = c.s.auth.Bearer(c.ctx, id, auth.Secret(secret), c.addr)
	return err
}
