package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Files names what a node is known by. All paths are required.
type Files struct {
	// Cert is the node's certificate, followed by those between it and the authority's, in PEM. It
	// must be good for client and server authentication.
	Cert string
	// Key is the private key of Cert, in PEM.
	Key string
	// CA holds the certificates of the authorities that are trusted, in PEM; those of the system
	// are not.
	CA string
	// Name, when set, is the DNS name that every node's certificate must carry, whatever address it
	// has. Default: the certificate of a node that is dialled must carry the host of its advertised
	// address, IP address or name; of one that dials, the authority's word is enough.
	Name string
	// CheckEvery is the least time between two looks at the files. Default 1 s.
	CheckEvery time.Duration
	// Logger hears of renewals and of files that cannot be used. Default: slog.Default().
	Logger *slog.Logger
}

// Identity is what a node shows and trusts, as the files say at present. It implements the
// transport's TLS, and is safe for concurrent use.
type Identity struct {
	files   Files
	current atomic.Pointer[identity]
	looked  atomic.Int64 // when the files were looked at last, in nanoseconds since start
	start   time.Time
	mu      sync.Mutex // held while reading
	fault   string     // what was logged last; guarded by mu
}

// identity is one reading of the files. It is immutable.
type identity struct {
	server, client *tls.Config
	stamps         [3]stamp
}

// stamp reports whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// Load reads the files. The error names each that cannot be used, and why.
func Load(f Files) (*Identity, error) {
	if f.CheckEvery == 0 {
		f.CheckEvery = time.Second
	}
	if f.Logger == nil {
		f.Logger = slog.Default()
	}
	if f.CheckEvery < 0 {
		return nil, errors.New("pki: Files.CheckEvery is negative")
	}
	read, err := f.read()
	if err != nil {
		return nil, err
	}
	id := &Identity{files: f, start: time.Now()}
	id.current.Store(read)
	return id, nil
}

// Server is the configuration for an accepted connection.
func (id *Identity) Server() *tls.Config { return id.fresh().server }

// Client is the configuration for a connection that was dialled to a host.
func (id *Identity) Client(host string) *tls.Config {
	c := id.fresh().client
	if c.ServerName != "" {
		return c
	}
	c = c.Clone()
	c.ServerName = host
	return c
}

// fresh is what the files say, looked at if that is due. Only one caller looks; the others take
// what is there.
func (id *Identity) fresh() *identity {
	now, last := int64(time.Since(id.start)), id.looked.Load()
	if now-last < int64(id.files.CheckEvery) || !id.looked.CompareAndSwap(last, now) || !id.mu.TryLock() {
		return id.current.Load()
	}
	defer id.mu.Unlock()
	before := id.current.Load()
	if stamps, err := id.files.stamps(); err == nil && stamps == before.stamps {
		return before
	}
	read, err := id.files.read()
	if err != nil {
		if id.fault != err.Error() {
			id.fault = err.Error()
			id.files.Logger.Error("certificates cannot be renewed, the last ones count", "err", err)
		}
		return before
	}
	id.fault = ""
	id.current.Store(read)
	id.files.Logger.Info("certificates renewed", "file", id.files.Cert, "until",
		read.client.Certificates[0].Leaf.NotAfter)
	return read
}

func (f Files) stamps() (s [3]stamp, err error) {
	names := [3]string{"Cert", "Key", "CA"}
	for i, path := range []string{f.Cert, f.Key, f.CA} {
		if path == "" {
			return s, fmt.Errorf("pki: Files.%s is empty; it must name a file", names[i])
		}
		info, err := os.Stat(path)
		if err != nil {
			return s, fmt.Errorf("pki: Files.%s: %w", names[i], err)
		}
		s[i] = stamp{info.ModTime(), info.Size()}
	}
	return s, nil
}

// read makes an identity of the files. The stamps are older than what is read: if a file changes
// meanwhile, it is read again.
func (f Files) read() (*identity, error) {
	stamps, err := f.stamps()
	if err != nil {
		return nil, err
	}
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("pki: Files.Cert %s and Key %s: %w", f.Cert, f.Key, err)
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("pki: Files.CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("pki: Files.CA %s: no certificate in PEM", f.CA)
	}
	if err := f.fits(cert, pool); err != nil {
		return nil, err
	}
	certs := []tls.Certificate{cert}
	server := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: certs, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	if f.Name != "" {
		server.VerifyConnection = func(s tls.ConnectionState) error {
			return s.PeerCertificates[0].VerifyHostname(f.Name)
		}
	}
	client := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: certs, RootCAs: pool, ServerName: f.Name}
	return &identity{server: server, client: client, stamps: stamps}, nil
}

// fits returns an error if the other nodes will refuse this one's certificate. They have the same
// files, except the certificate.
func (f Files) fits(cert tls.Certificate, pool *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, der := range cert.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("pki: Files.Cert %s: %w", f.Cert, err)
		}
		between.AddCert(c)
	}
	// order: each is looked at by itself
	for use, name := range map[x509.ExtKeyUsage]string{
		x509.ExtKeyUsageServerAuth: f.Name, x509.ExtKeyUsageClientAuth: "",
	} {
		_, err := cert.Leaf.Verify(x509.VerifyOptions{
			Roots: pool, Intermediates: between, DNSName: name, KeyUsages: []x509.ExtKeyUsage{use},
		})
		if err != nil {
			return fmt.Errorf("pki: the other nodes would refuse Files.Cert %s: %w", f.Cert, err)
		}
	}
	return nil
}
