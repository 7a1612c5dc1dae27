package replicator

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// countWorld is a world in which counters are counted, cleared and folded, and what each replica
// must show, told from the operations in its clock alone: it knows what every operation found where
// it was made, and nothing of items and folds. The members come, go, are cut off and dropped at
// random.
type countWorld struct {
	*randomWorld
	ops   []*countOp
	looks uint64 // calls of live
}

// countOp is one operation on a counter.
type countOp struct {
	dot   crdt.Dot
	key   string
	total uint64 // the origin's own count with it; 0: the counter is cleared
	over  []*countOp

	found, gone uint64 // the last of the looks in which it was there, and in which it was replaced or cleared
}

// live returns the counts that an operation finds that is made at this clock: those that nothing
// else there has replaced or cleared.
func (w *countWorld) live(key string, c *crdt.Clock) (live []*countOp) {
	w.looks++ // after every step of every node: marks are cheaper than a set
	for _, op := range w.ops {
		if op.key == key && c.Has(op.dot) {
			op.found = w.looks
			for _, o := range op.over {
				o.gone = w.looks
			}
		}
	}
	for _, op := range w.ops {
		if op.total > 0 && op.found == w.looks && op.gone != w.looks {
			live = append(live, op)
		}
	}
	return live
}

var countKeys = []string{"c/1", "c/2"}

// check compares what a replica shows with what it must.
func (w *countWorld) check(n *node) {
	if n.down {
		return
	}
	s := n.m.spaces[keyspace.Volatile].Store
	for _, key := range countKeys {
		want := uint64(0)
		for _, op := range w.live(key, s.Clock()) {
			want += op.total
		}
		if got, err := crdt.ViewOf[crdt.GCounter](s.View(key)); err != nil || got.Value() != want {
			w.t.Fatalf("%s counts %d in %s, must count %d: %v\n%s",
				wire.Short(n.id), got.Value(), key, want, err, w.dump())
		}
	}
}

// do makes one operation.
func (w *countWorld) do(n *node, key string, by uint64) {
	if !n.m.site.Member || !n.m.site.Serves {
		return
	}
	op := &countOp{key: key}
	s := n.m.spaces[keyspace.Volatile]
	for _, o := range w.live(key, s.Content()) {
		switch {
		case by == 0:
			op.over = append(op.over, o)
		case o.dot.Origin == n.id:
			op.over = append(op.over, o)
			op.total += o.total
		}
	}
	before := s.Items.Seq()
	w.seq++
	after := w.after
	w.after = func(*node) {} // the operation is not known yet
	if by > 0 {
		op.total += by
		n.step(Update{ID: w.seq, Key: key, Mutate: func(tx *crdt.Tx) error {
			return crdt.GCounter{}.Mutator(tx).Increment(by)
		}})
	} else {
		n.step(Delete{ID: w.seq, Key: key})
	}
	w.after = after
	if s.Items.Seq() > before { // the machine may tidy up in the same step, after it
		op.dot = crdt.Dot{Origin: n.id, Seq: before + 1}
		w.ops = append(w.ops, op)
	}
	w.check(n)
}

func newCountWorld(seed uint64, f defect.Set) *countWorld {
	cfg := settings.Config{GossipInterval: 300 * time.Millisecond, RetryInterval: 50 * time.Millisecond}
	cfg.Plant(f)
	w := &countWorld{randomWorld: newRandomWorld(seed, 99, cfg)}
	w.after = w.check
	if w.chance(3) {
		w.cfg.LogMax = 4
	}
	var ids []crdt.Origin
	for range 3 + w.rng.IntN(3) {
		w.next++
		ids = append(ids, w.next)
		w.start(w.next, nil, uint64(w.next))
	}
	w.views = []replica.View{founded(1, ids...)}
	w.install(w.views[0])
	return w
}

