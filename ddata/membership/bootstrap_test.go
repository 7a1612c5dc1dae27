package membership

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestFoundExactlyOnce: nodes start at different times, messages get lost, and fewer than twice the
// expected number are there: one cluster comes of it.
func TestFoundExactlyOnce(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		w := newWorld(t, seed, LAN())
		n := 1 + w.rng.IntN(5)
		all := n + w.rng.IntN(n)
		w.loss = []float64{0, 0.1, 0.3}[w.rng.IntN(3)]
		w.base.Seeds, w.base.BootstrapExpect = addrs(max(1, all/2)), n
		w.restart = func(x *node) {
			if errors.Is(x.done, ErrStalled) {
				w.after(time.Second, func() { w.start(x.addr, nil) })
			}
		}
		for _, a := range addrs(all) {
			w.after(time.Duration(w.rng.Int64N(int64(8*time.Second))), func() { w.start(a, nil) })
		}
		w.run(8 * time.Second)
		w.until(2*time.Minute, w.converged)
		clusters := make(map[view.ClusterID]bool)
		for p := range w.checker.views {
			clusters[p.cluster] = true
		}
		if !w.converged() || len(clusters) != 1 || len(w.living()) != all {
			for _, x := range w.living() {
				t.Logf("%v", x.m)
			}
			t.Fatalf("seed %d: %d nodes expecting %d made %d clusters, %d live",
				seed, all, n, len(clusters), len(w.living()))
		}
		w.verdict()
	}
}

// TestExpectOfOne founds alone at once.
func TestExpectOfOne(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.BootstrapExpect = 1
	n := w.start("a", nil)
	if v := n.m.View(); v == nil || !n.acts() {
		t.Errorf("not founded at once: %v", n.m)
	}
}

// TestRefused: the reason is known on both sides, with the name of the setting and both values.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		reason bootstrap.Reason
		says   string // on both sides
		tune   func(*Config)
	}{
		{bootstrap.ReasonName, `cluster is named "", the node says "other"`, func(c *Config) { c.Name = "other" }},
		{bootstrap.ReasonConfig, "Shards is 4 at M and 5 at x", func(c *Config) {
			c.Compatibility = []bootstrap.Setting{bootstrap.NewSetting("Shards", 5)}
		}},
		{bootstrap.ReasonConfig, "Shards is 4 at M and unknown at x", func(c *Config) { c.Compatibility = nil }},
		{bootstrap.ReasonConfig, "Codec is unknown at M and 1 at x", func(c *Config) {
			c.Compatibility = append(c.Compatibility, bootstrap.NewSetting("Codec", 1))
		}},
		{bootstrap.ReasonConfig, "LeaseDuration is 4.25s at M and 5s at x", func(c *Config) {
			c.LeaseDuration = 5 * time.Second
		}},
		{bootstrap.ReasonConfig, "Epsilon is 0.03 at M and 0.02 at x", func(c *Config) { c.Epsilon = 0.02 }},
		{bootstrap.ReasonConfig, "Strategy is keep-majority at M and static-quorum 2 at x", func(c *Config) {
			c.Strategy = downing.StaticQuorum{Size: 2}
		}},
		{bootstrap.ReasonConfig, "VotersMax is 0 at M and 3 at x", func(c *Config) { c.VotersMax = 3 }},
		{bootstrap.ReasonRole, "address b is that of", func(c *Config) { c.Addr = "b" }},
	} {
		cfg := LAN()
		cfg.Compatibility = []bootstrap.Setting{bootstrap.NewSetting("Shards", 4)}
		w := newWorld(t, 1, cfg)
		w.found(2)
		var seen []RefusedNode
		says := map[*node]string{}
		w.watch = func(m *node, _ Input, fx *Effects) {
			for _, e := range fx.Events {
				if r, ok := e.(RefusedNode); ok {
					seen = append(seen, r)
					says[m] = strings.ReplaceAll(c.says, " M ", " "+m.addr+" ")
					if !strings.Contains(r.Text, says[m]) {
						t.Errorf("%v: a member says %q, not %q", c.reason, r.Text, says[m])
					}
				}
			}
		}
		n := w.start("x", c.tune)
		w.run(12 * time.Second)
		var refused *RefusedError
		if !errors.As(n.done, &refused) || refused.Reason != c.reason || !errors.Is(n.done, ErrRefused) {
			t.Fatalf("%v: the node ended with %v", c.reason, n.done)
		}
		if want := strings.ReplaceAll(c.says, " M ", " "+refused.By+" "); !strings.Contains(n.done.Error(), want) {
			t.Errorf("%v: the node says %q, not %q", c.reason, n.done, want)
		}
		if !slices.ContainsFunc(seen, func(r RefusedNode) bool { return r.Reason == c.reason && r.UID == n.uid }) {
			t.Errorf("%v: no event at the members: %v", c.reason, seen)
		}
	}
}

