package transport_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/discovery/dnstest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// byName is TCP that resolves names with a server of the test, and notes where it connected.
type byName struct {
	transport.Network
	resolver *net.Resolver

	mu    sync.Mutex
	conns []net.Conn
}

func (n *byName) Dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Resolver: n.resolver}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		n.mu.Lock()
		n.conns = append(n.conns, conn)
		n.mu.Unlock()
	}
	return conn, err
}

// last is the host to which it connected last; breakAll ends what is open.
func (n *byName) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.conns) == 0 {
		return ""
	}
	host, _, _ := net.SplitHostPort(n.conns[len(n.conns)-1].RemoteAddr().String())
	return host
}

func (n *byName) breakAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.Close()
	}
}

func listen(t *testing.T, cfg transport.Config) *transport.Mesh {
	t.Helper()
	cfg.Cluster = "c"
	m, err := transport.Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.After(10 * time.Second); !cond(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("still not:", what)
		}
	}
}

// reaches says that a frame of a gets to b in the Data lane.
func reaches(t *testing.T, a, b *transport.Mesh) {
	t.Helper()
	got := make(chan transport.NodeID, 1)
	b.Handle(1, transport.HandlerFunc(func(from transport.NodeID, _ []byte) {
		select {
		case got <- from:
		default:
		}
	}))
	if err := a.Send(b.Self(), transport.Data, 0, 1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	select {
	case from := <-got:
		if from != a.Self() {
			t.Errorf("from %v", from)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("nothing came; %v", a.Stats())
	}
}

// Nodes that listen at [::1], at all interfaces of both families, or are linked by name reach each
// other, and say so of themselves.
func TestIPv6AndNames(t *testing.T) {
	server := dnstest.Start(t)
	server.Set(t, "six.test.", "AAAA ::1")
	server.Set(t, "both.test.", "AAAA ::1", "A 127.0.0.9")
	for _, c := range []struct{ bind, advertise, want string }{
		{"[::1]:0", "", "[::1]:"},
		{"[::]:0", "[::1]:0", "[::1]:"},
		{"[::]:0", "127.0.0.1:0", "127.0.0.1:"}, // dual-stack
		{"127.0.0.1:0", "localhost:0", "localhost:"},
		{"[::1]:0", "six.test.:0", "six.test.:"},
		{"[::1]:0", "both.test.:0", "both.test.:"}, // whichever family answers
	} {
		wire := &byName{Network: transport.TCP(), resolver: server.Resolver()}
		a := listen(t, transport.Config{Self: 1, Bind: "[::1]:0", Network: wire})
		b := listen(t, transport.Config{Self: 2, Bind: c.bind, Advertise: c.advertise})
		if !strings.HasPrefix(b.Addr(), c.want) || strings.HasSuffix(b.Addr(), ":0") {
			t.Errorf("%+v: it is at %s", c, b.Addr())
		}
		for _, way := range [][2]*transport.Mesh{{a, b}, {b, a}} {
			if err := way[0].AddPeer(way[1].Self(), way[1].Addr()); err != nil {
				t.Fatal(err)
			}
			reaches(t, way[0], way[1])
		}
		if addr, ok := b.PeerAddr(a.Self()); !ok || addr != a.Addr() {
			t.Errorf("%+v: the peer is at %q", c, addr)
		}
	}
}

// A name that moves to another address is resolved anew with each connection, for the same process
// and for the one that follows it.
func TestNameThatMoves(t *testing.T) {
	server := dnstest.Start(t)
	wire := &byName{Network: transport.TCP(), resolver: server.Resolver()}
	a := listen(t, transport.Config{Self: 1, Bind: "127.0.0.1:0", Network: wire, BackoffMin: time.Millisecond})
	b, err := transport.Listen(t.Context(), transport.Config{
		Cluster: "c", Self: 2, Bind: "0.0.0.0:0", Advertise: "pod.test.:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AddPeer(b.Self(), b.Addr()); err != nil { // the name does not exist yet
		t.Fatal(err)
	}
	eventually(t, "tried", func() bool { return a.Stats().DialErrors > 2 })
	server.Set(t, "pod.test.", "A 127.0.0.2")
	reaches(t, a, b)
	if got := wire.last(); got != "127.0.0.2" {
		t.Errorf("it connected to %s", got)
	}
	server.Set(t, "pod.test.", "A 127.0.0.3")
	wire.breakAll()
	reaches(t, a, b)
	eventually(t, "connected to the other address", func() bool { return wire.last() == "127.0.0.3" })

	_, port, err := net.SplitHostPort(b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	server.Set(t, "pod.test.", "A 127.0.0.4")
	next := listen(t, transport.Config{Self: 3, Bind: "127.0.0.4:" + port, Advertise: "pod.test.:" + port})
	if err := a.SetPeers(map[transport.NodeID]string{next.Self(): next.Addr()}); err != nil {
		t.Fatal(err)
	}
	reaches(t, a, next)
	if got := wire.last(); got != "127.0.0.4" {
		t.Errorf("it connected to %s", got)
	}
}

// A node dials an unreachable peer again and again, at most every BackoffMin and at least every
// BackoffMax. It has a link soon after the peer is there. A peer whose address changes is dialled
// at the new one at once.
func TestBackoffAndNewAddress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		hub := memory.NewHub()
		a, err := hub.Start(memory.Addr(1), transport.Config{
			BackoffMin: 100 * time.Millisecond, BackoffMax: 2 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if err := a.AddPeer(7, memory.Addr(2)); err != nil {
			t.Fatal(err)
		}
		dials := func(d time.Duration) uint64 {
			before := a.Stats().Dials
			<-time.After(d)
			synctest.Wait()
			return a.Stats().Dials - before
		}
		first, later := dials(time.Second), dials(10*time.Minute)
		if first < 3 || first > 8 {
			t.Errorf("%d attempts in the first second", first)
		}
		if later < 300 || later > 600 { // pauses of 1 s to 2 s
			t.Errorf("%d attempts in ten minutes", later)
		}
		b, err := hub.Start(memory.Addr(2), transport.Config{Self: 7})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		<-time.After(2 * time.Second)
		synctest.Wait()
		if !a.Connected(7, transport.Control, 0).Up {
			t.Error("no link within BackoffMax")
		}
		if err := a.AddPeer(9, memory.Addr(3)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		c, err := hub.Start(memory.Addr(4), transport.Config{Self: 9})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := a.AddPeer(9, memory.Addr(4)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if !a.Connected(9, transport.Control, 0).Up {
			t.Error("the new address was not dialled at once")
		}
	})
}

// After a refusal the pause is longer than at an address without a node: twice BackoffMax.
func TestPauseAfterARefusal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		hub := memory.NewHub()
		a, err := hub.Start(memory.Addr(1), transport.Config{
			Self: 1, BackoffMin: 100 * time.Millisecond, BackoffMax: 2 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		b, err := hub.Start(memory.Addr(2), transport.Config{Self: 8})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if err := a.AddPeer(7, memory.Addr(2)); err != nil { // another incarnation is there
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if n := a.Stats().Dials; n < 140 || n > 151 { // one in 4 s
			t.Errorf("%d attempts in ten minutes", n)
		}
	})
}

// A peer that has just shown that it is there, by a connection of its own, is dialled at once,
// however long the pause would have been.
func TestPeerThatComesIsDialled(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		hub := memory.NewHub()
		a, err := hub.Start(memory.Addr(1), transport.Config{Self: 1, BackoffMin: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if err := a.AddPeer(2, memory.Addr(2)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		b, err := hub.Start(memory.Addr(2), transport.Config{Self: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		<-time.After(time.Minute)
		if a.Connected(2, transport.Control, 0).Up {
			t.Fatal("it was dialled before the pause was over")
		}
		if err := b.AddPeer(1, memory.Addr(1)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if !a.Connected(2, transport.Control, 0).Up {
			t.Error("it was not dialled back")
		}
	})
}
