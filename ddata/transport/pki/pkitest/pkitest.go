package pkitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/pki"
)

// Authority certifies nodes.
type Authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

var serial atomic.Int64

// NewAuthority makes an authority that no other test knows.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	a.cert = sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil, a.key, a.key)
	return a
}

// Node is what a certificate says. The zero Node is good for 127.0.0.1 for an hour.
type Node struct {
	Names    []string      // DNS names
	IPs      []net.IP      // default 127.0.0.1 and ::1
	ValidFor time.Duration // default an hour; negative: it is over
}

// Issue writes the files of a node into dir, over those that are there.
func (a *Authority) Issue(dir string, n Node) pki.Files {
	a.t.Helper()
	if n.IPs == nil {
		n.IPs = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	if n.ValidFor == 0 {
		n.ValidFor = time.Hour
	}
	key := newKey(a.t)
	cert := sign(a.t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "node"}, DNSNames: n.Names, IPAddresses: n.IPs,
		NotAfter: time.Now().Add(n.ValidFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
	}, a.cert, key, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	f := pki.Files{
		Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem"),
	}
	for _, x := range []struct {
		path, kind string
		der        []byte
	}{{f.Cert, "CERTIFICATE", cert.Raw}, {f.Key, "PRIVATE KEY", der}, {f.CA, "CERTIFICATE", a.cert.Raw}} {
		if err := os.WriteFile(x.path, pem.EncodeToMemory(&pem.Block{Type: x.kind, Bytes: x.der}), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return f
}

// Identity issues files into a directory of its own and loads them.
func (a *Authority) Identity(n Node) *pki.Identity {
	a.t.Helper()
	id, err := pki.Load(a.Issue(a.t.TempDir(), n))
	if err != nil {
		a.t.Fatal(err)
	}
	return id
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign makes a certificate of what it shall say; without a parent it signs itself.
func sign(t testing.TB, c, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	c.SerialNumber = big.NewInt(serial.Add(1))
	c.NotBefore = time.Now().Add(-24 * time.Hour)
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