// TestLateRefusalMeetsNobody: what refuses an earlier incarnation at an address does not end the
// one that came after it.
func TestLateRefusalMeetsNobody(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.found(2)
	n := w.start("x", nil)
	n.step(Receive{
		From: w.nodes[0].uid, FromAddr: "a", Msg: bootstrap.Refuse{
			To: n.uid + 1, Reason: bootstrap.ReasonConfig, Text: "of the one before",
		},
	})
	if !w.until(20*time.Second, w.converged) || !n.alive {
		t.Errorf("ended with %v: %v", n.done, n.m)
	}
	w.verdict()
}

// TestMisfitsDoNotFound: a node that would be refused is no founder either, and both sides say why
// they wait.
func TestMisfitsDoNotFound(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(2), 2
	a := w.start("a", nil)
	b := w.start("b", func(c *Config) { c.Compatibility = []bootstrap.Setting{bootstrap.NewSetting("Shards", 5)} })
	w.run(10 * time.Second)
	for _, n := range []*node{a, b} {
		if n.m.View() != nil || !strings.Contains(strings.Join(n.waiting, "\n"), "configuration") {
			t.Errorf("%v waits because of %q", n.m, n.waiting)
		}
	}
}

// TestFoundersWhoDoNotAllHearEachOther: each node names the nodes that it heard and did not hear,
// and says what to do. The nodes that hear all know which of the others does not.
func TestFoundersWhoDoNotAllHearEachOther(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(from, to string) bool
		want map[string]string
	}{
		{"two do not hear each other", func(from, to string) bool { return from != "a" && to != "a" },
			map[string]string{
				"a": "expected 3 nodes to found a cluster, heard 3: a, b, c; but b does not hear c; c does not hear " +
					"b: each must hear all",
				"b": "expected 3 nodes to found a cluster (BootstrapExpect), heard 2: a, b; no answer from c; start " +
					"the others",
				"c": "expected 3 nodes to found a cluster (BootstrapExpect), heard 2: a, c; no answer from b; start " +
					"the others",
			}},
		{"one is heard by no other node", func(from, to string) bool { return from == "b" }, map[string]string{
			"a": "heard 2: a, c; no answer from b",
			"b": "heard 3: a, b, c; but a does not hear b; c does not hear b",
			"c": "heard 2: a, c; no answer from b",
		}},
		{"none hears another", func(from, to string) bool { return true }, map[string]string{
			"a": "heard 1: a; no answer from b, c", "b": "heard 1: b; no answer from a, c",
			"c": "heard 1: c; no answer from a, b",
		}},
	} {
		w := newWorld(t, 1, LAN())
		w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
		w.cut = func(from, to *node) bool { return c.cut(from.addr, to.addr) }
		for _, a := range addrs(3) {
			w.start(a, nil)
		}
		w.run(10 * time.Second)
		for _, n := range w.living() {
			if n.m.View() != nil || len(n.waiting) == 0 ||
				!strings.Contains(n.waiting[len(n.waiting)-1], c.want[n.addr]) {
				t.Errorf("%s: %s says %q, want %q", c.name, n.addr, n.waiting, c.want[n.addr])
			}
		}
	}
}

// TestWhoOnlyJoinsSaysWhatItHeard: without a cluster there is nothing to join, whatever other nodes
// are looking for one.
func TestWhoOnlyJoinsSaysWhatItHeard(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.Seeds = addrs(3)
	a := w.start("a", nil)
	w.start("b", func(c *Config) { c.BootstrapExpect = 2 })
	w.run(10 * time.Second)
	if want := "BootstrapExpect 0 founds none; heard nodes without one: b; no answer from c"; len(a.waiting) == 0 ||
		!strings.Contains(a.waiting[len(a.waiting)-1], want) {
		t.Errorf("it says %q, want %q", a.waiting, want)
	}
}

