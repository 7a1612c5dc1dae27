package gossip

import (
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/coterie-go/coterie/ddata/transport"
)

func TestNames(t *testing.T) {
	for _, m := range []member{
		{UID: 1, Addr: "127.0.0.1:7946"}, {UID: ^transport.NodeID(0), Addr: "[::1]:1"},
		{UID: 0xABC, Addr: "node-1.svc:7946"},
	} {
		addr, id, ok := parseName(m.name())
		if !ok || addr != m.Addr || id != m.UID {
			t.Errorf("%s: %q %v %v", m.name(), addr, id, ok)
		}
	}
	for _, bad := range []string{"", "/1", "a", "a/", "a/0", "a/xyz", "a/12345678901234567"} {
		if _, _, ok := parseName(bad); ok {
			t.Errorf("%q was taken for a name", bad)
		}
	}
}

func TestMeta(t *testing.T) {
	m := member{Cluster: strings.Repeat("c", 255), UID: 1, Addr: strings.Repeat("a", 260)}
	if _, err := m.encode(); err == nil {
		t.Error("a meta above memberlist's limit would make it panic")
	}
	want := member{Cluster: strings.Repeat("c", 200), UID: ^transport.NodeID(0), Addr: strings.Repeat("a", 250)}
	b, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeMember(b); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
}

func TestVetting(t *testing.T) {
	own := member{Cluster: "test", UID: 7, Addr: "10.0.0.1:1"}
	g := &Gossip{self: own}
	node := func(m member, name string) *memberlist.Node {
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		return &memberlist.Node{Name: name, Meta: b}
	}
	peer, foreign := member{Cluster: "test", UID: 8, Addr: "10.0.0.2:1"},
		member{Cluster: "prod", UID: 9, Addr: "10.0.0.3:1"}
	for _, c := range []struct {
		what string
		n    *memberlist.Node
		pass bool
	}{
		{"own", node(own, own.name()), true},
		{"peer", node(peer, peer.name()), true},
		{"another cluster", node(foreign, foreign.name()), false},
		{"another name", node(peer, own.name()), false},
		{"no meta", &memberlist.Node{Name: peer.name()}, false},
		{"another version", &memberlist.Node{Name: peer.name(), Meta: []byte{9, 0xA0}}, false},
	} {
		if err := (*vetting)(g).NotifyAlive(c.n); (err == nil) != c.pass {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if n := g.n.turnedAway.Load(); n != 4 {
		t.Errorf("counted %d, want 4", n)
	}
}

func FuzzDecodeMember(f *testing.F) {
	b, _ := member{Cluster: "test", UID: 7, Addr: "10.0.0.1:1"}.encode()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMember(b)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil {
			return // longer than any meta
		}
		if got, err := decodeMember(again); err != nil || got != m {
			t.Fatalf("%v became %v, %v", m, got, err)
		}
	})
}
