package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// source plays discovery: what each node is told, again and again, until it has a view.
type source struct {
	w     *world
	every time.Duration
	says  func(n *node) Discovered
}

func (s *source) watch(n *node) {
	if !n.alive || n.m.View() != nil {
		return
	}
	n.step(s.says(n))
	s.w.after(s.every, func() { s.watch(n) })
}

// names is an answer that knows which node listens, as a driver gives that could connect.
func (w *world) names(asker *node, addrs ...string) Discovered {
	var d Discovered
	for _, a := range addrs {
		c := bootstrap.Contact{Addr: a}
		if x := w.livingAt(a); x != nil && (w.cut == nil || !w.cut(asker, x)) {
			c.UID = x.uid
		}
		d.Found = append(d.Found, c)
	}
	return d
}

func (s *source) start(addr string) *node {
	n := s.w.start(addr, func(c *Config) { c.Discovers = true })
	s.watch(n)
	return n
}

func (w *world) livingAddrs() (as []string) {
	for _, n := range w.living() {
		as = append(as, n.addr)
	}
	return as
}

func (w *world) clusters() (cs []view.ClusterID) {
	for p := range w.checker.views { // order: sorted below
		cs = append(cs, p.cluster)
	}
	slices.Sort(cs)
	return slices.Compact(cs)
}

// liar answers with some of what is there, with what was there, under other names of the same
// place, differently at each node, or not at all. What it says to a node lasts for a while.
func liar(w *world, all []string, about func() int) func(n *node) Discovered {
	said, until := map[view.UID][]string{}, map[view.UID]time.Duration{}
	return func(n *node) Discovered {
		if w.now >= until[n.uid] {
			until[n.uid] = w.now + time.Duration(w.rng.Int64N(int64(20*time.Second)))
			some := slices.Clone(all) // those of the past and of the future among them
			if w.rng.IntN(3) > 0 {
				some = w.livingAddrs()
			}
			w.rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			said[n.uid] = some[:min(len(some), about())]
		}
		if len(said[n.uid]) == 0 {
			return Discovered{Err: "no such name"}
		}
		return w.names(n, said[n.uid]...)
	}
}

// discoveredWorld starts so many processes, one after the other, at fewer addresses. A process that
// comes to a taken address follows one that was killed. Answers lie at first, and cuts come and go;
// then all becomes true and whole. Nothing is on any disk.
func discoveredWorld(t *testing.T, seed uint64, processes, expect int) *world {
	w := newWorld(t, seed, LAN())
	w.base.BootstrapExpect = expect
	w.loss = []float64{0, 0.1, 0.3}[w.rng.IntN(3)]
	all := addrs(max(expect, processes-w.rng.IntN(3)))
	s := &source{w: w, every: time.Duration(200+w.rng.IntN(2000)) * time.Millisecond}
	s.says = liar(w, all, func() int { return expect + w.rng.IntN(3) - 1 })
	diskless := func(c *Config) { c.Discovers, c.Disk = true, 0 }
	side := map[string]int{}
	for i := range processes {
		a, first := all[i%len(all)], i < len(all)
		w.after(time.Duration(w.rng.Int64N(int64(20*time.Second))), func() {
			if old := w.livingAt(a); old != nil {
				old.crash()
			}
			s.watch(w.start(a, diskless))
		})
		if first && w.rng.IntN(2) == 0 {
			w.after(time.Duration(w.rng.Int64N(int64(90*time.Second))), func() { side[a] = 1 - side[a] })
		}
	}
	w.cut = func(from, to *node) bool { return side[from.addr] != side[to.addr] }
	w.run(90 * time.Second)
	w.cut, w.loss = nil, 0
	s.says = func(n *node) Discovered { return w.names(n, w.livingAddrs()...) }
	return w
}

// TestDiscoveryNeverMakesTwoClusters: two clusters do not come to be as long as BootstrapExpect is
// more than half of the processes that are ever started without a memory. This holds whatever the
// source says, and whichever nodes hear each other. When the source is right, one comes to be.
func TestDiscoveryNeverMakesTwoClusters(t *testing.T) {
	founded := 0
	for seed := uint64(1); seed <= 150; seed++ {
		processes := 2 + int(seed%7)
		expect := processes/2 + 1
		w := discoveredWorld(t, seed, processes, expect)
		early := len(w.clusters())
		founded += early
		if len(w.living()) >= expect { // else some gave up: a founding that broke off ends a process
			w.until(2*time.Minute, func() bool { return len(w.clusters()) > 0 })
			if len(w.clusters()) == 0 && len(w.living()) >= expect {
				t.Fatalf("seed %d: %d of %d processes founded nothing, expecting %d: %v",
					seed, len(w.living()), processes, expect, w.living()[0].waiting)
			}
		}
		if cs := w.clusters(); len(cs) > 1 {
			t.Fatalf("seed %d: %d processes, expecting %d, founded %v", seed, processes, expect, cs)
		}
		w.verdict()
	}
	if founded < 15 {
		t.Errorf("only %d worlds founded before the source was right: the test shows little", founded)
	}
}