// TestForeignDisk: a disk that belongs to another cluster is refused.
func TestForeignDisk(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.found(2)
	other := sampleView()
	w.disks["x"] = record.Record{Last: other}.Encode()
	n := w.start("x", nil)
	w.run(3 * time.Second)
	var refused *RefusedError
	if !errors.As(n.done, &refused) || refused.Reason != bootstrap.ReasonDisk {
		t.Errorf("ended with %v", n.done)
	}
}

// TestCopiedDiskIsRefused: two voters with one disk would be two votes of one witness after a cold
// start. Beside its original a copy is refused, at another address too, and by each node that it asks.
func TestCopiedDiskIsRefused(t *testing.T) {
	for _, original := range addrs(3) {
		w := newWorld(t, 1, LAN())
		ns := w.found(3)
		copied := w.start("x", func(c *Config) { c.Disk = diskOf(original) })
		w.run(12 * time.Second)
		var refused *RefusedError
		if !errors.As(copied.done, &refused) || refused.Reason != bootstrap.ReasonCopy ||
			!strings.Contains(refused.Text, original) {
			t.Errorf("a copy of the disk of %s ended with %v", original, copied.done)
		}
		if v := ns[0].m.View(); len(v.Members) != 3 {
			t.Errorf("view %v", v)
		}
		w.verdict()
	}
}

// TestDiskMayMove: with the disk of a dead member a node comes at any address, in its place, as one
// at the same address would.
func TestDiskMayMove(t *testing.T) {
	cfg := LAN()
	cfg.StableAfter, cfg.SelfDownAfter = time.Hour, 2*time.Hour
	w := newWorld(t, 1, cfg)
	ns := w.found(3)
	ns[1].crash()
	moved := w.start("x", func(c *Config) { c.Disk = diskOf(ns[1].addr) })
	if !w.until(20*time.Second, w.converged) {
		t.Fatal("not taken:", ns[0].m)
	}
	if v := ns[0].m.View(); v.Has(ns[1].uid) || !v.Has(moved.uid) {
		t.Errorf("view %v", v)
	}
	w.verdict()
}

// TestCopiedDisksDoNotFound: directories that were copied before the first start, as with an image
// of a machine, found nothing until one is removed.
func TestCopiedDisksDoNotFound(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	a := w.start("a", nil)
	b := w.start("b", func(c *Config) { c.Disk = diskOf("a") })
	c := w.start("c", nil)
	w.run(10 * time.Second)
	for _, n := range []*node{a, b, c} {
		if n.m.View() != nil || !strings.Contains(strings.Join(n.waiting, "\n"), "have the same disk") {
			t.Errorf("%v waits because of %q", n.m, n.waiting)
		}
	}
	b.crash()
	w.start("b", nil)
	if !w.until(20*time.Second, w.converged) {
		t.Error("not founded when the copy was removed:", a.m)
	}
	w.verdict()
}

// coldStart founds three nodes, lets them grow to six, and kills them all.
func coldStart(t *testing.T, seed uint64, s downing.Strategy) *world {
	w := newWorld(t, seed, LAN())
	w.base.Roles, w.base.Strategy = []string{"r"}, s
	w.found(3)
	for _, a := range []string{"d", "e", "f"} {
		w.start(a, nil)
	}
	if !w.until(20*time.Second, w.converged) {
		t.Fatal("did not grow:", w.nodes[0].m)
	}
	w.run(time.Second) // and settled
	for _, n := range w.living() {
		n.crash()
	}
	w.run(time.Second)
	return w
}

