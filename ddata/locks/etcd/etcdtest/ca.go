package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is an authority that signs certificates for one test.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes an authority, which has signed its own certificate.
func NewCA(t testing.TB) *CA {
	t.Helper()
	ca := &CA{}
	template := certificate("CA of a test")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	ca.cert, ca.key = ca.sign(t, template)
	return ca
}

// certificate is what a certificate of a name says, for an hour.
func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// sign signs a certificate with the key of the authority: with its own one if there is none yet.
func (ca *CA) sign(t testing.TB, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, by := ca.cert, ca.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// Client returns settings of a client that trusts the authority, and has a certificate for a name.
func (ca *CA) Client(t testing.TB, name string) *tls.Config {
	t.Helper()
	cert, key := ca.sign(t, certificate(name))
	trusted := x509.NewCertPool()
	trusted.AddCert(ca.cert)
	return &tls.Config{
		RootCAs: trusted, Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
	}
}

// options has a member take only clients with a certificate of the authority.
func (ca *CA) options(t testing.TB) []string {
	t.Helper()
	dir := t.TempDir()
	cert, key := ca.sign(t, certificate("member"))
	bytes, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return []string{
		"--cert-file=" + write("cert.pem", "CERTIFICATE", cert.Raw),
		"--key-file=" + write("key.pem", "EC PRIVATE KEY", bytes),
		"--trusted-ca-file=" + write("ca.pem", "CERTIFICATE", ca.cert.Raw), "--client-cert-auth",
	}
}
