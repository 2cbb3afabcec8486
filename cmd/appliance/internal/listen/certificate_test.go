package listen_test

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/cmd/appliance/internal/listen"
	"larder/cmd/appliance/internal/privatefile"
	"larder/fault"
	"larder/store/vfs"
)

func TestOwnCertificateIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := vfs.OS(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	first, err := listen.OwnCertificate(files, now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := listen.OwnCertificate(files, now.AddDate(1, 0, 0))
	if err != nil || again.Fingerprint != first.Fingerprint {
		t.Errorf("second start: %s, %v; first: %s", again.Fingerprint, err, first.Fingerprint)
	}
	if len(first.Fingerprint) != 95 || strings.Count(first.Fingerprint, ":") != 31 {
		t.Errorf("fingerprint %q", first.Fingerprint)
	}
	info, err := os.Stat(filepath.Join(dir, listen.CertificateFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := first.Leaf.Verify(x509.VerifyOptions{
		DNSName: "localhost", CurrentTime: now.AddDate(9, 0, 0), Roots: poolOf(first.Leaf),
	}); err != nil {
		t.Error(err)
	}
}

func poolOf(cert *x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

// TestDamagedCertificate is refused with advice, not replaced: clients know
// the old one's fingerprint.
func TestDamagedCertificate(t *testing.T) {
	t.Parallel()
	files := vfs.NewMem()
	if err := privatefile.Create(files, listen.CertificateFile, []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	_, err := listen.OwnCertificate(files, time.Now())
	if fault.CodeOf(err) != fault.Corrupt || !strings.Contains(fault.HintOf(err), listen.CertificateFile) {
		t.Errorf("error %v", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	fixed := listen.URLs("http", &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 9001})
	if len(fixed) != 1 || fixed[0] != "http://192.168.1.5:9001" {
		t.Errorf("one address: %v", fixed)
	}
	v6 := listen.URLs("https", &net.TCPAddr{IP: net.IPv6loopback, Port: 1})
	if len(v6) != 1 || v6[0] != "https://[::1]:1" {
		t.Errorf("IPv6: %v", v6)
	}
	all := listen.URLs("http", &net.TCPAddr{IP: net.IPv6unspecified, Port: 9001})
	if len(all) == 0 || len(all) > 5 || all[0] != "http://localhost:9001" {
		t.Errorf("all interfaces: %v", all)
	}
}
