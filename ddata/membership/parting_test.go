package membership

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
)

// endAll stops all nodes within spread of each other, each after a hand-over of a few milliseconds.
// It demands that all end soon, and as nodes that have left.
func (w *world) endAll(spread, within time.Duration) error {
	w.handOff = 5 * time.Millisecond
	w.even = w.loss == 0 // no message overtakes another, as on a connection
	nodes, last := w.living(), time.Duration(0)
	for _, n := range nodes {
		at := time.Duration(w.rng.Int64N(int64(spread)))
		last = max(last, at)
		w.after(at, func() { n.step(Leave{}) })
	}
	w.run(last)
	if !w.until(within, func() bool { return len(w.living()) == 0 }) {
		return fmt.Errorf("after %v %v is still here", within, w.living()[0].m)
	}
	for _, n := range nodes {
		if !errors.Is(n.done, ErrLeft) {
			return fmt.Errorf("%v ended: %w", n, n.done)
		}
	}
	return nil
}

// TestAllStopThoughMessagesAreLost: all nodes of a cluster are stopped at once. A node that decides
// that another one is out, or sees that all have stopped, goes only when the others know it or
// cannot. So a lost message leaves no node behind.
func TestAllStopThoughMessagesAreLost(t *testing.T) {
	for _, x := range []struct {
		loss   float64
		within time.Duration // ballots take two heartbeats where their messages get lost
	}{{0, time.Second}, {0.05, 8 * time.Second}, {0.2, 16 * time.Second}} {
		for _, k := range []int{2, 3, 5} {
			for seed := range uint64(40) {
				w := newWorld(t, 2000+seed, LAN())
				w.found(k)
				w.loss = x.loss
				if err := w.endAll(20*time.Millisecond, x.within); err != nil {
					t.Errorf("loss %g, %d nodes, seed %d: %v", x.loss, k, seed, err)
				}
				w.verdict()
			}
		}
	}
}

// TestAllStopThoughLastWordsAreLost: what a node sends with its last step does not arrive, as when
// the connection for it has yet to be made. The others must not depend on it.
func TestAllStopThoughLastWordsAreLost(t *testing.T) {
	for _, k := range []int{2, 3, 5} {
		for seed := range uint64(40) {
			w := newWorld(t, 3000+seed, LAN())
			w.found(k)
			w.muteLast = true
			if err := w.endAll(20*time.Millisecond, 3*w.base.HeartbeatInterval); err != nil {
				t.Errorf("%d nodes, seed %d: %v", k, seed, err)
			}
			w.verdict()
		}
	}
}

// TestAllStopThoughOneMissesAView: a member that has missed the view which lets another in says that it
// has stopped to the members of its own view alone, and goes. The one that was let in hears it from a
// member that parts.
func TestAllStopThoughOneMissesAView(t *testing.T) {
	for _, k := range []int{3, 4, 5} {
		for seed := range uint64(40) {
			w := newWorld(t, 4000+seed, LAN())
			ns := w.found(k)
			late := w.byUID[ns[0].m.View().Full()[k-1].UID] // the youngest, so that another decides
			w.filter = func(_, to *node, msg message.Message) bool {
				c, ok := msg.(message.Commit)
				return to != late || !ok || c.View.Epoch != 2
			}
			joiner := w.start("z", nil)
			if !w.until(10*time.Second, func() bool { return joiner.m.View() != nil }) {
				t.Fatal("it was not let in:", joiner.m)
			}
			for _, n := range w.living() { // none has anything to hand over
				w.after(time.Duration(w.rng.Int64N(int64(20*time.Millisecond))), func() {
					n.step(Leave{})
					n.step(Stopped{})
				})
			}
			// one and then another waits for one and a half heartbeats for the one that lags
			if !w.until(3*w.base.HeartbeatInterval, func() bool { return len(w.living()) == 0 }) {
				t.Errorf("%d nodes, seed %d: still here: %v", k, seed, w.living()[0].m)
			}
			w.verdict()
		}
	}
}

// TestDeciderTellsThoseItDropped: of two, one decides that the other is out, and the word is lost,
// again and again. It stays until the other has confirmed it, although it has stopped too. It does
// not wait for one that is dead.
func TestDeciderTellsThoseItDropped(t *testing.T) {
	for _, dies := range []bool{false, true} {
		w := newWorld(t, 5, LAN())
		w.handOff = time.Hour // Stopped is said below
		ns := w.found(2)
		decider, other := ns[0], ns[1]
		deaf := true
		w.filter = func(_, to *node, msg message.Message) bool {
			c, ok := msg.(message.Commit)
			return !deaf || to != other || !ok || c.View.Has(other.uid)
		}
		other.step(Leave{})
		w.run(100 * time.Millisecond)
		other.step(Stopped{})
		if !w.until(time.Second, func() bool { return !decider.m.View().Has(other.uid) }) {
			t.Fatal("it was not decided:", decider.m)
		}
		decider.step(Leave{})
		decider.step(Stopped{})
		w.run(w.base.HeartbeatInterval)
		if !decider.alive {
			t.Fatal("the decider has ended before the other one knew:", decider.done)
		}
		if deaf = dies; dies {
			other.crash()
		}
		if !w.until(2*w.base.HeartbeatInterval, func() bool { return len(w.living()) == 0 }) {
			t.Fatal("still here:", w.living()[0].m)
		}
		if !errors.Is(decider.done, ErrLeft) || !dies && !errors.Is(other.done, ErrLeft) {
			t.Errorf("they ended: %v, %v", decider.done, other.done)
		}
		w.verdict()
	}
}

