package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/defect"
)

// arbitratedWorld founds n nodes that LeaseMajority decides for, and returns them by age. The
// oldest holds the lease.
func arbitratedWorld(t *testing.T, n int, f defect.Set) (w *world, byAge []*node) {
	cfg := LAN()
	cfg.Strategy, cfg.planted = downing.LeaseMajority{}, f
	w = newWorld(t, 7, cfg)
	if testing.Verbose() {
		w.log = func(format string, args ...any) { t.Logf("%v "+format, append([]any{w.now}, args...)...) }
	}
	w.found(n)
	for _, v := range w.nodes[0].m.View().Voters() {
		byAge = append(byAge, w.byUID[v.UID])
	}
	if !w.until(5*time.Second, func() bool { return w.arbiterStore.holder == byAge[0] }) {
		t.Fatal("the oldest did not take the lease")
	}
	return w, byAge
}

// apart cuts the network between the nodes of a side and all others.
func apart(w *world, side ...*node) {
	in := make(map[*node]bool)
	for _, n := range side {
		in[n] = true
	}
	w.cut = func(a, b *node) bool { return in[a] != in[b] }
}

// earlierHolder: the oldest acts on what the third grants in the arbiter's name; the second, which
// does not hear the oldest, gets the lease and removes it. It has to wait for what was granted
// before.
func earlierHolder(t *testing.T, f defect.Set) *world {
	w, ns := arbitratedWorld(t, 3, f)
	oldest, second, third := ns[0], ns[1], ns[2]
	w.arbiterStore.fails = func(n *node, op arbitration.Op) bool { return n != third && op.Do == arbitration.Acquire }
	w.arbiterStore.take(w)
	if !w.until(10*time.Second, func() bool { return w.arbiterStore.holder == third }) {
		t.Fatal("the third did not take the lease")
	}
	w.run(3 * time.Second)
	w.arbiterStore.fails = func(n *node, op arbitration.Op) bool { return n != second && op.Do == arbitration.Acquire }
	w.cut = func(a, b *node) bool { return a != third && b != third }
	w.run(w.base.UnreachableAfter + w.base.StableAfter - 1100*time.Millisecond) // shortly before the removal is due
	if !oldest.acts() {
		t.Fatal("the oldest does not act on the arbiter's grants:", oldest.m)
	}
	w.arbiterStore.take(w)
	if !w.until(20*time.Second, func() bool { return second.m.View() != nil && !second.m.View().Has(oldest.uid) }) {
		t.Fatal("the oldest was not removed:", second.m)
	}
	w.run(time.Second)
	return w
}

// decidedAway: the oldest of two goes on alone by the arbiter's vote; then the other gets the
// lease. The record tells it that it is out.
func decidedAway(t *testing.T, f defect.Set) *world {
	w, ns := arbitratedWorld(t, 2, f)
	apart(w, ns[0])
	if !w.until(20*time.Second, func() bool { return len(ns[0].m.View().Members) == 1 }) {
		t.Fatal("the holder does not go on alone:", ns[0].m)
	}
	w.arbiterStore.fails = func(n *node, op arbitration.Op) bool { return n == ns[0] }
	w.arbiterStore.take(w)
	if !w.until(9*time.Second, func() bool { return !ns[1].alive || len(ns[1].m.View().Members) == 1 }) {
		t.Fatal("the other neither ended nor went on:", ns[1].m)
	}
	return w
}

