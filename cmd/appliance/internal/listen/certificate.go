package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"strings"
	"time"

	"larder/cmd/appliance/internal/privatefile"
	"larder/fault"
	"larder/store/vfs"
)

// CertificateFile is the name in the data folder of the appliance's own
// certificate and its private key, PEM.
const CertificateFile = "tls.pem"

// certificateLife is long because clients trust this certificate by its
// fingerprint: a renewal would break each of them.
const certificateLife = 10 * 365 * 24 * time.Hour

// Certificate is what the appliance answers TLS with.
type Certificate struct {
	tls.Certificate
	Fingerprint string // SHA-256 of the DER form, as browsers show it: AB:CD:…
}

// OwnCertificate returns the certificate in the data folder. At the first
// start it makes one, self-signed, ECDSA P-256, for this machine's names and
// addresses, and stores it durably.
func OwnCertificate(files vfs.FS, now time.Time) (Certificate, error) {
	text, err := privatefile.Read(files, CertificateFile)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newCertificate(now); err == nil {
			err = privatefile.Create(files, CertificateFile, text)
		}
	}
	if err != nil {
		return Certificate{}, err
	}
	cert, err := tls.X509KeyPair(text, text)
	if err != nil {
		return Certificate{}, fault.New("listen.OwnCertificate", fault.Corrupt, CertificateFile, err).
			WithHint("Move " + CertificateFile + " out of the data folder; the next start makes a new certificate.")
	}
	return Certificate{Certificate: cert, Fingerprint: fingerprint(cert.Certificate[0])}, nil
}

// ServerConfig is the TLS configuration of every port. It offers HTTP/1.1
// alone: S3 clients speak it, and HTTP/2 brings its own flow control and floods.
func (c Certificate) ServerConfig() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{c.Certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	}
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	var b strings.Builder
	for i, x := range sum {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02X", x)
	}
	return b.String()
}

// newCertificate returns certificate and key as PEM.
func newCertificate(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	names, addrs := localNames()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: names[0], Organization: []string{"Larder"}},
		NotBefore:    now.Add(-time.Hour), // a client's clock may lag
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     names, IPAddresses: addrs,
		BasicConstraintsValid: true, IsCA: true, // so that a client can be told to trust it
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...), nil
}

// localNames lists what clients may call this machine.
func localNames() ([]string, []net.IP) {
	names := []string{"localhost"}
	if host := Hostname(); host != "" {
		names = []string{host, host + ".local", "localhost"}
	}
	addrs := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	return names, append(addrs, OutsideAddrs()...)
}