// TestColdStartNeedsQuorumOfDisks is V5. The cluster is formed with an expectation of three and
// grown to six. It starts again only with disks that could have gone on without the others. Then it
// is the same cluster, above the old epochs.
func TestColdStartNeedsQuorumOfDisks(t *testing.T) {
	for i, c := range []struct {
		s      downing.Strategy
		few    string // by age, a is the oldest; l stands for the one with the lowest uid, x for others
		enough string
	}{
		{downing.KeepMajority{}, "xxx", "l"},
		{downing.KeepMajority{}, "xx", "l"},
		{downing.StaticQuorum{Size: 4}, "lx", "xx"},
		{downing.KeepOldest{}, "bcdef", "a"},
		{downing.KeepOldest{DownIfAlone: true}, "abc", ""},
		{downing.KeepOldest{DownIfAlone: true}, "bcde", "f"},
		{downing.DownAll{}, "abcde", "f"},
	} {
		t.Run(fmt.Sprintf("%v/%s+%s", c.s, c.few, c.enough), func(t *testing.T) {
			w := coldStart(t, uint64(40+i), c.s)
			last := w.checker.newest()
			rest := last.Voters()
			start := func(names string) {
				for _, x := range names {
					i := int(x - 'a')
					switch x {
					case 'l':
						i = slices.IndexFunc(rest, func(m view.Member) bool { return m.UID == last.Members[0].UID })
					case 'x':
						i = slices.IndexFunc(rest, func(m view.Member) bool {
							return m.UID != last.Members[0].UID && m.UID != 0
						})
					}
					w.start(rest[i].Addr, nil)
					rest[i].UID = 0
				}
			}
			start(c.few)
			if c.enough != "" {
				w.run(30 * time.Second)
				for _, n := range w.living() {
					if n.m.View() != nil ||
						!strings.Contains(strings.Join(n.waiting, "\n"), "quorum of them is needed ("+c.s.String()) {
						t.Errorf("%v waits because of %q", n.m, n.waiting)
					}
				}
				start(c.enough)
			}
			if !w.until(30*time.Second, w.converged) {
				t.Fatal("enough of six did not found:", w.living()[0].m)
			}
			v := w.living()[0].m.View()
			founders := len(c.few) + len(c.enough)
			if v.Cluster != last.Cluster || v.Epoch <= last.Epoch || !v.Founded ||
				!reflect.DeepEqual(v.LastDisks("r"), [][]view.DiskID{last.Disks("r")}) ||
				len(v.Members) != founders {
				t.Errorf("founded %v after %v", v, last)
			}
			for _, m := range rest {
				if m.UID != 0 {
					w.start(m.Addr, nil)
				}
			}
			if !w.until(30*time.Second, w.converged) {
				t.Error("the rest did not join:", w.living()[0].m)
			}
			w.verdict()
		})
	}
}

// TestColdStartByWordOfOperator: BootstrapAnyDisks lets two of six go on.
func TestColdStartByWordOfOperator(t *testing.T) {
	w := coldStart(t, 5, downing.KeepMajority{})
	last := w.checker.newest()
	for _, a := range []string{"d", "f"} {
		w.start(a, func(c *Config) { c.BootstrapAnyDisks = true })
	}
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded:", w.living()[0].m)
	}
	if v := w.living()[0].m.View(); v.Cluster != last.Cluster || v.Epoch <= last.Epoch ||
		!reflect.DeepEqual(v.LastDisks("r"), [][]view.DiskID{v.Disks("r")}) {
		t.Errorf("founded %v after %v", v, last)
	}
}

// TestColdStartWaitsForOldLeases: two of three are killed and start again at once; the third lives
// on, cut off, on what they granted it. They may found anew only when that has run out.
func TestColdStartWaitsForOldLeases(t *testing.T) {
	w := newWorld(t, 6, LAN())
	w.found(3)
	third := w.acting()
	w.cut = func(a, b *node) bool { return a == third || b == third }
	for _, n := range w.living() {
		if n != third {
			n.crash()
			w.start(n.addr, nil)
		}
	}
	if !w.until(30*time.Second, func() bool { a := w.acting(); return a != nil && a != third }) {
		t.Fatal("not founded:", w.nodes[4].m)
	}
	w.cut = nil
	w.run(3 * time.Second) // it asks the nodes that are now where the others were
	if !errors.Is(third.done, ErrDowned) {
		t.Errorf("the third ended with %v: %v", third.done, third.m)
	}
	w.verdict()
}

