package membership

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// script is a worst case: a network that lets through just what hurts most. It plays it and returns
// the world; what went wrong is in its checker.
type script struct {
	name string
	rule string // the planted defect that must make it fail
	with defect.Set
	play func(t *testing.T, f defect.Set) *world
}

var scripts = []script{
	{"growing view, cut right after commit", "NoFreeze", defect.Of(defect.NoFreeze), growingView},
	{"growing view, cut right after commit", "NoInstallPromise", defect.Of(defect.NoInstallPromise), growingView},
	{"growing view, accepted by the one to be dropped", "NoV1", defect.Of(defect.NoV1), growingViewOwnVote},
	{"a voter replaced, its successor knows nothing", "NoFreeze of few voters",
		defect.Of(defect.NoFreeze), replacedVoter},
	{"a voter replaced, its successor knows nothing", "NoInstallPromise of few voters",
		defect.Of(defect.NoInstallPromise), replacedVoter},
	{"one node between two that cannot hear each other", "NoV2", defect.Of(defect.NoV2), betweenTwo},
	{"a firewall that refuses connections", "EndIsExpiry", defect.Of(defect.EndIsExpiry), refusingCut},
	{"the side that removes is heard by the removed", "NoPromise", defect.Of(defect.NoPromise), deafSuccessor},
	{"grants that come late", "LeaseFromReply", defect.Of(defect.LeaseFromReply), lateGrants},
	{"a lease on what an earlier holder granted", "NoArbiterWait", defect.Of(defect.NoArbiterWait), earlierHolder},
	{"a holder that was decided away", "NoArbiterRecord", defect.Of(defect.NoArbiterRecord), decidedAway},
	{"growing view, its end heard by one", "AnyEpoch", defect.Of(defect.AnyEpoch), otherEpoch},
	{"two become one", "GoesUnseen", defect.Of(defect.GoesUnseen), twoToOne},
	{"stopped is for good", "StoppedHolds", defect.Of(defect.StoppedHolds), stoppedForGood},
	{"stopped is for good", "StoppedProposes", defect.Of(defect.StoppedProposes), stoppedForGood},
	{"a leaver that settles late", "LeaveUnsettled", defect.Of(defect.LeaveUnsettled), lateLeaver},
	{"a learner that catches up late", "UpUnasked", defect.Of(defect.UpUnasked), lateLearner},
	{"a view that no disk remembers", "ToldUnstored", defect.Of(defect.ToldUnstored), unstored},
	{"a newcomer's first lease", "NoV6", defect.Of(defect.NoV6), newcomer},
	{"a failure detector that is wrong", "DeadMeansRemoved", defect.Of(defect.DeadMeansRemoved), wrongHint},
}

// TestScripts plays each worst case with all rules, and then without the one that it is about.
func TestScripts(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.rule, func(t *testing.T) {
			s.play(t, defect.Set{}).verdict()
			w := s.play(t, s.with)
			w.checker.history(w)
			if len(w.checker.faults) == 0 {
				t.Errorf("%s: nothing was noticed with %s", s.name, s.rule)
			} else {
				t.Logf("with %s: %s", s.rule, w.checker.faults[0])
			}
		})
	}
}

// scripted founds three nodes, and returns them by age.
func scripted(t *testing.T, f defect.Set, tune func(*Config)) (w *world, oldest, second, third *node) {
	cfg := LAN()
	cfg.Plant(f)
	if tune != nil {
		tune(&cfg)
	}
	w = newWorld(t, 7, cfg)
	if testing.Verbose() {
		w.log = func(format string, args ...any) { t.Logf("%v "+format, append([]any{w.now}, args...)...) }
	}
	w.found(3)
	vs := w.nodes[0].m.View().Voters()
	return w, w.byUID[vs[0].UID], w.byUID[vs[1].UID], w.byUID[vs[2].UID]
}

func patient(c *Config) { c.StableAfter, c.SelfDownAfter = 30*time.Second, 60*time.Second }

