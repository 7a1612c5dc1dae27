package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// otherEpoch: quorums of different epochs need not meet. Random worlds do not show it: for long
// enough all that tells of the new view has to get lost on a way on which heartbeats and grants
// pass.
//
//  1. the second node does not hear the oldest and takes in joiners that only it hears, until they
//     vote;
//  2. the third installs that view and never learns of a later one; what would tell the oldest of
//     it is lost;
//  3. the island around the second node, four of six, removes the oldest on an operator's word,
//     without the third;
//  4. the oldest lives on what the third grants, if that grants to a node that it hears in another
//     epoch: the two are a quorum of the view that the oldest has.
func otherEpoch(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, patient)
	outside := func(n *node) bool { return n == oldest || n == third }
	sealed := false
	w.filter = func(a, b *node, msg message.Message) bool {
		_, tells := msg.(message.Commit)
		switch {
		case tells && b == oldest:
			return false
		case outside(a) == outside(b):
			return true
		case sealed || a == oldest || b == oldest:
			return false
		}
		return a == second || b == second
	}
	grown := growIsland(w, second, outside)
	if !w.until(20*time.Second, func() bool { return grown() && len(third.m.View().Voters()) == 6 }) {
		t.Fatal("the island did not grow:", second.m, third.m)
	}
	sealed = true
	second.step(Down{oldest.uid})
	w.run(15 * time.Second)
	if second.m.View().Has(oldest.uid) || !third.m.View().Has(oldest.uid) {
		t.Fatal("the island did not remove the oldest, or the third heard of it:", second.m, third.m)
	}
	return w
}

// twoToOne is V3: the leaver has the lowest uid, or the other has, so that nothing is decided
// without its vote; it accepts its own removal, and stays until it sees the view without itself
// even if it is not told.
func twoToOne(t *testing.T, f defect.Set) *world {
	cfg := LAN()
	cfg.Plant(f)
	var w *world
	for _, lowestLeaves := range []bool{false, true} {
		w = newWorld(t, 3, cfg)
		w.found(2)
		vs := w.nodes[0].m.View().Voters()
		leaver, stays := w.byUID[vs[0].UID], w.byUID[vs[1].UID]
		if leaver.uid > stays.uid != !lowestLeaves {
			leaver, stays = stays, leaver
		}
		told := 0
		w.filter = func(a, b *node, msg message.Message) bool {
			if c, ok := msg.(message.Commit); ok && !c.View.Has(b.uid) {
				told++
				return told > 1 // the first is lost
			}
			return true
		}
		leaver.step(Leave{})
		if !w.until(20*time.Second, func() bool { return len(stays.m.View().Members) == 1 }) {
			w.checker.fault(w, "two did not become one: %v; %v", leaver.m, stays.m)
			return w
		}
		if !leaver.alive {
			w.checker.fault(w, "the leaver went before it saw a view without itself")
		}
		w.run(2 * time.Second)
		if !errors.Is(leaver.done, ErrLeft) {
			w.checker.fault(w, "the leaver ended with %v", leaver.done)
		}
		if !stays.acts() {
			w.checker.fault(w, "the one that stays does not act: %v", stays.m)
		}
		if len(w.checker.faults) > 0 {
			return w
		}
	}
	return w
}

// stoppedForGood is V3: a node that has said that it stopped holds no lease and proposes nothing
// any more, whatever happens.
func stoppedForGood(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, nil)
	w.cut = func(a, b *node) bool { return a == oldest || b == oldest }
	oldest.step(Stopped{})
	ballots := oldest.m.Stats().BallotsStarted
	w.run(2 * time.Second)
	if oldest.m.Lease().Holds(oldest.local()) {
		w.checker.fault(w, "a lease after Stopped")
	}
	w.cut = nil
	second.crash()
	third.crash()
	w.run(3 * time.Second)
	if oldest.m.Lease().Holds(oldest.local()) {
		w.checker.fault(w, "a lease after Stopped, and all others are gone")
	}
	if got := oldest.m.Stats().BallotsStarted; got != ballots {
		w.checker.fault(w, "%d ballots after Stopped", got-ballots)
	}
	if !w.until(w.base.SelfDownAfter+time.Second, func() bool { return errors.Is(oldest.done, ErrLeft) }) {
		w.checker.fault(w, "the last one did not go: %v", oldest.m)
	}
	return w
}

