package native

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/native/wire"
)

// greet makes the TLS session, exchanges prefaces and lets the client log in, all
// within pace.login. On an error the client was told why, where there is a way
// to.
func (c *conn) greet() error {
	_ = c.nc.SetDeadline(time.Now().Add(c.s.pace.login))
	binding, err := c.bind()
	if err != nil {
		return err
	}
	t, err := c.prefaces(binding != nil)
	if err != nil {
		return err
	}
	t.Binding = binding
	if err := c.login(t); err != nil {
		return err
	}
	if err := c.nc.SetDeadline(time.Time{}); err != nil || !c.leaving() {
		return err
	}
	return errStopping // the server was told to stop meanwhile
}

// bind makes the TLS session and returns what ties a login to it, nil on a plain
// connection.
func (c *conn) bind() ([]byte, error) {
	t, ok := c.nc.(*tls.Conn)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.s.pace.login)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return wire.Binding(t.ConnectionState())
}

// prefaces reads the client's and answers it.
func (c *conn) prefaces(bound bool) (wire.Transcript, error) {
	var t wire.Transcript
	first := make([]byte, wire.PrefaceSize, wire.PrefaceSize+wire.MaxPrefaceMessage)
	if err := c.full(first); err != nil {
		return t, err
	}
	n, err := wire.PrefaceRest(first)
	if err != nil {
		return t, err
	}
	t.ClientPreface = first[:wire.PrefaceSize+n]
	if err := c.full(t.ClientPreface[wire.PrefaceSize:]); err != nil {
		return t, err
	}
	theirs, err := wire.ParsePreface(t.ClientPreface)
	ours := wire.Preface{
		Version: theirs.Choose(), Lowest: wire.Version, Program: c.s.cfg.Program,
		Streams: wire.MaxStreams, ConnectionCredit: wire.ConnectionCredit, StreamCredit: wire.StreamCredit,
	}
	switch {
	case err != nil:
	case ours.Version == 0:
		err = violation("This server speaks version 1 of the native protocol only.")
	case bound != theirs.Bound:
		err = violation("The login must be bound to the TLS session on TLS connections, and only there.")
	}
	if err != nil {
		ours.Version, ours.Refusal = 0, fault.HintOf(err)
	}
	_, _ = rand.Read(ours.Nonce[:]) // never fails: https://pkg.go.dev/crypto/rand#Read
	t.ServerPreface = ours.Append(nil)
	if _, werr := c.nc.Write(t.ServerPreface); err == nil {
		err = werr
	}
	return t, err
}

// login reads LOGIN and answers it.
func (c *conn) login(t wire.Transcript) error {
	m, err := c.readLogin()
	if err != nil {
		return c.turnAway(err)
	}
	t.KeyID = m.KeyID
	caller, key, err := c.verify(m, t)
	if err != nil {
		return c.turnAway(err)
	}
	if err := c.out.send(wire.WelcomeMessage{Proof: t.ServerProof(key), Caller: caller.Name()}.Append(nil), false); err != nil {
		return err
	}
	c.caller = caller
	c.known.Store(true)
	return nil
}

func (c *conn) turnAway(err error) error {
	_ = c.out.send(wire.WelcomeMessage{Code: fault.CodeOf(err), Hint: fault.HintOf(err)}.Append(nil), false)
	return err
}

func (c *conn) readLogin() (wire.LoginMessage, error) {
	var header [wire.HeaderSize]byte
	if err := c.full(header[:]); err != nil {
		return wire.LoginMessage{}, err
	}
	h, err := wire.ParseHeader(header[:], wire.FromClient)
	if err == nil && h.Type != wire.TypeLogin {
		err = violation("The first frame must be a login.")
	}
	if err != nil {
		return wire.LoginMessage{}, err
	}
	p, err := c.readPayload(int(h.Length))
	if err != nil {
		return wire.LoginMessage{}, err
	}
	return wire.ParseLogin(p)
}

// verify asks the limiter, then compares date and proof.
func (c *conn) verify(m wire.LoginMessage, t wire.Transcript) (auth.Caller, []byte, error) {
	if err := c.s.auth.Limiter().Take(c.addr, auth.CostRequest); err != nil {
		return auth.Caller{}, nil, err
	}
	date, err := time.Parse(wire.DateForm, m.Date)
	if err != nil {
		return auth.Caller{}, nil, violation("The date of the login is none.")
	}
	today := c.s.cfg.Now().UTC().Truncate(24 * time.Hour)
	if today.Sub(date).Abs() > 24*time.Hour {
		return auth.Caller{}, nil, fault.New("native", fault.ClockSkew, m.KeyID, nil).
			WithHint("The client's clock and the server's are more than a day apart.")
	}
	return c.s.auth.VerifySignature(c.ctx, auth.SignedRequest{
		KeyID: m.KeyID, Date: m.Date, Region: wire.Region, Service: wire.Service,
		StringToSign: t.ClientText(), Signature: hex.EncodeToString(m.Proof),
	}, c.addr)
}
