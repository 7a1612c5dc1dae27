package membership

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestJoinersShareADecision: nodes that ask while a decision is held up come in with one view.
func TestJoinersShareADecision(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	held := true
	w.filter = func(_, _ *node, msg message.Message) bool { _, paxos := ballotOf(msg); return !paxos || !held }
	for _, a := range []string{"d", "e", "f", "g", "h"} {
		w.start(a, nil)
	}
	w.run(4 * time.Second)
	held = false
	if !w.until(20*time.Second, func() bool { return len(ns[0].m.View().Members) == 8 }) {
		t.Fatal("not joined:", ns[0].m)
	}
	if e := ns[0].m.View().Epoch; e != 2 {
		t.Errorf("five joiners took %d decisions", e-1)
	}
	if !w.until(20*time.Second, w.converged) {
		t.Error("not all Up:", ns[0].m)
	}
	w.verdict()
}

// TestManualKeepsUnreachable: joins go on while a minority is unreachable; it is dropped when the
// operator says so.
func TestManualKeepsUnreachable(t *testing.T) {
	cfg := LAN()
	cfg.Strategy = downing.Manual{}
	w := newWorld(t, 2, cfg)
	ns := w.found(3)
	ns[2].crash()
	w.run(30 * time.Second)
	d := w.start("d", nil)
	w.run(5 * time.Second)
	v := ns[0].m.View()
	if me, _ := v.Member(d.uid); me.Status != view.Up || !v.Has(ns[2].uid) {
		t.Errorf("want %v Up and %v kept: %v", d, ns[2], v)
	}
	d.step(Down{ns[2].uid})
	if !w.until(10*time.Second, w.converged) {
		t.Error("not dropped on an operator's word:", ns[0].m)
	}
	w.verdict()
}

// TestJoinersDoNotDelayRemoval: a view that only lets a node in would renew all promises (G3).
func TestJoinersDoNotDelayRemoval(t *testing.T) {
	w := newWorld(t, 3, LAN())
	ns := w.found(3)
	ns[0].crash()
	began := w.now
	for i := range 30 {
		w.after(time.Duration(i)*time.Second, func() { w.start(fmt.Sprintf("j%d", i), nil) })
	}
	limit := w.base.UnreachableAfter + w.base.StableAfter + w.base.promise()
	if !w.until(limit, func() bool { return !ns[1].m.View().Has(ns[0].uid) }) {
		t.Errorf("still there after %v: %v", limit, ns[1].m)
	}
	t.Logf("removed after %v", w.now-began)
	w.verdict()
}

// TestDeadGoWhileLastVoterWaits: the only living voter wants to leave. Only a learner can take its
// place, and it catches up only once it need not hear the dead voter any more (a replicator reads
// from a majority).
func TestDeadGoWhileLastVoterWaits(t *testing.T) {
	w := newWorld(t, 11, LAN())
	ns := w.found(2)
	stays, dies := ns[0], ns[1]
	if dies.uid < stays.uid { // of two, the one with the lowest uid is a quorum
		stays, dies = dies, stays
	}
	w.settle = time.Hour
	learner := w.start("c", nil)
	if !w.until(10*time.Second, func() bool { return stays.m.View().Has(learner.uid) }) {
		t.Fatal("the learner was not let in:", stays.m)
	}
	dies.crash()
	if !w.until(w.base.UnreachableAfter+time.Second, func() bool { return !stays.reaches(dies) }) {
		t.Fatal("no node noticed:", stays.m)
	}
	stays.step(Leave{})
	stays.step(Stopped{})
	stays.step(Settled{stays.m.View().Epoch + 10}) // nothing else holds it back
	limit := w.base.UnreachableAfter + w.base.StableAfter + w.base.promise()
	if !w.until(limit, func() bool { return !stays.m.View().Has(dies.uid) }) {
		t.Fatal("the dead voter is still in:", stays.m)
	}
	if stays.done != nil || !stays.m.View().Has(stays.uid) {
		t.Fatal("the last voter went before anybody could follow it:", stays.m)
	}
	learner.step(CaughtUp{true})
	if !w.until(10*time.Second, func() bool { return errors.Is(stays.done, ErrLeft) && learner.acts() }) {
		t.Error("the learner did not take over:", stays.m, learner.m)
	}
	w.verdict()
}