// lateLeaver is V4: a leaver stays until its replicators have settled.
func lateLeaver(t *testing.T, f defect.Set) *world {
	cfg := LAN()
	cfg.Plant(f)
	w := newWorld(t, 4, cfg)
	ns := w.found(3)
	w.settle = 8 * time.Second
	ns[0].step(Leave{})
	w.run(7 * time.Second)
	if !ns[1].m.View().Has(ns[0].uid) || !ns[0].stopped {
		w.checker.fault(w, "dropped before it had settled: %v", ns[1].m)
	}
	if !w.until(3*time.Second, func() bool { return errors.Is(ns[0].done, ErrLeft) }) {
		w.checker.fault(w, "not dropped after it had settled: %v", ns[1].m)
	}
	return w
}

// TestManyLeaveInTurns is V4: a member hands on what only a majority of a role knows. So no view is
// without half of the nodes of the one before, or more, because they leave.
func TestManyLeaveInTurns(t *testing.T) {
	for _, n := range []int{3, 4, 5, 7} {
		for roles := range 2 {
			w := newWorld(t, uint64(10*n+roles), LAN())
			if roles == 1 {
				w.base.Roles = []string{"data"}
			}
			ns := w.found(n)
			last, most := len(ns), 0
			w.watch = func(_ *node, _ Input, fx *Effects) {
				for _, v := range fx.Install {
					if now := len(v.Members); now < last {
						if last-now > max(1, last/2) {
							t.Errorf("of %d nodes %d go with one view", last, last-now)
						}
						last, most = now, max(most, last-now)
					}
				}
			}
			for _, leaver := range ns[1:] {
				leaver.step(Leave{})
			}
			if !w.until(10*time.Second, func() bool { return last == 1 && len(w.living()) == 1 }) {
				t.Errorf("%d are left of %d: %v", last, n, ns[0].m)
			}
			if n > 3 && most < 2 {
				t.Errorf("of %d nodes never two go with one view", n)
			}
			w.verdict()
		}
	}
}

// lateLearner is V7: no learner votes before it has caught up.
func lateLearner(t *testing.T, f defect.Set) *world {
	w, oldest, _, _ := scripted(t, f, nil)
	w.settle = 8 * time.Second
	learner := w.start("d", nil)
	w.run(7 * time.Second)
	if o, ok := oldest.m.View().Member(learner.uid); !ok || o.Status != view.Joining {
		w.checker.fault(w, "up before it has caught up: %v", oldest.m)
	}
	if !w.until(3*time.Second, func() bool {
		o, _ := oldest.m.View().Member(learner.uid)
		return o.Status == view.Up
	}) {
		w.checker.fault(w, "not up after it has caught up: %v", oldest.m)
	}
	return w
}

// newcomer is V6. A member that held a lease in the view before goes on under it. A member that
// comes up in a view has none, and must not wait for the next heartbeats. Nor must it wait for its
// replicators: that they have settled is told at once, too.
func newcomer(t *testing.T, f defect.Set) *world {
	w, _, _, _ := scripted(t, f, nil)
	w.stuck = true
	var up time.Duration
	learner := w.start("d", nil)
	w.watch = func(n *node, _ Input, fx *Effects) {
		for _, v := range fx.Install {
			if o, _ := v.Member(learner.uid); n == learner && o.Status == view.Up && up == 0 {
				up = w.now
			}
		}
	}
	if !w.until(10*time.Second, func() bool { return up > 0 && learner.m.Lease().Holds(learner.local()) }) {
		w.checker.fault(w, "no lease: %v", learner.m)
	}
	if gap := w.now - up; gap > w.base.HeartbeatInterval/4 {
		w.checker.fault(w, "%v from coming up to the first lease", gap)
	}
	return w
}
