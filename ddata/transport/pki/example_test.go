package pki_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/transport/pki"
)

// issue writes a certificate that is its own authority. Yours comes from cert-manager, Vault or a company's
// authority.
func issue(dir string) (pki.Files, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pki.Files{}, err
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, err2); err != nil {
		return pki.Files{}, err
	}
	f := pki.Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	f.CA = f.Cert
	return f, errors.Join(
		os.WriteFile(f.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(f.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// Two nodes know each other by their certificates. Files that are written anew are read again.
func ExampleLoad() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "tls")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, err := issue(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	files.Logger = slog.New(slog.DiscardHandler)
	var identity *pki.Identity
	if identity, err = pki.Load(files); err != nil {
		fmt.Println(err)
		return
	}
	cfg := ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local, TLS: identity,
		Logger: slog.New(slog.DiscardHandler),
	}
	for range 2 {
		node, err := ddata.Start(ctx, cfg)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = node.Leave(ctx) }()
		fmt.Println(len(node.Members()), "members")
		cfg.BootstrapExpect, cfg.Seeds = 2, []string{node.Addr()} // of the next
	}
	// Output:
	// 1 members
	// 2 members
}
