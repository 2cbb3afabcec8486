package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"

	"larder/fault"
)

// The scope of the signing key that a login proves to know: AWS Signature
// Version 4 derives it from a secret, a date, a region and a service.
const (
	Region  = "native"
	Service = "larder"
)

// BindingLabel is the label under which TLS exports the keying material that
// binds a login to its session (RFC 5705, RFC 8446 section 7.5).
const BindingLabel = "EXPORTER-larder-native"

// Binding is the TLS session's part of a transcript, 32 bytes. It fails where
// the session cannot export keying material.
func Binding(state tls.ConnectionState) ([]byte, error) {
	return state.ExportKeyingMaterial(BindingLabel, nil, 32)
}

// DateForm is the form of a login's date, for time.Time's Format, in UTC.
const DateForm = "20060102"

const (
	tagKeyID      = 1
	tagDate       = 3
	tagProof      = 5
	tagFirstProof = 1
	tagCaller     = 2
	tagHint       = 4 // of WELCOME and of an ANSWER that is an error
	tagSecondHint = 2 // of GOAWAY
)

// Transcript is what both sides have seen before the login.
type Transcript struct {
	ClientPreface, ServerPreface []byte
	KeyID                        string
	Binding                      []byte // empty without TLS
}

// text is what who signs.
func (t Transcript) text(who string) string {
	h := sha256.New()
	h.Write(t.ClientPreface)
	h.Write(t.ServerPreface)
	h.Write([]byte{byte(len(t.KeyID))})
	h.Write([]byte(t.KeyID))
	h.Write(t.Binding)
	return "LARDER-NATIVE-1\n" + who + "\n" + hex.EncodeToString(h.Sum(nil))
}

// ClientText is what the client's proof signs.
func (t Transcript) ClientText() string { return t.text("client") }

// ClientProof proves that the client knows the signing key.
func (t Transcript) ClientProof(key []byte) []byte { return prove(key, t.ClientText()) }

// ServerProof proves that the server knows the signing key.
func (t Transcript) ServerProof(key []byte) []byte { return prove(key, t.text("server")) }

func prove(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// LoginMessage is the payload of LOGIN.
type LoginMessage struct {
	KeyID string // at most 255 bytes
	Date  string // yyyymmdd, UTC
	Proof []byte // 32 bytes
}

// Append writes a whole LOGIN frame.
func (m LoginMessage) Append(b []byte) []byte {
	b, at := BeginFrame(b, TypeLogin, false, 0)
	b = appendText(b, tagKeyID, m.KeyID)
	b = appendText(b, tagDate, m.Date)
	b = appendBytes(b, tagProof, m.Proof)
	return EndFrame(b, at)
}

// ParseLogin reads the payload of LOGIN.
func ParseLogin(p []byte) (LoginMessage, error) {
	var m LoginMessage
	fields := Fields{rest: p}
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		switch f.Tag {
		case tagKeyID:
			m.KeyID = f.Text()
		case tagDate:
			m.Date = f.Text()
		case tagProof:
			m.Proof = append([]byte(nil), f.Value...)
		default:
			fields.Unknown(f)
		}
	}
	if fields.Err() != nil {
		return m, fields.Err()
	}
	if m.KeyID == "" || len(m.KeyID) > 255 || len(m.Date) != len(DateForm) || len(m.Proof) != sha256.Size {
		return m, malformed("A login needs a key's id, a date, and a proof of 32 bytes.")
	}
	return m, nil
}

// WelcomeMessage is the payload of WELCOME.
type WelcomeMessage struct {
	Code   fault.Code // OK, or why the login failed
	Proof  []byte     // 32 bytes, with OK
	Caller string     // name of the key, with OK
	Hint   string
}

// Append writes a whole WELCOME frame.
func (m WelcomeMessage) Append(b []byte) []byte {
	b, at := BeginFrame(b, TypeWelcome, false, 0)
	b = append(b, byte(m.Code>>8), byte(m.Code))
	if len(m.Proof) > 0 {
		b = appendBytes(b, tagFirstProof, m.Proof)
	}
	b = appendSome(b, tagCaller, m.Caller[:min(len(m.Caller), 256)])
	b = appendHint(b, tagHint, m.Hint)
	return EndFrame(b, at)
}

// ParseWelcome reads the payload of WELCOME.
func ParseWelcome(p []byte) (WelcomeMessage, error) {
	m := WelcomeMessage{Code: ParseCode(p)}
	fields := behind(p, 2)
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		switch f.Tag {
		case tagFirstProof:
			m.Proof = append([]byte(nil), f.Value...)
		case tagCaller:
			m.Caller = f.Text()
		case tagHint:
			m.Hint = f.Text()
		default:
			fields.Unknown(f)
		}
	}
	return m, fields.Err()
}