// TestNobodyJoinsAClusterThatEnds: a node that waits to be let in when all members stop is told
// that the cluster has ended, so that it starts again at once and does not wait for
// BootstrapTimeout.
func TestNobodyJoinsAClusterThatEnds(t *testing.T) {
	w := newWorld(t, 6, LAN())
	w.found(3)
	w.filter = func(_, _ *node, msg message.Message) bool { // so that nothing is decided any more
		_, prepare := msg.(message.Prepare)
		return !prepare
	}
	joiner := w.start("d", func(c *Config) { c.BootstrapExpect = 3 })
	w.run(500 * time.Millisecond)
	for _, n := range w.living()[:3] {
		n.step(Leave{})
		n.step(Stopped{})
	}
	if !w.until(w.base.HeartbeatInterval, func() bool { return len(w.living()) == 0 }) {
		t.Fatal("still here:", w.living()[0].m)
	}
	if !errors.Is(joiner.done, ErrStalled) {
		t.Errorf("the joiner ended: %v", joiner.done)
	}
	w.verdict()
}

// TestLeaveWhileTheViewThatLetsItInIsOnItsWay: a node is asked to leave while it is Joining, and at
// the same time it is decided that it is Up. It then holds a lease like any member, becomes
// Leaving, and hands over what it was given.
func TestLeaveWhileTheViewThatLetsItInIsOnItsWay(t *testing.T) {
	w := newWorld(t, 8, LAN())
	w.found(3)
	n := w.start("d", nil)
	held, asked := false, false
	w.reactMore = func(x *node, e Event) {
		if up, ok := e.(MemberUp); ok && up.Member.UID == n.uid && x != n && !asked {
			asked = true
			n.step(Leave{})
		}
		held = held || n.m.Lease().Holds(n.local())
	}
	if !w.until(20*time.Second, func() bool { return n.done != nil }) {
		t.Fatal("it has not left:", n.m)
	}
	if !asked || !held || !n.stopped || !errors.Is(n.done, ErrLeft) {
		t.Errorf("asked %t, held a lease %t, handed over %t, ended: %v", asked, held, n.stopped, n.done)
	}
	w.verdict()
}

// TestLeaveWhileJoining: a node that is asked to leave before it is Up stays until it has stopped, and
// then never comes up.
func TestLeaveWhileJoining(t *testing.T) {
	w := newWorld(t, 9, LAN())
	ns := w.found(3)
	w.settle = time.Hour // it does not catch up
	n := w.start("d", nil)
	if !w.until(10*time.Second, func() bool { return n.m.View() != nil }) {
		t.Fatal("it was not let in:", n.m)
	}
	n.step(Leave{})
	w.run(5 * w.base.HeartbeatInterval)
	if n.done != nil || !ns[0].m.View().Has(n.uid) {
		t.Fatal("it was dropped before it has stopped:", n.m, ns[0].m.View())
	}
	n.step(Stopped{})
	if !w.until(w.base.HeartbeatInterval, func() bool { return n.done != nil && !ns[0].m.View().Has(n.uid) }) {
		t.Fatal("it was not dropped:", n.m, ns[0].m.View())
	}
	if !errors.Is(n.done, ErrLeft) || n.stopped || ns[0].m.View().LastUp != 3 {
		t.Errorf("ended: %v, handed over %t, view %v", n.done, n.stopped, ns[0].m.View())
	}
	w.verdict()
}

// TestLeaveWhileJoiningWithSomethingToHandOver: a node that is asked to leave before it is Up, and has
// not stopped, comes up when it has caught up. Then it leaves like any other.
func TestLeaveWhileJoiningWithSomethingToHandOver(t *testing.T) {
	w := newWorld(t, 10, LAN())
	ns := w.found(3)
	w.settle = 2 * time.Second
	n := w.start("d", nil)
	if !w.until(10*time.Second, func() bool { return n.m.View() != nil }) {
		t.Fatal("it was not let in:", n.m)
	}
	n.step(Leave{})
	if !w.until(20*time.Second, func() bool { return n.done != nil && !ns[0].m.View().Has(n.uid) }) {
		t.Fatal("it has not left:", n.m, ns[0].m.View())
	}
	if !errors.Is(n.done, ErrLeft) || !n.stopped || ns[0].m.View().LastUp != 4 {
		t.Errorf("ended: %v, handed over %t, view %v", n.done, n.stopped, ns[0].m.View())
	}
	w.verdict()
}