// TestArbiterSpeaksAfterSaving: the holder of two decides to go on alone and dies before that is
// saved. The other must be the first to decide anything. Planted: an arbiter whose word is given
// before it is saved.
func TestArbiterSpeaksAfterSaving(t *testing.T) {
	play := func(early bool) *world {
		w, ns := arbitratedWorld(t, 2, defect.Set{})
		w.arbiterStore.early = early
		w.arbiterStore.fails = func(n *node, op arbitration.Op) bool {
			if r, _ := arbitration.Decode(op.Record); op.Do == arbitration.Save && r.View != nil && n == ns[0] {
				n.alive = false
			}
			return !n.alive
		}
		apart(w, ns[0])
		if !w.until(20*time.Second, func() bool { return !ns[0].alive }) {
			t.Fatal("the holder decided nothing:", ns[0].m)
		}
		w.arbiterStore.record = nil // nor did its promise reach the disk
		if !w.until(20*time.Second, func() bool { return len(ns[1].m.View().Members) == 1 && ns[1].acts() }) {
			t.Fatal("the other does not go on:", ns[1].m)
		}
		w.checker.history(w)
		return w
	}
	play(false).verdict()
	if w := play(true); len(w.checker.faults) == 0 {
		t.Error("nothing was noticed when the word was given early")
	} else {
		t.Log(w.checker.faults[0])
	}
}

// Either of two goes on when the other dies, with no gap in its lease if the survivor holds the
// arbiter's, and in any case within its patience.
func TestOneOfTwoGoesOn(t *testing.T) {
	for i, who := range []string{"the holder dies", "the other dies"} {
		t.Run(who, func(t *testing.T) {
			w, ns := arbitratedWorld(t, 2, defect.Set{})
			dies, stays := ns[i], ns[1-i]
			lost := stays.m.Stats().LeasesLost
			dies.crash()
			died := w.now
			if !w.until(20*time.Second, func() bool { return len(stays.m.View().Members) == 1 && stays.acts() }) {
				t.Fatal("it does not go on:", stays.m)
			}
			t.Logf("after %v, its lease was lost %d times", w.now-died, stays.m.Stats().LeasesLost-lost)
			if stays.m.Stats().LeasesLost != lost {
				t.Error("its lease was interrupted")
			}
			w.verdict()
		})
	}
}

// The larger side goes on, although the holder is on the smaller one; the smaller side goes on if
// there is no larger one.
func TestLargerSideGetsTheLease(t *testing.T) {
	for _, crash := range []bool{false, true} {
		w, ns := arbitratedWorld(t, 5, defect.Set{})
		small, large := ns[:2], ns[2:]
		apart(w, small...)
		goOn, end := large, small
		if crash {
			goOn, end = small, nil
			for _, n := range large {
				n.crash()
			}
		}
		if !w.until(25*time.Second, func() bool {
			return len(goOn[0].m.View().Members) == len(goOn) && goOn[0].acts()
		}) {
			t.Fatalf("larger side crashed %t: %v", crash, goOn[0].m)
		}
		if !w.until(40*time.Second, func() bool { return len(w.living()) == len(goOn) }) {
			t.Error("the smaller side did not end:", end[0].m)
		}
		for _, n := range end {
			if !errors.Is(n.done, ErrDowned) {
				t.Errorf("%v ended with %v", n, n.done)
			}
		}
		w.verdict()
	}
}

// A network that flaps about the half does not keep a side from ever using the lease: the holder
// yields once.
func TestFlappingDoesNotLock(t *testing.T) {
	w, ns := arbitratedWorld(t, 5, defect.Set{})
	ns[3].crash()
	ns[4].crash()
	flapper, down := ns[2], false
	var flap func()
	flap = func() {
		down = !down
		w.after(6*time.Second, flap)
	}
	flap()
	w.cut = func(a, b *node) bool { return down && (a == flapper) != (b == flapper) }
	if !w.until(60*time.Second, func() bool { return !ns[0].m.View().Has(ns[4].uid) }) {
		t.Error("the dead are still in:", ns[0].m)
	}
	w.verdict()
}

