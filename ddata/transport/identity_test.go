package transport_test

import (
	"net"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

// victim is a peer that is not there, at an address for which only its own certificate is good.
const (
	victim     = transport.NodeID(9)
	victimAddr = "127.0.0.2:7"
)

// impostor starts a node under the victim's id, at another address.
func impostor(t *testing.T, id transport.TLS) *transport.Mesh {
	return listen(t, transport.Config{Self: victim, Bind: "127.0.0.1:0", TLS: id})
}

// heard says when a node gets a frame in the victim's name.
func heard(m *transport.Mesh) <-chan struct{} {
	got := make(chan struct{}, 100)
	m.Handle(1, transport.HandlerFunc(func(from transport.NodeID, _ []byte) {
		if from == victim {
			got <- struct{}{}
		}
	}))
	return got
}

// A node whose certificate is not good for the address of a peer does not speak for that peer, in
// any kind of connection.
func TestCertificateOfAnotherPeer(t *testing.T) {
	authority := pkitest.NewAuthority(t)
	id := authority.Identity(pkitest.Node{IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	a := listen(t, transport.Config{Self: 1, Bind: "127.0.0.1:0", TLS: id})
	if err := a.AddPeer(victim, victimAddr); err != nil {
		t.Fatal(err)
	}
	got := heard(a)
	x := impostor(t, id)
	if err := x.AddPeer(a.Self(), a.Addr()); err != nil {
		t.Fatal(err)
	}
	_ = x.Send(a.Self(), transport.Control, 0, 1, []byte("I am 9"))
	if err := x.SendAddr(a.Addr(), 1, []byte("I am 9")); err != nil {
		t.Fatal(err)
	}
	a.HandleStream(1, func(_ transport.NodeID, conn net.Conn) { conn.Close() })
	if conn, err := x.DialStream(t.Context(), a.Addr(), 1); err == nil {
		conn.Close()
		t.Error("the stream was taken")
	}
	eventually(t, "refused", func() bool { return x.Stats().Dropped[transport.DropRefusedOut] >= 3 })
	select {
	case <-got:
		t.Error("what is not the peer was heard in its name")
	default:
	}
}

// A connection that was made in the name of a node before that became a peer ends when it does.
func TestCertificateOfALaterPeer(t *testing.T) {
	authority := pkitest.NewAuthority(t)
	id := authority.Identity(pkitest.Node{IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	a := listen(t, transport.Config{Self: 1, Bind: "127.0.0.1:0", TLS: id})
	got := heard(a)
	x := impostor(t, id)
	if err := x.AddPeer(a.Self(), a.Addr()); err != nil {
		t.Fatal(err)
	}
	if err := x.Send(a.Self(), transport.Control, 0, 1, []byte("I am 9")); err != nil {
		t.Fatal(err)
	}
	<-got
	if err := a.AddPeer(victim, victimAddr); err != nil {
		t.Fatal(err)
	}
	eventually(t, "cut off", func() bool {
		return a.Stats().Readers == 0 && a.Stats().Dropped[transport.DropRefusedIn] > 0
	})
}

// A certificate that is good for both addresses speaks for both: its holders cannot be told apart.
func TestCertificateOfBothPeers(t *testing.T) {
	shared := pkitest.NewAuthority(t).Identity(pkitest.Node{
		IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2)},
	})
	a := listen(t, transport.Config{Self: 1, Bind: "127.0.0.1:0", TLS: shared})
	if err := a.AddPeer(victim, victimAddr); err != nil {
		t.Fatal(err)
	}
	got := heard(a)
	if err := impostor(t, shared).SendAddr(a.Addr(), 1, []byte("I am 9")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(20 * time.Second):
		t.Error("not heard")
	}
}
