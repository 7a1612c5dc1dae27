package membership

import (
	"testing"
	"time"
)

// TestASecondClusterIsNoticed: two clusters were founded beside each other. Gossip of one finds a
// node of the other; that says so, at most once a minute, and is not asked to join.
func TestASecondClusterIsNoticed(t *testing.T) {
	w := newWorld(t, 21, LAN())
	var said []SecondCluster
	w.reactMore = func(n *node, e Event) {
		if s, ok := e.(SecondCluster); ok {
			said = append(said, s)
		}
	}
	w.base.BootstrapExpect = 1
	a, b := w.start("a", func(c *Config) { c.Seeds = nil }), w.start("b", func(c *Config) { c.Seeds = nil })
	if !w.until(30*time.Second, func() bool { return a.m.View() != nil && b.m.View() != nil }) {
		t.Fatal("not founded")
	}
	if len(w.clusters()) != 2 {
		t.Fatalf("%d clusters, want 2", len(w.clusters()))
	}
	for range 10 {
		a.step(Hint{UID: b.uid, Addr: b.addr, Alive: true})
		w.run(time.Second)
	}
	if len(said) != 1 || said[0] != (SecondCluster{UID: a.uid, Addr: a.addr, Cluster: a.m.View().Cluster}) {
		t.Errorf("said %v", said)
	}
	w.run(otherClusterPause)
	a.step(Hint{UID: b.uid, Addr: b.addr, Alive: true})
	w.run(time.Second)
	if len(said) != 2 {
		t.Errorf("after a minute: %v", said)
	}
	if len(a.m.View().Members) != 1 || len(b.m.View().Members) != 1 {
		t.Errorf("they merged: %v, %v", a.m.View(), b.m.View())
	}
}
