package remote

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"net"
	"os"
	"strings"

	"larder/client"
	"larder/fault"
)

// Server says which server is meant, and as whom.
type Server struct {
	Addr        string // host, or host:port
	TLS         bool
	Fingerprint string // SHA-256 of the only certificate to trust; "" = the system's roots
	KeyID       string
	Secret      string
	SecretFile  string // its first line is the secret
	Program     string // for the server's log
}

// DefaultPort is the native protocol's.
const DefaultPort = "9002"

// Connect returns a client for the server. It connects when it is first used.
func (s Server) Connect() (*client.Client, error) {
	if s.SecretFile != "" {
		var err error
		if s.Secret, err = readSecret(s.SecretFile); err != nil {
			return nil, err
		}
	}
	switch {
	case s.KeyID == "" && s.Secret == "":
		return nil, usage("no access key: set LARDER_KEY_ID and LARDER_KEY_SECRET, or give --key-id and --secret-file")
	case s.KeyID == "":
		return nil, usage("the id of the access key is missing: set LARDER_KEY_ID or give --key-id")
	case s.Secret == "":
		return nil, usage("the secret of the access key is missing: set LARDER_KEY_SECRET or give --secret-file")
	}
	encryption, err := s.encryption()
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Config{Addr: withPort(s.Addr), KeyID: s.KeyID, Secret: s.Secret, TLS: encryption, Program: s.Program})
	if err != nil {
		return nil, usage("--server: %s", fault.HintOf(err))
	}
	return c, nil
}

// withPort adds the port where there is none.
func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil || addr == "" {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), DefaultPort)
}

// readSecret reads the first line of a file.
func readSecret(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", usage("--secret-file: %v", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	secret := strings.TrimSuffix(string(line), "\r")
	if secret == "" {
		return "", usage("--secret-file: %s begins with an empty line", name)
	}
	return secret, nil
}

// encryption is nil for a plain connection.
func (s Server) encryption() (*tls.Config, error) {
	if s.Fingerprint == "" {
		if !s.TLS {
			return nil, nil
		}
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}
	want, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(s.Fingerprint), ":", ""))
	if err != nil || len(want) != sha256.Size {
		return nil, usage("--tls-fingerprint: a SHA-256 has 64 hexadecimal digits, with or without colons")
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // by name and issuer: VerifyConnection wants that one certificate
		VerifyConnection:   func(state tls.ConnectionState) error { return pinned(state, want) },
	}, nil
}

// pinned refuses every certificate but one.
func pinned(state tls.ConnectionState, want []byte) error {
	if len(state.PeerCertificates) > 0 {
		got := sha256.Sum256(state.PeerCertificates[0].Raw)
		if subtle.ConstantTimeCompare(got[:], want) == 1 {
			return nil
		}
	}
	return fault.New("remote.pinned", fault.Denied, "", nil).WithHint("The server has another certificate than the one with this fingerprint.")
}
