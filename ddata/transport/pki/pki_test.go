package pki_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/pki"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

var _ transport.TLS = (*pki.Identity)(nil)

// meet lets two identities shake hands, the client dialling host, and exchange a byte each way, for
// with TLS 1.3 a client that is turned away learns of it when it reads.
func meet(t *testing.T, server, client *pki.Identity, host string) (serverErr, clientErr error) {
	t.Helper()
	a, b := pair(t)
	ended := make(chan error, 1)
	go func() {
		s := tls.Server(a, server.Server())
		_, err := s.Read(make([]byte, 1))
		if err == nil {
			_, err = s.Write([]byte{1})
		}
		a.Close()
		ended <- err
	}()
	c := tls.Client(b, client.Client(host))
	_, err := c.Write([]byte{1})
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	b.Close()
	return <-ended, err
}

// pair is a connection over loopback; one over net.Pipe would wait when both sides write.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if b, err = net.Dial("tcp", l.Addr().String()); err == nil {
		a, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

// TestWhoIsLetIn: both sides have to show what the other trusts.
func TestWhoIsLetIn(t *testing.T) {
	ours, theirs := pkitest.NewAuthority(t), pkitest.NewAuthority(t)
	named := func(n pkitest.Node) *pki.Identity {
		t.Helper()
		f := ours.Issue(t.TempDir(), n)
		f.Name = "nodes.example"
		id, err := pki.Load(f)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	node, stranger := ours.Identity(pkitest.Node{}), theirs.Identity(pkitest.Node{})
	service := ours.Identity(pkitest.Node{Names: []string{"service.example"}}) // of the same authority, but no node
	elsewhere := named(pkitest.Node{Names: []string{"nodes.example"}, IPs: []net.IP{net.IPv4(10, 9, 8, 7)}})
	for _, c := range []struct {
		name           string
		server, client *pki.Identity
		host           string
		in             bool
	}{
		{"one authority", node, node, "127.0.0.1", true},
		{"address not in the certificate", node, node, "127.0.0.2", false},
		{"client of another authority", node, stranger, "127.0.0.1", false},
		{"server of another authority", stranger, node, "127.0.0.1", false},
		{"by name, at any address", elsewhere, elsewhere, "192.0.2.1", true},
		{"client without the name", elsewhere, service, "10.9.8.7", false},
		{"server without the name", service, elsewhere, "127.0.0.1", false},
	} {
		s, e := meet(t, c.server, c.client, c.host)
		if in := s == nil && e == nil; in != c.in {
			t.Errorf("%s: let in %t (server: %v, client: %v)", c.name, in, s, e)
		}
	}
}

// TestPlainClientIsTurnedAway: no certificate, nothing.
func TestPlainClientIsTurnedAway(t *testing.T) {
	node := pkitest.NewAuthority(t).Identity(pkitest.Node{})
	a, b := pair(t)
	ended := make(chan error, 1)
	go func() { ended <- tls.Server(a, node.Server()).Handshake() }()
	c := tls.Client(b, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	_ = c.Handshake()
	_, _ = c.Read(make([]byte, 1))
	if err := <-ended; err == nil {
		t.Error("a client without a certificate was let in")
	}
}

// TestRenewal: what the files say counts for the next connection; files that cannot be used leave
// what was.
func TestRenewal(t *testing.T) {
	ours, next := pkitest.NewAuthority(t), pkitest.NewAuthority(t)
	dir := t.TempDir()
	var log bytes.Buffer
	f := ours.Issue(dir, pkitest.Node{})
	f.CheckEvery, f.Logger = time.Nanosecond, slog.New(slog.NewTextHandler(&log, nil))
	id, err := pki.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	old, renewed := ours.Identity(pkitest.Node{}), next.Identity(pkitest.Node{})
	expect := func(when string, peer *pki.Identity, in bool) {
		t.Helper()
		if s, c := meet(t, id, peer, "127.0.0.1"); (s == nil && c == nil) != in {
			t.Errorf("%s: server: %v, client: %v", when, s, c)
		}
		if s, c := meet(t, peer, id, "127.0.0.1"); (s == nil && c == nil) != in {
			t.Errorf("%s, dialled: server: %v, client: %v", when, s, c)
		}
	}
	expect("at first", old, true)
	if err := os.WriteFile(f.Key, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("with a broken key", old, true)
	expect("with a broken key", old, true)
	if n := strings.Count(log.String(), "cannot be renewed"); n != 1 || !strings.Contains(log.String(), f.Key) {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
	next.Issue(dir, pkitest.Node{ValidFor: 2 * time.Hour})
	expect("with the next authority's", renewed, true)
	expect("with the next authority's", old, false)
}

// TestLoadRefuses names the file and what is wrong with it.
func TestLoadRefuses(t *testing.T) {
	a, b := pkitest.NewAuthority(t), pkitest.NewAuthority(t)
	good, other := a.Issue(t.TempDir(), pkitest.Node{}), b.Issue(t.TempDir(), pkitest.Node{})
	late := a.Issue(t.TempDir(), pkitest.Node{ValidFor: -time.Hour})
	for _, c := range []struct {
		change func(*pki.Files)
		want   string
	}{
		{func(f *pki.Files) { f.Cert = "" }, "Cert"},
		{func(f *pki.Files) { f.Key = other.Key }, "private key does not match"},
		{func(f *pki.Files) { f.CA = other.CA }, "unknown authority"},
		{func(f *pki.Files) { f.CA = good.Key }, "no certificate in PEM"},
		{func(f *pki.Files) { f.Cert, f.Key = late.Cert, late.Key }, "expired"},
		{func(f *pki.Files) { f.Name = "nodes.example" }, "not valid for any names"},
		{func(f *pki.Files) { f.CheckEvery = -1 }, "CheckEvery"},
	} {
		f := good
		c.change(&f)
		if _, err := pki.Load(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
}

func TestWhichFileIsMissing(t *testing.T) {
	fine := pkitest.NewAuthority(t).Issue(t.TempDir(), pkitest.Node{})
	for want, edit := range map[string]func(*pki.Files){ // order: each is tried by itself
		"Files.Cert is empty":      func(f *pki.Files) { f.Cert = "" },
		"Files.Key is empty":       func(f *pki.Files) { f.Key = "" },
		"Files.CA is empty":        func(f *pki.Files) { f.CA = "" },
		"Files.Key: stat /nowhere": func(f *pki.Files) { f.Key = "/nowhere" },
	} {
		f := fine
		edit(&f)
		if _, err := pki.Load(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