// act does one thing at random.
func (w *countWorld) act() {
	switch k := w.rng.IntN(44); {
	case k < 8:
		w.do(w.some(), countKeys[w.rng.IntN(len(countKeys))], 1+w.rng.Uint64N(9))
	case k == 8 && w.chance(6):
		w.do(w.some(), countKeys[w.rng.IntN(len(countKeys))], 0)
	case k == 9 && w.chance(3): // a quiet moment
		w.mendAll()
		w.advance(time.Second)
	case k < 26:
		w.someArrive()
	case k < 32:
		w.pass()
	case k == 32:
		a, b := w.some(), w.some()
		w.sever(a.id, b.id)
	case k == 33:
		w.mendAll()
	case k == 34:
		if n := w.some(); w.bears(n.id) && len(w.alive()) > 3 {
			n.crash()
		}
	case k < 37:
		w.join()
	case k < 41:
		w.decide()
	default:
		for _, n := range w.alive() {
			if !w.chance(3) {
				w.bring(n)
			}
		}
	}
}

func (w *countWorld) join() {
	if len(w.alive()) >= 6 || !w.installed() {
		return
	}
	w.next++
	w.start(w.next, nil, uint64(w.next))
	v := w.newest()
	v.Epoch, v.Founded = v.Epoch+1, false
	v.Learners = append(slices.Clone(v.Learners), replica.Member{
		ID: w.next, UpNumber: uint32(w.next), Disk: uint64(w.next),
	})
	w.views = append(w.views, v)
}

// decide drops the dead nodes, and now and then a live one. It promotes the learners that have
// caught up.
func (w *countWorld) decide() {
	if !w.installed() {
		return
	}
	old := w.newest()
	v := replica.View{Epoch: old.Epoch + 1}
	drop := crdt.Origin(0)
	if w.chance(3) && len(old.Voters) > 3 {
		drop = w.some().id
	}
	for _, p := range old.Voters {
		if w.node(p.ID) != nil && p.ID != drop {
			v.Voters = append(v.Voters, p)
		}
	}
	for _, p := range old.Learners {
		switch x := w.node(p.ID); {
		case x == nil || p.ID == drop:
		case x.m.CaughtUp():
			v.Voters = append(v.Voters, p)
		default:
			v.Learners = append(v.Learners, p)
		}
	}
	if follows(old, v) {
		w.views = append(w.views, v)
	}
}

// heal ends all trouble. After it, each counter has two items for the removed members.
func (w *countWorld) heal() {
	w.mendAll()
	for i := range 4 {
		if i > 0 {
			w.decideHealed()
		}
		for _, n := range w.alive() {
			if v := w.newest().Normal(); n.m.site.View.Epoch < v.Epoch {
				n.step(Install{v})
			}
		}
		w.advance(5 * time.Second)
	}
	w.same()
	for _, n := range w.alive() {
		for _, key := range countKeys {
			if items := n.m.Snapshot(keyspace.Volatile).View(key).Len(); n.m.site.Member &&
				items > len(w.newest().Voters)+2 {
				w.t.Fatalf("%d items in %s, %d voters: the counts of the removed are not folded\n%s",
					items, key, len(w.newest().Voters), w.dump())
			}
		}
	}
}

func (w *countWorld) decideHealed() {
	old := w.newest()
	v := replica.View{Epoch: old.Epoch + 1}
	for _, p := range append(slices.Clone(old.Voters), old.Learners...) {
		switch x := w.node(p.ID); {
		case x == nil:
		case x.m.CaughtUp():
			v.Voters = append(v.Voters, p)
		default:
			v.Learners = append(v.Learners, p)
		}
	}
	w.views = append(w.views, v)
}

// runCounts plays a world and says what failed. folded is what was folded before it was healed.
func runCounts(seed uint64, f defect.Set) (folded uint64, err error) {
	w := newCountWorld(seed, f)
	err = failing(func() {
		for range 2000 {
			w.act()
		}
		folded = w.folded()
		w.heal()
	})
	return folded, err
}

