package replicator

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// grown is a cluster of five of which two are about to be joined by two learners that have caught
// up. x is acknowledged by 1, 2 and 3 alone.
func grown(t *testing.T) (w *world, next replica.View) {
	w = cluster(t, 5, settings.Config{GossipInterval: time.Hour, OperationTimeout: time.Minute})
	w.start(6, nil, 6)
	w.start(7, nil, 7)
	w.install(with(viewOf(2, 1, 2, 3, 4, 5), 6, 7))
	w.advance(time.Second)
	for _, n := range w.nodes {
		if !n.m.CaughtUp() || n.m.Settled() != 2 {
			t.Fatalf("not caught up, or not settled\n%s", w.dump())
		}
	}
	for _, a := range []crdt.Origin{1, 2, 3} {
		for _, b := range []crdt.Origin{4, 5, 6, 7} {
			w.sever(a, b)
		}
	}
	x := w.node(1).put("s", "x", quorum.Majority)
	w.quiet()
	w.node(1).want(x, nil)
	return w, viewOf(3, 1, 2, 3, 4, 5, 6, 7)
}

// A quorum is a majority of each unsettled view. This closes the reference's documented hole (write
// to 3 of 5, two join, read 4 of 7 misses it).
func TestReadOfTheNewMajorityDoesNotMissAWriteOfTheOldOne(t *testing.T) {
	w, next := grown(t)
	w.install(next)
	g := w.node(4).get("s", quorum.Majority) // 4, 5, 6 and 7 are a majority of seven
	w.advance(10 * time.Second)
	w.node(4).wantOpen(g)
	w.mendAll()
	w.advance(10 * time.Second)
	if got := elems(t, w.node(4).want(g, nil).Reader); len(got) != 1 {
		t.Fatalf("read %v", got)
	}
	for _, n := range w.nodes {
		if n.m.Settled() != 3 {
			t.Fatalf("not settled\n%s", w.dump())
		}
	}
}

// The answers of the new majority count without the old one's only if they were given after the
// view was settled.
func TestReadThatIsOutWhenAViewIsSettledDoesNotMissAWriteOfTheOldOne(t *testing.T) {
	w, next := grown(t)
	w.install(next)
	g := w.node(4).get("s", quorum.Majority)
	w.advance(time.Second)
	w.node(4).wantOpen(g) // 5, 6 and 7 have answered that they have nothing
	for _, a := range []crdt.Origin{1, 2, 3} {
		for _, b := range []crdt.Origin{5, 6, 7} {
			w.mend(a, b)
		}
	}
	w.advance(10 * time.Second)
	if w.node(4).m.Settled() != 3 {
		t.Fatalf("not settled\n%s", w.dump())
	}
	if got := elems(t, w.node(4).want(g, nil).Reader); len(got) != 1 {
		t.Fatalf("read %v", got)
	}
}

// A view is settled when a majority of the newest contains the join of the clocks that a majority
// of the older reported, not before.
func TestViewIsSettledOnlyWhenAMajorityOfTheNewestContainsTheOld(t *testing.T) {
	w, next := grown(t)
	// Words get through, groups do not.
	w.mendAll()
	w.drop = func(p packet) bool { _, push := p.msg.(*wire.Push); return push }
	w.install(next)
	w.advance(5 * time.Second)
	for _, n := range w.nodes {
		if n.m.Settled() == 3 {
			t.Fatalf("%s says that it is settled\n%s", wire.Short(n.id), w.dump())
		}
	}
	for _, a := range []crdt.Origin{1, 2, 3} {
		for _, b := range []crdt.Origin{4, 5, 6, 7} {
			w.sever(a, b)
		}
	}
	g := w.node(4).get("s", quorum.Majority)
	w.advance(5 * time.Second)
	w.node(4).wantOpen(g)
}

// R15: Only acks of the operation's own epoch count. A member that has reported its clocks for
// epoch e acks nothing older.
func TestOnlyAcksOfTheOperationsEpochCount(t *testing.T) {
	w, next, x := writeInOldView(t, defect.Set{})
	w.node(1).wantOpen(x)
	w.sever(2, 3)
	w.sever(2, 4)
	w.sever(2, 5)
	g := w.node(4).get("s", quorum.Majority)
	w.advance(time.Second)
	if got := elems(t, w.node(4).want(g, nil).Reader); len(got) != 0 {
		t.Fatalf("read %v: the test does not test what it should", got)
	}
	w.mendAll()
	w.node(1).step(Install{next})
	w.advance(5 * time.Second)
	w.node(1).want(x, nil)
	w, _, x = writeInOldView(t, defect.Of(defect.CountAnyEpoch))
	if _, answered := w.node(1).results[x]; !answered {
		t.Error("nothing is noticed when acks of another epoch count")
	}
}

