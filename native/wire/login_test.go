package wire_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"larder/auth/sigv4"
	"larder/fault"
	"larder/native/wire"
)

const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

func transcript(binding []byte) wire.Transcript {
	return wire.Transcript{
		ClientPreface: clientPreface().Append(nil), ServerPreface: serverPreface().Append(nil),
		KeyID: "AKEXAMPLE", Binding: binding,
	}
}

// proof is docs/native.md once more.
func proof(key []byte, t wire.Transcript, who string) []byte {
	var all bytes.Buffer
	all.Write(t.ClientPreface)
	all.Write(t.ServerPreface)
	fmt.Fprintf(&all, "%c%s", len(t.KeyID), t.KeyID)
	all.Write(t.Binding)
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "LARDER-NATIVE-1\n%s\n%x", who, sha256.Sum256(all.Bytes()))
	return h.Sum(nil)
}

// chain is the key derivation of AWS Signature Version 4, by hand.
func chain(secret string, steps ...string) []byte {
	key := []byte("AWS4" + secret)
	for _, step := range append(steps, "aws4_request") {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(step))
		key = h.Sum(nil)
	}
	return key
}

func TestProofs(t *testing.T) {
	t.Parallel()
	key := sigv4.DeriveKey(secret, "20260102", wire.Region, wire.Service)
	if !bytes.Equal(key, chain(secret, "20260102", "native", "larder")) {
		t.Fatalf("the signing key is %x", key)
	}
	for name, binding := range map[string][]byte{"plain": nil, "TLS": run(0xc0, 32)} {
		tr := transcript(binding)
		if got, want := tr.ClientProof(key), proof(key, tr, "client"); !bytes.Equal(got, want) {
			t.Errorf("%s: the client proves %x, want %x", name, got, want)
		}
		if got, want := tr.ServerProof(key), proof(key, tr, "server"); !bytes.Equal(got, want) {
			t.Errorf("%s: the server proves %x, want %x", name, got, want)
		}
		if text := tr.ClientText(); !strings.HasPrefix(text, "LARDER-NATIVE-1\nclient\n") || len(text) != len("LARDER-NATIVE-1\nclient\n")+64 {
			t.Errorf("%s: the client signs %q", name, text)
		}
		if signed := sigv4.Sign(key, tr.ClientText()); signed != hex.EncodeToString(tr.ClientProof(key)) {
			t.Errorf("%s: a signature of the text is %s", name, signed)
		}
	}
}

// TestFixedProof pins the numbers themselves. They come from no code of this
// module: another language's HMAC made them of the bytes of the files
// preface-client.hex and preface-server.hex.
func TestFixedProof(t *testing.T) {
	t.Parallel()
	key := sigv4.DeriveKey(secret, "20260102", wire.Region, wire.Service)
	tr := transcript(nil)
	if got := hex.EncodeToString(tr.ClientProof(key)); got != fixedClientProof {
		t.Errorf("client: %s", got)
	}
	if got := hex.EncodeToString(tr.ServerProof(key)); got != fixedServerProof {
		t.Errorf("server: %s", got)
	}
}

const (
	fixedClientProof = "c38430b8dc5defdb8f22f60b4c07fb304b1f16694df08b94552d16445b52b329"
	fixedServerProof = "7b9d554cc029f42d0f04a926f40faa8869813dc0b6f3cdeca5d109f2f2dbeabd"
)

// TestProofCoversEverything changes one byte after the other of what both sides
// have seen: each time both proofs are others.
func TestProofCoversEverything(t *testing.T) {
	t.Parallel()
	key := run(1, 32)
	seen := map[string]string{}
	note := func(what string, tr wire.Transcript, key []byte) {
		for who, p := range map[string][]byte{"client": tr.ClientProof(key), "server": tr.ServerProof(key)} {
			if before, twice := seen[string(p)]; twice {
				t.Errorf("%s of the %s proves the same as %s", what, who, before)
			}
			seen[string(p)] = what + " of the " + who
		}
	}
	binding := run(0xc0, 32)
	tr := transcript(binding)
	note("nothing changed", tr, key)
	for name, b := range map[string][]byte{"client preface": tr.ClientPreface, "server preface": tr.ServerPreface, "binding": binding, "key": key} {
		for i := range b {
			b[i] ^= 1
			note(fmt.Sprintf("%s, byte %d", name, i), tr, key)
			b[i] ^= 1
		}
	}
	for _, id := range []string{"", "AKEXAMPLF", "AKEXAMPLE\x00", "AKEXAMPL"} {
		other := tr
		other.KeyID = id
		note("id "+id, other, key)
	}
	moved := tr // what one field loses the next one gains
	moved.KeyID, moved.Binding = tr.KeyID+string(binding[:1]), binding[1:]
	note("a byte moved to the id", moved, key)
	note("no binding", transcript(nil), key)
}

