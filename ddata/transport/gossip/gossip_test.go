package gossip

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster over a hub, in virtual time.
type world struct {
	t     *testing.T
	hub   *memory.Hub
	cfg   Config
	nodes []*node
}

type node struct {
	*Gossip
	mesh *transport.Mesh
	addr string

	mu    sync.Mutex
	hints []Hint
}

func inBubble(t *testing.T, cfg Config, f func(w *world)) {
	bubble.Test(t, func(t *testing.T) {
		cfg.Cluster = "test"
		w := &world{t: t, hub: memory.NewHub(), cfg: cfg}
		defer w.end() // also of a test that fails: what still ran in the bubble would hide why
		f(w)
	})
}

func (w *world) end() {
	for _, n := range w.nodes {
		if err := n.Shutdown(); err != nil {
			w.t.Errorf("Shutdown: %v", err)
		}
		n.mesh.Close()
	}
}

// start starts one more node, at the i-th address, which knows the first as its seed.
func (w *world) start(i int, id transport.NodeID) *node {
	w.t.Helper()
	n := &node{addr: memory.Addr(i)}
	mesh, err := w.hub.Start(n.addr, transport.Config{Self: id})
	if err != nil {
		w.t.Fatal(err)
	}
	n.mesh = mesh
	cfg := w.cfg
	if cfg.Seeds == nil {
		cfg.Seeds = []string{memory.Addr(1)}
	}
	cfg.OnHint = func(h Hint) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.hints = append(n.hints, h)
	}
	if n.Gossip, err = New(mesh, cfg); err != nil {
		w.t.Fatal(err)
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) startAll(count int) {
	for i := 1; i <= count; i++ {
		w.start(i, transport.NodeID(0xA0+i))
	}
}

