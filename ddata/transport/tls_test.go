package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/transporttest"
)

// mutualTLS makes the configurations of both ends around one certificate that both must show.
func mutualTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "node"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	cert := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	server = &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
	client = &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS13}
	return server, client
}

func TestTLS(t *testing.T) {
	server, client := mutualTLS(t)
	transporttest.Run(t, transporttest.World{
		Start:     func(*testing.T) transporttest.Universe { return loopback{} },
		Configure: func(c *transport.Config) { c.TLSServer, c.TLSClient = server, client },
	})
}

// A node without the cluster's certificate reaches nobody.
func TestTLSStranger(t *testing.T) {
	server, client := mutualTLS(t)
	_, stranger := mutualTLS(t)
	start := func(id transport.NodeID, client *tls.Config) *transport.Mesh {
		m, err := transport.Listen(t.Context(), transport.Config{Cluster: "c", Self: id, Bind: "127.0.0.1:0", TLSServer: server, TLSClient: client})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	a, b := start(1, client), start(2, stranger)
	if _, err := b.DialStream(t.Context(), a.Addr(), 1); err == nil {
		t.Error("a stranger was let in")
	}
	a.Close() // waits for the handshake, which the stranger believes to be over before it is
	if n := a.Stats().Dropped[transport.DropHandshake]; n == 0 {
		t.Error("not counted")
	}
}