// TestHalfIsNotEnough is the border of that rule: with BootstrapExpect at half of the processes, a
// source that shows each half itself alone can make two clusters of them. No number of lucky
// answers can: the addresses of the other half have to be hidden from all of one.
func TestHalfIsNotEnough(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.BootstrapExpect = 2
	half := map[string][]string{"a": {"a", "b"}, "b": {"a", "b"}, "c": {"c", "d"}, "d": {"c", "d"}}
	s := &source{w: w, every: time.Second, says: func(n *node) Discovered { return w.names(n, half[n.addr]...) }}
	for _, a := range addrs(4) {
		s.start(a)
	}
	w.run(20 * time.Second)
	if n := len(w.clusters()); n != 2 {
		t.Errorf("%d clusters: the rule is stronger than the documentation says", n)
	}
}

// TestAPartIsNotEnough: a and b are a cluster; the source cannot name their half now, and says so.
// c and d wait, and join when it can.
func TestAPartIsNotEnough(t *testing.T) {
	w := newWorld(t, 9, LAN())
	w.base.BootstrapExpect = 2
	whole := false
	s := &source{w: w, every: time.Second, says: func(n *node) Discovered {
		switch {
		case n.addr < "c":
			return w.names(n, "a", "b")
		case whole:
			return w.names(n, addrs(4)...)
		}
		part := w.names(n, "c", "d")
		part.Err = "the zone of a and b does not answer"
		return part
	}}
	s.start("a")
	s.start("b")
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded")
	}
	s.start("c")
	s.start("d")
	w.run(time.Minute)
	if n := len(w.clusters()); n != 1 {
		t.Errorf("%d clusters", n)
	}
	whole = true
	if !w.until(30*time.Second, w.converged) {
		t.Error("c and d did not join when the source named all")
	}
	w.verdict()
}

// TestWhoIsNamedMustBeHeard: a cut divides six processes that expect three. Where all are named no
// node founds, and each says which ones are silent. Without discovery there are two clusters,
// because then BootstrapExpect alone decides.
func TestWhoIsNamedMustBeHeard(t *testing.T) {
	for _, discovers := range []bool{true, false} {
		w := newWorld(t, 3, LAN())
		w.base.BootstrapExpect, w.base.Seeds = 3, addrs(6)
		w.cut = func(from, to *node) bool { return (from.addr < "d") != (to.addr < "d") }
		s := &source{w: w, every: time.Second, says: func(n *node) Discovered { return w.names(n, addrs(6)...) }}
		for _, a := range addrs(6) {
			if discovers {
				s.start(a)
			} else {
				w.start(a, nil)
			}
		}
		w.run(30 * time.Second)
		if !discovers {
			if n := len(w.clusters()); n != 2 {
				t.Errorf("without discovery %d clusters, want 2: the test shows nothing", n)
			}
			continue
		}
		for _, n := range w.living() {
			want := "discovery names d, e, f, and no node without a cluster was heard there"
			if n.addr >= "d" {
				want = "discovery names a, b, c, and"
			}
			if n.m.View() != nil || len(n.waiting) == 0 || !strings.Contains(n.waiting[len(n.waiting)-1], want) {
				t.Fatalf("%v waits because of %q, want %q", n.m, n.waiting, want)
			}
		}
		w.cut = nil
		if !w.until(time.Minute, w.converged) || len(w.clusters()) != 1 {
			t.Errorf("%d clusters after the cut", len(w.clusters()))
		}
		w.verdict()
	}
}

// TestRestartWithoutMemoryBesideItsCluster: a and b found a cluster and keep nothing; b comes back
// and can reach c only. Two seek, as many as are expected, and BootstrapExpect is more than half of
// three: they must not found, for a is named and silent.
func TestRestartWithoutMemoryBesideItsCluster(t *testing.T) {
	w := newWorld(t, 4, LAN())
	w.base.BootstrapExpect = 2
	diskless := func(c *Config) { c.Discovers, c.Disk = true, 0 }
	s := &source{w: w, every: time.Second, says: func(n *node) Discovered { return w.names(n, "a", "b", "c") }}
	w.cut = func(from, to *node) bool { return from.addr == "c" || to.addr == "c" }
	// c is no pod yet
	early := &source{w: w, every: time.Second, says: func(n *node) Discovered { return w.names(n, "a", "b") }}
	for _, x := range []string{"a", "b"} {
		early.watch(w.start(x, diskless))
	}
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded:", w.living()[0].waiting)
	}
	w.livingAt("b").crash()
	w.cut = func(from, to *node) bool { return from.addr == "a" || to.addr == "a" }
	for _, x := range []string{"b", "c"} {
		s.watch(w.start(x, diskless))
	}
	w.run(15 * time.Second)
	if cs := w.clusters(); len(cs) != 1 {
		t.Fatalf("founded %v", cs)
	}
}