// within waits until cond holds and tells how long that took.
func (w *world) within(limit time.Duration, what string, cond func() bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	for !cond() {
		if time.Since(began) > limit {
			w.t.Fatalf("after %v still not: %s", limit, what)
		}
		<-time.After(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (w *world) allList(count int) func() bool {
	return func() bool {
		return !slices.ContainsFunc(w.nodes, func(n *node) bool { return len(n.Listed()) != count })
	}
}

func (n *node) lists(id transport.NodeID) bool {
	return slices.ContainsFunc(n.Listed(), func(h Hint) bool { return h.UID == id })
}

func (n *node) told(h Hint) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.hints, h)
}

// kill ends a node without a word.
func (w *world) kill(n *node) {
	w.hub.Kill(n.addr)
	n.Shutdown()
	n.mesh.Close()
	w.nodes = slices.DeleteFunc(w.nodes, func(o *node) bool { return o == n })
}

func TestJoinKillRestart(t *testing.T) {
	for _, c := range []struct {
		preset       Preset
		join, detect time.Duration
	}{{LAN, 3 * time.Second, 12 * time.Second}, {Local, 3 * time.Second, 2500 * time.Millisecond}} {
		t.Run(fmt.Sprint(c.preset), func(t *testing.T) {
			inBubble(t, Config{Preset: c.preset}, func(w *world) {
				w.startAll(5)
				t.Logf("joined after %v", w.within(c.join, "all listed everywhere", w.allList(5)))
				synctest.Wait() // until the hints of this instant are told
				victim := w.nodes[3]
				for _, n := range w.nodes[:3] {
					if h := (Hint{Addr: victim.addr, UID: victim.self.UID, Alive: true}); !n.told(h) {
						t.Errorf("%s was not told %v", n.addr, h)
					}
					if n.told(Hint{Addr: n.addr, UID: n.self.UID, Alive: true}) {
						t.Errorf("%s was told of itself", n.addr)
					}
				}
				gone := Hint{Addr: victim.addr, UID: victim.self.UID}
				w.kill(victim)
				next := w.start(4, 0xBB)
				t.Logf("the successor joined after %v", w.within(c.join, "the successor listed", func() bool {
					return !slices.ContainsFunc(w.nodes, func(n *node) bool { return !n.lists(0xBB) })
				}))
				took := w.within(c.detect, "the victim found dead", func() bool {
					return !slices.ContainsFunc(w.nodes, func(n *node) bool {
						return n != next && !n.told(gone) || n.lists(gone.UID)
					})
				})
				t.Logf("the victim was found dead after %v more", took)
			})
		})
	}
}

// A probe of a node that does not answer ends with the node that probes, at whatever stage it is.
// What still runs in a bubble when its test has ended fails the test.
func TestShutdownEndsTheProbe(t *testing.T) {
	for _, preset := range []Preset{LAN, Local} {
		for _, stage := range []time.Duration{
			0, 20 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond,
		} {
			t.Run(fmt.Sprint(preset, stage), func(t *testing.T) {
				inBubble(t, Config{Preset: preset}, func(w *world) {
					w.startAll(3)
					w.within(5*time.Second, "all listed", w.allList(3))
					for _, n := range w.nodes[:2] {
						w.hub.CutBoth(n.addr, w.nodes[2].addr)
					}
					w.within(5*time.Second, "a probe without an answer", func() bool {
						synctest.Wait()
						return strings.Contains(goroutines(), "memberlist.(*Memberlist).probeNode")
					})
					<-time.After(stage)
				})
				if left := goroutines(); strings.Contains(left, "memberlist.(*Memberlist)") {
					t.Errorf("goroutines of memberlist are left:\n%s", left)
				}
			})
		}
	}
}

func goroutines() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// TestNewsLeaveNobodyOut: the few copies of the news of a node may all go to others, to the dead,
// and to the node itself. A node that gets none has to wait for a full sync. With memberlist's own
// number of copies that happens to every fiftieth newcomer.
func TestNewsLeaveNobodyOut(t *testing.T) {
	inBubble(t, Config{Preset: Local}, func(w *world) {
		w.startAll(5)
		w.within(3*time.Second, "all listed everywhere", w.allList(5))
		late := 0 // chance may still do it: in one of some thousand newcomers
		for i := range 250 {
			victim := w.nodes[len(w.nodes)-1]
			w.kill(victim)
			next := w.start(5, transport.NodeID(0x100+i))
			took := w.within(2*time.Minute, "the successor listed", func() bool {
				return !slices.ContainsFunc(w.nodes, func(n *node) bool { return !n.lists(next.self.UID) })
			})
			if took > 2*time.Second {
				late++
			}
			w.within(5*time.Second, "the victim found dead", func() bool {
				return !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.lists(victim.self.UID) })
			})
		}
		if late > 1 {
			t.Errorf("%d of 250 newcomers waited for a full sync", late)
		}
	})
}

// TestHeal: memberlist alone never heals a cut of 30 s.
func TestHeal(t *testing.T) {
	inBubble(t, Config{Preset: Local}, func(w *world) {
		w.startAll(6)
		w.within(5*time.Second, "all listed", w.allList(6))
		each := func(f func(a, b string)) {
			for _, a := range w.nodes[:3] {
				for _, b := range w.nodes[3:] {
					f(a.addr, b.addr)
				}
			}
		}
		each(w.hub.CutBoth)
		w.within(20*time.Second, "the halves lost each other", w.allList(3))
		<-time.After(30 * time.Second)
		each(w.hub.HealBoth)
		t.Logf("whole again after %v", w.within(10*time.Second, "one cluster", w.allList(6)))
	})
}

// TestWanted: nodes without a common seed find each other through what the membership wants.
func TestWanted(t *testing.T) {
	inBubble(t, Config{Preset: Local, Seeds: []string{}}, func(w *world) {
		w.startAll(2)
		<-time.After(5 * time.Second)
		if !w.allList(1)() {
			t.Fatal("they found each other by themselves")
		}
		w.nodes[0].SetWanted(map[transport.NodeID]string{0xA2: memory.Addr(2), 0xA1: memory.Addr(1)})
		w.within(5*time.Second, "they list each other", w.allList(2))
	})
}