// TestAcceptedViewCounts: a view that was only accepted may have been decided, so a founding needs
// its disks, too.
//
//  1. three nodes; a and b decide to take in d, e and f, and c never hears of it;
//  2. all are killed when a has accepted but not installed the last view;
//  3. a and c are a majority of the disks of the view that they have installed, and must not found.
func TestAcceptedViewCounts(t *testing.T) {
	w := newWorld(t, 8, LAN())
	w.found(3)
	vs := w.nodes[0].m.View().Voters()
	lead, a, c := w.byUID[vs[0].UID], w.byUID[vs[1].UID], w.byUID[vs[2].UID]
	w.cut = func(x, y *node) bool { return x == c || y == c }
	w.filter = func(_, to *node, msg message.Message) bool {
		_, commit := msg.(message.Commit)
		return !commit || to != a
	}
	w.watch = func(n *node, in Input, fx *Effects) {}
	w.start("d", nil)
	if !w.until(10*time.Second, func() bool { return lead.m.View().Epoch == 2 }) {
		t.Fatal("no second view:", lead.m)
	}
	if a.m.View().Epoch != 1 {
		t.Fatal("a was told:", a.m)
	}
	for _, n := range w.living() {
		n.crash()
	}
	w.cut, w.filter = nil, nil
	w.start(a.addr, nil)
	w.start(c.addr, nil)
	w.run(20 * time.Second)
	if !w.until(time.Minute, w.converged) {
		t.Fatal("two of three disks of both views did not found:", w.living()[0].m)
	}
	if v := w.living()[0].m.View(); v.Epoch != 3 {
		t.Errorf("founded %v, epoch 2 may have been decided", v)
	}
	w.verdict()
}

// TestFounderDiesBeforeLocking: the nodes that have locked cannot know whether the founding was
// completed. They end, start again under new uids, and found with the nodes that are there.
func TestFounderDiesBeforeLocking(t *testing.T) {
	w := newWorld(t, 9, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	w.restart = func(n *node) {
		if errors.Is(n.done, ErrStalled) {
			w.start(n.addr, nil)
		}
	}
	for _, a := range addrs(3) {
		w.start(a, nil)
	}
	victim := w.livingAt("a")
	for _, n := range w.living() {
		if n.uid > victim.uid {
			victim = n // the lowest uid proposes, and so locks first
		}
	}
	w.filter = func(_, to *node, msg message.Message) bool {
		if _, lock := msg.(bootstrap.Locked); lock && to == victim && victim.alive {
			victim.crash()
		}
		return true
	}
	w.run(5 * time.Second)
	if victim.alive {
		t.Fatal("no node locked")
	}
	w.run(w.base.BootstrapTimeout)
	stalled := 0
	for _, n := range w.nodes {
		if errors.Is(n.done, ErrStalled) {
			stalled++
		}
	}
	if stalled != 2 {
		t.Errorf("%d nodes stalled, want the 2 that had locked", stalled)
	}
	w.start(victim.addr, nil)
	if !w.until(30*time.Second, w.converged) {
		t.Error("not founded:", w.living()[0].m)
	}
	w.verdict()
}

// TestClusterGoneWhileJoining: a node that heard of a cluster founds none, and ends when it falls
// silent.
func TestClusterGoneWhileJoining(t *testing.T) {
	w := newWorld(t, 10, LAN())
	ns := w.found(1)
	w.filter = func(_, _ *node, msg message.Message) bool { _, commit := msg.(message.Commit); return !commit }
	j := w.start("j", nil)
	w.run(3 * time.Second)
	ns[0].crash()
	w.run(w.base.BootstrapTimeout + 2*time.Second)
	if !errors.Is(j.done, ErrStalled) {
		t.Errorf("ended with %v: %v", j.done, j.m)
	}
}

// TestStrayDiskDoesNotBlock: a node's disk belongs to another cluster, here one that was perhaps
// never founded. The node looks for a cluster beside others that found theirs anew. They leave it
// out, and take it in as a joiner.
func TestStrayDiskDoesNotBlock(t *testing.T) {
	w := newWorld(t, 11, LAN())
	w.found(3)
	v := sampleView()
	v.Lines = nil
	v.Members = []view.Member{
		{UID: 1, Addr: "y", Status: view.Up, UpNumber: 2, Disk: diskOf("y"), Formats: format.Build()},
		{UID: 2, Addr: "x", Status: view.Up, UpNumber: 1, Disk: diskOf("x"), Formats: format.Build()},
	}
	w.disks["x"] = record.Record{Pending: v}.Encode()
	for _, n := range w.living() {
		n.crash()
	}
	for _, a := range []string{"x", "a", "b", "c"} {
		w.start(a, nil)
	}
	if !w.until(30*time.Second, w.converged) {
		t.Error("not founded:", w.living()[0].m)
	}
	w.verdict()
}