// growIsland lets the second node, which does not hear the oldest, take in three joiners that only
// it hears, until they and it are a majority. undecided filters what passes between it and the two
// others while that is decided.
func growIsland(w *world, second *node, outside func(*node) bool) (grown func() bool) {
	w.base.Seeds, w.base.BootstrapExpect = []string{second.addr}, 0
	w.settle = time.Hour
	var joiners []*node
	for _, a := range []string{"x", "y", "z"} {
		joiners = append(joiners, w.start(a, nil))
	}
	said := func() (n int) { // how many of them the second node knows to have caught up
		for _, j := range joiners {
			if second.m.member.reports.Flags(j.uid)&report.CaughtUp != 0 {
				n++
			}
		}
		return n
	}
	filter := w.filter
	w.filter = func(a, b *node, msg message.Message) bool { // they come up in one view
		if _, ok := msg.(message.Prepare); ok && said() > 0 && said() < len(joiners) {
			return false
		}
		return filter == nil || filter(a, b, msg)
	}
	told := false
	return func() bool {
		if !told && len(second.m.View().Learners()) == len(joiners) {
			told = true
			for _, j := range joiners {
				j.step(CaughtUp{true})
			}
		}
		return len(second.m.View().Voters()) == 6
	}
}

// growingView: membership §C.8.
//
//  1. the second node does not hear the oldest and takes in joiners that only it hears;
//  2. the third accepts the view in which they vote, but never learns that it was decided;
//  3. the island around the second node, now a majority, removes the oldest on an operator's word;
//  4. the oldest knows nothing of it and lives on what the third grants.
//
// The third must have stopped granting when it accepted (G2), and the island must wait on
// installing (G3).
func growingView(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, patient)
	outside := func(n *node) bool { return n == oldest || n == third }
	sealed := false
	w.cut = func(a, b *node) bool {
		switch {
		case outside(a) == outside(b):
			return false
		case sealed || a == oldest || b == oldest:
			return true
		}
		return a != second && b != second // joiners hear the second node only
	}
	grown := growIsland(w, second, outside)
	if !w.until(20*time.Second, grown) {
		t.Fatal("the island did not grow:", second.m)
	}
	sealed = true
	second.step(Down{oldest.uid})
	w.run(15 * time.Second)
	if second.m.View().Has(oldest.uid) {
		t.Fatal("the island did not remove the oldest:", second.m)
	}
	return w
}

// growingViewOwnVote: as growingView, but it is the oldest itself whose acceptance decides the
// view, and the third node accepts nothing and so goes on granting. Only V1 ends the lease of the
// oldest.
func growingViewOwnVote(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, patient)
	outside := func(n *node) bool { return n == oldest || n == third }
	sealed, last := false, false
	w.filter = func(a, b *node, msg message.Message) bool {
		_, paxos := ballotOf(msg)
		if outside(a) != outside(b) {
			if sealed {
				return false
			}
			if a == oldest || b == oldest {
				return paxos && last
			}
			return (a == second || b == second) && !(paxos && last)
		}
		return !(paxos && outside(a) && last) // the oldest must not finish it with the third
	}
	grown := growIsland(w, second, outside)
	// the joiners are in as learners; from here on the oldest instead of the third decides
	if !w.until(20*time.Second, func() bool {
		return len(second.m.View().Members) == 6 && len(third.m.View().Members) == 6
	}) {
		t.Fatal("no learners:", second.m)
	}
	last = true
	if !w.until(30*time.Second, grown) {
		t.Fatal("the island did not grow:", second.m)
	}
	sealed = true
	second.step(Down{oldest.uid})
	w.run(15 * time.Second)
	if second.m.View().Has(oldest.uid) {
		t.Fatal("the island did not remove the oldest:", second.m)
	}
	return w
}