func TestLeave(t *testing.T) {
	inBubble(t, Config{Preset: Local}, func(w *world) {
		w.startAll(4)
		w.within(5*time.Second, "all listed", w.allList(4))
		leaver := w.nodes[3]
		if err := leaver.Leave(2 * time.Second); err != nil {
			t.Fatal(err)
		}
		w.nodes = w.nodes[:3]
		t.Logf("all knew after %v", w.within(500*time.Millisecond, "no node lists it", w.allList(3)))
		w.nodes = append(w.nodes, leaver)
		if err := leaver.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := leaver.Leave(time.Second); err != ErrClosed {
			t.Errorf("Leave after Shutdown: %v", err)
		}
	})
}

// TestPeerLinks: with the membership's links up, packets need no connection of their own.
func TestPeerLinks(t *testing.T) {
	inBubble(t, Config{Preset: Local}, func(w *world) {
		for i := 1; i <= 3; i++ {
			n := w.start(i, transport.NodeID(0xA0+i))
			for j := 1; j <= 3; j++ {
				if j != i {
					if err := n.mesh.AddPeer(transport.NodeID(0xA0+j), memory.Addr(j)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		w.within(5*time.Second, "all listed", w.allList(3))
		<-time.After(40 * time.Second) // streams and connections of SendAddr have come and gone
		for _, n := range w.nodes {
			if up := n.mesh.Stats().LinksUp; up != 2 {
				t.Errorf("%s has %d links up, want those to its 2 peers", n.addr, up)
			}
			if s := n.Stats(); s.PacketsLost+s.PacketsDropped+s.TurnedAway != 0 || s.PacketsIn == 0 ||
				s.Refused != [Refusals]uint64{} {
				t.Errorf("%s: %+v", n.addr, s)
			}
		}
	})
}

// TestOneWayCut: a node that hears but is not heard is found dead; hints never stop.
func TestOneWayCut(t *testing.T) {
	inBubble(t, Config{Preset: Local}, func(w *world) {
		w.startAll(4)
		w.within(5*time.Second, "all listed", w.allList(4))
		mute := w.nodes[2]
		for _, n := range w.nodes {
			if n != mute {
				w.hub.Cut(mute.addr, n.addr)
			}
		}
		w.within(10*time.Second, "found dead", func() bool {
			return !w.nodes[0].lists(mute.self.UID) && !w.nodes[1].lists(mute.self.UID) &&
				!w.nodes[3].lists(mute.self.UID)
		})
		for _, n := range w.nodes {
			if n != mute {
				w.hub.Heal(mute.addr, n.addr)
			}
		}
		w.within(15*time.Second, "listed again", w.allList(4))
	})
}

// TestTCP runs over real sockets.
func TestTCP(t *testing.T) {
	var meshes []*transport.Mesh
	var all []*Gossip
	for i := 1; i <= 3; i++ {
		mesh, err := transport.Listen(t.Context(), transport.Config{
			Cluster: "test", Self: transport.NodeID(i), Bind: "127.0.0.1:0",
		})
		if err != nil {
			t.Fatal(err)
		}
		meshes = append(meshes, mesh)
		g, err := New(mesh, Config{Cluster: "test", Preset: Local, Seeds: []string{meshes[0].Addr()}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	// Streams may have told everybody of all before the first packet has come, and the last of them
	// may still be open.
	for slices.ContainsFunc(all, func(g *Gossip) bool {
		return len(g.Listed()) != 3 || g.Stats().PacketsIn == 0 || g.bridge.held.Load() != 0
	}) {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not joined, or bytes are held for streams that have ended: %+v, %d bytes",
				all[0].Stats(), all[0].bridge.held.Load())
		}
	}
	for i, g := range all {
		if s := g.Stats(); s.Refused != [Refusals]uint64{} {
			t.Errorf("own nodes were turned away: %+v", s)
		}
		if err := g.Shutdown(); err != nil {
			t.Error(err)
		}
		meshes[i].Close()
	}
}