// writeInOldView lets a node that has missed a view of five write to what was a majority of three.
// next is the view, x the write.
func writeInOldView(t *testing.T, f defect.Set) (w *world, next replica.View, x uint64) {
	w = cluster(t, 3, planting(settings.Config{GossipInterval: time.Hour, OperationTimeout: time.Minute}, f))
	w.start(4, nil, 4)
	w.start(5, nil, 5)
	w.install(with(viewOf(2, 1, 2, 3), 4, 5))
	w.advance(time.Second)
	next = viewOf(3, 1, 2, 3, 4, 5)
	w.isolate(1)
	for _, id := range []crdt.Origin{2, 3, 4, 5} {
		w.node(id).step(Install{next})
	}
	w.advance(5 * time.Second)
	if got := w.node(3).m.Settled(); got != 3 {
		t.Fatalf("settled %d without the node that is cut off", got)
	}
	w.mend(1, 2) // 1 still has the view of three, in which 1 and 2 are a majority
	x = w.node(1).put("s", "x", quorum.Majority)
	w.advance(time.Second)
	w.node(2).wantSet("s", "x")
	return w, next, x
}

// R13: If dropped members make a role's majority impossible: settle from all survivors and raise
// MajorityLost, never block permanently.
func TestMajorityGoneForGoodIsSettledFromTheSurvivorsWithAnAlarm(t *testing.T) {
	w := cluster(t, 5, settings.Config{})
	y := w.node(4).put("s", "y", quorum.All)
	w.quiet()
	w.node(4).want(y, nil)
	for _, id := range []crdt.Origin{3, 4, 5} {
		w.isolate(id)
	}
	w.node(1).put("s", "x", quorum.Local)
	for _, id := range []crdt.Origin{3, 4, 5} {
		w.node(id).crash()
	}
	w.mendAll()
	w.install(viewOf(2, 1, 2))
	w.advance(5 * time.Second)
	for _, n := range w.nodes[:2] {
		n.wantSet("s", "x", "y")
		last := n.settled[len(n.settled)-1]
		if n.m.Settled() != 2 || !last.Lost {
			t.Fatalf("%s: settled %v", wire.Short(n.id), n.settled)
		}
	}
}

// Of two, one is every majority's other half: nothing can be lost, and there is no alarm.
func TestTwoToOneLosesNothing(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	w.node(2).crash()
	w.install(viewOf(2, 1))
	w.advance(5 * time.Second)
	if s := w.node(1).settled; s[len(s)-1].Lost || w.node(1).m.Settled() != 2 {
		t.Fatalf("settled %v", s)
	}
}

// coldStart stops a cluster of three in which 1 and 2 have committed x, and founds it anew with
// these.
func coldStart(t *testing.T, disks ...int) (*world, replica.View) {
	w := cluster(t, 3, durableD)
	w.isolate(3)
	x := w.node(1).put("d/s", "x", quorum.Majority)
	w.quiet()
	w.node(1).want(x, nil)
	old := w.nodes
	for _, n := range old {
		n.crash()
	}
	w.mendAll()
	v := replica.View{Epoch: 2, Founded: true, LastDisks: [][]uint64{{1, 2, 3}}}
	for _, d := range disks {
		id := crdt.Origin(10 + d)
		if d > 3 {
			w.start(id, nil, uint64(d))
		} else {
			w.start(id, old[d-1].disk, uint64(d))
		}
		v.Voters = append(v.Voters, replica.Member{ID: id, Disk: uint64(d)})
	}
	return w, v
}

// After a cold start the durable space is settled only when a majority of the old disks has
// reported.
func TestAfterAColdStartAMajorityOfTheOldDisksMustReport(t *testing.T) {
	w, v := coldStart(t, 2, 3, 4)
	w.isolate(12)
	w.install(v)
	w.advance(5 * time.Second)
	if n := w.node(13); n.m.spaces[keyspace.Durable].Chain.Settled() >= 2 ||
		n.m.spaces[keyspace.Volatile].Chain.Settled() != 2 {
		t.Fatalf("one disk of three has reported\n%s", w.dump())
	}
	g := w.node(14).get("d/s", quorum.Majority)
	w.advance(time.Second)
	w.node(14).wantOpen(g)
	w.mendAll()
	w.advance(3 * time.Second)
	if got := elems(t, w.node(14).want(g, nil).Reader); len(got) != 1 {
		t.Fatalf("read %v", got)
	}
	w.advance(5 * time.Second)
	for _, n := range w.nodes[3:] {
		n.wantSet("d/s", "x")
		if n.m.Settled() != 2 {
			t.Fatalf("not settled\n%s", w.dump())
		}
	}
}