// replacedVoter: only the three oldest of seven vote, and the quorums of two views need not meet.
//
//  1. the oldest hears the third voter and no other;
//  2. the third leaves; the second and the third decide the view in which the fourth node votes for
//     it, and the third, which never learns that this was decided, stays with the oldest;
//  3. the second and the fourth remove the oldest on an operator's word; the fourth never promised
//     it anything as a voter;
//  4. the oldest knows nothing of it and lives on what the third grants.
//
// The third must have stopped granting when it accepted (G2), and the fourth must wait on
// installing (G3).
func replacedVoter(t *testing.T, f defect.Set) *world {
	cfg := LAN()
	cfg.planted, cfg.VotersMax = f, 3
	patient(&cfg)
	w := newWorld(t, 7, cfg)
	w.found(7)
	vs := w.nodes[0].m.View().Voters()
	if len(vs) != 3 {
		t.Fatalf("%d of seven vote", len(vs))
	}
	oldest, second, third := w.byUID[vs[0].UID], w.byUID[vs[1].UID], w.byUID[vs[2].UID]
	sealed := false
	w.filter = func(a, b *node, msg message.Message) bool {
		between := func(x, y *node) bool { return a == x && b == y || a == y && b == x }
		switch {
		case between(oldest, third):
			_, paxos := ballotOf(msg)
			return !paxos // they must not finish it
		case a == oldest || b == oldest:
			return false
		case a == third || b == third:
			return !sealed
		}
		return true
	}
	third.step(Leave{})
	w.watch = func(n *node, _ Input, fx *Effects) {
		for _, v := range fx.Install {
			votes := func(o view.Member) bool { return o.UID == third.uid }
			sealed = sealed || !slices.ContainsFunc(v.Voters(), votes)
		}
	}
	if !w.until(20*time.Second, func() bool { return sealed }) {
		t.Fatal("the third did not leave:", second.m)
	}
	second.step(Down{oldest.uid})
	w.run(15 * time.Second)
	if second.m.View().Has(oldest.uid) {
		t.Fatal("the oldest was not removed:", second.m)
	}
	return w
}

// ballotOf reports whether a message belongs to a ballot.
func ballotOf(msg message.Message) (b paxos.Ballot, ok bool) {
	switch m := msg.(type) {
	case message.Prepare:
		return m.Ballot, true
	case message.Prepared:
		return m.Ballot, true
	case message.Accept:
		return m.Ballot, true
	case message.Accepted:
		return m.Ballot, true
	case message.Rejected:
		return m.Ballot, true
	}
	return paxos.Ballot{}, false
}

// betweenTwo: the third node hears both others, they do not hear each other. Either of them may be
// removed. If none were, the cluster would be wedged without end.
func betweenTwo(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, func(c *Config) { c.SelfDownAfter = time.Hour })
	w.cut = func(a, b *node) bool { return a != third && b != third }
	if !w.until(40*time.Second, func() bool { return len(third.m.View().Members) == 2 && w.acting() != nil }) {
		w.checker.fault(w, "wedged: %v; %v; %v", oldest.m, second.m, third.m)
	}
	return w
}

// deafSuccessor: the oldest hears all and is granted, but the second node does not hear it.
func deafSuccessor(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, nil)
	w.cut = func(a, b *node) bool { return a == oldest && b == second }
	if !w.until(60*time.Second, func() bool { return !third.m.View().Has(oldest.uid) }) {
		t.Fatal("not removed:", second.m)
	}
	w.run(time.Second)
	return w
}

// lateGrants: answers to the oldest come shortly before what they grant has run out.
func lateGrants(t *testing.T, f defect.Set) *world {
	w, oldest, _, third := scripted(t, f, nil)
	late := true
	w.filter = func(a, b *node, msg message.Message) bool {
		if g, ok := msg.(message.Grant); ok && b == oldest && late {
			w.after(5*time.Second, func() { oldest.step(Receive{From: a.uid, FromAddr: a.addr, Msg: g}) })
			return false
		}
		return true
	}
	w.run(10 * time.Second)
	w.cut = func(a, b *node) bool { return a == oldest || b == oldest }
	if !w.until(30*time.Second, func() bool { return !third.m.View().Has(oldest.uid) }) {
		t.Fatal("not removed:", third.m)
	}
	w.run(time.Second)
	return w
}

// wrongHint: memberlist says that the oldest is dead.
func wrongHint(t *testing.T, f defect.Set) *world {
	w, oldest, second, _ := scripted(t, f, nil)
	before := second.m.View().Epoch
	second.step(Hint{UID: oldest.uid, Addr: oldest.addr})
	w.run(20 * time.Second)
	if second.m.View().Epoch != before {
		w.checker.fault(w, "a hint changed the view to %v", second.m.View())
	}
	return w
}