// folded is how many folds the nodes have made.
func (w *world) folded() (n uint64) {
	for _, x := range w.nodes {
		n += x.m.site.Counters.Folded
	}
	return n
}

// foldWorld plays the world of a seed, and says what failed in it and how much was folded.
type foldWorld func(seed uint64, f defect.Set) (folded uint64, err error)

// neverFails plays worlds, in which there must be so many folds at least.
func (play foldWorld) neverFails(t *testing.T, seeds, least uint64) {
	t.Helper()
	folded := uint64(0)
	for seed := range seeds {
		n, err := play(seed, defect.Set{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		folded += n
	}
	if t.Logf("%d folds amid all that", folded); folded < least {
		t.Fatalf("no more than %d folds", folded)
	}
}

// notices looks for a world in which a planted fault shows.
func (play foldWorld) notices(t *testing.T, f defect.Set) {
	t.Helper()
	for seed := range uint64(60) {
		if _, err := play(seed, f); err != nil {
			t.Logf("seed %d: %.200v", seed, err)
			return
		}
	}
	t.Fatal("no world noticed the fault")
}

// R6: a fold never changes a sum at any replica. This holds for all counts and clears at the same
// time, and when any node crashes, is cut off, is dropped or joins.
func TestFoldsNeverChangeASum(t *testing.T) {
	foldWorld(runCounts).neverFails(t, 20, 10)
}

func TestFoldsWithoutAskingAreNoticed(t *testing.T) {
	foldWorld(runCounts).notices(t, defect.Of(defect.FoldUnasked))
}

func (n *node) count(key string, by uint64) {
	n.w.seq++
	n.step(Update{ID: n.w.seq, Key: key, Mutate: func(tx *crdt.Tx) error {
		return crdt.GCounter{}.Mutator(tx).Increment(by)
	}})
}

// A member that cannot be reached delays folding, because it may have something of the removed
// members. The durable space folds nothing as long as nothing has retired.
func TestFoldingWaitsForEveryMember(t *testing.T) {
	w := cluster(t, 6, durableD)
	a, f := w.nodes[0], w.nodes[5]
	sum := func(key string, want uint64, items int) {
		t.Helper()
		for _, n := range w.nodes {
			r := n.m.Snapshot(n.m.SpaceOf(key)).View(key)
			if c, err := crdt.ViewOf[crdt.GCounter](r); !n.down &&
				(err != nil || c.Value() != want || r.Len() != items) {
				t.Fatalf("%s counts %d in %d items in %s, want %d in %d: %v",
					wire.Short(n.id), c.Value(), r.Len(), key, want, items, err)
			}
		}
	}
	for i, n := range w.nodes {
		n.count("c", uint64(i)+1)
		n.count("d/c", uint64(i)+1)
	}
	w.quiet()
	w.sever(1, 5)
	w.sever(2, 5)
	w.sever(3, 5)
	w.sever(4, 5)
	w.nodes[4].count("c", 100) // only 6 hears of it
	w.quiet()
	w.isolate(6)
	for _, i := range []int{2, 3, 4} {
		w.nodes[i].crash()
	}
	w.install(viewOf(2, 1, 2, 6))
	w.advance(time.Minute)
	if a.m.site.Counters.Folded > 0 || a.m.Snapshot(keyspace.Volatile).View("c").Len() != 6 {
		t.Fatal("folded without 6")
	}
	w.mendAll()
	w.advance(10 * time.Second)
	sum("c", 121, 5)
	sum("d/c", 21, 6)
	if a.m.site.Counters.Folded != 1 || f.m.site.Counters.Folded != 0 {
		t.Fatalf("%d and %d folds", a.m.site.Counters.Folded, f.m.site.Counters.Folded)
	}
	// The oldest goes. The next one folds the count of the oldest into what that one left.
	a.crash()
	w.install(viewOf(3, 2, 6))
	w.advance(10 * time.Second)
	sum("c", 121, 4)
	w.same()
}