// unsettledColdStart stops a cluster of three that has grown to five without having settled that: 1
// and 2 have committed x, the other disks have not. It is founded anew with some of the disks.
func unsettledColdStart(t *testing.T, disks ...int) (*world, replica.View) {
	w := cluster(t, 3, durableD)
	w.start(4, nil, 4)
	w.start(5, nil, 5)
	w.install(with(viewOf(2, 1, 2, 3), 4, 5))
	w.advance(time.Second)
	for _, id := range []crdt.Origin{3, 4, 5} {
		w.isolate(id)
	}
	x := w.node(1).put("d/s", "x", quorum.Majority)
	w.quiet()
	w.node(1).want(x, nil)
	w.install(viewOf(3, 1, 2, 3, 4, 5))
	for _, n := range w.nodes {
		if n.m.Settled() == 3 {
			t.Fatalf("settled\n%s", w.dump())
		}
	}
	old := w.nodes
	for _, n := range old {
		n.crash()
	}
	w.mendAll()
	v := replica.View{Epoch: 4, Founded: true, LastDisks: [][]uint64{{1, 2, 3}, {1, 2, 3, 4, 5}}}
	for _, d := range disks {
		w.start(crdt.Origin(10+d), old[d-1].disk, uint64(d))
		v.Voters = append(v.Voters, replica.Member{ID: crdt.Origin(10 + d), Disk: uint64(d)})
	}
	return w, v
}

// What was acknowledged by a majority of a view is not lost when everything stops before the next
// one is settled: three of the five last disks do not do, as long as two of the three before them
// may know more.
func TestAfterAColdStartAMajorityOfEachUnsettledViewMustReport(t *testing.T) {
	w, v := unsettledColdStart(t, 2, 3, 4, 5)
	w.isolate(12) // the only disk with x
	w.install(v)
	w.advance(5 * time.Second)
	g := w.node(14).get("d/s", quorum.Majority)
	w.advance(time.Second)
	w.node(14).wantOpen(g)
	for _, n := range w.nodes[5:] {
		if n.m.Settled() != 0 {
			t.Fatalf("%s has settled %d\n%s", wire.Short(n.id), n.m.Settled(), w.dump())
		}
	}
	w.mendAll()
	w.advance(5 * time.Second)
	if got := elems(t, w.node(14).want(g, nil).Reader); len(got) != 1 {
		t.Fatalf("read %v", got)
	}
	for _, n := range w.nodes[5:] {
		n.wantSet("d/s", "x")
		if n.m.Settled() != 4 || slices.ContainsFunc(n.settled, func(s effect.Settlement) bool { return s.Lost }) {
			t.Fatalf("%s: %v\n%s", wire.Short(n.id), n.settled, w.dump())
		}
	}
}

// With fewer than that, which is an operator's word, what there is comes back, and there is an
// alarm.
func TestFoundingWithoutAnUnsettledViewRaisesTheAlarm(t *testing.T) {
	for _, disks := range [][]int{{2, 4, 5}, {3, 4, 5}} {
		w, v := unsettledColdStart(t, disks...)
		w.install(v)
		w.advance(5 * time.Second)
		for _, n := range w.nodes[5:] {
			if s := n.settled[len(n.settled)-1]; n.m.Settled() != 4 || !s.Lost || s.Space != keyspace.Durable {
				t.Fatalf("%v: %s: %v", disks, wire.Short(n.id), n.settled)
			}
			if disks[0] == 2 {
				n.wantSet("d/s", "x")
			}
		}
	}
}

// A node that joins before a founding is settled learns the sets from the others. It does not call
// any view settled before the founding is.
func TestWhoJoinsAnUnsettledFoundingKnowsItsDisks(t *testing.T) {
	w, v := unsettledColdStart(t, 2, 3, 4, 5)
	w.isolate(12)
	w.install(v)
	w.start(16, nil, 6)
	w.sever(12, 16)
	next := with(replica.View{Epoch: 5, Voters: v.Voters}, 16)
	w.install(next)
	w.advance(5 * time.Second)
	n := w.node(16)
	if c := n.m.spaces[keyspace.Durable].Chain; len(c.Pasts()) < 2 || n.m.Settled() != 0 {
		t.Fatalf("settled %d\n%s", n.m.Settled(), w.dump())
	}
	w.mendAll()
	w.advance(5 * time.Second)
	n.wantSet("d/s", "x")
	if n.m.Settled() != 5 {
		t.Fatalf("settled %d\n%s", n.m.Settled(), w.dump())
	}
}