// TestAllLeave: a cluster that shuts down as a whole, at once or one after the other.
func TestAllLeave(t *testing.T) {
	for _, apart := range []time.Duration{0, 10 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second} {
		w := newWorld(t, 5, LAN())
		ns := w.found(4)
		for i, n := range ns {
			w.after(time.Duration(i)*apart, func() { n.step(Leave{}) })
		}
		w.run(4*apart + 5*time.Second)
		for _, n := range ns {
			if !errors.Is(n.done, ErrLeft) {
				t.Errorf("%v apart: %v ended with %v: %v", apart, n, n.done, n.m)
			}
		}
		w.verdict()
	}
}

// TestMajorityLost: the rest cannot decide; it loses its leases and gives up.
func TestMajorityLost(t *testing.T) {
	w := newWorld(t, 6, LAN())
	ns := w.found(5)
	for _, n := range ns[:3] {
		n.crash()
	}
	w.run(w.base.SelfDownAfter + w.base.LeaseDuration + time.Second)
	for _, n := range ns[3:] {
		if !errors.Is(n.done, ErrDowned) {
			t.Errorf("%v ended with %v", n.m, n.done)
		}
	}
	w.verdict()
}

// TestHintsDecideNothing: whatever memberlist says of a cluster that is well, its view stays; of a
// dead node it makes it unreachable sooner, and does not touch the lease's time (§C.9, 7).
func TestHintsDecideNothing(t *testing.T) {
	w := newWorld(t, 7, LAN())
	ns := w.found(3)
	epoch := ns[0].m.View().Epoch
	for range 2000 {
		about := ns[w.rng.IntN(3)]
		ns[w.rng.IntN(3)].step(Hint{UID: about.uid, Addr: about.addr, Alive: w.rng.IntN(2) == 0})
		w.run(10 * time.Millisecond)
	}
	if e := ns[0].m.View().Epoch; e != epoch {
		t.Errorf("hints changed %v to %v", epoch, ns[0].m.View())
	}
	for _, n := range ns {
		if lost := n.m.Stats().LeasesLost; lost > 0 {
			t.Errorf("%v lost its lease %d times", n, lost)
		}
	}
	ns[0].crash()
	w.run(w.base.HeartbeatInterval)
	ns[1].step(Hint{UID: ns[0].uid, Addr: ns[0].addr})
	w.run(w.base.UnreachableAfter/2 + 100*time.Millisecond)
	if ns[1].reaches(ns[0]) {
		t.Error("a hint does not shorten suspicion")
	}
	w.verdict()
}

// TestMinMembersOfRole gates the first Up per role, too; afterwards nothing is gated.
func TestMinMembersOfRole(t *testing.T) {
	cfg := LAN()
	cfg.MinMembersOf = map[string]int{"data": 2}
	cfg.Seeds, cfg.BootstrapExpect = addrs(2), 2
	w := newWorld(t, 8, cfg)
	role := func(r string) func(*Config) { return func(c *Config) { c.Roles = []string{r} } }
	w.start("a", role("data"))
	w.start("b", role("web"))
	w.run(5 * time.Second)
	w.start("c", role("web"))
	w.run(5 * time.Second)
	if v := w.nodes[0].m.View(); v.Open() || len(v.Members) != 3 || w.acting() != nil {
		t.Errorf("Up without two of the role: %v", v)
	}
	w.start("d", role("data"))
	if !w.until(10*time.Second, w.converged) {
		t.Error("not Up:", w.nodes[0].m)
	}
	w.livingAt("d").step(Leave{})
	w.run(5 * time.Second)
	if !w.converged() || len(w.living()) != 3 {
		t.Error("the gate has closed again:", w.nodes[0].m)
	}
	w.verdict()
}