// TestLoginForms refuses logins whose id, date or proof cannot be one.
func TestLoginForms(t *testing.T) {
	t.Parallel()
	s := named(t, "login")
	long := login()
	long.KeyID = strings.Repeat("k", 255)
	s.accepts(t, payload(long.Append(nil)), long, "an id of 255 bytes")
	for why, change := range map[string]func(*wire.LoginMessage){
		"no id":                func(m *wire.LoginMessage) { m.KeyID = "" },
		"an id of 256 bytes":   func(m *wire.LoginMessage) { m.KeyID = strings.Repeat("k", 256) },
		"no date":              func(m *wire.LoginMessage) { m.Date = "" },
		"a date of 7 digits":   func(m *wire.LoginMessage) { m.Date = "2026010" },
		"a date with a time":   func(m *wire.LoginMessage) { m.Date = "20260102T" },
		"no proof":             func(m *wire.LoginMessage) { m.Proof = nil },
		"a proof of 31 bytes":  func(m *wire.LoginMessage) { m.Proof = run(0, 31) },
		"a proof of 33 bytes":  func(m *wire.LoginMessage) { m.Proof = run(0, 33) },
		"a proof in hex again": func(m *wire.LoginMessage) { m.Proof = run(0, 64) },
	} {
		m := login()
		change(&m)
		s.refuses(t, payload(m.Append(nil)), fault.InvalidArgument, why)
	}
}

// TestPrefaceForms refuses what is no preface, and one whose length is not that
// of what follows.
func TestPrefaceForms(t *testing.T) {
	t.Parallel()
	s := named(t, "preface")
	padded := func(n int) []byte { // with an unknown field, so that its message has n bytes
		more := field(1000, strings.Repeat("x", n-len(s.full[s.head:])-4))
		return s.with(append(more, s.full[s.head:]...))
	}
	for why, change := range map[string]func(b []byte) []byte{
		"another magic":         func(b []byte) []byte { b[3] = 'r'; return b },
		"TLS":                   func(b []byte) []byte { b[0] = 0x16; return b },
		"a field too many":      func(b []byte) []byte { return append(b, field(1000, "")...) },
		"a byte too few":        func(b []byte) []byte { return b[:len(b)-1] },
		"a message of 513":      func([]byte) []byte { return padded(513) },
		"no message":            func(b []byte) []byte { b[6], b[7] = 0, 0; return b[:8] },
		"a nonce of 31 bytes":   func(b []byte) []byte { return s.with(field(1, string(run(0, 31)))) },
		"a nonce of 33 bytes":   func(b []byte) []byte { return s.with(field(1, string(run(0, 33)))) },
		"a nonce, and half one": func(b []byte) []byte { return s.with(append(field(1, string(run(0, 32))), field(1, "half")...)) },
	} {
		s.refuses(t, change(bytes.Clone(s.full)), fault.InvalidArgument, why)
	}
	s.accepts(t, padded(512), s.value, "a message of 512 bytes")
	rest, err := wire.PrefaceRest(s.full[:wire.PrefaceSize])
	if err != nil || rest != len(s.full)-wire.PrefaceSize {
		t.Errorf("%d bytes follow, %v", rest, err)
	}
}

// TestChoose picks the highest version that both speak.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ highest, lowest, want uint8 }{
		{1, 1, 1}, {9, 1, 1}, {1, 0, 1}, {0, 0, 0}, {9, 2, 0}, {255, 255, 0}, {2, 2, 0},
	} {
		if got := (wire.Preface{Version: c.highest, Lowest: c.lowest}).Choose(); got != c.want {
			t.Errorf("%d down to %d: %d, want %d", c.highest, c.lowest, got, c.want)
		}
	}
}