// Nodes that join later may bring what has to be heard, and perhaps no other node has it. They tell
// it before they have caught up themselves.
func TestJoinerTellsWhatHasToBeHeard(t *testing.T) {
	w, v := unsettledColdStart(t, 3, 4, 5)
	w.isolate(15)
	w.install(v)
	w.advance(time.Second)
	w.node(15).crash()
	w.start(11, w.nodes[0].disk, 1)
	w.start(12, w.nodes[1].disk, 2)
	next := replica.View{Epoch: 5, Voters: v.Voters[:2]}
	next.Learners = []replica.Member{{ID: 11, Disk: 1}, {ID: 12, Disk: 2}}
	w.install(next)
	w.advance(10 * time.Second)
	for _, id := range []crdt.Origin{11, 12, 13, 14} {
		n := w.node(id)
		n.wantSet("d/s", "x")
		if !n.m.CaughtUp() || n.m.Settled() != 5 ||
			slices.ContainsFunc(n.settled, func(s effect.Settlement) bool { return s.Lost }) {
			t.Fatalf("%s: %v\n%s", wire.Short(n.id), n.settled, w.dump())
		}
	}
}

// R14: A cluster founded anew must contain a majority of the disks of the last view, else an
// operator says so; then it does not block.
func TestFoundingWithoutAMajorityOfTheDisksRaisesTheAlarm(t *testing.T) {
	w, v := coldStart(t, 3, 4, 5)
	w.install(v)
	w.advance(5 * time.Second)
	for _, n := range w.nodes[3:] {
		if s := n.settled[len(n.settled)-1]; n.m.Settled() != 2 || !s.Lost || s.Space != keyspace.Durable {
			t.Fatalf("%s: %v", wire.Short(n.id), n.settled)
		}
	}
}

// A node that missed a view learns of it from the others, and counts nothing until then.
func TestMissedViewIsLearnedFromTheOthers(t *testing.T) {
	w := cluster(t, 3, settings.Config{})
	w.start(4, nil, 4)
	w.install(with(viewOf(2, 1, 2, 3), 4))
	w.advance(2 * time.Second)
	w.isolate(3)
	for _, id := range []crdt.Origin{1, 2, 4} {
		w.node(id).step(Install{viewOf(3, 1, 2, 3, 4)})
	}
	w.advance(2 * time.Second)
	last := viewOf(4, 1, 2, 3)
	w.node(3).step(Install{last})
	if w.node(3).m.spaces[keyspace.Volatile].Chain.Complete() {
		t.Fatal("it knows nothing of the third view")
	}
	x := w.node(3).put("s", "x", quorum.Majority)
	for _, id := range []crdt.Origin{1, 2, 4} {
		w.node(id).step(Install{last})
	}
	w.mendAll()
	w.advance(3 * time.Second)
	w.node(3).want(x, nil)
	if w.node(3).m.Settled() != 4 {
		t.Fatalf("not settled\n%s", w.dump())
	}
	if n := w.node(4); n.m.site.Member {
		t.Fatal("4 was dropped")
	}
	w.node(4).want(w.node(4).put("s", "y", quorum.Local), operation.ErrNoView)
}

// Nodes of other roles can decide on a view that none of this role installs. What no member knows,
// none has acknowledged anything in: they go on without it.
func TestViewThatNoMemberOfTheRoleHasIsNoneToWaitFor(t *testing.T) {
	w := cluster(t, 3, settings.Config{})
	x := w.node(1).put("s", "x", quorum.Majority)
	w.advance(time.Second)
	w.isolate(2)
	last := viewOf(4, 1, 2, 3)
	for _, id := range []crdt.Origin{1, 3} {
		w.node(id).step(Install{last})
	}
	w.advance(5 * time.Second)
	if n := w.node(1); n.m.Settled() >= 4 {
		t.Fatalf("settled although 2 may know the third view\n%s", w.dump())
	}
	w.node(2).step(Install{last})
	w.mendAll()
	w.advance(5 * time.Second)
	w.node(1).want(x, nil)
	for _, id := range []crdt.Origin{1, 2, 3} {
		n := w.node(id)
		if n.m.Settled() != 4 {
			t.Fatalf("not settled\n%s", w.dump())
		}
		if s := n.settled[len(n.settled)-1]; s.Lost {
			t.Errorf("%v raises an alarm: the views around it have the same voters", s)
		}
		n.want(n.put("s", "y", quorum.Local), nil)
	}
}