// While the arbiter cannot be reached, a cluster whose members all answer goes on: it takes in and
// lets go. But it drops no silent member.
func TestArbiterOutOfReach(t *testing.T) {
	w, ns := arbitratedWorld(t, 3, defect.Set{})
	w.arbiterStore.down = true
	w.arbiterStore.take(w)
	w.run(10 * time.Second)
	w.base.BootstrapExpect = 0
	fourth := w.start("d", nil)
	if !w.until(10*time.Second, func() bool { v := fourth.m.View(); return v != nil && len(v.Voters()) == 4 }) {
		t.Fatal("no node joins:", ns[0].m)
	}
	fourth.step(Leave{})
	if !w.until(10*time.Second, func() bool { return fourth.done == ErrLeft }) {
		t.Fatal("no node leaves:", fourth.m)
	}
	ns[2].crash()
	w.run(15 * time.Second)
	if len(ns[0].m.View().Members) != 3 || ns[0].acts() {
		t.Error("without the arbiter somebody was dropped, or acts:", ns[0].m)
	}
	w.arbiterStore.down = false
	if !w.until(12*time.Second, func() bool { return len(ns[0].m.View().Members) == 2 && ns[0].acts() }) {
		t.Error("the arbiter is back, and nothing goes on:", ns[0].m)
	}
	w.verdict()
}

// A holder of a role that counts carries the lease; the others never do.
func TestArbiterOfRole(t *testing.T) {
	cfg := LAN()
	cfg.Strategy = downing.LeaseMajority{Role: "core"}
	w := newWorld(t, 7, cfg)
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	for i, a := range addrs(3) {
		w.start(a, func(c *Config) {
			if i == 2 {
				c.Roles = []string{"core"}
			}
		})
	}
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("no cluster")
	}
	w.run(10 * time.Second)
	if h := w.arbiterStore.holder; h == nil || h.addr != "c" {
		t.Errorf("%v holds the lease", h)
	}
	w.verdict()
}

// A suspended machine's clock may have stood still while the lease ran out: it speaks for the
// arbiter only when it has asked again, and as a new holder.
func TestSuspendedHolderAsksAgain(t *testing.T) {
	w, ns := arbitratedWorld(t, 2, defect.Set{})
	before := ns[0].m.member.ballots.arbiter.Since()
	ns[0].step(Suspended{})
	if ns[0].m.member.ballots.speaks() {
		t.Error("it goes on speaking")
	}
	w.run(3 * time.Second)
	if h := w.arbiterStore.holder.m; !h.member.ballots.speaks() || !h.member.ballots.arbiter.Since().After(before) {
		t.Error("no node has asked again:", h)
	}
	w.verdict()
}

// TestArbiterOfAFoundingByWord: one of two dies, the other goes on through the arbiter for many
// views, and dies with its disk. The first, founded anew on an operator's word, knows of none of
// these views. The arbiter's record does, and must not put an end to it: the epochs of the founding
// are above.
func TestArbiterOfAFoundingByWord(t *testing.T) {
	w, byAge := arbitratedWorld(t, 2, defect.Set{})
	goes, stays := byAge[1], byAge[0]
	goes.crash()
	if !w.until(30*time.Second, func() bool { return len(stays.m.View().Members) == 1 }) {
		t.Fatal("it did not go on:", stays.m)
	}
	w.base.BootstrapExpect, w.base.Seeds = 0, []string{stays.addr}
	for range 2 {
		guest := w.start("x", nil)
		if !w.until(30*time.Second, func() bool { return len(stays.m.View().Voters()) == 2 }) {
			t.Fatal("no node gets in:", stays.m)
		}
		guest.crash()
		if !w.until(30*time.Second, func() bool { return len(stays.m.View().Members) == 1 }) {
			t.Fatal("no node gets out:", stays.m)
		}
	}
	stays.crash()
	w.run(time.Second)
	back := w.start(goes.addr, func(c *Config) { c.BootstrapExpect, c.BootstrapAnyDisks = 1, true })
	if !w.until(30*time.Second, func() bool {
		return w.arbiterStore.holder == back && back.m.member.ballots.speaks()
	}) || !back.acts() {
		t.Fatalf("%v, done %v; the arbiter's %v", back.m, back.done, w.arbiterStore.holder)
	}
	guest := w.start("y", func(c *Config) { c.Seeds = []string{back.addr} })
	if !w.until(30*time.Second, func() bool { return len(back.m.View().Voters()) == 2 }) {
		t.Fatal("no node gets in:", back.m)
	}
	guest.crash()
	if !w.until(30*time.Second, func() bool { return len(back.m.View().Members) == 1 && back.acts() }) {
		t.Error("one of two does not go on:", back.m)
	}
}
