package membership

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/report"
)

// TestAllPausedGoOn: while all nodes stand still no node can decide anything, so none is to blame.
func TestAllPausedGoOn(t *testing.T) {
	for _, base := range []Config{LAN(), Local()} {
		w := newWorld(t, 11, base)
		ns := w.found(3)
		pause := 10 * base.SelfDownAfter
		w.pauseAll(pause)
		w.run(pause - time.Millisecond)
		for _, n := range ns {
			if n.m.Lease().Holds(n.local()) {
				t.Errorf("the lease of %v outlasted the pause", n)
			}
		}
		if !w.until(base.UnreachableAfter, w.converged) || len(w.living()) != 3 {
			t.Errorf("after a pause of everybody for %v: %v; %v; %v", pause, ns[0].m, ns[1].m, ns[2].m)
		}
		w.verdict()
	}
}

// TestTimeAwakeCounts: pauses do not add up to patience without end.
func TestTimeAwakeCounts(t *testing.T) {
	w := newWorld(t, 12, LAN())
	ns := w.found(3)
	ns[0].crash()
	ns[1].crash()
	awake := time.Duration(0)
	for ns[2].alive && awake < 3*w.base.SelfDownAfter {
		w.pauseAll(time.Minute)
		w.run(time.Minute + 5*time.Second)
		awake += 5 * time.Second
	}
	if ns[2].alive || awake < w.base.SelfDownAfter/2 {
		t.Errorf("after %v awake without a majority: %v", awake, ns[2].m)
	}
	w.verdict()
}

// TestPausedFoundersGoOn: a founding to which all are locked is finished, however long they stood
// still on the way.
func TestPausedFoundersGoOn(t *testing.T) {
	w := newWorld(t, 13, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	for _, a := range addrs(3) {
		w.start(a, nil)
	}
	proposer := slices.MinFunc(w.nodes, func(a, b *node) int { return cmp.Compare(a.uid, b.uid) })
	w.filter = func(from, _ *node, msg message.Message) bool {
		_, lock := msg.(bootstrap.Locked)
		return !lock || from == proposer
	}
	locked := func() bool {
		return !slices.ContainsFunc(w.living(), func(n *node) bool { return !n.m.seeker.IsLocked() })
	}
	if !w.until(30*time.Second, locked) {
		t.Fatal("no node locked", w.living()[0].m)
	}
	w.pauseAll(5 * w.base.BootstrapTimeout)
	w.run(5 * w.base.BootstrapTimeout)
	w.filter = nil
	if !w.until(10*time.Second, w.converged) || len(w.living()) != 3 {
		t.Errorf("the founding was given up: %v", w.nodes[0].m)
	}
	w.verdict()
}

// TestPausedJoinerGoesOn: a node that has heard of a cluster goes on joining it after it stood
// still.
func TestPausedJoinerGoesOn(t *testing.T) {
	w := newWorld(t, 14, LAN())
	w.found(3)
	n := w.start("d", nil)
	if !w.until(10*time.Second, func() bool { return n.m.seeker.Joins() != 0 }) {
		t.Fatal("heard of nothing", n.m)
	}
	w.pauseAll(5 * w.base.BootstrapTimeout)
	if !w.until(6*w.base.BootstrapTimeout, w.converged) || !n.alive {
		t.Errorf("the joiner gave up: %v", n.m)
	}
	w.verdict()
}

// TestPausedLeaverStays: a leaver waits for the others' decision, and does not take a pause of all
// for their absence.
func TestPausedLeaverStays(t *testing.T) {
	w := newWorld(t, 15, LAN())
	ns := w.found(3)
	w.handOff = time.Millisecond
	w.filter = func(_, _ *node, msg message.Message) bool {
		_, accept := msg.(message.Accept)
		return !accept || !ns[0].m.member.self.Has(report.Stopped)
	}
	ns[0].step(Leave{})
	if !w.until(10*time.Second, func() bool { return ns[0].m.member.self.Has(report.Stopped) }) {
		t.Fatal("not stopped", ns[0].m)
	}
	w.pauseAll(5 * w.base.SelfDownAfter)
	w.run(5*w.base.SelfDownAfter + 100*time.Millisecond)
	if !ns[0].alive {
		t.Fatalf("ended with %v before the others had decided: %v", ns[0].done, ns[1].m)
	}
	w.filter = nil
	if !w.until(10*time.Second, func() bool { return !ns[0].alive && w.converged() }) || len(w.living()) != 2 {
		t.Errorf("no leave: %v", ns[0].m)
	}
	w.verdict()
}
