package transport_test

import (
	"crypto/tls"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/pki"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
	"github.com/coterie-go/coterie/ddata/transport/transporttest"
)

func TestTLS(t *testing.T) {
	id := pkitest.NewAuthority(t).Identity(pkitest.Node{})
	transporttest.Run(t, transporttest.World{
		Start:     func(*testing.T) transporttest.Universe { return loopback{} },
		Configure: func(c *transport.Config) { c.TLS = id },
	})
}

// A node without the cluster's certificates reaches no other node, whether it has others or none;
// both sides hear why.
func TestTLSStranger(t *testing.T) {
	ours, theirs := pkitest.NewAuthority(t).Identity(pkitest.Node{}), pkitest.NewAuthority(t).Identity(pkitest.Node{})
	for _, c := range []struct {
		name string
		a, b transport.TLS
		says string // to the dialler
	}{
		{"other authority", ours, theirs, "unknown authority"},
		{"trusts us, is not trusted", ours, trusting{theirs, ours}, "remote error: tls"},
		{"none", ours, nil, "one side uses TLS"},
		{"none here", nil, ours, "TLS handshake"},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := make(chan transport.Refusal, 10)
			start := func(id transport.NodeID, secure transport.TLS) *transport.Mesh {
				cfg := transport.Config{
					Cluster: "c", Self: id, Bind: "127.0.0.1:0",
					TLS: secure, OnEvent: refusalsTo(told),
				}
				m, err := transport.Listen(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { m.Close() })
				return m
			}
			a, b := start(1, c.a), start(2, c.b)
			_, err := b.DialStream(t.Context(), a.Addr(), 1)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the dialler got %v, want %q", err, c.says)
			}
			for range 2 {
				if r := <-told; r.Cause.Reason != transport.RefusedTLS {
					t.Errorf("refused because of %v", r)
				}
			}
		})
	}
}

// A node whose certificate is not good for the address that it advertises does not start.
func TestTLSOfNoUse(t *testing.T) {
	authority := pkitest.NewAuthority(t)
	_, err := transport.Listen(t.Context(), transport.Config{
		Cluster: "c", Self: 1, Bind: "127.0.0.1:0",
		TLS: authority.Identity(pkitest.Node{IPs: []net.IP{net.IPv4(10, 9, 9, 9)}}),
	})
	if err == nil || !strings.Contains(err.Error(), "10.9.9.9") || !strings.Contains(err.Error(), "another Advertise") {
		t.Errorf("started with %v", err)
	}
}

// A certificate that is not good for the address at which its node listens is refused when it
// dials, as it would be when it is dialled. Here it is renewed for the worse after the start.
func TestTLSOfAnotherName(t *testing.T) {
	authority := pkitest.NewAuthority(t)
	told := make(chan transport.Refusal, 10)
	a := listen(t, transport.Config{
		Self: 1, Bind: "127.0.0.1:0", TLS: authority.Identity(pkitest.Node{}), OnEvent: refusalsTo(told),
	})
	var elsewhere renewing
	elsewhere.Store(authority.Identity(pkitest.Node{}))
	b := listen(t, transport.Config{Self: 2, Bind: "127.0.0.1:0", TLS: &elsewhere, OnEvent: refusalsTo(told)})
	elsewhere.Store(authority.Identity(pkitest.Node{IPs: []net.IP{net.IPv4(10, 9, 9, 9)}}))
	if err := b.SendAddr(a.Addr(), 1, []byte("let me in")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := <-told; r.Cause.Reason != transport.RefusedTLS || !strings.Contains(r.Cause.Text, b.Addr()) ||
			!strings.Contains(r.Cause.Text, "10.9.9.9") {
			t.Errorf("refused because of %v", r)
		}
	}
}

func TestTLSOfNobody(t *testing.T) {
	var none *pki.Identity
	_, err := transport.Listen(t.Context(), transport.Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0", TLS: none})
	if err == nil || !strings.Contains(err.Error(), "TLS: is a nil *pki.Identity") {
		t.Errorf("started with %v", err)
	}
}

// Certificates that are renewed, be it with another authority, count for the next connection; those
// that are there go on.
func TestTLSIsRenewedWhileRunning(t *testing.T) {
	old, next := pkitest.NewAuthority(t).Identity(pkitest.Node{}), pkitest.NewAuthority(t).Identity(pkitest.Node{})
	var now renewing
	now.Store(old)
	a, b := listen(t, transport.Config{Self: 1, Bind: "127.0.0.1:0", TLS: &now}),
		listen(t, transport.Config{Self: 2, Bind: "127.0.0.1:0", TLS: &now})
	if err := a.AddPeer(b.Self(), b.Addr()); err != nil {
		t.Fatal(err)
	}
	reaches(t, a, b)
	dials := a.Stats().Dials
	now.Store(next)
	reaches(t, a, b)
	if a.Stats().Dials != dials {
		t.Error("the connection that was there ended")
	}
	for _, c := range []struct {
		id   transport.NodeID
		tls  transport.TLS
		gets bool
	}{{3, next, true}, {4, old, false}} {
		x := listen(t, transport.Config{Self: c.id, Bind: "127.0.0.1:0", TLS: c.tls})
		if err := x.AddPeer(b.Self(), b.Addr()); err != nil {
			t.Fatal(err)
		}
		if c.gets {
			reaches(t, x, b)
			continue
		}
		eventually(t, "refused", func() bool { return x.Stats().Dropped[transport.DropRefusedOut] > 0 })
		if x.Connected(b.Self(), transport.Control, 0).Up {
			t.Error("a node that has only the old certificate got in")
		}
	}
}

// renewing is the identity of this moment.
type renewing struct{ atomic.Pointer[pki.Identity] }

func (r *renewing) Server() *tls.Config            { return r.Load().Server() }
func (r *renewing) Client(host string) *tls.Config { return r.Load().Client(host) }

// trusting shows the certificate of one identity and trusts the authority of another.
type trusting struct{ shows, trusts transport.TLS }

func (x trusting) Server() *tls.Config { return x.shows.Server() }

func (x trusting) Client(host string) *tls.Config {
	c := x.shows.Client(host).Clone()
	c.RootCAs = x.trusts.Client(host).RootCAs
	return c
}

// refusalsTo is a Config.OnEvent that sends the refusals to told.
func refusalsTo(told chan<- transport.Refusal) func(transport.Event) {
	return func(e transport.Event) {
		if r, ok := e.(transport.Refusal); ok {
			told <- r
		}
	}
}