// TestStaleNamesDelayOnly: pods that are gone are named for a while; then those that are there
// found.
func TestStaleNamesDelayOnly(t *testing.T) {
	w := newWorld(t, 5, LAN())
	w.base.BootstrapExpect = 3
	named := addrs(9)
	s := &source{w: w, every: time.Second, says: func(n *node) Discovered { return w.names(n, named...) }}
	for _, a := range addrs(3) {
		s.start(a)
	}
	w.run(30 * time.Second)
	n := w.livingAt("a")
	if n.m.View() != nil || len(n.m.seeker.Targets()) != 8 {
		t.Fatalf("%v: %v", n.m, n.m.seeker.Targets())
	}
	named = addrs(3)
	w.run(2 * time.Second)
	if got := fmt.Sprint(n.m.seeker.Targets()); got != "[b c]" {
		t.Errorf("it still probes %v", got)
	}
	if n.m.View() != nil {
		t.Error("founded before the answer was steady")
	}
	if !w.until(30*time.Second, w.converged) {
		t.Error("not founded:", n.waiting)
	}
}

// TestFirstNodeRule goes through the reasons to wait, as the node says them.
func TestFirstNodeRule(t *testing.T) {
	w := newWorld(t, 6, LAN())
	w.base.BootstrapExpect = 1
	n := w.start("a", func(c *Config) { c.Discovers = true })
	expect := func(want string, in *Discovered, d time.Duration) {
		t.Helper()
		if in != nil {
			n.step(*in)
		}
		w.run(d)
		if n.m.View() != nil || len(n.waiting) == 0 || !strings.Contains(n.waiting[len(n.waiting)-1], want) {
			t.Errorf("%v waits because of %q, want %q", n.m, n.waiting, want)
		}
	}
	expect("discovery has not answered yet", nil, 10*time.Second)
	expect("discovery does not answer: NXDOMAIN", &Discovered{Err: "NXDOMAIN"}, 10*time.Second)
	expect("names 0 of the 1 nodes", &Discovered{}, 10*time.Second)
	expect("discovery names b, and no node", &Discovered{
		Found: []bootstrap.Contact{{Addr: "a"}, {Addr: "b"}},
	}, 10*time.Second)
	expect("may not name all: zone 2 fails", &Discovered{
		Found: []bootstrap.Contact{{Addr: "a"}}, Err: "zone 2 fails",
	}, 10*time.Second)
	expect("may not name all: NXDOMAIN", &Discovered{Err: "NXDOMAIN"}, 10*time.Second)
	expect("changed just now", &Discovered{
		Found: []bootstrap.Contact{{Addr: "a.other.name", UID: n.uid}},
	}, 4*time.Second)
	if !w.until(2*time.Second, w.converged) {
		t.Error("a steady answer that names this node only, under another name, did not let it found:", n.waiting)
	}
	if n.m.seeker != nil {
		t.Errorf("it probes %v", n.m.seeker.Targets())
	}
}

// TestDisksNeedNoDiscovery: a node that remembers a cluster founds it anew by a quorum of its
// disks, whatever the source says.
func TestDisksNeedNoDiscovery(t *testing.T) {
	w := newWorld(t, 7, LAN())
	w.found(3)
	cluster := w.checker.newest().Cluster
	for _, n := range w.living() {
		n.crash()
	}
	s := &source{w: w, every: time.Second, says: func(n *node) Discovered { return w.names(n, "x", "y") }}
	s.start("a")
	w.run(30 * time.Second)
	if w.livingAt("a").m.View() != nil {
		t.Fatal("one of three disks founded")
	}
	s.start("b")
	if !w.until(time.Minute, w.converged) || w.living()[0].m.View().Cluster != cluster {
		t.Error("two of three disks did not found anew:", w.living()[0].waiting)
	}
	w.verdict()
}

// TestAnswersAreBounded: a source that names thousands, or nonsense, costs no more than its bound.
func TestAnswersAreBounded(t *testing.T) {
	w := newWorld(t, 8, LAN())
	w.base.BootstrapExpect = 1
	n := w.start("a", func(c *Config) { c.Discovers = true })
	for round := range 20 {
		var d Discovered
		for i := range 3000 {
			d.Found = append(d.Found, bootstrap.Contact{Addr: fmt.Sprintf("%d-%d:1", round, i)})
		}
		d.Found = append(d.Found, bootstrap.Contact{}, bootstrap.Contact{Addr: strings.Repeat("x", view.AddrMax+1)})
		n.step(d)
		n.step(Discovered{Err: strings.Repeat("ü", 4*bootstrap.ReasonMax)})
	}
	if len(n.m.seeker.Targets()) != bootstrap.ContactsMax {
		t.Errorf("%d probed", len(n.m.seeker.Targets()))
	}
	if errors.Is(n.done, ErrStalled) || n.m.View() != nil {
		t.Error(n.m)
	}
}
