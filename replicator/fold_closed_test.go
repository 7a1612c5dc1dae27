package replicator

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// runClosedFolds plays a world whose nodes count, come and go, and says what failed.
func runClosedFolds(seed uint64, f defect.Set) (folded uint64, err error) {
	w := newRetireWorld(seed, f)
	w.counts = true
	err = failing(func() {
		for range 1500 {
			w.act()
		}
		w.heal()
	})
	return w.folded(), err
}

// R6: a fold in the durable space never changes a sum at any member, also when the one that folds goes
// before another has its fold, and its disk comes back later.
func TestClosedFoldsNeverChangeASum(t *testing.T) {
	foldWorld(runClosedFolds).neverFails(t, 12, 20)
}

func TestFoldsByManyAreNoticed(t *testing.T) {
	foldWorld(runClosedFolds).notices(t, defect.Of(defect.FoldUnwitnessed))
}

// retiring is a cluster of three with disks, of which the members 4 to 6 have gone, and the views by which
// these retire.
type retiring struct {
	*world
	ending, ended replica.View
}

func newRetiring(t *testing.T) retiring {
	w := cluster(t, 6, durableD)
	for i, n := range w.nodes {
		n.count("d/c", uint64(i)+1)
	}
	w.quiet()
	for _, n := range w.nodes[3:] {
		n.crash()
	}
	w.install(viewOf(2, 1, 2, 3))
	w.advance(5 * time.Second)
	r := retiring{world: w, ending: viewOf(3, 1, 2, 3), ended: viewOf(4, 1, 2, 3)}
	r.ending.Ending = replica.Retirement{Below: 7, Spared: []crdt.Origin{1, 2, 3}}
	r.ended.Ended, r.ended.AgreedIn = r.ending.Ending, 3
	return r
}

// sum checks what the running members show of the counter.
func (r retiring) sum(t *testing.T, items int) {
	t.Helper()
	for _, n := range r.nodes {
		v := n.m.Snapshot(keyspace.Durable).View("d/c")
		if c, err := crdt.ViewOf[crdt.GCounter](v); !n.down && (err != nil || c.Value() != 21 || v.Len() != items) {
			t.Fatalf("%s counts %d in %d items, want 21 in %d: %v", wire.Short(n.id), c.Value(), v.Len(), items, err)
		}
	}
}

// The oldest folds what a retirement has closed, when it has seen all of it.
func TestTheWitnessOfARetirementFolds(t *testing.T) {
	r := newRetiring(t)
	r.install(r.ending)
	r.advance(5 * time.Second)
	r.sum(t, 6)
	r.install(r.ended)
	r.advance(5 * time.Second)
	r.sum(t, 5)
	if n := r.nodes[0].m.site.Counters.Folded; n != 1 {
		t.Errorf("%d folds", n)
	}
}

// What the oldest has not seen from its beginning it does not fold: a view that it left out may have had
// a member whose disk comes back.
func TestWhatNoReplicaHasWitnessedIsNotFolded(t *testing.T) {
	r := newRetiring(t)
	r.install(r.ending)
	r.advance(5 * time.Second)
	again := r.ending
	again.Epoch, r.ended.Epoch, r.ended.AgreedIn = 5, 6, 5
	r.install(again)
	r.advance(5 * time.Second)
	r.install(r.ended)
	r.advance(5 * time.Second)
	r.sum(t, 6)
}

// A member that went while it was agreed may have told, and its disk may come back: nothing is folded
// until the next retirement.
func TestAMemberThatGoesPutsFoldingOff(t *testing.T) {
	r := newRetiring(t)
	r.install(r.ending)
	r.advance(5 * time.Second)
	r.nodes[2].crash()
	left := viewOf(4, 1, 2)
	left.Ending = r.ending.Ending
	r.install(left)
	r.advance(5 * time.Second)
	closed := viewOf(5, 1, 2)
	closed.Ended, closed.AgreedIn = left.Ending, 4
	r.install(closed)
	r.advance(5 * time.Second)
	r.sum(t, 6)

	next := viewOf(6, 1, 2)
	next.Ended, next.AgreedIn = closed.Ended, closed.AgreedIn
	next.Ending = replica.Retirement{Below: 8, Spared: []crdt.Origin{1, 2}}
	r.install(next)
	r.advance(5 * time.Second)
	closed = viewOf(7, 1, 2)
	closed.Ended, closed.AgreedIn = next.Ending, 6
	r.install(closed)
	r.advance(5 * time.Second)
	r.sum(t, 4)
}

// A replica folds after it has told for the next retirement, and goes before another has the fold. Its disk
// is clean, and comes back when that retirement has ended: then no other may have folded the same.
func TestAFoldThatComesBackOnACleanDiskIsTheOnlyOne(t *testing.T) {
	r := newRetiring(t)
	r.install(r.ending)
	r.drop = func(p packet) bool { return isPush(p.msg) && p.to == 1 }
	r.nodes[1].count("d/other", 1)
	r.advance(5 * time.Second) // 1 is told of it, and does not get it
	r.install(r.ended)
	again := viewOf(5, 1, 2, 3)
	again.Ended, again.AgreedIn = r.ended.Ended, r.ended.AgreedIn
	again.Ending = replica.Retirement{Below: 8, Spared: []crdt.Origin{1, 2, 3}}
	r.install(again)
	r.advance(5 * time.Second)
	one := r.nodes[0]
	if one.retirable != 5 {
		t.Fatal("1 has not told")
	}
	r.sum(t, 6)
	r.drop = func(p packet) bool { return isPush(p.msg) && p.from == 1 }
	r.advance(5 * time.Second)
	if one.m.site.Counters.Folded != 1 {
		t.Fatal("1 has not folded")
	}
	one.crash()
	r.drop = func(packet) bool { return false }
	left := viewOf(6, 2, 3)
	left.Ended, left.AgreedIn, left.Ending = again.Ended, again.AgreedIn, again.Ending
	r.install(left)
	r.advance(5 * time.Second)
	closed := viewOf(7, 2, 3)
	closed.Ended, closed.AgreedIn = left.Ending, 6
	r.install(closed)
	r.advance(5 * time.Second)
	back := r.start(9, one.disk.copied(), one.diskID)
	joined := viewOf(8, 2, 3)
	joined.Ended, joined.AgreedIn = closed.Ended, closed.AgreedIn
	joined.Learners = []replica.Member{{ID: 9, UpNumber: 9, Disk: one.diskID}}
	joined.Clean = back.clean >= joined.Ended.Below
	r.install(joined)
	r.advance(20 * time.Second)
	if back.outdated || !back.m.CaughtUp() {
		t.Fatal("the disk is refused")
	}
	r.sum(t, 5)
}

func isPush(m wire.Message) bool { _, push := m.(*wire.Push); return push }

// A fold waits for all that the members told: there may be a delete among it that was made before its
// maker had all of the counts.
func TestAClosedFoldWaitsForWhatWasTold(t *testing.T) {
	r := newRetiring(t)
	r.install(r.ending)
	r.sever(1, 2)
	r.sever(1, 3)
	r.nodes[1].count("d/other", 1)
	r.quiet()
	r.mendAll()
	r.drop = func(p packet) bool { return isPush(p.msg) && p.to == 1 }
	r.advance(5 * time.Second)
	r.install(r.ended)
	r.advance(5 * time.Second)
	r.sum(t, 6)
	r.drop = func(packet) bool { return false }
	r.advance(5 * time.Second)
	r.sum(t, 5)
}