// TestNewIncarnationReplacesOld: at the same address, without waiting for StableAfter, but not
// before the lease of the old one has run out.
func TestNewIncarnationReplacesOld(t *testing.T) {
	cfg := LAN()
	cfg.StableAfter, cfg.SelfDownAfter = time.Hour, 2*time.Hour
	w := newWorld(t, 9, cfg)
	ns := w.found(3)
	ns[1].crash()
	began := w.now
	again := w.start(ns[1].addr, nil)
	if !w.until(20*time.Second, w.converged) {
		t.Fatal("not replaced:", ns[0].m)
	}
	t.Logf("replaced after %v", w.now-began)
	if v := ns[0].m.View(); v.Has(ns[1].uid) || !v.Has(again.uid) {
		t.Errorf("view %v", v)
	}
	w.verdict()
}

// TestLocalPresetIsFast: with the Local preset the death of any one of three is decided in little
// more than a second.
func TestLocalPresetIsFast(t *testing.T) {
	var worst time.Duration
	for seed := uint64(1); seed <= 30; seed++ {
		w := newWorld(t, seed, Local())
		ns := w.found(3)
		w.run(time.Second + time.Duration(w.rng.Int64N(int64(100*time.Millisecond))))
		ns[w.rng.IntN(3)].crash()
		began := w.now
		if !w.until(2*time.Second, w.converged) {
			t.Fatalf("seed %d: not decided", seed)
		}
		worst = max(worst, w.now-began)
		w.verdict()
	}
	t.Logf("crash to new coordinator with a lease: at most %v", worst)
	if worst > 1300*time.Millisecond {
		t.Errorf("took %v", worst)
	}
}

// TestSameSeedSameRun: nothing depends on map order or on anything else but the seed.
func TestSameSeedSameRun(t *testing.T) {
	trace := func() string {
		c := newChaos(t, 12, LAN())
		c.end = 60 * time.Second
		h := newTrace()
		c.w.watch = func(n *node, in Input, fx *Effects) { h.add("%v %v %v %v\n", c.w.now, n, in, fx) }
		c.play()
		return h.sum()
	}
	if a, b := trace(), trace(); a != b {
		t.Errorf("two runs of one seed differ: %s and %s", a, b)
	}
}

// TestStrangersTellNoViews: a node that is neither in the view nor in the own one is not believed,
// however well its view is formed.
func TestStrangersTellNoViews(t *testing.T) {
	w := newWorld(t, 12, LAN())
	n := w.found(2)[0]
	before := n.m.View()
	v := before.Next(before.Hash())
	v.Members = before.Members
	n.step(Receive{From: 999, Msg: message.Commit{View: v}})
	if n.m.View() != before || n.m.Stats().DroppedOtherCluster != 1 {
		t.Errorf("it took %v", n.m.View())
	}
	n.step(Receive{From: before.Members[0].UID + before.Members[1].UID - n.uid, Msg: message.Commit{View: v}})
	if n.m.View() != v {
		t.Errorf("a member's word was not taken: %v", n.m.View())
	}
}

// TestJoinersFindTheClusterThroughEachOther: a node that only joins, and knows only another that
// only joins, comes in all the same.
func TestJoinersFindTheClusterThroughEachOther(t *testing.T) {
	w := newWorld(t, 12, LAN())
	only := func(seed string) func(*Config) {
		return func(c *Config) { c.Seeds, c.BootstrapExpect = []string{seed}, 0 }
	}
	w.start("x", only("y"))
	w.start("y", only("a"))
	w.run(time.Second)
	w.found(2)
	if !w.until(20*time.Second, func() bool { return w.converged() && len(w.living()) == 4 }) {
		t.Errorf("not all Up: %v; %v", w.livingAt("x").m, w.livingAt("y").m)
	}
	w.verdict()
}
